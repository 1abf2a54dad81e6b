/** Plans schedules that are, or were, held by freezes. Pure. */
import { decide } from './decide.ts'
import { type DueSlots, dueSlots, justBefore, onlySlot } from './due-slots.ts'
import { type Circumstances, laterOf, type Plan, type Readable, withNextRun } from './planning.ts'

/** Whether all slots before a manual run became due during freezes. If so, the run represents none of them. */
export function wereFrozen(
  { schedule: { nextRunAt, frozenUntil }, event, afterFinish }: Readable,
  lastSlot: Date,
  circumstances: Circumstances,
): boolean {
  // Like a manual run, a one-off is never skipped.
  if (nextRunAt === null || afterFinish || event.next(lastSlot) === null) return false
  const parts = partsOf(nextRunAt, frozenUntil, circumstances)
  let before = justBefore(nextRunAt)
  for (const { end, isFrozen } of parts) {
    const slot = event.next(before)
    if (slot === null || slot > lastSlot) break
    if (!isFrozen && slot <= end) return false
    before = laterOf(before, end)
  }
  return parts.some(({ isFrozen }) => isFrozen)
}

export function endOfFreeze({ now, freezes = [] }: Circumstances): Date | null {
  const ends = freezes.flatMap(({ from, until }) => (from <= now && until > now ? [until.getTime()] : []))
  return ends.length === 0 ? null : new Date(Math.max(...ends))
}

/** A part of the time since the first due slot. */
interface Part {
  /** The last millisecond. */
  readonly end: Date
  readonly isFrozen: boolean
}

/** @param heldUntil  the end of the freeze that held the schedule; if it was deleted, nothing else is known about it */
export function partsOf(first: Date, heldUntil: Date | null, { now, freezes = [] }: Circumstances): Part[] {
  const held = heldUntil === null ? [] : [{ from: first, until: heldUntil }]
  const known = freezes.some(({ from, until }) => heldUntil !== null && from <= heldUntil && until > first)
  const times = [...freezes, ...(known ? [] : held)].toSorted((a, b) => a.from.getTime() - b.from.getTime())
  const parts: Part[] = []
  let at = first
  for (const { from, until } of times) {
    if (until <= at || from > now) continue
    if (from > at) parts.push({ end: justBefore(from), isFrozen: false })
    at = until < now ? until : now
    parts.push({ end: until > now ? now : justBefore(until), isFrozen: true })
  }
  return [...parts, { end: now, isFrozen: false }]
}

/** Slots during a freeze are skipped, except one-offs and manual runs. Other slots are treated as after downtime. */
export function planThawed(
  readable: Readable,
  first: Date,
  parts: readonly Part[],
  circumstances: Circumstances,
): Plan {
  const { schedule, event, slots, afterFinish } = readable
  const { now, missedAfterMs } = circumstances
  const isOnly = event.next(first) === null && event.previous(justBefore(first)) === null
  if (schedule.isByHand || isOnly)
    return decide(readable, event.next(laterOf(now, first)), onlySlot(first), circumstances)
  const found: (DueSlots & { isFrozen: boolean })[] = []
  let slot: Date | null = first
  for (const { end, isFrozen } of parts) {
    if (slot === null || slot > end) continue
    const most = isFrozen ? 1 : schedule.catchUp
    const due = dueSlots(slots, slot, end, most, end < now ? -1 : missedAfterMs)
    found.push({ ...due, isFrozen })
    slot = slots.next(due.last)
  }
  const last = found.at(-1)?.last ?? first
  const kept = found.flatMap((due) => (due.isFrozen ? [] : due.kept)).slice(-Math.max(1, schedule.catchUp))
  const skips = found.flatMap((due) => {
    const left = due.isFrozen ? due.kept : due.kept.filter((at) => !kept.includes(at))
    const newest = left.at(-1) ?? due.newestDropped
    const reason = due.isFrozen ? 'frozen' : 'missed'
    return newest === null
      ? []
      : [{ slot: newest, reason, count: due.dropped + left.length, error: null } as const]
  })
  const dropped = skips.reduce((sum, { reason, count }) => sum + (reason === 'missed' ? count : 0), 0)
  const next = event.next(afterFinish ? laterOf(now, last) : last)
  const nextRunAt = next !== null && next <= now ? event.next(now) : next
  const planned =
    kept.length === 0
      ? withNextRun({ ...schedule, lastSlot: last }, nextRunAt)
      : decide(readable, nextRunAt, { kept, dropped, newestDropped: null, since: first, last }, circumstances)
  return { ...planned, skips: [...skips, ...planned.skips] }
}
