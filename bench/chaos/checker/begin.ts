/** What a schedule was about to do when a segment begins: told by its row alone. */
import { msOf } from '../dates.ts'
import type { ScheduleRow } from './rows.ts'

export type Begin =
  /** Nothing comes until the next edit. */
  | { readonly kind: 'nothing' }
  /** Planned from the timer, at the time at which it is planned. */
  | { readonly kind: 'from now' }
  /** This slot is next, and then the timer goes on from it. */
  | { readonly kind: 'at'; readonly slot: number }
  /** Set by hand: this slot, or if it has passed when the row is planned, the time at which that is. */
  | { readonly kind: 'by hand'; readonly slot: number }
  /** Counted from the end of the run that goes on. */
  | { readonly kind: 'after run' }

export function beginOf(row: ScheduleRow): Begin {
  if (!row.enabled) return { kind: 'nothing' }
  const { nextRun, lastSlot } = row
  if (isEdited(row)) {
    const byHand = nextRun !== null && nextRun !== plannedRun(row)
    return byHand ? { kind: 'by hand', slot: nextRun } : { kind: 'from now' }
  }
  if (row.idle === 'awaiting finish') return { kind: 'after run' }
  if (row.idle !== null) return { kind: 'nothing' }
  if (nextRun === null) return { kind: 'from now' }
  // What was decided is not decided again: the slot is the time of planning.
  if (lastSlot !== null && nextRun <= lastSlot) return { kind: 'by hand', slot: Number.NEGATIVE_INFINITY }
  return { kind: 'at', slot: nextRun }
}

/** Whether its definition or nextrun are not what the last planning left behind. */
export function isEdited({ plannedFrom, definition, nextRun }: ScheduleRow): boolean {
  if (plannedFrom === null || definition === null) return true
  return (
    plannedFrom.slice(0, plannedFrom.lastIndexOf('|')) !== definition || plannedRunOf(plannedFrom) !== nextRun
  )
}

function plannedRun({ plannedFrom }: ScheduleRow): number | null {
  return plannedFrom === null ? null : plannedRunOf(plannedFrom)
}

function plannedRunOf(plannedFrom: string): number | null {
  return msOf(plannedFrom.slice(plannedFrom.lastIndexOf('|') + 1))
}
