/** From what people and code write about a schedule to what is stored. */
import { InvalidInputError } from '../errors.ts'
import { type Authority, checkWithin, requireTask } from '../model/authority.ts'
import { checkedInstant, checkedText, checkedWhole, LARGEST_PRIORITY } from '../model/input.ts'
import { requireOwnFields } from '../model/owner.ts'
import { DEFAULT_SETTINGS, type OnExhausted, type Overlap, type ScheduleSettings } from '../model/schedule.ts'
import {
  type ArgsOption,
  checkedTaskName,
  type PolicyOptions,
  runPolicy,
  spanOption,
  storedArgs,
  type Task,
} from '../model/task.ts'
import type { FirstRun } from '../store/schedule-store.ts'
import { timer, withZone } from '../timer/index.ts'

/** The policy of a schedule's runs; null, or left out of a new one: as the task says. */
export type SchedulePolicy = { readonly [Option in keyof PolicyOptions]: PolicyOptions[Option] | null }

/** When a schedule runs, and how. Times are milliseconds or time spans such as `10min`; instants are of UTC. */
export interface ScheduleOptions extends SchedulePolicy {
  /**
   * A calendar event of systemd.time(7), such as `Mon..Fri 09:00` or `*:0/5 Europe/Berlin`; or `cron 0 9 * * 1-5`,
   * `every 5min`, `every 5min after finish`. A full date is a one-off.
   */
  readonly timer: string
  /** Default true. On a schedule that exists already, only `update`, `pause` and `resume` change it. */
  readonly enabled?: boolean | undefined
  /** Groups take turns in the queue; default none. */
  readonly group?: string | undefined
  /** What the schedule is about, such as the id of a row of the application. */
  readonly subject?: string | null | undefined
  /** Whose schedule it is. */
  readonly submitter?: string | null | undefined
  /** What it is for, in words. */
  readonly summary?: string | null | undefined
  /** Larger goes first; default 0. */
  readonly priority?: number | undefined
  /** No slot before it. */
  readonly starts?: Date | null | undefined
  /** No slot after it. */
  readonly ends?: Date | null | undefined
  /** Every elapse is shifted by a stable part of this time: milliseconds or a time span; default 0. */
  readonly jitter?: number | string | undefined
  /** Most missed slots that are made up, newest kept; default 1. */
  readonly catchUp?: number | undefined
  /** What happens to a slot while a job of the schedule is not final; default `skip`. */
  readonly overlap?: Overlap | undefined
  /** Whether it goes on when a run has failed for good; default `continue`. */
  readonly onExhausted?: OnExhausted | undefined
  /** Successful runs after which it is done; default: never. */
  readonly maxRuns?: number | null | undefined
}

/** What counts only when a schedule is made. */
export interface NewScheduleOptions {
  /** When it runs first; default `next`. A one-off in the past is refused unless it is to run `now`. */
  readonly firstRun?: FirstRun | undefined
}

/** A schedule as it is written down: the args are typed by the task. */
export type ScheduleInput<Input> = ScheduleOptions &
  NewScheduleOptions & {
    readonly task: Task<Input, unknown>
  } & ArgsOption<Input>

/** The same where the types say nothing about the args, such as a task that is known by its name only. */
export type AnyScheduleInput = ScheduleOptions &
  NewScheduleOptions & { readonly task: Task | string; readonly args?: unknown }

/** What is to be changed; what is left out stays. */
export type ScheduleChanges = Partial<Omit<ScheduleOptions, 'timer'>> & {
  readonly timer?: string | undefined
  readonly args?: unknown
}

const MOST_CATCH_UP = 1000
const JITTER = { least: 0, most: 2 ** 31 - 1 }
const OVERLAPS: readonly Overlap[] = ['skip', 'queue_one', 'replace', 'allow']
const ON_EXHAUSTED: readonly OnExhausted[] = ['continue', 'stop']
const FIRST_RUNS: readonly FirstRun[] = ['next', 'now', 'if-due']

/** What settings are checked against. */
export interface SettingsContext {
  /** Written into timers that name no zone; null: they are UTC. */
  readonly zone: string | null
  /** The task of a name, where this process knows it. */
  readonly taskNamed: (name: string) => Task | null
  /** What the caller may do; its owner is written over what comes in. */
  readonly authority: Authority
  /** Most bytes of args. */
  readonly argsLimit: number
}

/**
 * All settings of a schedule.
 *
 * @throws InvalidInputError naming the field
 * @throws CalendarSyntaxError when the timer cannot be read
 */
export async function newSettings(
  input: AnyScheduleInput,
  context: SettingsContext,
): Promise<ScheduleSettings> {
  const name = typeof input.task === 'string' ? input.task : input.task.name
  const task = typeof input.task === 'string' ? taskNamed(input.task, context) : input.task
  requireTask(context.authority, name)
  requireOwnFields(context.authority.owner, input)
  const settings = {
    ...DEFAULT_SETTINGS,
    ...changedColumns(input, context),
    ...ownedSettings(context),
    task: checkedTaskName(name),
    timer: checkedTimer(input.timer, context),
    args: await storedArgs(task, input.args, context.argsLimit),
  }
  checkWithin(context.authority.limits, settings)
  return settings
}

