/** Statistics of a run, from its record. */
import { type Gap, gapsOf } from './checker/rules/stalled.ts'
import { msOf } from './dates.ts'
import type { RowText, RunRecord } from './record.ts'
import { windowsOf } from './checker/times.ts'
import type { Recovery } from './recovery.ts'

export interface Figures {
  /** The number of decided slots: the slots of runs, and the slots counted in skip rows. */
  readonly occurrences: number
  readonly runs: number
  /** The number of skipped slots, by reason. */
  readonly skipped: Readonly<Record<string, number>>
  /** The number of runs, by final state. */
  readonly states: Readonly<Record<string, number>>
  /** Attempts of all runs. Attempts after the first are retries or takeovers. */
  readonly attempts: number
  readonly attemptsMost: number
  readonly faults: readonly FaultFigures[]
  readonly deadlocks: number | null
  readonly lateness: readonly Lateness[]
  /** The longest time in which a worker started no run although no fault affected it; null if none was measured. */
  readonly longestGap: Gap | null
  /** The same, during faults that affected other workers. */
  readonly longestGapBeside: Gap | null
}

export interface FaultFigures {
  readonly name: string
  readonly count: number
  /** Longest, in ms. */
  readonly longest: number
  /** The longest recovery, in ms after the end of the fault; null if no canary was delayed. */
  readonly recovery: number | null
  /** How many of the `seeable` faults health() reported. */
  readonly seen: number
  readonly seeable: number
}

export interface Lateness {
  readonly what: string
  readonly count: number
  readonly p50: number
  readonly p90: number
  readonly p99: number
  readonly most: number
}

export function figuresOf(record: RunRecord, recovery: Recovery): Figures {
  const pruned = record.journal.flatMap((entry) => (entry.kind === 'prune' ? entry.jobs : []))
  const jobs = [...record.jobs, ...pruned].filter(({ periodic_task_id: id }) => id !== null)
  const skips = jobs.filter(({ state }) => state === 'skipped')
  const runs = jobs.filter(({ state }) => state !== 'skipped')
  const skipped = summed(skips, 'reason', (row) => Number(row['missed']))
  const attempts = runs.map((row) => Number(row['attempt']))
  return {
    occurrences: runs.length + Object.values(skipped).reduce((sum, n) => sum + n, 0),
    runs: runs.length,
    skipped,
    states: summed(runs, 'state', () => 1),
    attempts: attempts.reduce((sum, n) => sum + n, 0),
    attemptsMost: attempts.reduce((most, n) => Math.max(most, n), 0),
    faults: faultFigures(record, recovery),
    deadlocks: record.deadlocks,
    lateness: [
      lateness('canaries, submitted, without faults', recovery.quiet),
      lateness('canaries, submitted, during faults that did not affect them', recovery.beside),
      lateness('canaries, submitted, during faults', recovery.troubled),
      lateness('all, submitted', differences(runs, 'submitted')),
      lateness('all, started (last attempt)', differences(runs, 'started')),
    ],
    ...longestGaps(record),
  }
}

function longestGaps(record: RunRecord): Pick<Figures, 'longestGap' | 'longestGapBeside'> {
  const faults = windowsOf(record.journal, () => true)
  const gaps = gapsOf(record)
    .filter(({ isUnaffected }) => isUnaffected)
    .toSorted((one, other) => other.until - other.from - (one.until - one.from))
  const isBeside = (gap: Gap) => faults.some(({ from, until }) => from <= gap.until && gap.from <= until)
  return { longestGap: gaps[0] ?? null, longestGapBeside: gaps.find(isBeside) ?? null }
}

function faultFigures(record: RunRecord, { worst }: Recovery): FaultFigures[] {
  const entries = record.journal.filter((entry) => entry.kind === 'fault')
  return [...new Set(entries.map(({ name }) => name))].toSorted().map((name) => {
    const those = entries.filter((entry) => entry.name === name)
    const seeable = those.filter(({ seen }) => seen !== null)
    return {
      name,
      count: those.length,
      longest: those.reduce((most, { from, until }) => Math.max(most, until - from), 0),
      recovery: worst.get(name) ?? null,
      seen: seeable.filter(({ seen }) => seen === true).length,
      seeable: seeable.length,
    }
  })
}

function summed(rows: readonly RowText[], by: string, of: (row: RowText) => number): Record<string, number> {
  const sums: Record<string, number> = {}
  for (const row of rows) sums[String(row[by])] = (sums[String(row[by])] ?? 0) + of(row)
  return sums
}

function differences(rows: readonly RowText[], column: string): number[] {
  return rows.flatMap((row) => {
    const [at, slot] = [msOf(row[column]), msOf(row['slot'])]
    return at === null || slot === null ? [] : [at - slot]
  })
}

function lateness(what: string, values: readonly number[]): Lateness {
  const sorted = Float64Array.from(values).toSorted()
  const quantile = (share: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
  return {
    what,
    count: sorted.length,
    p50: quantile(0.5),
    p90: quantile(0.9),
    p99: quantile(0.99),
    most: quantile(1),
  }
}
