/**
 * Checks whether, and how fast, the workers recover by themselves. It measures canaries, which are schedules with a
 * slot every second that must always be submitted. After a fault, or after the last of several overlapping faults, each
 * slot must be submitted and started within lease + poll interval. During faults that do not affect the schedule, the
 * limit is two heartbeats. Both limits include a tolerance.
 */
import { msOf } from './dates.ts'
import { Times, type Window, windowsOf } from './checker/times.ts'
import type { Reach, RunRecord } from './record.ts'
import { CANARY } from './workload.ts'

/**
 * Tolerance for a machine that runs the harness, the servers and all workers. CI runs two targets at the same time on
 * two cores; the longest delay measured there was 1.1 s, on Galera.
 */
export const ALLOWANCE_MS = 3000

export interface Recovery {
  /**
   * By fault name: the longest time from the end of the fault, or of the last fault that overlapped it, until a canary
   * slot that was already due was submitted.
   */
  readonly worst: ReadonlyMap<string, number>
  /** The number of periods with one or more faults. */
  readonly windows: number
  /** submitted − slot in ms, for slots without any fault between their due time and their submission. */
  readonly quiet: readonly number[]
  /** The same for slots during faults that did not affect their schedule. */
  readonly beside: readonly number[]
  /** The same for all other slots. */
  readonly troubled: readonly number[]
  readonly violations: readonly string[]
}

/** How long the workers may take to recover from a fault. */
export function recoveryLimitMs({ leaseMs, pollIntervalMs }: RunRecord): number {
  return leaseMs + pollIntervalMs + ALLOWANCE_MS
}

/** How long work that no fault affects may take: two heartbeats, plus the tolerance. */
export function goingLimitMs({ leaseMs }: RunRecord): number {
  return (leaseMs * 2) / 5 + ALLOWANCE_MS
}

export function recoveryOf(record: RunRecord): Recovery {
  const limitMs = recoveryLimitMs(record)
  const clock = clockOf(record)
  const all = windowsOf(record.journal, () => true)
  const general = windowsOf(record.journal, ({ reach }) => reach?.rows === undefined)
  const reaches = record.journal.flatMap((entry) => (entry.kind === 'fault' ? (entry.reach ?? []) : []))
  const reached = new Map(
    reaches
      .flatMap(({ rows }) => rows?.schedules ?? [])
      .map((id) => [
        id,
        windowsOf(record.journal, ({ reach }) => reach?.rows?.schedules.includes(id) ?? true),
      ]),
  )
  const isStartExcused = startExcuses(record, reaches)
  const measured = {
    windows: all.length,
    quiet: [] as number[],
    beside: [] as number[],
    troubled: [] as number[],
  }
  const violations: string[] = []
  const worst = new Map<string, number>()
  for (const { job, schedule, slot, submitted, begun } of canarySlots(record, clock)) {
    const windows = reached.get(schedule) ?? general
    const window = windows.findLast(({ from }) => from <= slot)
    const isTroubled = window !== undefined && slot <= window.until
    const late = submitted - slot
    const isMet = ({ from, until }: Window) => from <= submitted && slot <= until
    const measures = windows.some(isMet) ? 'troubled' : all.some(isMet) ? 'beside' : 'quiet'
    measured[measures].push(late)
    if (isTroubled && submitted > window.until) noteWorst(worst, window, submitted - window.until, limitMs)
    // Faults that began before the deadline extend it.
    const isRecovered = window === undefined || window.until + limitMs <= slot
    const isBeside = isRecovered && all.some(({ from, until }) => from <= slot && slot <= until)
    let deadline = (isTroubled ? window.until : slot) + (isBeside ? goingLimitMs(record) : limitMs)
    for (const { from, until } of windows)
      if (from > slot && from <= deadline && until > slot) deadline = Math.max(deadline, until + limitMs)
    const tell = (what: string, at: number) => {
      if (at <= deadline) return
      const last = all.findLast(({ from }) => from <= at)?.faults.map(({ name }) => name)
      const after = last?.join(', ') ?? 'none'
      violations.push(
        `${schedule} at ${new Date(slot).toISOString()}: ${what} after ${Math.round(at - slot)} ms, ${Math.round(at - deadline)} ms after the recovery deadline; last faults: ${after}`,
      )
    }
    tell('submitted', submitted)
    if (submitted <= deadline && begun !== null && !isStartExcused(job)) tell('started', begun)
  }
  return { ...measured, worst, violations }
}

/** Tells whether a job may start late because a fault locked its row or affected a worker that attempted it. */
function startExcuses({ attempts }: RunRecord, reaches: readonly Reach[]): (job: string) => boolean {
  const jobs = new Set(reaches.flatMap(({ rows }) => rows?.jobs ?? []))
  const workers = new Set(reaches.flatMap((reach) => reach.workers))
  for (const { job_id: job, worker } of attempts)
    if (workers.has(String(worker).replace(/\/.*/, ''))) jobs.add(String(job))
  return (job) => jobs.has(job)
}

/** Of several overlapping faults, those that ended long before the last one do not count. */
function noteWorst(worst: Map<string, number>, window: Window, ms: number, limitMs: number): void {
  for (const { name, until } of window.faults) {
    if (until + limitMs >= window.until) worst.set(name, Math.max(worst.get(name) ?? 0, ms))
  }
}

interface CanarySlot {
  readonly job: string
  readonly schedule: string
  /** By the host's clock. */
  readonly slot: number
  readonly submitted: number
  /** When its handler first started; null if it never started. */
  readonly begun: number | null
}

function* canarySlots(record: RunRecord, clock: Clock): Generator<CanarySlot> {
  const times = new Times(record.journal)
  const begun = new Map<string, number>()
  for (const { event, job, mono } of record.runs)
    if (event === 'start' && !begun.has(job)) begun.set(job, times.hostOfMono(mono))
  for (const { id, periodic_task_id: schedule, slot, submitted, state } of record.jobs) {
    if (typeof schedule !== 'string' || !schedule.startsWith(CANARY) || state === 'skipped') continue
    const [due, done] = [msOf(slot), msOf(submitted)]
    if (due === null || done === null || due < clock.from || due > clock.until) continue
    const [dueHost, doneHost] = [clock.hostOf(due), clock.hostOf(done)]
    const job = String(id)
    if (dueHost !== null && doneHost !== null)
      yield { job, schedule, slot: dueHost, submitted: doneHost, begun: begun.get(job) ?? null }
  }
}

interface Clock {
  /** The measured period, by the database's clock. */
  readonly from: number
  readonly until: number
  /** null if the time matches no instant or several instants, because the clock was moved. */
  hostOf(at: number): number | null
}

/** Converts times from the database's clock to the host's clock, where the result is unique. */
function clockOf({ journal }: RunRecord): Clock {
  const phases = journal.filter((entry) => entry.kind === 'phase')
  const begin = phases.find(({ phase }) => phase === 'begin')
  const end = phases.find(({ phase }) => phase === 'end')
  const clocks = journal.filter((entry) => entry.kind === 'clock')
  const pieces = clocks.map(({ host, offsetMs }, index) => {
    const next = clocks[index + 1]
    return {
      offsetMs,
      from: index === 0 ? -Infinity : host + offsetMs,
      until: next === undefined ? Infinity : next.host + offsetMs,
    }
  })
  return {
    from: begin?.at ?? 0,
    until: end?.at ?? Infinity,
    hostOf(at) {
      const there = pieces.filter(({ from, until }) => from <= at && at < until)
      const [piece] = there
      return piece === undefined || there.length > 1 ? null : at - piece.offsetMs
    },
  }
}
