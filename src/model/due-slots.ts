/**
 * Finds the slots of a schedule that have become due since it was last planned. Pure. It searches backwards for the
 * newest slots, and counts at most MAX_COUNTED older ones, so a long downtime adds only a limited cost.
 */
import type { Elapses } from '../timer/index.ts'

export interface DueSlots {
  /** The newest slots, as many as `catchUp` allows, oldest first. */
  readonly kept: readonly Date[]
  /** The number of due slots before these. */
  readonly dropped: number
  readonly newestDropped: Date | null
  /** The oldest due slot. */
  readonly since: Date
  /** The newest due slot. */
  readonly last: Date
}

export function onlySlot(slot: Date): DueSlots {
  return { kept: [slot], dropped: 0, newestDropped: null, since: slot, last: slot }
}

/** @param catchUp  maximum number of slots to keep; 0 keeps one if it has been due for at most `missedAfterMs` */
export function dueSlots(
  event: Elapses,
  first: Date,
  now: Date,
  catchUp: number,
  missedAfterMs: number,
): DueSlots {
  const latest = lastElapse(event, now)
  const last = latest !== null && latest > first ? latest : (chain(event, first, now).at(-1) ?? first)
  const most = catchUp === 0 && now.getTime() - last.getTime() <= missedAfterMs ? 1 : catchUp
  const kept = newestSlots(event, first, last, most + 1)
  const newestDropped = kept.length > most ? (kept.shift() ?? null) : null
  const dropped = newestDropped === null ? 0 : chain(event, first, newestDropped).length
  return { kept, dropped, newestDropped, since: first, last }
}

/** The newest slots from `first` to `last`, oldest first. Searches backwards, so a long downtime adds no cost. */
function newestSlots(event: Elapses, first: Date, last: Date, limit: number): Date[] {
  const newestFirst: Date[] = []
  for (let slot: Date | null = last; slot !== null && slot > first && newestFirst.length < limit; ) {
    newestFirst.push(slot)
    slot = lastElapse(event, justBefore(slot))
  }
  if (newestFirst.length < limit) {
    // Usually, only `first` is left. It may have been set manually, or may lie in a repeated hour.
    const oldest = newestFirst.at(-1)
    newestFirst.push(...chain(event, first, oldest === undefined ? last : justBefore(oldest)).toReversed())
  }
  return newestFirst.slice(0, limit).toReversed()
}

/** Missed slots beyond this number are not counted. */
export const MAX_COUNTED = 10_000

/** The slots from `first` to `end`, both included, up to MAX_COUNTED. */
function chain(event: Elapses, first: Date, end: Date): Date[] {
  const slots: Date[] = []
  for (let slot: Date | null = first; slot !== null && slot <= end && slots.length < MAX_COUNTED; ) {
    slots.push(slot)
    slot = event.next(slot)
  }
  return slots
}

/**
 * The last elapse at or before an instant, among those that repeated calls to next() reach. When the clock repeats an
 * hour, a timer's own previous() may return the instant itself, which would cause a second run.
 */
export function lastElapse(event: Elapses, at: Date): Date | null {
  const latest = event.previous(at)
  if (latest === null || latest < at) return latest
  const before = event.previous(justBefore(latest))
  const following = before === null ? null : event.next(before)
  return before !== null && (following === null || following > latest) ? before : latest
}

export function justBefore(instant: Date): Date {
  return new Date(instant.getTime() - 1)
}
