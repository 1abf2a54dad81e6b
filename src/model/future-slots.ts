/** Finds schedules that are held up by slots that were decided or planned while the database's clock was ahead. */
import { timer } from '../timer/index.ts'
import { isAhead, latestNotAhead } from './clock-ahead.ts'
import { justBefore, lastElapse } from './due-slots.ts'
import { elapsesOf, isSetByHand } from './plan.ts'
import type { Plannable, TimedSchedule } from './planning.ts'

/**
 * The `nextrun` or `last_slot` that, by the database's clock, is further ahead than the timer can explain. Null if
 * there is none.
 *
 * @param schedule  with null as `nextRunAt` if that was set manually, because then any time is possible
 */
export function slotInFuture(
  schedule: TimedSchedule & Pick<Plannable, 'nextRunAt' | 'lastSlot'>,
  now: Date,
): Date | null {
  const { nextRunAt, lastSlot } = schedule
  if (nextRunAt !== null && isAhead(nextRunAt, now) && hasEarlierElapse(schedule, nextRunAt, now))
    return nextRunAt
  return lastSlot !== null && isAhead(lastSlot, now) ? lastSlot : null
}

/** Like `slotInFuture`, for a stored schedule, even for one that is done only because of such a slot. */
export function plannedInFuture(schedule: Plannable, now: Date): Date | null {
  const { nextRunAt, isByHand, idle, lastSlot } = schedule
  if (idle === 'done')
    return lastSlot !== null && isAhead(lastSlot, now) && hasMore(schedule, now) ? lastSlot : null
  const isPlanned = !isByHand && !isSetByHand(schedule)
  return slotInFuture({ ...schedule, nextRunAt: isPlanned ? nextRunAt : null }, now)
}

/** Whether a schedule that is done would run again if it were planned now. */
function hasMore(schedule: Plannable, now: Date): boolean {
  const { maxRuns, successes } = schedule
  if (maxRuns !== null && successes >= maxRuns) return false
  try {
    return elapsesOf(schedule, now).next(now) !== null
  } catch {
    return false
  }
}

function hasEarlierElapse(schedule: TimedSchedule, nextRunAt: Date, now: Date): boolean {
  try {
    const event = elapsesOf(schedule, now)
    if (timer(schedule.timer).kind === 'after-finish') {
      const latest = event.next(latestNotAhead(now))
      return latest !== null && latest < nextRunAt
    }
    const before = lastElapse(event, justBefore(nextRunAt))
    return before !== null && isAhead(before, now)
  } catch {
    return false
  }
}
