/**
 * Which slots of a schedule became due since it was last planned. Pure. It searches backwards for the newest slots, so
 * that the first plan after a long absence costs no more than any other.
 */
import type { Elapses } from '../timer/index.ts'

/** The slots of a schedule that became due, and what to do with them. */
export interface DueSlots {
  /** Missed slots that are made up, oldest first. */
  readonly madeUp: readonly Date[]
  /** The slot that is on time. */
  readonly current: Date | null
  /** Missed slots that are not made up. */
  readonly dropped: number
  readonly newestDropped: Date | null
}

/** All slots from `first` to now. A slot is missed if a later one is due as well, or if it is too late. */
export function dueSlots(
  event: Elapses,
  first: Date,
  now: Date,
  catchUp: number,
  missedAfterMs: number,
): DueSlots & { last: Date } {
  const latest = lastElapse(event, now)
  const last = latest !== null && latest > first ? latest : (chain(event, first, now).at(-1) ?? first)
  const lastIsMissed = now.getTime() - last.getTime() > missedAfterMs
  const kept = lastIsMissed ? catchUp : catchUp + 1
  const newest = newestSlots(event, first, last, kept + 1)
  const newestDropped = newest.length > kept ? (newest.shift() ?? null) : null
  const current = lastIsMissed ? null : (newest.pop() ?? null)
  return {
    madeUp: newest,
    current,
    newestDropped,
    dropped: newestDropped === null ? 0 : chain(event, first, newestDropped).length,
    last,
  }
}

/** The newest slots from `first` to `last`, oldest first, found backwards, so that a long absence costs nothing. */
function newestSlots(event: Elapses, first: Date, last: Date, limit: number): Date[] {
  const newestFirst: Date[] = []
  for (let slot: Date | null = last; slot !== null && slot > first && newestFirst.length < limit; ) {
    newestFirst.push(slot)
    slot = lastElapse(event, justBefore(slot))
  }
  if (newestFirst.length < limit) {
    // Mostly just `first`, which may have been set manually, or may lie in a repeated hour.
    const oldest = newestFirst.at(-1)
    newestFirst.push(...chain(event, first, oldest === undefined ? last : justBefore(oldest)).toReversed())
  }
  return newestFirst.slice(0, limit).toReversed()
}

/** Missed slots beyond this number are not counted. */
export const MOST_COUNTED = 10_000

/** The slots from `first` to `end`, both included, up to MOST_COUNTED. */
function chain(event: Elapses, first: Date, end: Date): Date[] {
  const slots: Date[] = []
  for (let slot: Date | null = first; slot !== null && slot <= end && slots.length < MOST_COUNTED; ) {
    slots.push(slot)
    slot = event.next(slot)
  }
  return slots
}

/**
 * The last elapse, at or before an instant, that repeated calls of next() reach. When the clock repeats an hour, a
 * timer's own previous() may return the instant itself, which would cause a second run.
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
