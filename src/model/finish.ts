/**
 * Decides how finished runs change their schedule. It is pure: the result is written in the transaction that ends the
 * jobs.
 */
import { elapsesOf, isEdited } from './plan.ts'
import type { Plannable } from './planning.ts'
import type { StoredSchedule } from './schedule.ts'
import type { SettingValues } from './settings.ts'

export interface Finishing extends Plannable, Pick<SettingValues, 'onExhausted'> {}

/**
 * @param schedule  with its counters after these runs
 * @param failed  whether one of the runs failed permanently
 * @param open  how many of its jobs are not final after these runs
 * @param now  by the database's clock
 * @returns the changes to the schedule, or null if there is none
 */
export function finish(
  schedule: Finishing,
  failed: boolean,
  open: number,
  now: Date,
): Pick<StoredSchedule, 'nextRunAt' | 'idle'> | null {
  const { idle } = schedule
  // An edited schedule is planned from now in any case. A schedule that is paused, or idle for another reason, stays
  // so.
  if (isEdited(schedule) || !schedule.enabled) return null
  if (idle === 'dead' || idle === 'invalid' || idle === 'retired') return null
  // This also applies after the last slot, because `dead` takes precedence over `done`.
  if (failed && schedule.onExhausted === 'stop') return { nextRunAt: null, idle: 'dead' }
  if (idle === 'done') return null
  if (schedule.maxRuns !== null && schedule.successes >= schedule.maxRuns)
    return { nextRunAt: null, idle: 'done' }
  if (idle !== 'awaiting-finish' || open > 0) return null
  const nextRunAt = elapsesOf(schedule, now).next(now)
  return { nextRunAt, idle: nextRunAt === null ? 'done' : null }
}
