import { InvalidInputError, LimitError, VersionError } from '../errors.ts'
import { checkKeys } from '../keys.ts'
import { type CheckedLimits, checkWithin, requireTask } from '../model/authority.ts'
import { type CallContext, type TaskContext, taskOf } from '../model/caller.ts'
import { checkedId, shownInput } from '../model/input.ts'
import { type Schedule, settingsHash } from '../model/schedule.ts'
import type { Job } from '../model/job.ts'
import { storedArgs } from '../model/task.ts'
import type { Listed } from '../store/list-store.ts'
import type { TransactionOption } from '../store/job-store.ts'
import type { Check, ScheduleStore } from '../store/schedule-store.ts'
import type { Store } from '../store/store.ts'
import type { LiveWorker } from '../store/worker-store.ts'
import type { SettingsContext } from './settings.ts'

export type ScheduleStores = Pick<Store, 'schedules' | 'jobs' | 'lists' | 'freezes'>

/** The part of a history to return. */
export interface HistoryQuery {
  /** 1 to 1000, default 100. */
  readonly limit?: number | undefined
  /** Returns only slots before this time. For the next page, pass the last slot of this page. */
  readonly before?: Date | undefined
}

/** Makes a change only if the schedule still has the given version. */
export interface IfVersion {
  /** A version from `versionOf`, or the schedule as it was read, or null if it did not exist; default: any version. */
  readonly ifVersion?: string | Schedule | null | undefined
}

/** Options for changes to a schedule. */
export interface WriteOptions extends IfVersion, TransactionOption {}

/** Options for `pause`. */
export interface PauseOptions extends WriteOptions {
  /**
   * What happens to the jobs of the schedule. The default, `leave`, lets waiting and blocked jobs run and running jobs
   * retry. `cancel` cancels waiting and blocked jobs; a running job continues, but is cancelled instead of run again.
   */
  readonly jobs?: 'leave' | 'cancel' | undefined
  /** A note for people, up to 1000 characters. */
  readonly reason?: string | undefined
}

export interface SchedulesContext extends SettingsContext, CallContext {
  /** Why each of these jobs has not ended. */
  readonly openJobTexts: (jobs: readonly Listed<Job>[], shown: (at: Date) => string) => Promise<string[]>
  /** The stored id of a schedule that the caller knows by this id. */
  readonly storedScheduleId: (shown: string) => Promise<string>
  readonly liveWorkers: () => Promise<readonly LiveWorker[]>
  /** Warns about each task that no worker is known to handle. Does not fail. */
  readonly checkHandled: (tasks: readonly string[]) => void
}

export type WritePlace = Pick<ScheduleStores, 'schedules'> & Pick<SchedulesContext, 'inTurn'>

export function versionOf(schedule: Schedule, { redaction }: SchedulesContext): string {
  if (schedule === null || !isSchedule(schedule))
    throw new InvalidInputError('schedule', `must be a schedule, got ${shownInput(schedule)}`)
  return settingsHash({ ...schedule, args: redaction.redacted('args', schedule.args) })
}

function isSchedule(value: Partial<Schedule> | null | undefined): boolean {
  return value === null || (typeof value === 'object' && typeof value.id === 'string' && 'args' in value)
}

/** Checks that the caller may write a locked row and, with `ifVersion`, that the row still has that version. */
export function checkOf(
  id: string,
  options: WriteOptions,
  context: SchedulesContext,
  known: readonly string[] = [],
): Check<Schedule> {
  checkedId('schedule', id)
  checkKeys(options, ['ifVersion', 'tx', ...known])
  const { ifVersion } = options
  if (
    typeof ifVersion === 'object'
      ? !isSchedule(ifVersion)
      : !['undefined', 'string'].includes(typeof ifVersion)
  )
    throw new InvalidInputError(
      'ifVersion',
      `must be a version, a schedule or null, got ${shownInput(ifVersion)}`,
    )
  return (current) => {
    requireTask(context.authority, current.task)
    if (ifVersion === undefined) return
    const isSame =
      typeof ifVersion === 'string'
        ? ifVersion === versionOf(current, context)
        : ifVersion !== null && settingsHash(ifVersion) === settingsHash(current)
    if (!isSame) throw new VersionError(id)
  }
}

/** @throws LimitError when this owner has reached its schedule limit */
export async function checkCount(
  limits: CheckedLimits | null,
  store: Pick<ScheduleStore, 'count'>,
): Promise<void> {
  if (limits === null || (await store.count(limits.schedules)) < limits.schedules) return
  throw new LimitError('schedules', `the limit of ${limits.schedules} schedules is reached; delete one first`)
}

/** @returns null when the run uses the schedule's own args */
export async function argsOfOneRun(
  task: string | undefined,
  args: unknown,
  context: TaskContext,
): Promise<string | null> {
  if (args === undefined || task === undefined) return null
  const stored = await storedArgs(taskOf(task, context), args, context.argsLimit)
  checkWithin(context.authority.limits, { args: stored })
  return stored
}
