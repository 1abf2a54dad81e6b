/**
 * Whether the workers recover by themselves, and how soon: measured by the canaries, which have a slot each second
 * that must be submitted. After a fault, or after the last of several that overlap, each of them must be submitted
 * within lease + poll interval; outside of faults too.
 */
import { msOf } from './dates.ts'
import type { FaultEntry, RunRecord } from './record.ts'
import { CANARY } from './workload.ts'

/**
 * For a machine that is busy with the harness, the servers and all workers at once. CI runs two of them at the
 * same time on two cores. [The longest there: 1.1 s, on Galera.]
 */
export const ALLOWANCE_MS = 3000

export interface Recovery {
  /** By the name of the fault: how long after its end, at worst, a canary's slot was submitted that was due by then. */
  readonly worst: ReadonlyMap<string, number>
  /** Stretches in which faults were, one or several. */
  readonly windows: number
  /** submitted − slot, in ms: of slots that no fault came near, from when they were due until they were submitted. */
  readonly quiet: readonly number[]
  /** Of the others. */
  readonly troubled: readonly number[]
  readonly violations: readonly string[]
}

interface Span {
  readonly from: number
  readonly until: number
}

interface Window extends Span {
  readonly faults: readonly FaultEntry[]
}

export function recoveryOf(record: RunRecord): Recovery {
  const limitMs = record.leaseMs + record.pollIntervalMs + ALLOWANCE_MS
  const clock = clockOf(record)
  const faults = record.journal.filter((entry) => entry.kind === 'fault' && entry.scope !== 'rows')
  const windows = merged(faults.filter((entry): entry is FaultEntry => entry.kind === 'fault'))
  const measured = { windows: windows.length, quiet: [] as number[], troubled: [] as number[] }
  const violations: string[] = []
  const worst = new Map<string, number>()
  for (const { schedule, slot, submitted } of canarySlots(record, clock)) {
    const window = windows.findLast(({ from }) => from <= slot)
    const isTroubled = window !== undefined && slot <= window.until
    const late = submitted - slot
    const isHit = windows.some(({ from, until }) => from <= submitted && slot <= until)
    ;(isHit ? measured.troubled : measured.quiet).push(late)
    if (isTroubled && submitted > window.until) noteWorst(worst, window, submitted - window.until, limitMs)
    // What comes between excuses: the windows that began before it had to be there.
    let deadline = (isTroubled ? window.until : slot) + limitMs
    for (const { from, until } of windows)
      if (from > slot && from <= deadline && until > slot) deadline = Math.max(deadline, until + limitMs)
    if (submitted > deadline) {
      const after = windows.findLast(({ from }) => from <= submitted)?.faults.map(({ name }) => name)
      violations.push(
        `${schedule} at ${new Date(slot).toISOString()}: submitted after ${late} ms, ${submitted - deadline} ms later than the workers should have recovered by; the last faults: ${after?.join(', ') ?? 'none'}`,
      )
    }
  }
  return { ...measured, worst, violations }
}

/** Of several that overlapped, those that were there last. */
function noteWorst(worst: Map<string, number>, window: Window, ms: number, limitMs: number): void {
  for (const { name, until } of window.faults) {
    if (until + limitMs >= window.until) worst.set(name, Math.max(worst.get(name) ?? 0, ms))
  }
}

function merged(faults: readonly FaultEntry[]): Window[] {
  const windows: { from: number; until: number; faults: FaultEntry[] }[] = []
  for (const fault of faults.toSorted((a, b) => a.from - b.from)) {
    const last = windows.at(-1)
    if (last !== undefined && fault.from <= last.until) {
      last.until = Math.max(last.until, fault.until)
      last.faults.push(fault)
    } else windows.push({ from: fault.from, until: fault.until, faults: [fault] })
  }
  return windows
}

interface CanarySlot {
  readonly schedule: string
  /** By the host's clock. */
  readonly slot: number
  readonly submitted: number
}

function* canarySlots(record: RunRecord, clock: Clock): Generator<CanarySlot> {
  for (const { periodic_task_id: schedule, slot, submitted, state } of record.jobs) {
    if (typeof schedule !== 'string' || !schedule.startsWith(CANARY) || state === 'skipped') continue
    const [due, done] = [msOf(slot), msOf(submitted)]
    if (due === null || done === null || due < clock.from || due > clock.until) continue
    const [dueHost, doneHost] = [clock.hostOf(due), clock.hostOf(done)]
    if (dueHost !== null && doneHost !== null) yield { schedule, slot: dueHost, submitted: doneHost }
  }
}

interface Clock {
  /** The time that counts, by the database's clock. */
  readonly from: number
  readonly until: number
  /** null: the clock was moved there, so that it is no or several instants. */
  hostOf(at: number): number | null
}

/** From the database's clock to the host's, as far as that is one instant. */
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
