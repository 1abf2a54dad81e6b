/** The elapses of a schedule, from the calendar alone. */
import { jitterShiftMs } from '../../../src/model/jitter.ts'
import { elapsesWithin, timer } from '../../../src/timer/index.ts'
import { isEdited } from './begin.ts'
import type { ScheduleRow } from './rows.ts'

export interface Course {
  /** The first elapse strictly later than an instant; null: nothing is to come. */
  next(after: number): number | null
  /** Of `every … after finish`: the span; else null. */
  readonly afterFinishMs: number | null
}

/** If the creation was moved behind the next run, the slots also extend back from there. */
function anchorOf(row: ScheduleRow, spanMs: number | null): number {
  const { created, nextRunAt } = row
  const isBefore = nextRunAt !== null && nextRunAt <= created && !isEdited(row)
  return spanMs !== null && isBefore ? (created % spanMs) - spanMs : created
}

/** @returns null when the timer cannot be read: then nothing may come of it */
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
