/** What a schedule is about to do at the start of a segment, derived only from its row. */
import type { ScheduleRow } from './rows.ts'

export type Begin =
  /** The schedule has no slots until the next edit. */
  | { readonly kind: 'nothing' }
  /** The next slot is computed from the timer, starting at the time of planning. */
  | { readonly kind: 'from now' }
  /** This slot is next, and the timer continues from it. */
  | { readonly kind: 'at'; readonly slot: number }
  /** A slot that was set manually, or the time of planning if the slot has passed by then. */
  | { readonly kind: 'by hand'; readonly slot: number }
  /** The next slot is counted from the end of the current run. */
  | { readonly kind: 'after run' }

export function beginOf(row: ScheduleRow): Begin {
  if (!row.enabled) return { kind: 'nothing' }
  const { nextRunAt, lastSlot } = row
  if (isEdited(row)) {
    const byHand = nextRunAt !== null && nextRunAt !== plannedRun(row)
    return byHand ? { kind: 'by hand', slot: nextRunAt } : { kind: 'from now' }
  }
  if (row.idle === 'awaiting-finish') return { kind: 'after run' }
  if (row.idle !== null) return { kind: 'nothing' }
  if (nextRunAt === null) return { kind: 'from now' }
  // This slot was already decided, so the next slot is the time of planning.
  if (lastSlot !== null && nextRunAt <= lastSlot) return { kind: 'by hand', slot: Number.NEGATIVE_INFINITY }
  return { kind: 'at', slot: nextRunAt }
}

/** Whether the row's definition or nextrun differs from the values that the last planning stored. */
export function isEdited(row: ScheduleRow): boolean {
  return row.plannedFrom !== row.definition || row.plannedRunAt !== row.nextRunAt
}

/** If nextrun is set manually, the planner ignores a last_slot that is further ahead than this. */
const AHEAD_MS = 60_000
/** The maximum error of the harness's estimate of the database's clock. */
const MARGIN_MS = 5000

/** Whether the planner may set last_slot back. @param clock  the earliest time that the database's clock showed */
export function mayLowerLastSlot(row: ScheduleRow, clock: number): boolean {
  const isGivenAgain = isEdited(row) && (row.nextRunAt === null || row.nextRunAt !== plannedRun(row))
  return isGivenAgain && (row.lastSlot ?? 0) > clock + AHEAD_MS - MARGIN_MS
}

export function plannedRun({ plannedFrom, plannedRunAt }: ScheduleRow): number | null {
  return plannedFrom === null ? null : plannedRunAt
}
