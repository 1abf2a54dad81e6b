/**
 * The planner: decides what happens to a schedule now. A pure function of the row, the clock and the schedule's open
 * jobs. It contains all policies and does not access the database.
 */
import { type Elapses, elapsesWithin, timer } from '../timer/index.ts'
import { isAhead } from './clock-ahead.ts'
import { type DueSlots, dueSlots, justBefore, lastElapse } from './due-slots.ts'
import { jitterShiftMs } from './jitter.ts'
import type { SkipReason, Idle } from './states.ts'
import type { Overlap, SettingValues } from './settings.ts'

/** The columns of a schedule that planning reads. */
export interface Plannable
  extends Pick<
    SettingValues,
    | 'task'
    | 'group'
    | 'enabled'
    | 'timer'
    | 'jitter'
    | 'starts'
    | 'ends'
    | 'overlap'
    | 'yields'
    | 'catchUp'
    | 'maxRuns'
  > {
  readonly id: string
  /** The start of the slots of an `every` timer. */
  readonly createdAt: Date
  /** How many runs succeeded. */
  readonly successes: number
  readonly nextRunAt: Date | null
  readonly idle: Idle | null
  readonly lastSlot: Date | null
  readonly lastError: string | null
  /** All settings that determine the next run, as one text. */
  readonly definition: string
  /** The definition at the last planning; null before the first. */
  readonly plannedDefinition: string | null
  /** The nextRunAt that the last planning set. */
  readonly plannedRun: Date | null
  /** Whether plannedRun was set manually and kept, instead of computed from the timer. */
  readonly isByHand: boolean
  /** Slots before this time became due during a freeze. */
  readonly frozenUntil: Date | null
}

/** The values that determine the elapses of a schedule. */
export interface TimedSchedule
  extends Pick<Plannable, 'id' | 'timer' | 'createdAt' | 'jitter' | 'starts' | 'ends'> {
  /** Omitted if the schedule has not been planned yet. */
  readonly nextRunAt?: Date | null | undefined
}

/** The number of a schedule's jobs that are not final. */
export interface OpenJobs {
  readonly waiting: number
  readonly blocked: number
  /** This includes jobs in an external queue. */
  readonly running: number
  /** How many of the waiting jobs wait for a retry. */
  readonly retrying: number
}

export const NO_OPEN_JOBS: OpenJobs = { waiting: 0, blocked: 0, running: 0, retrying: 0 }

/** A slot that becomes a job. */
export interface PlannedRun {
  readonly slot: Date
  /** The number of slots that were dropped before this one. */
  readonly missed: number
  /** blocked: the job waits until the previous run finishes. */
  readonly state: 'waiting' | 'blocked'
}

/** Slots that do not become runs, stored as one row. */
export interface PlannedSkip {
  /** The newest of these slots. */
  readonly slot: Date
  readonly reason: SkipReason
  /** The number of slots. */
  readonly count: number
  readonly error: string | null
  /** For missed slots: whether the oldest was no longer on time, which means that no scheduler was running. */
  readonly wasAway?: boolean
}

/** The result of planning a schedule. */
export interface Plan {
  readonly runs: readonly PlannedRun[]
  readonly skips: readonly PlannedSkip[]
  /** Whether waiting jobs are replaced by the new job and running jobs are asked to stop. */
  readonly replaces: boolean
  /** Whether jobs that wait for a retry fail because a new job takes their place. */
  readonly yields: boolean
  readonly nextRunAt: Date | null
  /** Whether nextRunAt was set manually. */
  readonly isByHand: boolean
  readonly idle: Idle | null
  /** Lower than before only if the clock was ahead and the schedule is planned again manually. */
  readonly lastSlot: Date | null
  readonly lastError: string | null
  /** Nothing is decided before this time, because a freeze is active. */
  readonly frozenUntil: Date | null
}

export interface Circumstances {
  /** By the database's clock. */
  readonly now: Date
  readonly open: OpenJobs
  /** A slot is on time as long as it has been due for at most this long: lease + poll interval, in milliseconds. */
  readonly missedAfterMs: number
  /** The periods, since the next run, of all freezes that apply to the schedule, including those that have ended. */
  readonly freezes?: readonly FrozenTime[]
}

