/**
 * How a worker is, as it sees itself: what it saw of its loops, its lease, its clock and its handlers, judged.
 * Pure; it asks neither the database nor a clock.
 */
import type { LoopHealth } from './loop.ts'
import type { Stood } from './standstill.ts'

/** How a worker is, as it sees itself. */
export interface Health {
  /** Whether it does its work: whoever sends it work may go by this. */
  readonly ok: boolean
  /** Whether it could do its work again by itself. False: a new process is needed. */
  readonly live: boolean
  /** The id of this worker; null while it may take on no work. */
  readonly worker: string | null
  readonly running: number
  /** Runs that have ended, and whose end is not written yet. */
  readonly unwritten: number
  /** Of those, how many wait because someone else has locked their row. */
  readonly locked: number
  /** Runs that have ended, and whose end the database rejects. Their jobs stay running until this worker stops. */
  readonly rejected: number
  /** How far this machine's clock is ahead of the database's, in ms; null: not known yet. */
  readonly clockAheadMs: number | null
  /** Why it is not ok, or not live. */
  readonly reasons: readonly HealthNote[]
  /** What somebody should know although it is ok. */
  readonly warnings: readonly HealthNote[]
  readonly loops: readonly LoopHealth[]
}

/** Something that health has to say about this worker. */
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
    | 'set-aside'
    | 'lease-lost'
    | 'standstill'
    | 'clock'
    | 'handlers-left'
  /** What it is about: the name of a loop or a task; null: the worker. */
  readonly subject: string | null
  readonly text: string
}

/** How far the clocks are apart, as far as that can be known. */
export interface ClockDifference {
  readonly aheadMs: number
  /** The question took so long; by half of it the difference may be wrong. */
  readonly roundTripMs: number
}

/** What is judged. Times that have passed are by a clock that nobody sets. */
export interface Vitals {
  readonly leaseMs: number
  readonly worker: string | null
  /** How long ago the last good heartbeat was; null: there was none. */
  readonly sinceHeartbeatMs: number | null
  /** How long ago this worker was last found to have been taken for dead; null: never. */
  readonly sinceLeaseLostMs: number | null
  readonly running: number
  readonly unwritten: number
  readonly locked: number
  /** For how long the first of the locked has been so. */
  readonly lockedMs: number
  readonly rejected: number
  /** Schedules and jobs that are left alone for their back-off, because work on them failed. */
  readonly setAside: number
  /** Whether further ends that cannot be written take up capacity. */
  readonly isLimitReached: boolean
  /** How long a loop has been waiting for a connection; 0: none waits. */
  readonly connectionWaitMs: number
  readonly clock: ClockDifference | null
  readonly stood: Stood | null
  /** The tasks of handlers that go on although their runs were ended without them; as often as there are. */
  readonly left: readonly string[]
  readonly loops: readonly LoopHealth[]
}

/** Of the lease: so long a heartbeat may take until others may act on it. A connection is given up after the whole. */
const STUCK_AFTER = 3 / 5
/** How long a loop may wait for a connection: a fifth of the lease within these limits. */
const CONNECTION_WAIT_MS = { least: 1000, most: 5000 }
/** Before Kalends ends an endless statement itself, nobody needs to end the process. */
const STUCK_FOR_GOOD_LEASES = 3
const STUCK_FOR_GOOD_MS = 180_000
const CLOCK_MS = 2000
/** Longer than a wait for a lock by a session of our own. */
const SLOW_WRITE_MS = 5000

/** Of a process that is no worker, or none any more. */
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
  const reasons = [
    ...loops.flatMap((loop) => loopReasons(loop, leaseMs)),
    ...connectionReasons(vitals),
    ...leaseReasons(vitals),
  ]
  const forGoodMs = Math.max(STUCK_FOR_GOOD_MS, STUCK_FOR_GOOD_LEASES * leaseMs)
  return {
    ok: reasons.length === 0,
    live: loops.every(({ busyMs }) => busyMs === null || busyMs <= forGoodMs),
    worker,
    running,
    unwritten,
    locked,
    rejected,
    clockAheadMs: clock && Math.round(clock.aheadMs),
    reasons,
    warnings: [...recent(vitals), ...endWarnings(vitals), ...lasting(vitals)],
    loops,
  }
}

function loopReasons(loop: LoopHealth, leaseMs: number): HealthNote[] {
  const { name, busyMs, lateMs, consecutiveErrors, lastError } = loop
  const notes: HealthNote[] = []
  if (busyMs !== null && busyMs > leaseMs * STUCK_AFTER) {
    notes.push({
      code: 'stuck',
      subject: name,
      text: `the loop '${name}' is stuck: its pass goes on for ${seconds(busyMs)}, longer than three fifths of the lease; the database does not answer, or somebody holds a lock`,
    })
  }
  if (lateMs > leaseMs * STUCK_AFTER) {
    notes.push({
      code: 'late',
      subject: name,
      text: `the loop '${name}' should have begun a pass ${seconds(lateMs)} ago; this process stood still`,
    })
  }
  if (consecutiveErrors > 0) {
    notes.push({
      code: 'failing',
      subject: name,
      text: `the loop '${name}' has failed ${consecutiveErrors === 1 ? 'once' : `${consecutiveErrors} times in a row`}, last with: ${lastError ?? 'no message'}`,
    })
  }
  return notes
}

