/**
 * The planner: what becomes of a schedule now. A pure function of the row, the clock and whether a run of
 * it has not ended; it knows no database, and every policy is here.
 */
import { type Timer, timer } from '../timer/index.ts'
import { type DueSlots, dueSlots } from './due-slots.ts'
import type { Idle } from './schedule.ts'
import type { SkipReason } from './job.ts'

/** What planning reads of a schedule's row. */
export interface Plannable {
  readonly id: string
  readonly enabled: boolean
  readonly timer: string
  readonly nextRun: Date | null
  readonly idle: Idle | null
  readonly lastSlot: Date | null
  readonly lastError: string | null
  /** 0 to 1000. */
  readonly catchUp: number
  /** All that decides the next run, as one text. */
  readonly definition: string
  /** The definition that the last planning saw; null before the first. */
  readonly plannedDefinition: string | null
  /** The nextRun that the last planning left behind. */
  readonly plannedRun: Date | null
}

export interface PlannedRun {
  readonly slot: Date
  /** Slots dropped before this one. */
  readonly missed: number
  /** blocked: it waits for the end of the run before it. */
  readonly state: 'waiting' | 'blocked'
}

export interface PlannedSkip {
  /** The newest of the slots that it stands for. */
  readonly slot: Date
  readonly reason: SkipReason
  /** How many slots it stands for. */
  readonly count: number
  readonly error: string | null
}

export interface Plan {
  readonly runs: readonly PlannedRun[]
  readonly skips: readonly PlannedSkip[]
  readonly nextRun: Date | null
  readonly idle: Idle | null
  readonly lastSlot: Date | null
  readonly lastError: string | null
}

export interface Circumstances {
  /** By the database's clock. */
  readonly now: Date
  /** Whether a job of this schedule is not final. */
  readonly active: boolean
  /** A slot older than this is missed even if no later one has come: lease + wake-up period, in milliseconds. */
  readonly missedAfterMs: number
}

/**
 * @returns what to write, or null when the schedule is not due: then nothing of it may be written
 */
export function plan(schedule: Plannable, circumstances: Circumstances): Plan | null {
  const edited =
    schedule.definition !== schedule.plannedDefinition ||
    schedule.nextRun?.getTime() !== schedule.plannedRun?.getTime()
  if (!edited && !isDue(schedule, circumstances.now)) return null
  let event: Timer
  try {
    event = timer(schedule.timer)
  } catch (error) {
    return {
      ...unchanged(schedule),
      nextRun: null,
      idle: 'invalid',
      lastError: error instanceof Error ? error.message : String(error),
    }
  }
  // What an edit heals is forgotten; errors of runs stay.
  const healed = { ...schedule, lastError: schedule.idle === 'invalid' ? null : schedule.lastError }
  return edited ? planEdited(healed, event, circumstances) : planDue(healed, event, circumstances)
}

/** A slot that cannot be submitted for a lasting reason is skipped, so that it hurts only itself. */
export function planFault(planned: Plan, error: string): Plan {
  const newest = planned.runs.at(-1)
  if (newest === undefined) return { ...planned, lastError: error }
  return {
    ...planned,
    runs: [],
    skips: [...planned.skips, { slot: newest.slot, reason: 'fault', count: planned.runs.length, error }],
    lastError: error,
  }
}

function isDue(schedule: Plannable, now: Date): boolean {
  if (!schedule.enabled || schedule.idle !== null) return false
  return schedule.nextRun === null || schedule.nextRun <= now
}

/** Somebody changed the definition or set nextRun: planned from now, never fired because of the edit itself. */
function planEdited(schedule: Plannable, event: Timer, circumstances: Circumstances): Plan {
  const { now } = circumstances
  if (!schedule.enabled) return { ...unchanged(schedule), nextRun: null, idle: null }
  const setByHand = schedule.nextRun !== null && schedule.nextRun.getTime() !== schedule.plannedRun?.getTime()
  if (!setByHand || schedule.nextRun === null)
    return withNextRun(schedule, event.next(laterOf(now, schedule.lastSlot)))
  if (schedule.nextRun > now) return withNextRun(schedule, schedule.nextRun)
  const slot = nowAfter(now, schedule.lastSlot)
  return decide(
    { ...schedule, lastSlot: slot },
    event.next(slot),
    { madeUp: [], current: slot, dropped: 0, newestDropped: null },
    circumstances,
  )
}

function planDue(schedule: Plannable, event: Timer, circumstances: Circumstances): Plan {
  const { now } = circumstances
  if (schedule.nextRun === null) return withNextRun(schedule, event.next(laterOf(now, schedule.lastSlot)))
  const decided = schedule.lastSlot !== null && schedule.nextRun <= schedule.lastSlot
  const first = decided ? nowAfter(now, schedule.lastSlot) : schedule.nextRun
  const due = dueSlots(event, first, now, schedule.catchUp, circumstances.missedAfterMs)
  const afterLast = event.next(due.last)
  // More slots than are counted, in an hour that the clock repeats: on from now.
  const nextRun = afterLast !== null && afterLast <= now ? event.next(now) : afterLast
  return decide({ ...schedule, lastSlot: due.last }, nextRun, due, circumstances)
}

function decide(
  schedule: Plannable,
  nextRun: Date | null,
  due: DueSlots,
  circumstances: Circumstances,
): Plan {
  const slots = due.current === null ? due.madeUp : [...due.madeUp, due.current]
  const newest = slots.at(-1)
  const skips: PlannedSkip[] = []
  if (due.newestDropped !== null)
    skips.push({ slot: due.newestDropped, reason: 'missed', count: due.dropped, error: null })
  if (circumstances.active && newest !== undefined)
    skips.push({ slot: newest, reason: 'overlap', count: slots.length, error: null })
  const runs = circumstances.active
    ? []
    : slots.map(
        (slot, index): PlannedRun => ({
          slot,
          missed: index === 0 ? due.dropped : 0,
          state: index === 0 ? 'waiting' : 'blocked',
        }),
      )
  return { ...withNextRun(schedule, nextRun), runs, skips }
}

function withNextRun(schedule: Plannable, nextRun: Date | null): Plan {
  return { ...unchanged(schedule), nextRun, idle: nextRun === null ? 'done' : null }
}

function unchanged(schedule: Plannable): Plan {
  const { nextRun, idle, lastSlot, lastError } = schedule
  return { runs: [], skips: [], nextRun, idle, lastSlot, lastError }
}

function laterOf(now: Date, lastSlot: Date | null): Date {
  return lastSlot !== null && lastSlot > now ? lastSlot : now
}

/** Now as a slot: slots only grow, even when the clock has gone back. */
function nowAfter(now: Date, lastSlot: Date | null): Date {
  return lastSlot !== null && lastSlot >= now ? new Date(lastSlot.getTime() + 1) : now
}
