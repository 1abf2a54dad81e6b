/** The elapses of a schedule, computed only from the calendar. */
import { jitterShiftMs } from '../../../src/model/jitter.ts'
import { elapsesWithin, timer } from '../../../src/timer/index.ts'
import { plannedRun } from './begin.ts'
import type { ScheduleRow } from './rows.ts'

export interface Course {
  /** The first elapse strictly after an instant; null if there is none. */
  next(after: number): number | null
  /** The span of `every … after finish`; null for other timers. */
  readonly afterFinishMs: number | null
}

/** If the creation time was moved past the planned next run, slots are also counted backwards from the creation time. */
function anchorOf(row: ScheduleRow, spanMs: number | null): number {
  const { created, nextRunAt, isByHand } = row
  const isPlanned = nextRunAt === plannedRun(row) && !isByHand
  const isBefore = nextRunAt !== null && nextRunAt <= created && isPlanned
  return spanMs !== null && isBefore ? (created % spanMs) - spanMs : created
}

/** @returns null if the timer is invalid; the schedule must then have no slots */
export function courseOf(row: ScheduleRow): Course | null {
  try {
    const parsed = timer(row.timer)
    const within = elapsesWithin(parsed, {
      anchor: new Date(anchorOf(row, parsed.spanMs)),
      shiftMs: jitterShiftMs(row.id, row.jitter),
      starts: row.starts === null ? null : new Date(row.starts),
      ends: row.ends === null ? null : new Date(row.ends),
    })
    return {
      next: (after) => within.next(new Date(after))?.getTime() ?? null,
      afterFinishMs: parsed.kind === 'after-finish' ? parsed.spanMs : null,
    }
  } catch {
    return null
  }
}