function connectionReasons({ connectionWaitMs, leaseMs }: Vitals): HealthNote[] {
  const { least, most } = CONNECTION_WAIT_MS
  if (connectionWaitMs <= Math.max(least, Math.min(most, leaseMs / 5))) return []
  return [
    {
      code: 'no-connection',
      subject: null,
      text: `a loop has waited ${seconds(connectionWaitMs)} for a connection to the database: the pool that the application passed in has none free, or the server accepts no more; make the pool larger, or find what holds its connections`,
    },
  ]
}

function leaseReasons({ worker, sinceHeartbeatMs }: Vitals): HealthNote[] {
  if (worker !== null) return []
  const since = sinceHeartbeatMs === null ? 'has not come yet' : `was ${seconds(sinceHeartbeatMs)} ago`
  return [
    {
      code: 'no-lease',
      subject: null,
      text: `its last heartbeat ${since}: it takes on no work until one goes through, and others take over what it runs`,
    },
  ]
}

/** Told for a lease: so long it may show in what others see. */
function recent({ leaseMs, sinceLeaseLostMs, stood, worker }: Vitals): HealthNote[] {
  const notes: HealthNote[] = []
  if (sinceLeaseLostMs !== null && sinceLeaseLostMs <= leaseMs) {
    notes.push({
      code: 'lease-lost',
      subject: null,
      text: `it was taken for dead, and what it ran belongs to others; ${worker === null ? 'it registers again with its next heartbeat' : `it goes on as ${worker}`}`,
    })
  }
  if (stood !== null && stood.agoMs <= leaseMs) {
    notes.push({
      code: 'standstill',
      subject: null,
      text: `it stood still for ${seconds(stood.ms)}, until ${stood.until.toISOString()}: a handler that computes without a break, or a machine or process that was stopped`,
    })
  }
  return notes
}

/** Of runs that have ended. */
function endWarnings({ unwritten, locked, lockedMs, rejected, isLimitReached, loops }: Vitals): HealthNote[] {
  const notes: HealthNote[] = []
  const settler = loops.find(({ name }) => name === 'settler')
  if (
    unwritten > 0 &&
    settler !== undefined &&
    (settler.consecutiveErrors > 0 || (settler.busyMs ?? 0) > SLOW_WRITE_MS)
  ) {
    notes.push({
      code: 'unwritten',
      subject: 'settler',
      text: `${unwritten === 1 ? 'the end of 1 run waits' : `the ends of ${unwritten} runs wait`} to be written; they are lost to another attempt if this process ends now`,
    })
  }
  const full = isLimitReached
    ? '; there are so many that each further one takes up capacity, and this worker runs fewer jobs'
    : ''
  if (locked > 0 && (lockedMs > SLOW_WRITE_MS || isLimitReached)) {
    notes.push({
      code: 'locked-ends',
      subject: 'settler',
      text: `${locked === 1 ? 'the end of 1 run waits' : `the ends of ${locked} runs wait`}, the first for ${seconds(lockedMs)}, because someone else has locked the row of the job or its schedule: end that transaction${full}`,
    })
  }
  if (rejected > 0) {
    notes.push({
      code: 'rejected-ends',
      subject: 'settler',
      text: `the database rejects ${rejected === 1 ? 'the end of 1 run' : `the ends of ${rejected} runs`}, whose jobs stay running: the log names them; repair their rows: the ends are tried again every five minutes${full}`,
    })
  }
  return notes
}

function lasting({ clock, left, setAside }: Vitals): HealthNote[] {
  const notes: HealthNote[] = []
  if (setAside > 0) {
    notes.push({
      code: 'set-aside',
      subject: null,
      text: `${setAside === 1 ? '1 schedule or job is' : `${setAside} schedules or jobs are`} left alone for up to five minutes, because the work on ${setAside === 1 ? 'it' : 'them'} failed: the log names ${setAside === 1 ? 'it' : 'them'}; repair the row, or what refuses to write it`,
    })
  }
  if (clock !== null && Math.abs(clock.aheadMs) > CLOCK_MS + clock.roundTripMs / 2) {
    notes.push({
      code: 'clock',
      subject: null,
      text: `this machine's clock is ${seconds(Math.abs(clock.aheadMs))} ${clock.aheadMs > 0 ? 'ahead of' : 'behind'} the database's: synchronise both; schedules follow the database's`,
    })
  }
  for (const task of new Set(left)) {
    const count = left.filter((other) => other === task).length
    notes.push({
      code: 'handlers-left',
      subject: task,
      text: `${count === 1 ? 'a handler' : `${count} handlers`} of '${task}' did not heed the signal and ${count === 1 ? 'goes' : 'go'} on unseen: pass \`signal\` on to what it waits for`,
    })
  }
  return notes
}

function seconds(ms: number): string {
  return ms < 10_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 1000)} s`
}
