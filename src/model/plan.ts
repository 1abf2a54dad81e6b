/** The planner: what happens to a schedule now, as a pure function of its row, the clock and its open jobs. */
import { type Elapses, elapsesWithin, timer } from '../timer/index.ts'
import { isAhead } from './clock-ahead.ts'
import { decide } from './decide.ts'
import { dueSlots, justBefore, lastElapse, onlySlot } from './due-slots.ts'
import { jitterShiftMs } from './jitter.ts'
import {
  type Circumstances,
  countOf,
  isUsedUp,
  laterOf,
  nowAfter,
  type OpenJobs,
  type Plan,
  type Plannable,
  type PlannedRun,
  type Readable,
  type TimedSchedule,
  unchanged,
  withNextRun,
} from './planning.ts'
import { endOfFreeze, partsOf, planThawed, wereFrozen } from './thaw.ts'

/**
 * This process cannot read the timer of a schedule, but another one has planned it, so it may have newer zone data or a
 * newer version of Kalends.
 */
export class UnreadableTimerError extends Error {
  override readonly name = 'UnreadableTimerError'
}

/**
 * @returns the changes to write; null if nothing may be written, because the schedule is neither edited nor due
 * @throws UnreadableTimerError
 */
export function plan(schedule: Plannable, circumstances: Circumstances): Plan | null {
  const edited = isEdited(schedule)
  if (!edited && !isDue(schedule, circumstances.now)) return null
  let readable: Readable
  try {
    readable = read(schedule, circumstances.now)
  } catch (error) {
    const lastError = error instanceof Error ? error.message : String(error)
    if (schedule.definition === schedule.plannedDefinition && schedule.idle !== 'invalid')
      throw new UnreadableTimerError(lastError, { cause: error })
    return { ...unchanged(schedule), nextRunAt: null, idle: 'invalid', lastError }
  }
  return edited ? planEdited(readable, circumstances) : planDue(readable, circumstances)
}

/**
 * Plans a schedule within the write that edits it.
 *
 * @returns null when there is nothing to write, or when the schedule was manually made due: a scheduler then
 *   submits it. Also null if only other processes can read the timer
 */
export function planEdit(schedule: Plannable, now: Date, open: OpenJobs): Plan | null {
  const { enabled, nextRunAt } = schedule
  const isDueByHand = enabled && isSetByHand(schedule) && nextRunAt !== null && nextRunAt <= now
  if (!isEdited(schedule) || isDueByHand) return null
  try {
    return plan(schedule, { now, open, missedAfterMs: 0 })
  } catch (error) {
    if (error instanceof UnreadableTimerError) return null
    throw error
  }
}