/** Everything that is wrong with what `newSettings` would take, one error per option. */
export async function settingsFaults(input: AnyScheduleInput, context: SettingsContext): Promise<Error[]> {
  const { task, args, firstRun, ...options } = input
  const name = typeof task === 'string' ? task : task.name
  const parts = Object.entries(options).map(
    ([option, value]) =>
      async () =>
        changedColumns({ [option]: value }, context),
  )
  if (options.timer === undefined) parts.push(async () => ({ timer: checkedTimer(options.timer, context) }))
  parts.push(async () => {
    checkedFirstRun(firstRun)
    return {}
  })
  parts.push(async () => ({
    args: await storedArgs(
      typeof task === 'string' ? taskNamed(name, context) : task,
      args,
      context.argsLimit,
    ),
  }))
  const outcomes = await Promise.allSettled(parts.map((part) => part()))
  return outcomes.flatMap((outcome) => {
    if (outcome.status === 'fulfilled') return []
    return [outcome.reason instanceof Error ? outcome.reason : new Error(String(outcome.reason))]
  })
}

/** The settings that are to be changed of a schedule of this task. Throws as newSettings does. */
export async function settingsChanges(
  taskName: string,
  changes: ScheduleChanges,
  context: SettingsContext,
): Promise<Partial<ScheduleSettings>> {
  requireTask(context.authority, taskName)
  requireOwnFields(context.authority.owner, changes)
  const settings = {
    ...changedColumns(changes, context),
    ...ownedSettings(context),
    ...(changes.args !== undefined && {
      args: await storedArgs(taskNamed(taskName, context), changes.args, context.argsLimit),
    }),
  }
  checkWithin(context.authority.limits, settings)
  return settings
}

function taskNamed(name: string, context: SettingsContext): Pick<Task, 'name' | 'schema'> {
  return context.taskNamed(name) ?? { name, schema: null }
}

function changedColumns(
  options: Omit<ScheduleChanges, 'args'>,
  context: SettingsContext,
): Partial<ScheduleSettings> {
  const { timeout, retries, retryDelay, retryBackoff } = options
  const policy = runPolicy({
    timeout: timeout ?? undefined,
    retries: retries ?? undefined,
    retryDelay: retryDelay ?? undefined,
    retryBackoff: retryBackoff ?? undefined,
  })
  return defined({
    timer: options.timer === undefined ? undefined : checkedTimer(options.timer, context),
    enabled: checkedFlag('enabled', options.enabled),
    group: checkedText('group', options.group),
    subject: checkedText('subject', options.subject),
    submitter: checkedText('submitter', options.submitter),
    summary: checkedText('summary', options.summary),
    priority: checkedWhole('priority', options.priority, -LARGEST_PRIORITY, LARGEST_PRIORITY),
    starts: checkedInstant('starts', options.starts),
    ends: checkedInstant('ends', options.ends),
    jitterMs: options.jitter === undefined ? undefined : spanOption('jitter', options.jitter, 0, JITTER),
    catchUp: checkedWhole('catchUp', options.catchUp, 0, MOST_CATCH_UP),
    overlap: oneOf('overlap', options.overlap, OVERLAPS),
    onExhausted: oneOf('onExhausted', options.onExhausted, ON_EXHAUSTED),
    maxRuns:
      options.maxRuns === null ? null : checkedWhole('maxRuns', options.maxRuns, 1, Number.MAX_SAFE_INTEGER),
    timeoutMs: timeout === null ? null : policy.timeoutMs,
    maxRetries: retries === null ? null : policy.maxRetries,
    retryDelayMs: retryDelay === null ? null : policy.retryDelayMs,
    retryBackoff: retryBackoff === null ? null : policy.retryBackoff,
  })
}

/** @throws InvalidInputError */
export function checkedFirstRun(value: FirstRun | undefined): FirstRun {
  return oneOf('firstRun', value, FIRST_RUNS) ?? 'next'
}

function oneOf<Value extends string>(
  field: string,
  value: Value | undefined,
  values: readonly Value[],
): Value | undefined {
  if (value === undefined || values.includes(value)) return value
  throw new InvalidInputError(
    field,
    `one of ${values.map((one) => `'${one}'`).join(', ')} is needed, not ${JSON.stringify(value)}`,
  )
}

function ownedSettings({ authority }: SettingsContext): Partial<ScheduleSettings> {
  const { group, submitter } = authority.owner
  return { ...(group !== null && { group }), ...(submitter !== null && { submitter }) }
}

function checkedTimer(value: string, { zone }: SettingsContext): string {
  if (typeof value !== 'string')
    throw new InvalidInputError('timer', `a calendar event is needed, not ${JSON.stringify(value)}`)
  const zoned = zone === null ? value : withZone(value, zone)
  timer(zoned)
  if (zoned.length > 512)
    throw new InvalidInputError('timer', `at most 512 characters can be stored, not ${zoned.length}`)
  return zoned
}

function checkedFlag(field: string, value: boolean | undefined): boolean | undefined {
  if (value !== undefined && typeof value !== 'boolean')
    throw new InvalidInputError(field, `true or false is needed, not ${JSON.stringify(value)}`)
  return value
}

type Defined<Values> = { [Key in keyof Values]?: Exclude<Values[Key], undefined> }

/** Without the entries that are undefined. */
function defined<Values extends object>(values: Values): Defined<Values> {
  const entries = Object.entries(values).filter(([, value]) => value !== undefined)
  // What was left out is what the type leaves out.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return Object.fromEntries(entries) as Defined<Values>
}
