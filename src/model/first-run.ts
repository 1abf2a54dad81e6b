import { elapsesOf } from './plan.ts'
import type { ScheduleSettings } from './schedule.ts'

/**
 * When a new schedule first runs: at the next time of its timer (`next`), now (`now`), or now if its timer has elapsed
 * in the current minute and otherwise at the next time (`if-due`).
 */
export type FirstRun = 'next' | 'now' | 'if-due'

/** Decides by the database's clock whether a new schedule with this stored id is due immediately. */
export type IsDue = (id: string, now: Date) => boolean

/** @returns null if the first run is always at the next time of the timer */
export function dueAtOnce(firstRun: FirstRun, settings: ScheduleSettings): IsDue | null {
  if (firstRun === 'next') return null
  return firstRun === 'now' ? () => true : (id, now) => hasElapsedInMinute(id, settings, now)
}

/** Only times up to now count; later times in this minute are normal next runs. */
function hasElapsedInMinute(id: string, settings: ScheduleSettings, now: Date): boolean {
  const minute = Math.floor(now.getTime() / 60_000) * 60_000
  const elapse = elapsesOf({ id, ...settings, createdAt: now }, now).next(new Date(minute - 1))
  return elapse !== null && elapse <= now
}
