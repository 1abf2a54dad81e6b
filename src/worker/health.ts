import type { LoopHealth } from '../loop.ts'
import { type HealthNote, reasons, type Vitals, warnings } from './health-notes.ts'

/** A worker's assessment of its own health. */
export interface Health {
  /** Whether the worker is doing its work. Suitable for readiness checks. */
  readonly ok: boolean
  /** Whether the worker can recover without a restart. Suitable for liveness checks. */
  readonly live: boolean
  /** The id of this worker; null while it must not take on work. */
  readonly worker: string | null
  readonly running: number
  /** The number of runs that have ended, but whose outcome is not written yet. */
  readonly unwritten: number
  /** How many unwritten outcomes wait because another transaction has locked the row of the job or its schedule. */
  readonly locked: number
  /** The number of runs whose outcome the database rejects. Their jobs stay `running` until the outcome is written. */
  readonly rejected: number
  /** How far this machine's clock is ahead of the database's clock, in ms; null if unknown. */
  readonly clockAheadMs: number | null
  /** Why `ok` is false. */
  readonly reasons: readonly HealthNote[]
  /** Problems that need attention, even if `ok` is true. */
  readonly warnings: readonly HealthNote[]
  readonly loops: readonly LoopHealth[]
}

/** Kalends ends stuck statements itself, so a restart is needed only if a loop is stuck for longer than this. */
const STUCK_FOR_GOOD_LEASES = 3
const STUCK_FOR_GOOD_MS = 180_000
/** Runs continue without these loops, so a failure of one is only a warning. */
const UNNEEDED = new Set(['journal', 'progress'])

/** The health of a process that is not a worker, or is no longer one. */
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
  const { worker, running, unwritten, loops, clock, leaseMs } = vitals
  const needed = loops.filter(({ name }) => !UNNEEDED.has(name))
  const found = [...reasons({ ...vitals, loops: needed })]
  const forGoodMs = Math.max(STUCK_FOR_GOOD_MS, STUCK_FOR_GOOD_LEASES * leaseMs)
  return {
    ok: found.length === 0,
    live: needed.every(({ busyMs }) => busyMs === null || busyMs <= forGoodMs),
    worker,
    running,
    unwritten: unwritten?.waiting ?? 0,
    locked: unwritten?.locked ?? 0,
    rejected: unwritten?.rejected ?? 0,
    clockAheadMs: clock && Math.round(clock.aheadMs),
    reasons: found,
    warnings: [...warnings(vitals)],
    loops,
  }
}
