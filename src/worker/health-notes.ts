import { counted, durationText } from '../duration.ts'
import type { Journal } from '../executor/journal.ts'
import type { Settler } from '../executor/settler.ts'
import type { LoopHealth } from '../loop.ts'
import { adviceAboutSetAside, type DatabaseWarning, type SetAsideRow } from '../model/diagnosis.ts'
import type { Stall } from './event-loop-stall.ts'
import type { Retry } from './retries.ts'

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
    | 'locked-outcomes'
    | 'rejected-outcomes'
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
    | DatabaseWarning['code']
  /**
   * The loop, task, schedule or other worker that the problem concerns, by name or id; null means this worker itself.
   */
  readonly subject: string | null
  readonly text: string
}

/** The measured difference between this machine's clock and the database's clock. */
export interface ClockDifference {
  readonly aheadMs: number
  /** How long the query took. The difference may be off by up to half of this time. */
  readonly roundTripMs: number
}

/** Durations are measured with a monotonic clock. */
export interface Vitals {
  readonly leaseMs: number
  readonly worker: string | null
  /** Time since the last successful heartbeat, or null if there was none. */
  readonly sinceHeartbeatMs: number | null
  /** Time since this worker last found that it had been evicted, or null if never. */
  readonly sinceLeaseLostMs: number | null
  readonly running: number
  /** Null, like `log`, if this worker runs no jobs. */
  readonly unwritten: ReturnType<Settler['unwritten']> | null
  readonly log: ReturnType<Journal['unwritten']> | null
  /** The number of schedules and jobs that are skipped after an error, until their back-off ends. */
  readonly setAside: readonly SetAsideRow[]
  /** Schedules whose slots become due faster than they can be submitted. */
  readonly behind: readonly string[]
  readonly retries: readonly Retry[]
  /** Whether another transaction has locked the row of this worker. */
  readonly isRowLocked: boolean
  /** Dead workers whose rows other transactions have locked. */
  readonly lockedWorkers: readonly string[]
  /** Schedules whose slots are further in the future than their timers can explain. */
  readonly slotsInFuture: readonly string[]
  /** How long the longest-waiting loop has been waiting for a connection, or 0 if none is waiting. */
  readonly connectionWaitMs: number
  readonly clock: ClockDifference | null
  readonly stall: Stall | null
  readonly databaseWarnings: readonly DatabaseWarning[]
  /** The tasks of handlers that are still running after their attempts have ended; one entry per handler. */
  readonly abandonedHandlers: readonly string[]
  readonly loops: readonly LoopHealth[]
}

/**
 * The share of the lease that a heartbeat may take before other workers may evict this worker. A connection that does
 * not respond is closed after a whole lease.
 */
const STUCK_AFTER = 3 / 5
/** How long a loop may wait for a connection: a fifth of the lease, within these limits. */
const CONNECTION_WAIT_MS = { least: 1000, most: 5000 }
/** This is longer than Kalends' own sessions wait for a lock. */
const SLOW_WRITE_MS = 5000

const CLOCK_MS = 2000
/** Maximum number of entries; a longer list would not help. */
const MAX_NAMED = 10

type Notes = Generator<HealthNote, void>

export function* reasons(vitals: Vitals): Notes {
  for (const loop of vitals.loops) yield* loopReasons(loop, vitals.leaseMs)
  yield* connectionReasons(vitals)
  yield* leaseReasons(vitals)
}

export function* warnings(vitals: Vitals): Notes {
  yield* recentWarnings(vitals)
  yield* outcomeWarnings(vitals)
  yield* logWarnings(vitals)
  yield* lastingWarnings(vitals)
}

