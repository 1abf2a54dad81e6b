import { InvalidInputError, messageOf } from '../errors.ts'
import { checkKeys } from '../keys.ts'
import { checkPeriod, checkWithin, requireTask } from '../model/authority.ts'
import { type TaskContext, taskOf } from '../model/caller.ts'
import { checkedSettings } from '../model/checked-settings.ts'
import { oneOf, shownInput } from '../model/input.ts'
import { ownedSettings, requireOwnFields } from '../model/owner.ts'
import { elapsesOf } from '../model/plan.ts'
import { DEFAULT_SETTINGS, type Schedule, type ScheduleSettings } from '../model/schedule.ts'
import { OPTION_NAMES, type SettingOptions, SETTINGS } from '../model/settings.ts'
import { type ArgsOption, checkedTaskName, storedArgs, type Task } from '../model/task.ts'
import { dueAtOnce, type FirstRun } from '../model/first-run.ts'
import type { NewSchedule, ScheduleStore } from '../store/schedule-store.ts'
import { checkedZone, timer, withZone } from '../timer/index.ts'

/** When and how a schedule runs. Times are milliseconds or time spans such as `10min`; instants are UTC. */
export interface ScheduleOptions extends SettingOptions {
  /** The zone of a timer that names none: an IANA name, or 'local'; default: as for `Kalends.open`, else UTC. */
  readonly zone?: string | undefined
}

/** Options that apply only to a new schedule. */
export interface NewScheduleOptions {
  /** The first run of the schedule; default `next`. A one-off in the past is rejected unless `firstRun` is `now`. */
  readonly firstRun?: FirstRun | undefined
}

/** Options for `schedules.create`. */
export interface CreateOptions {
  /** 1 to 254 characters without a slash; default: a new UUID. */
  readonly id?: string | undefined
  /**
   * What to do if a schedule already has this id: `error` (default) throws a ConflictError; `same` returns the schedule
   * if its settings are equal, for callers that repeat a call because they do not know whether it succeeded.
   */
  readonly ifExists?: 'error' | 'same' | undefined
}

/** A new schedule; the task determines the type of the args. */
export type ScheduleInput<Input> = ScheduleOptions &
  NewScheduleOptions & {
    readonly task: Task<Input, unknown>
  } & ArgsOption<Input>

/** The same as `ScheduleInput`, without types for the args, for example for a task that is known only by its name. */
export type AnyScheduleInput = ScheduleOptions &
  NewScheduleOptions & { readonly task: Task | string; readonly args?: unknown }

/** The settings to change; omitted settings stay unchanged. */
export type ScheduleChanges = Partial<Omit<ScheduleOptions, 'timer'>> & {
  readonly timer?: string | undefined
  /** Another task. If the args do not change, they must be valid for it. */
  readonly task?: Task | string | undefined
  readonly args?: unknown
}

const CHANGES = [...OPTION_NAMES, 'timer', 'zone', 'args', 'task']
export const DECLARATION: readonly string[] = [...CHANGES, 'firstRun', 'id']

const FIRST_RUNS: readonly FirstRun[] = ['next', 'now', 'if-due']

export interface SettingsContext extends TaskContext {
  /** Added to timers that name no zone; null means that these are in UTC. */
  readonly zone: string | null
}

/**
 * @param input  with known keys only
 * @param current  the timer of an existing schedule
 * @throws InvalidInputError naming the field
 * @throws CalendarSyntaxError, CronSyntaxError or InvalidTimeSpanError when the timer is invalid
 */
export async function newSettings(
  input: AnyScheduleInput,
  context: SettingsContext,
  current?: string,
): Promise<ScheduleSettings> {
  const task = taskOf(input.task, context)
  requireTask(context.authority, task.name)
  requireOwnFields(context.authority.owner, input)
  const settings = {
    ...DEFAULT_SETTINGS,
    ...checkedSettings(OPTION_NAMES, input),
    ...ownedSettings(context.authority.owner),
    task: checkedTaskName(task.name),
    timer: checkedTimer(input, context, current),
    args: await storedArgs(task, input.args, context.argsLimit),
  }
  checkWithin(context.authority.limits, settings)
  return settings
}

/**
 * @param timer  the current timer of the schedule, which may have elapsed for the last time
 * @throws InvalidInputError if a setting is invalid, or a new timer never elapses again and `firstRun` is not `now`
 */
