/**
 * The health of a worker, which it assesses itself from its loops, lease, clock and handlers. The assessment is pure:
 * it reads neither the database nor a clock.
 */
import type { UnwrittenLog } from '../executor/journal.ts'
import type { LoopHealth } from '../loop.ts'
import type { Stall } from './event-loop-stall.ts'
import {
  connectionReasons,
  endWarnings,
  JOURNAL,
  lasting,
  leaseReasons,
  logWarnings,
  loopReasons,
  recent,
} from './health-notes.ts'
import type { Retry } from './retries.ts'

/** A worker's assessment of its own health. */
export interface Health {
  /** Whether the worker does its work. Suitable for readiness checks. */
  readonly ok: boolean
  /** Whether the worker can recover without a restart. Suitable for liveness checks. */
  readonly live: boolean
  /** The id of this worker; null while it may not take on work. */
  readonly worker: string | null
  readonly running: number
  /** Runs that have ended, but whose outcome is not written yet. */
  readonly unwritten: number
  /** The number of these that wait because another transaction has locked their row. */
  readonly locked: number
  /** Runs whose outcome the database rejects. Their jobs stay `running` until the outcome is written. */
  readonly rejected: number
  /** How far this machine's clock is ahead of the database's clock, in ms; null if unknown. */
  readonly clockAheadMs: number | null
  /** Why `ok` is false. */
  readonly reasons: readonly HealthNote[]
  /** Problems that need attention, even if `ok` is true. */
  readonly warnings: readonly HealthNote[]
  readonly loops: readonly LoopHealth[]
}

/** One reason or warning. */
export interface HealthNote {
  readonly code:
    | 'stopped'
    | 'stuck'
    | 'late'
    | 'no-connection'
    | 'failing'
    | 'no-lease'
    | 'unwritten'
    | 'locked-ends'
    | 'rejected-ends'
    | 'unwritten-log'
    | 'set-aside'
    | 'cannot-keep-up'
    | 'retrying'
    | 'locked-worker'
    | 'slot-in-the-future'
    | 'lease-lost'
    | 'stall'
    | 'clock'
    | 'handlers-left'
  /**
   * The loop, task, schedule or other worker that the problem concerns, by name or id; null means this worker itself.
   */
  readonly subject: string | null
  readonly text: string
}

/** The measured difference between this machine's clock and the database's clock. */
export interface ClockDifference {
  readonly aheadMs: number
  /** How long the query took. The difference may be off by half of this time. */
  readonly roundTripMs: number
}

/** The input of the assessment. Durations are measured with a monotonic clock. */
export interface Vitals {
  readonly leaseMs: number
  readonly worker: string | null
  /** Time since the last successful heartbeat, or null if there was none. */
  readonly sinceHeartbeatMs: number | null
  /** Time since this worker last found that it had been evicted, or null if never. */
  readonly sinceLeaseLostMs: number | null
  readonly running: number
  readonly unwritten: number
  readonly locked: number
  /** How long the oldest locked outcome has waited. */
  readonly lockedMs: number
  readonly rejected: number
  readonly log: UnwrittenLog
  /** Schedules and jobs that failed and wait for their back-off. */
  readonly leftOut: number
  /** Schedules whose slots become due faster than they can be submitted. */
  readonly behind: readonly string[]
  /** Schedules with a future retry after an attempt that failed in this worker. */
  readonly retries: readonly Retry[]
  /** Whether another transaction has locked the row of this worker. */
  readonly isRowLocked: boolean
  /** Dead workers whose rows other transactions have locked. */
  readonly lockedWorkers: readonly string[]
  /** Schedules whose slots are further in the future than their timers can explain. */
  readonly slotsInFuture: readonly string[]
  /** Whether any further outcomes that cannot be written count against capacity. */
  readonly isLimitReached: boolean
  /** How long the longest-waiting loop has waited for a connection, or 0 if none waits. */
  readonly connectionWaitMs: number
  readonly clock: ClockDifference | null
  readonly stall: Stall | null
  /** The tasks whose handlers continue although their attempts have ended without them; one entry per handler. */
  readonly abandonedHandlers: readonly string[]
  readonly loops: readonly LoopHealth[]
}

/** Kalends ends a stuck statement itself, so a restart is only needed after this time. */
const STUCK_FOR_GOOD_LEASES = 3
const STUCK_FOR_GOOD_MS = 180_000
/** Runs continue without these loops, so their failures are only warnings. */
const UNNEEDED = new Set([JOURNAL, 'progress'])
/** The health of a process that is not a worker, or has stopped. */
export function unstarted(isStopped: boolean): Health {
  const stopped: HealthNote = { code: 'stopped', subject: null, text: 'it was stopped' }
  return {
    ok: !isStopped,
    live: true,
    worker: null,
    running: 0,
    unwritten: 0,
    locked: 0,
    rejected: 0,
    clockAheadMs: null,
    reasons: isStopped ? [stopped] : [],
    warnings: [],
    loops: [],
  }
}

export function judge(vitals: Vitals): Health {
  const { worker, running, unwritten, locked, rejected, loops, clock, leaseMs } = vitals
  const needed = loops.filter(({ name }) => !UNNEEDED.has(name))
  const reasons = [
    ...needed.flatMap((loop) => loopReasons(loop, leaseMs)),
    ...connectionReasons(vitals),
    ...leaseReasons(vitals),
  ]
  const forGoodMs = Math.max(STUCK_FOR_GOOD_MS, STUCK_FOR_GOOD_LEASES * leaseMs)
  return {
    ok: reasons.length === 0,
    live: needed.every(({ busyMs }) => busyMs === null || busyMs <= forGoodMs),
    worker,
    running,
    unwritten,
    locked,
    rejected,
    clockAheadMs: clock && Math.round(clock.aheadMs),
    reasons,
    warnings: [...recent(vitals), ...endWarnings(vitals), ...logWarnings(vitals), ...lasting(vitals)],
    loops,
  }
}