function* loopReasons(loop: LoopHealth, leaseMs: number): Notes {
  const { name, busyMs, lateMs, consecutiveErrors, lastError } = loop
  if (busyMs !== null && busyMs > leaseMs * STUCK_AFTER) {
    yield {
      code: 'stuck',
      subject: name,
      text: `the loop '${name}' is stuck: its pass has been running for ${durationText(busyMs)}, longer than three fifths of the lease; the database does not respond, or another transaction holds a lock`,
    }
  }
  if (lateMs > leaseMs * STUCK_AFTER) {
    yield {
      code: 'late',
      subject: name,
      text: `the loop '${name}' should have started a pass ${durationText(lateMs)} ago; this process stalled`,
    }
  }
  if (consecutiveErrors > 0) {
    yield {
      code: 'failing',
      subject: name,
      text: `the loop '${name}' has failed ${consecutiveErrors === 1 ? 'once' : `${consecutiveErrors} times in a row`}, last with: ${lastError ?? 'no message'}`,
    }
  }
}

function* connectionReasons({ connectionWaitMs, leaseMs }: Vitals): Notes {
  const { least, most } = CONNECTION_WAIT_MS
  if (connectionWaitMs <= Math.max(least, Math.min(most, leaseMs / 5))) return
  yield {
    code: 'no-connection',
    subject: null,
    text: `a loop has waited ${durationText(connectionWaitMs)} for a connection to the database: the pool supplied by the application has no free connection, or the server accepts no more; make the pool larger, or find what holds its connections`,
  }
}

function* leaseReasons({ worker, sinceHeartbeatMs, isRowLocked }: Vitals): Notes {
  if (worker !== null) return
  const last =
    sinceHeartbeatMs === null
      ? 'it has not sent a heartbeat yet'
      : `its last heartbeat was ${durationText(sinceHeartbeatMs)} ago`
  yield {
    code: 'no-lease',
    subject: null,
    text: isRowLocked
      ? `${last}, because another transaction has locked its row in the table worker: it takes on no work, and its running jobs continue; end that transaction`
      : `${last}: it takes on no work until a heartbeat succeeds, and other workers take over its running jobs`,
  }
}

/** Problems within the last `leaseMs`, whose effects other workers may still see. */
function* recentWarnings({ leaseMs, sinceLeaseLostMs, stall, worker }: Vitals): Notes {
  if (sinceLeaseLostMs !== null && sinceLeaseLostMs <= leaseMs) {
    yield {
      code: 'lease-lost',
      subject: null,
      text: `other workers considered it dead and took over its jobs; ${worker === null ? 'it registers again with its next heartbeat' : `it continues as ${worker}`}`,
    }
  }
  if (stall !== null && stall.agoMs <= leaseMs) {
    yield {
      code: 'stall',
      subject: null,
      text: `it stalled for ${durationText(stall.ms)}, until ${stall.until.toISOString()}: a handler blocked the event loop, or the machine or process was suspended`,
    }
  }
}

const outcomesOf = (runs: number) =>
  `${runs === 1 ? 'the outcome' : 'the outcomes'} of ${counted(runs, 'run')}`

function* outcomeWarnings({ unwritten, loops }: Vitals): Notes {
  if (unwritten === null) return
  const { waiting, locked, lockedMs, rejected, isLimitReached } = unwritten
  const { consecutiveErrors = 0, busyMs = null } = loops.find(({ name }) => name === 'settler') ?? {}
  if (waiting > 0 && (consecutiveErrors > 0 || (busyMs ?? 0) > SLOW_WRITE_MS)) {
    yield {
      code: 'unwritten',
      subject: 'settler',
      text: `${outcomesOf(waiting)} ${waiting === 1 ? 'waits' : 'wait'} to be written; if this process ends now, these runs are repeated`,
    }
  }
  const full = isLimitReached
    ? '; there are so many that each further outcome counts against capacity, and this worker runs fewer jobs'
    : ''
  if (locked > 0 && (lockedMs > SLOW_WRITE_MS || isLimitReached)) {
    yield {
      code: 'locked-outcomes',
      subject: 'settler',
      text: `${outcomesOf(locked)} ${locked === 1 ? 'waits' : 'wait'}, the first for ${durationText(lockedMs)}, because another transaction has locked the row of the job or its schedule: end that transaction${full}`,
    }
  }
  if (rejected > 0) {
    yield {
      code: 'rejected-outcomes',
      subject: 'settler',
      text: `the database rejects ${outcomesOf(rejected)}; each such job stays running, and the log names it: repair the row of the job or its schedule, and the outcome is written within five minutes${full}`,
    }
  }
}