/** `from` inclusive, `until` exclusive. */
export interface FrozenTime {
  readonly from: Date
  readonly until: Date
}

/** A schedule with a valid timer. */
interface Readable {
  readonly schedule: Plannable
  readonly event: Elapses
  /** Whether the next run counts from the end of the current one. */
  readonly afterFinish: boolean
}

/** @returns the changes to write; null when the schedule is not due, in which case nothing may be written */
export function plan(schedule: Plannable, circumstances: Circumstances): Plan | null {
  const edited = isEdited(schedule)
  if (!edited && !isDue(schedule, circumstances.now)) return null
  let readable: Readable
  try {
    readable = read(schedule, circumstances.now)
  } catch (error) {
    return {
      ...unchanged(schedule),
      nextRunAt: null,
      idle: 'invalid',
      lastError: error instanceof Error ? error.message : String(error),
    }
  }
  return edited ? planEdited(readable, circumstances) : planDue(readable, circumstances)
}

/**
 * Plans a schedule within the write that edits it.
 *
 * @returns null when there is nothing to write, or when the schedule was manually made due, because a scheduler then
 *   submits it
 */
export function planEdit(schedule: Plannable, now: Date, open: OpenJobs): Plan | null {
  const { enabled, nextRunAt } = schedule
  const isDueByHand = enabled && isSetByHand(schedule) && nextRunAt !== null && nextRunAt <= now
  return isEdited(schedule) && !isDueByHand ? plan(schedule, { now, open, missedAfterMs: 0 }) : null
}

/**
 * The elapses of a schedule.
 *
 * @param now  by the database's clock, or an earlier instant to search from
 * @throws CalendarSyntaxError, CronSyntaxError, InvalidTimeSpanError
 */
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

/**
 * If the clock was ahead when the schedule was created, its slots also extend back from that time, until all of them
 * are decided.
 */
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

/** The plan with only some of its runs. */
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
  const event = elapsesOf(schedule, now)
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
    afterFinish: timer(schedule.timer).kind === 'after-finish',
  }
}

function isEdited(schedule: Plannable): boolean {
  return schedule.definition !== schedule.plannedDefinition || isSetByHand(schedule)
}