export async function newSchedule(
  id: string,
  input: AnyScheduleInput,
  context: SettingsContext,
  store: Pick<ScheduleStore, 'now'>,
  timer: string | undefined,
): Promise<NewSchedule> {
  const settings = await newSettings(input, context, timer)
  const firstRun = checkedFirstRun(input.firstRun)
  const now = await store.now()
  checkPeriod(context.authority.limits, settings.timer, now)
  const mustElapse = firstRun !== 'now' && settings.timer !== timer
  if (mustElapse && elapsesOf({ id, ...settings, createdAt: now }, now).next(now) === null)
    throw new InvalidInputError(
      'timer',
      `'${settings.timer}' does not elapse again; with firstRun: 'now' it runs at once`,
    )
  return { id, settings, isDue: dueAtOnce(firstRun, settings) }
}

/** The messages of all errors that `newSettings` would find in a declaration, at most one per option. */
export async function settingsProblems(input: AnyScheduleInput, context: SettingsContext): Promise<string[]> {
  const { task, args, firstRun, timer: _, zone: __, ...options } = input
  const known = taskOf(task, context)
  const checks = [
    () => checkedTimer(input, context),
    ...Object.entries(options).map(([option, value]) => () => {
      checkKeys({ [option]: value }, DECLARATION)
      checkedSettings(OPTION_NAMES, { [option]: value })
    }),
    () => checkedFirstRun(firstRun),
    () => storedArgs(known, args, context.argsLimit),
  ]
  const outcomes = await Promise.allSettled(checks.map(async (check) => check()))
  return outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [messageOf(outcome.reason)] : []))
}

/** @throws InvalidInputError for an unknown setting */
export function checkChanges(changes: ScheduleChanges): void {
  checkKeys(changes, CHANGES, '', 'changes')
}

/**
 * @param current  the schedule as it was read. The write must fail if the task of the schedule has changed since then,
 *   or if the task is replaced without new args and the args of the schedule have changed
 * @throws as `newSettings` does
 */
export async function settingsChanges(
  current: Pick<Schedule, 'task' | 'args'>,
  changes: ScheduleChanges,
  context: SettingsContext,
): Promise<Partial<ScheduleSettings>> {
  const { task: other, args, timer: text, zone } = changes
  requireTask(context.authority, current.task)
  requireOwnFields(context.authority.owner, changes)
  const task = taskOf(other === undefined ? current.task : other, context)
  const isOther = task.name !== current.task
  if (isOther) requireTask(context.authority, task.name)
  if (text === undefined && zone !== undefined)
    throw new InvalidInputError('zone', 'it belongs to a timer; pass both in the same call')
  const checkedArgs =
    isOther || args !== undefined
      ? await storedArgs(task, args === undefined ? current.args : args, context.argsLimit)
      : null
  const settings = {
    ...checkedSettings(OPTION_NAMES, changes),
    ...(text !== undefined && { timer: checkedTimer({ timer: text, zone }, context) }),
    ...ownedSettings(context.authority.owner),
    ...(isOther && { task: checkedTaskName(task.name) }),
    ...(args !== undefined && checkedArgs !== null && { args: checkedArgs }),
  }
  checkWithin(context.authority.limits, settings)
  return settings
}

/** @throws InvalidInputError */
export function checkedFirstRun(value: FirstRun | undefined): FirstRun {
  return oneOf('firstRun', value, FIRST_RUNS) ?? 'next'
}

/** @param current  the timer of the schedule, including the zone that it was given; omitted for a new schedule */
function checkedTimer(
  { timer: value, zone: own }: Pick<ScheduleOptions, 'timer' | 'zone'>,
  context: SettingsContext,
  current?: string,
): string {
  if (typeof value !== 'string')
    throw new InvalidInputError('timer', `must be a calendar event, got ${shownInput(value)}`)
  const zone = own ?? (value === current ? null : context.zone)
  const zoned = zone === null ? value : withZone(value, zone)
  const parsed = timer(zoned)
  if (own !== undefined && parsed.zone !== checkedZone(own))
    throw new InvalidInputError(
      'zone',
      parsed.kind === 'calendar' || parsed.kind === 'cron'
        ? `the timer '${value}' has its own, ${parsed.zone}; leave one of them out`
        : `the timer '${value}' has none, because it counts elapsed time; leave the zone out`,
    )
  if (zoned.length > SETTINGS.timer.most)
    throw new InvalidInputError(
      'timer',
      `must be at most ${SETTINGS.timer.most} characters including its zone, got ${zoned.length}`,
    )
  return zoned
}
