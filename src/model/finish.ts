/**
 * What the ends of runs mean for their schedule. Pure; written in the transaction that ends the jobs.
 */
import { timer } from '../timer/index.ts'
import { elapsesOf, type Plannable } from './plan.ts'
import type { Schedule } from './schedule.ts'
import type { SettingValues } from './settings.ts'

export interface Finishing extends Plannable, Pick<SettingValues, 'onExhausted'> {}

/**
 * @param schedule  with the counters as they are after these ends
 * @param failed  whether one of the runs has failed permanently
 * @param open  jobs of it that are not final after these ends
 * @param now  by the database's clock
 * @returns what changes in the schedule; null: nothing
 */
export function finish(
  schedule: Finishing,
  failed: boolean,
  open: number,
  now: Date,
): Pick<Schedule, 'nextRun' | 'idle'> | null {
  const edited =
    schedule.definition !== schedule.plannedDefinition ||
    schedule.nextRun?.getTime() !== schedule.plannedRun?.getTime()
  const { idle } = schedule
  // An edit is planned from now, whatever was before; what is paused or idle for another reason stays so.
  if (edited || !schedule.enabled || idle === 'dead' || idle === 'invalid' || idle === 'retired') return null
  // Also after its last slot: that it has failed is more than that nothing is to come.
  if (failed && schedule.onExhausted === 'stop') return { nextRun: null, idle: 'dead' }
  if (idle === 'done') return null
  if (schedule.maxRuns !== null && schedule.successes >= schedule.maxRuns)
    return { nextRun: null, idle: 'done' }
  if (idle !== 'awaiting finish' || open > 0) return null
  const nextRun = elapsesOf(schedule).next(now)
  return { nextRun, idle: nextRun === null ? 'done' : null }
}

/** The delay before a first retry where neither the schedule nor its task says one: the span of an `every` timer. */
export function spanOfTimer(text: string): number | null {
  try {
    return timer(text).spanMs
  } catch {
    return null
  }
}