/** Whether nextRunAt was written since the last planning. */
function isSetByHand({ nextRunAt, plannedRun }: Plannable): boolean {
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

/**
 * After an edit of the definition or of nextRunAt, the schedule is planned from now. The edit itself never causes a
 * run.
 */
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
  const due = { kept: [slot], dropped: 0, newestDropped: null, since: slot }
  return decide(
    { ...readable, schedule: { ...schedule, lastSlot: slot } },
    event.next(slot),
    due,
    circumstances,
  )
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
  // A manual run may have passed this slot. A manual run from a clock that was ahead does not count, because it would
  // hold back all slots until then.
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

/**
 * Whether all slots that a manual run has passed became due during freezes, so that the run represents none of them.
 */
function wereFrozen(
  { schedule: { nextRunAt, frozenUntil }, event, afterFinish }: Readable,
  lastSlot: Date,
  circumstances: Circumstances,
): boolean {
  // A one-off is not skipped either.
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

/** The end of the active freeze, or null if there is none. */
function endOfFreeze({ now, freezes = [] }: Circumstances): Date | null {
  const ends = freezes.flatMap(({ from, until }) => (from <= now && until > now ? [until.getTime()] : []))
  return ends.length === 0 ? null : new Date(Math.max(...ends))
}

/** A part of the time since the first due slot. */
interface Part {
  /** The last millisecond. */
  readonly end: Date
  readonly isFrozen: boolean
}

/** @param heldUntil  the end of a deleted freeze, which is all that is known about it */
function partsOf(first: Date, heldUntil: Date | null, { now, freezes = [] }: Circumstances): Part[] {
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

/**
 * Slots in a freeze are skipped, except for a one-off and a manual run. Slots before and after it are decided as after
 * a downtime.
 */
function planThawed(
  readable: Readable,
  first: Date,
  parts: readonly Part[],
  circumstances: Circumstances,
): Plan {
  const { schedule, event, afterFinish } = readable
  const { now, missedAfterMs } = circumstances
  const isOnly = event.next(first) === null && event.previous(justBefore(first)) === null
  if (schedule.isByHand || isOnly) {
    const due = { kept: [first], dropped: 0, newestDropped: null, since: first }
    const decided = { ...readable, schedule: { ...schedule, lastSlot: first } }
    return decide(decided, event.next(laterOf(now, first)), due, circumstances)
  }
  const found: (DueSlots & { last: Date; isFrozen: boolean })[] = []
  let slot: Date | null = first
  for (const { end, isFrozen } of parts) {
    if (slot === null || slot > end) continue
    const most = isFrozen ? 1 : schedule.catchUp
    const due = dueSlots(afterFinish ? NO_ELAPSES : event, slot, end, most, end < now ? -1 : missedAfterMs)
    found.push({ ...due, isFrozen })
    slot = afterFinish ? null : event.next(due.last)
  }
  const last = found.at(-1)?.last ?? first
  // The newest slots of all parts.
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
  const thawed = { ...readable, schedule: { ...schedule, lastSlot: last } }
  const next = event.next(afterFinish ? laterOf(now, last) : last)
  const nextRunAt = next !== null && next <= now ? event.next(now) : next
  const planned =
    kept.length === 0
      ? withNextRun(thawed.schedule, nextRunAt)
      : decide(thawed, nextRunAt, { kept, dropped, newestDropped: null, since: first }, circumstances)
  return { ...planned, skips: [...skips, ...planned.skips] }
}

/** Decides the slots from `first` to now. */
function planSlots(readable: Readable, first: Date, circumstances: Circumstances): Plan {
  const { schedule, event, afterFinish } = readable
  const { now } = circumstances
  // A timer that counts from the end of a run has only the slot that is due.
  const due = dueSlots(
    afterFinish ? NO_ELAPSES : event,
    first,
    now,
    schedule.catchUp,
    circumstances.missedAfterMs,
  )
  const afterLast = event.next(due.last)
  // A repeated hour can contain more slots than the counting limit: continue from now.
  const nextRunAt = afterLast !== null && afterLast <= now ? event.next(now) : afterLast
  return decide({ ...readable, schedule: { ...schedule, lastSlot: due.last } }, nextRunAt, due, circumstances)
}

/**
 * The slot that is due at nextRunAt. If the zone data has changed since the slot was planned, for example with another
 * version of Node.js, nextRunAt may not be an elapse. It then represents the nearest undecided elapse; otherwise, a run
 * would start an hour early and again on time, or not at all.
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

const NO_ELAPSES: Elapses = { next: () => null, previous: () => null }

function decide(
  readable: Readable,
  nextRunAt: Date | null,
  due: DueSlots,
  { now, open: openBefore, missedAfterMs }: Circumstances,
): Plan {
  const { schedule, afterFinish } = readable
  const slots = due.kept
  const yields = mayYield(schedule, openBefore)
  const open = yields ? afterYield(openBefore) : openBefore
  const chosen = choose(schedule.overlap, slots, open)
  const runs = chosen.runs.slice(0, runsLeft(schedule, open, chosen.replaces))
  const skips = [
    ...missedSkip(due, now, missedAfterMs),
    ...skipOf('overlap', slots.slice(0, slots.length - chosen.runs.length)),
    ...skipOf(
      'max-runs',
      chosen.runs.slice(runs.length).map((run) => run.slot),
    ),
  ]
  const isOver = runs.length === 0 && isUsedUp(schedule, open)
  const waitsForFinish = afterFinish && !isOver && runs.length + countOf(open) > 0
  return {
    ...(waitsForFinish
      ? { ...unchanged(schedule), nextRunAt: null, idle: 'awaiting-finish' }
      : withNextRun(schedule, isOver ? null : nextRunAt)),
    runs: runs.map((run, index) => ({ ...run, missed: index === 0 ? due.dropped : 0 })),
    skips,
    replaces: chosen.replaces && runs.length > 0,
    yields: yields && (runs.length > 0 || openBefore.blocked > 0),
  }
}

/** Whether every job that blocks a new job waits for a retry and gives way. */
function mayYield({ yields, overlap }: Plannable, open: OpenJobs): boolean {
  const isExclusive = overlap === 'skip' || overlap === 'queue-one'
  return yields && isExclusive && open.retrying > 0 && open.retrying === open.waiting && open.running === 0
}

/** After jobs have given way to a new one, the first blocked job takes their place. */
function afterYield({ blocked }: OpenJobs): OpenJobs {
  return { ...NO_OPEN_JOBS, waiting: Math.min(1, blocked), blocked: Math.max(0, blocked - 1) }
}

/** The runs that the overlap policy allows: the newest slots, each blocked by the one before it. */
function choose(
  overlap: Overlap,
  slots: readonly Date[],
  open: OpenJobs,
): { runs: readonly Omit<PlannedRun, 'missed'>[]; replaces: boolean } {
  const newest = slots.slice(-1)
  if (overlap === 'allow') return { runs: slots.map((slot) => ({ slot, state: 'waiting' })), replaces: false }
  if (countOf(open) === 0) {
    return {
      runs: slots.map((slot, index) => ({ slot, state: index === 0 ? 'waiting' : 'blocked' })),
      replaces: false,
    }
  }
  switch (overlap) {
    case 'skip':
      return { runs: [], replaces: false }
    case 'queue-one':
      return {
        runs: open.blocked > 0 ? [] : newest.map((slot) => ({ slot, state: 'blocked' })),
        replaces: false,
      }
    case 'replace':
      return {
        runs: newest.map((slot) => ({ slot, state: open.running > 0 ? 'blocked' : 'waiting' })),
        replaces: true,
      }
  }
}

/** The skip row for the given slots, if there are any. It is stored at the newest slot. */
function skipOf(reason: SkipReason, slots: readonly Date[]): PlannedSkip[] {
  const newest = slots.at(-1)
  return newest === undefined ? [] : [{ slot: newest, reason, count: slots.length, error: null }]
}

function missedSkip(
  { newestDropped: slot, dropped: count, since }: DueSlots,
  now: Date,
  afterMs: number,
): PlannedSkip[] {
  if (slot === null) return []
  return [{ slot, reason: 'missed', count, error: null, wasAway: now.getTime() - since.getTime() > afterMs }]
}

/** The number of further runs that may be submitted, assuming that all open runs succeed. */
function runsLeft({ maxRuns, successes }: Plannable, open: OpenJobs, replaces: boolean): number {
  if (maxRuns === null) return Infinity
  return Math.max(0, maxRuns - successes - (replaces ? open.running : countOf(open)))
}

function isUsedUp({ maxRuns, successes }: Plannable, open: OpenJobs): boolean {
  return maxRuns !== null && successes >= maxRuns && countOf(open) === 0
}

function countOf({ waiting, blocked, running }: OpenJobs): number {
  return waiting + blocked + running
}

function withNextRun(schedule: Plannable, nextRunAt: Date | null): Plan {
  return { ...unchanged(schedule), nextRunAt, idle: nextRunAt === null ? 'done' : null }
}

function unchanged(schedule: Plannable): Plan {
  const { nextRunAt, idle, lastSlot, lastError } = schedule
  return {
    runs: [],
    skips: [],
    replaces: false,
    yields: false,
    nextRunAt,
    isByHand: false,
    idle,
    lastSlot,
    lastError,
    frozenUntil: null,
  }
}

function laterOf(now: Date, lastSlot: Date | null): Date {
  return lastSlot !== null && lastSlot > now ? lastSlot : now
}

/** Now as a slot. Slots only increase, even if the clock was set back. */
function nowAfter(now: Date, lastSlot: Date | null): Date {
  return lastSlot !== null && lastSlot >= now ? new Date(lastSlot.getTime() + 1) : now
}
