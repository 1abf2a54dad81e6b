import { checkKeys, namesOf } from '../keys.ts'
import { ForbiddenError, InvalidInputError, LimitError } from '../errors.ts'
import { timer } from '../timer/index.ts'
import { checkedList, checkedName, checkedWhole, shownInput, spanOption } from './input.ts'
import { ANY_OWNER, type Owner } from './owner.ts'
import type { ScheduleSettings } from './schedule.ts'
import { SETTINGS } from './settings.ts'
import { isBuiltInTask, type Task } from './task.ts'

/** The limits of one owner. Omitted limits get their defaults. */
export interface OwnerLimits {
  /** Maximum number of schedules; default 100. */
  readonly schedules?: number | undefined
  /** Minimum time between two runs of a schedule: milliseconds or a time span; default `1min`. */
  readonly shortestPeriod?: number | string | undefined
  /** Maximum number of non-final jobs, checked on each submission, manual run and manual retry; default 1000. */
  readonly openJobs?: number | undefined
  /** Maximum size of the args of one schedule or job in bytes, as JSON in UTF-8; default 65,536. */
  readonly argsBytes?: number | undefined
  /** The lowest and highest priority; default -100 and 0, so that no owner's jobs overtake jobs of priority 0. */
  readonly priority?: readonly [lowest: number, highest: number] | undefined
  /** Maximum timeout: milliseconds or a time span; default `1h`. */
  readonly timeout?: number | string | undefined
  /** Maximum number of retries; default 10. */
  readonly retries?: number | undefined
}

export type CheckedLimits = Readonly<ReturnType<typeof checkedLimits>>

/** Tasks, or their names. */
export type GrantedTasks = readonly (Pick<Task, 'name'> | string)[]

export interface Authority {
  readonly owner: Owner
  /** The tasks whose schedules and jobs the caller may write; null means all except the built-in ones. */
  readonly tasks: ReadonlySet<string> | null
  /** Whether the caller may also use `kalends.*` and `command`. */
  readonly builtInTasks: boolean
  /** Null means no limits. */
  readonly limits: CheckedLimits | null
}

/** The authority of the application's own code. */
export const FULL_AUTHORITY: Authority = {
  owner: ANY_OWNER,
  tasks: null,
  builtInTasks: true,
  limits: null,
}

const LARGEST = Number.MAX_SAFE_INTEGER
const ANY_SPAN = { least: 1, most: 2 ** 31 - 1 }

const LIMITS = namesOf<OwnerLimits>({
  schedules: true,
  shortestPeriod: true,
  openJobs: true,
  argsBytes: true,
  priority: true,
  timeout: true,
  retries: true,
})

/** @throws InvalidInputError naming the limit */
export function checkedLimits(limits: OwnerLimits = {}) {
  checkKeys(limits, LIMITS, 'limits.')
  const [lowest, highest] = checkedList('limits.priority', limits.priority ?? [-100, 0], 'two priorities')
  const priority: readonly [lowest: number, highest: number] = [
    checkedWhole('limits.priority', lowest ?? Number.NaN, SETTINGS.priority.least, SETTINGS.priority.most),
    checkedWhole('limits.priority', highest ?? Number.NaN, lowest ?? 0, SETTINGS.priority.most),
  ]
  return {
    schedules: checkedWhole('limits.schedules', limits.schedules, 0, LARGEST) ?? 100,
    shortestPeriodMs: spanOption('limits.shortestPeriod', limits.shortestPeriod, 60_000, ANY_SPAN),
    openJobs: checkedWhole('limits.openJobs', limits.openJobs, 0, LARGEST) ?? 1000,
    argsBytes: checkedWhole('limits.argsBytes', limits.argsBytes, 2, LARGEST) ?? 65_536,
    priority,
    timeoutMs: spanOption('limits.timeout', limits.timeout, 3_600_000, ANY_SPAN),
    retries:
      checkedWhole('limits.retries', limits.retries, SETTINGS.retries.least, SETTINGS.retries.most) ?? 10,
  }
}

/** @throws InvalidInputError unless `tasks` is a list of tasks or names; built-in tasks cannot be granted */
export function checkedTasks(tasks: GrantedTasks = []): ReadonlySet<string> {
  const names: unknown = Array.isArray(tasks) ? Array.from(tasks, (one) => one?.name ?? one) : tasks
  if (!Array.isArray(names))
    throw new InvalidInputError('tasks', `must be a list of tasks or their names, got ${shownInput(tasks)}`)
  for (const name of names) checkedName('tasks', name, SETTINGS.task.most)
  const builtIn = names.find(isBuiltInTask)
  if (builtIn !== undefined)
    throw new InvalidInputError(
      'tasks',
      `'${builtIn}' is a built-in task, which no scope may use; leave it out`,
    )
  return new Set(names)
}