/** Why this process cannot read the text of a timer, or null if it can. */
export function unreadableReason(text: string): string | null {
  try {
    timer(text)
    return null
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** @param now  by the database's clock, or an earlier instant to search from @throws the errors of `timer` */
export function elapsesOf(schedule: TimedSchedule, now: Date): Elapses {
  const { id, jitter, starts, ends } = schedule
  const parsed = timer(schedule.timer)
  return elapsesWithin(parsed, {
    anchor: anchorOf(schedule, parsed.spanMs, now),
    shiftMs: jitterShiftMs(id, jitter),
    starts,
    ends,
  })
}

/** If the clock was ahead when the schedule was created, slots before `createdAt` count too, until all are decided. */
function anchorOf(
  { createdAt: created, nextRunAt = null }: TimedSchedule,
  spanMs: number | null,
  now: Date,
): Date {
  const precedesCreation = isAhead(created, now) || (nextRunAt !== null && nextRunAt <= created)
  if (spanMs === null || !precedesCreation) return created
  return new Date((created.getTime() % spanMs) - spanMs)
}

/** Skips slots that can never be submitted, so that they do not affect other schedules. */
export function planUnsubmittable(planned: Plan, error: string): Plan {
  const newest = planned.runs.at(-1)
  if (newest === undefined) return { ...planned, lastError: error }
  return {
    ...withRuns(planned, []),
    skips: [
      ...planned.skips,
      { slot: newest.slot, reason: 'unsubmittable', count: planned.runs.length, error },
    ],
    lastError: error,
  }
}

export function withRuns(planned: Plan, runs: readonly PlannedRun[]): Plan {
  if (runs.length > 0) return { ...planned, runs }
  // No run was created, so no finish will arrive: plan again.
  const waitsForNothing = planned.idle === 'awaiting-finish' && planned.runs.length > 0
  return {
    ...planned,
    runs,
    replaces: false,
    yields: false,
    ...(waitsForNothing && { idle: null, nextRunAt: null }),
  }
}

function read(schedule: Plannable, now: Date): Readable {
  // A manual nextRunAt may precede createdAt, although no slots do.
  const isPlanned = !isSetByHand(schedule) && !schedule.isByHand
  const event = elapsesOf(isPlanned ? schedule : { ...schedule, nextRunAt: null }, now)
  const afterFinish = timer(schedule.timer).kind === 'after-finish'
  const isPlannedAgain = schedule.nextRunAt === null || isSetByHand(schedule)
  // An edit clears the error of an invalid timer; errors of runs remain.
  const lastError = schedule.idle === 'invalid' ? null : schedule.lastError
  return {
    schedule: {
      ...schedule,
      lastError,
      lastSlot: isPlannedAgain ? decidedUntil(schedule.lastSlot, event, now) : schedule.lastSlot,
    },
    event,
    slots: afterFinish ? NO_ELAPSES : event,
    afterFinish,
  }
}

const NO_ELAPSES: Elapses = { next: () => null, previous: () => null }

/** Whether the definition or nextRunAt has changed since the last planning. */
export function isEdited(schedule: Plannable): boolean {
  return schedule.definition !== schedule.plannedDefinition || isSetByHand(schedule)
}

export function isSetByHand({ nextRunAt, plannedRun }: Plannable): boolean {
  return nextRunAt?.getTime() !== plannedRun?.getTime()
}

/** A slot that was decided while the clock was ahead no longer counts after the schedule is planned again manually. */
function decidedUntil(lastSlot: Date | null, event: Elapses, now: Date): Date | null {
  return lastSlot === null || !isAhead(lastSlot, now) ? lastSlot : (lastElapse(event, now) ?? now)
}

function isDue(schedule: Plannable, now: Date): boolean {
  if (!schedule.enabled || schedule.idle !== null) return false
  return schedule.nextRunAt === null || schedule.nextRunAt <= now
}

/** Plans an edited schedule from now. The edit causes no run, unless it sets nextRunAt to a time that has passed. */
function planEdited(readable: Readable, circumstances: Circumstances): Plan {
  const { schedule, event } = readable
  const { now } = circumstances
  const frozenUntil = endOfFreeze(circumstances)
  if (!schedule.enabled) return { ...unchanged(schedule), nextRunAt: null, idle: null }
  if (!isSetByHand(schedule) || schedule.nextRunAt === null) return planFromNow(readable, circumstances)
  if (schedule.nextRunAt > now) return { ...withNextRun(schedule, schedule.nextRunAt), isByHand: true }
  const slot = nowAfter(now, schedule.lastSlot)
  if (frozenUntil !== null)
    return { ...unchanged(schedule), nextRunAt: slot, isByHand: true, idle: null, frozenUntil }
  return decide(readable, event.next(slot), onlySlot(slot), circumstances)
}

function planFromNow({ schedule, event, afterFinish }: Readable, { now, open }: Circumstances): Plan {
  if (isUsedUp(schedule, open)) return withNextRun(schedule, null)
  if (afterFinish && countOf(open) > 0)
    return { ...unchanged(schedule), nextRunAt: null, idle: 'awaiting-finish' }
  return withNextRun(schedule, event.next(laterOf(now, schedule.lastSlot)) ?? passedUnseen(schedule, event))
}

/** A one-off whose time passed before a worker planned it, or that was already due, runs late. */
function passedUnseen(
  { plannedDefinition, nextRunAt, lastSlot, createdAt: created }: Plannable,
  event: Elapses,
): Date | null {
  const only = lastSlot === null ? event.next(created) : null
  if (only === null || event.next(only) !== null) return null
  return plannedDefinition === null || nextRunAt?.getTime() === only.getTime() ? only : null
}

function planDue(readable: Readable, circumstances: Circumstances): Plan {
  const { schedule, event } = readable
  const { now } = circumstances
  const { lastSlot, isByHand } = schedule
  const frozenUntil = endOfFreeze(circumstances)
  if (schedule.nextRunAt === null) return planFromNow(readable, circumstances)
  if (frozenUntil !== null) return { ...unchanged(schedule), isByHand, frozenUntil }
  // A manual run may have moved lastSlot past this slot. A manual run submitted while the clock was ahead does not
  // count, because it would hold back all slots before its own.
  const decided = lastSlot !== null && schedule.nextRunAt <= lastSlot && !isAhead(lastSlot, now)
  const isOver = decided && !isByHand && wereFrozen(readable, lastSlot, circumstances)
  const given = decided ? nowAfter(now, lastSlot) : slotOf(readable, schedule.nextRunAt)
  const first = isOver ? event.next(lastSlot) : given
  if (first === null || ((isOver || !decided) && first > now)) return withNextRun(schedule, first)
  const parts = partsOf(first, schedule.frozenUntil, circumstances)
  return parts.some(({ isFrozen }) => isFrozen)
    ? planThawed(readable, first, parts, circumstances)
    : planSlots(readable, first, circumstances)
}

function planSlots(readable: Readable, first: Date, circumstances: Circumstances): Plan {
  const { schedule, event, slots } = readable
  const { now, missedAfterMs } = circumstances
  const due = dueSlots(slots, first, now, schedule.catchUp, missedAfterMs)
  const afterLast = event.next(due.last)
  // A repeated hour can contain more slots than the counting limit: continue from now.
  const nextRunAt = afterLast !== null && afterLast <= now ? event.next(now) : afterLast
  return decide(readable, nextRunAt, due, circumstances)
}

/**
 * The slot that is due at nextRunAt. If the zone data has changed since the slot was planned, for example with another
 * version of Node.js, nextRunAt may no longer be an elapse. It then represents the nearest undecided elapse; otherwise,
 * a run would start an hour early and again on time, or not at all.
 *
 * @returns null when there is none
 */
function slotOf({ schedule, event, afterFinish }: Readable, nextRunAt: Date): Date | null {
  const isElapse = event.next(justBefore(nextRunAt))?.getTime() === nextRunAt.getTime()
  if (isElapse || afterFinish || schedule.isByHand) return nextRunAt
  const earlier = lastElapse(event, nextRunAt)
  const later = event.next(nextRunAt)
  if (earlier === null || (schedule.lastSlot !== null && earlier <= schedule.lastSlot)) return later
  const isLaterNearer =
    later !== null && later.getTime() - nextRunAt.getTime() <= nextRunAt.getTime() - earlier.getTime()
  return isLaterNearer ? later : earlier
}