function* logWarnings({ log }: Vitals): Notes {
  if (log === null) return
  const { lines, progress, ms, dropped } = log
  if (dropped === 0 && (lines + progress === 0 || ms <= SLOW_WRITE_MS)) return
  const waiting = [
    ...(lines > 0 ? [counted(lines, 'log line')] : []),
    ...(progress > 0 ? [`the progress of ${counted(progress, 'job')}`] : []),
  ]
  const lost =
    dropped > 0
      ? `; ${counted(dropped, 'further line was', 'further lines were')} dropped, because too many are waiting`
      : ''
  yield {
    code: 'unwritten-log',
    subject: 'journal',
    text: `job logs (${waiting.join(', ')}) have waited in memory for ${durationText(ms)}, while runs continue: the database does not respond, or another transaction has locked the table job_log or the row of a job; end that transaction${lost}`,
  }
}

function* lastingWarnings(vitals: Vitals): Notes {
  for (const { code, problem, fix } of vitals.databaseWarnings)
    yield { code, subject: null, text: `${problem}: ${fix}` }
  const { clock, abandonedHandlers, setAside, behind, retries, lockedWorkers, slotsInFuture } = vitals
  for (const id of lockedWorkers) {
    yield {
      code: 'locked-worker',
      subject: id,
      text: `the worker ${id} has sent no heartbeat for most of a lease, and another transaction has locked its row in the table of workers: its work waits until that transaction ends`,
    }
  }
  const [first, ...others] = slotsInFuture
  if (first !== undefined) {
    yield {
      code: 'slot-in-the-future',
      subject: first,
      text: `the schedule ${first}${others.length === 0 ? ' has a slot that its timer does not' : ` and ${others.length} more have slots that their timers do not`} explain, because the database's clock was ahead: nothing is submitted before that time; pause and resume the schedule, or set nextrun = NULL (if it is done, reset it)`,
    }
  }
  if (setAside.length > 0) {
    const { problem, fix } = adviceAboutSetAside(setAside)
    yield { code: 'set-aside', subject: null, text: `${problem}: ${fix}` }
  }
  for (const id of behind.slice(0, MAX_NAMED)) {
    yield {
      code: 'cannot-keep-up',
      subject: id,
      text: `the slots of the schedule '${id}' come faster than they can be submitted, so some are missed each time: give it a timer with longer intervals`,
    }
  }
  for (const { scheduleId, attempt, at } of retries.slice(0, MAX_NAMED)) {
    yield {
      code: 'retrying',
      subject: scheduleId,
      text: `the schedule '${scheduleId}' is retrying: attempt ${attempt} failed; the next attempt is at ${at.toISOString()}`,
    }
  }
  if (clock !== null && Math.abs(clock.aheadMs) > CLOCK_MS + clock.roundTripMs / 2) {
    yield {
      code: 'clock',
      subject: null,
      text: `this machine's clock is ${durationText(Math.abs(clock.aheadMs))} ${clock.aheadMs > 0 ? 'ahead of' : 'behind'} the database's clock: synchronise both clocks; schedules follow the database's clock`,
    }
  }
  for (const task of new Set(abandonedHandlers)) {
    const count = abandonedHandlers.filter((other) => other === task).length
    yield {
      code: 'handlers-left',
      subject: task,
      text: `${count === 1 ? 'a handler' : `${count} handlers`} of '${task}' did not finish after the signal fired and ${count === 1 ? 'continues' : 'continue'} unobserved: pass \`signal\` to the calls that it waits for`,
    }
  }
}
