/** Checks writes to a schedule against its row and the limits of its owner. */
import { LimitError, VersionError } from '../errors.ts'
import { checkKeys } from '../keys.ts'
import { type CheckedLimits, checkWithin, requireTask } from '../model/authority.ts'
import { type TaskContext, taskOf } from '../model/caller.ts'
import { type Schedule, settingsHash } from '../model/schedule.ts'
import { storedArgs } from '../model/task.ts'
import type { Check, ScheduleStore } from '../store/schedule-store.ts'
import type { SchedulesContext, WriteOptions } from './context.ts'

/** See `Schedules.versionOf`. */
export function versionOf(schedule: Schedule, { redaction }: SchedulesContext): string {
  return settingsHash({ ...schedule, args: redaction.redacted('args', schedule.args) })
}

/**
 * Checks that the caller may write a locked row, and that the row is the version that the caller read.
 *
 * @param known  further options of the call
 */
export function checkOf(
  id: string,
  options: WriteOptions,
  context: SchedulesContext,
  known: readonly string[] = [],
): Check<Schedule> {
  checkKeys(options, ['ifVersion', 'tx', ...known])
  const { ifVersion } = options
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