/** Checked before each write to a schedule or job of this task. @throws ForbiddenError */
export function requireTask({ tasks, builtInTasks }: Authority, name: string): void {
  if (tasks?.has(name) === true) return
  if (tasks !== null)
    throw new ForbiddenError(
      tasks.size === 0
        ? 'This scope is read-only: it was created without tasks'
        : `This scope may not use the task '${name}'; it may use ${[...tasks].join(', ')}`,
    )
  if (!builtInTasks && isBuiltInTask(name))
    throw new ForbiddenError(`The task '${name}' is built in; callers of the API cannot use it`)
}

/** The settings to which limits apply. Omitted settings, and those that come from the task (null), are not checked. */
export type LimitedSettings = Partial<
  Pick<ScheduleSettings, 'priority' | 'timeout' | 'retries' | 'args' | 'overlap' | 'catchUp'>
>

/** One pass submits all catch-up runs of a schedule, so they are all open at once. */
const MAX_CATCH_UP = 10

/** @throws InvalidInputError naming the field and the limit */
export function checkWithin(limits: CheckedLimits | null, settings: LimitedSettings): void {
  if (limits === null) return
  const { priority, timeout, retries, args = '', overlap, catchUp = 0 } = settings
  // Otherwise, the number of open jobs of a schedule would be unlimited.
  if (overlap === 'allow')
    throw new InvalidInputError('overlap', "must not be 'allow' for an owner with limits; use 'queue-one'")
  if (catchUp > MAX_CATCH_UP)
    throw new InvalidInputError(
      'catchUp',
      `must be at most ${MAX_CATCH_UP} for an owner with limits, got ${catchUp}`,
    )
  const [lowest, highest] = limits.priority
  if (priority !== undefined && (priority < lowest || priority > highest))
    throw beyond('priority', 'priority', `be from ${lowest} to ${highest}`, String(priority))
  if ((timeout ?? 0) > limits.timeoutMs)
    throw beyond('timeout', 'timeout', `be at most ${limits.timeoutMs} ms`, `${timeout} ms`)
  if (retries === 'unlimited' || (retries ?? 0) > limits.retries)
    throw beyond('retries', 'retries', `be at most ${limits.retries}`, String(retries))
  const bytes = Buffer.byteLength(args)
  if (bytes > limits.argsBytes)
    throw beyond('args', 'argsBytes', `have at most ${limits.argsBytes} bytes of JSON`, `${bytes} bytes`)
}

/** @param open  the owner's open jobs, counted up to the limit @throws LimitError when `more` jobs would exceed it */
export function checkOpenJobs({ openJobs }: CheckedLimits, open: number, more: number): void {
  if (open + more > openJobs)
    throw new LimitError(
      'openJobs',
      `at most ${openJobs} open jobs are allowed, and ${open} are open already; wait until some finish, or cancel them`,
    )
}

/** Bounds on the number of elapses to check: enough for two days if the timer elapses no more often than allowed. */
const MAX_ELAPSES = 20_000
const LEAST_ELAPSES = 400
const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000

/**
 * A calendar event has the same times on each of its days, so two days of elapses show the shortest interval.
 *
 * @throws InvalidInputError naming the timer and the limit
 */
export function checkPeriod(limits: CheckedLimits | null, text: string, now: Date): void {
  if (limits === null) return
  const { shortestPeriodMs } = limits
  const tooShort = (periodMs: number) =>
    beyond(
      'timer',
      'shortestPeriod',
      `have at least ${shortestPeriodMs} ms between two runs`,
      `${periodMs} ms`,
    )
  const event = timer(text)
  if (event.spanMs !== null) {
    if (event.spanMs < shortestPeriodMs) throw tooShort(event.spanMs)
    return
  }
  let left = Math.min(MAX_ELAPSES, Math.max(LEAST_ELAPSES, Math.ceil((2 * DAY_MS) / shortestPeriodMs)))
  // The day on which the clocks go forward has only 23 hours.
  const leastMs = shortestPeriodMs - (shortestPeriodMs >= DAY_MS / 2 ? HOUR_MS : 0)
  for (let at = event.next(now); at !== null && left > 0; left -= 1) {
    const next = event.next(at)
    if (next !== null && next.getTime() - at.getTime() < leastMs)
      throw tooShort(next.getTime() - at.getTime())
    at = next
  }
}

function beyond(field: string, limit: keyof OwnerLimits, allowed: string, given: string): InvalidInputError {
  return new InvalidInputError(field, `must ${allowed} (limits.${limit}), got ${given}`)
}
