/** Checks of what is written about a schedule, against its row and the limits of its owner. */
import { LimitError, VersionError } from '../errors.ts'
import { type CheckedLimits, checkWithin, requireTask } from '../model/authority.ts'
import { type Schedule, settingsHash } from '../model/schedule.ts'
import { storedArgs } from '../model/task.ts'
import type { Check, ScheduleStore } from '../store/schedule-store.ts'
import type { IfVersion, SchedulesContext } from './context.ts'

/** See `Schedules.versionOf`. */
export function versionOf(schedule: Schedule, { redaction }: SchedulesContext): string {
  return settingsHash({ ...schedule, args: redaction.redacted('args', schedule.args) })
}

/** For a row under lock: whether this caller may write it, and whether it is the one that the caller has seen. */
export function checkOf(
  id: string,
  ifVersion: IfVersion['ifVersion'],
  context: SchedulesContext,
): Check<Schedule> {
  return (current) => {
    requireTask(context.authority, current.task)
    if (ifVersion === undefined) return
    const isSame =
      typeof ifVersion === 'string'
        ? ifVersion === versionOf(current, context)
        : settingsHash(ifVersion) === settingsHash(current)
    if (!isSame) throw new VersionError(id)
  }
}

/** @throws LimitError when this owner may have no more schedules */
export async function checkCount(
  limits: CheckedLimits | null,
  store: Pick<ScheduleStore, 'count'>,
): Promise<void> {
  if (limits === null || (await store.count(limits.schedules)) < limits.schedules) return
  throw new LimitError(
    'schedules',
    `${limits.schedules} schedules are allowed, and there are as many; delete one first`,
  )
}

/** @returns null: the run gets the schedule's own args */
export async function argsOfOneRun(
  task: string | undefined,
  args: unknown,
  { authority, taskNamed, argsLimit }: SchedulesContext,
): Promise<string | null> {
  if (args === undefined || task === undefined) return null
  const stored = await storedArgs(taskNamed(task) ?? { name: task, schema: null }, args, argsLimit)
  checkWithin(authority.limits, { args: stored })
  return stored
}
