/**
 * Checks that no slot is lost, decided twice or run early, using only the rows that a test has left behind.
 *
 * A run is a job row with its slot. A skip is one row whose `missed` is the number of its slots and whose own slot is
 * the newest of them. Slots that were dropped before a run are recorded as one skip row with the reason 'missed', and
 * their number is also stored as the run's `missed`.
 */
import type { TestDatabase } from './databases.ts'

export interface OccurrenceRow {
  readonly id: string
  readonly schedule: string
  /** Instants are Unix milliseconds. */
  readonly slot: number
  readonly missed: number
  readonly state: string
  readonly reason: string | null
  readonly submitted: number
  readonly started: number | null
  readonly attempt: number
}

export interface ScheduleEnd {
  readonly id: string
  readonly lastSlot: number | null
  readonly worker: string | null
}

/** The expected slots of schedules that fire at regular intervals. */
export interface Expected {
  /** The first slot of every schedule. */
  readonly from: number
  /** Every schedule must have progressed at least as far as this time. */
  readonly until: number
  readonly stepMs: number
}

const FINAL: ReadonlySet<string> = new Set(['success', 'failed', 'cancelled', 'skipped'])

/** @returns every problem as a sentence; none if each slot was decided exactly once */
export function occurrenceProblems(
  schedules: readonly ScheduleEnd[],
  rows: readonly OccurrenceRow[],
  expected: Expected,
): string[] {
  const problems: string[] = []
  const bySchedule = new Map<string, OccurrenceRow[]>(schedules.map(({ id }) => [id, []]))
  for (const row of rows) {
    const of = bySchedule.get(row.schedule)
    if (of === undefined) problems.push(`${name(row)}: of no schedule`)
    else of.push(row)
    problems.push(...rowProblems(row))
  }
  for (const schedule of schedules) {
    if (schedule.worker !== null) problems.push(`${schedule.id}: a mark of ${schedule.worker} was left`)
    problems.push(...sequenceProblems(schedule, bySchedule.get(schedule.id) ?? [], expected))
  }
  return problems
}

function rowProblems(row: OccurrenceRow): string[] {
  const problems: string[] = []
  if (!FINAL.has(row.state)) problems.push(`${name(row)}: left in state ${row.state}`)
  if (row.submitted < row.slot) problems.push(`${name(row)}: submitted ${row.slot - row.submitted} ms early`)
  if (row.started !== null && row.started < row.slot)
    problems.push(`${name(row)}: started ${row.slot - row.started} ms early`)
  return problems
}

function sequenceProblems(
  schedule: ScheduleEnd,
  rows: readonly OccurrenceRow[],
  { from, until, stepMs }: Expected,
): string[] {
  const problems: string[] = []
  let next = from
  let before: OccurrenceRow | null = null
  for (const row of rows.toSorted((a, b) => a.slot - b.slot)) {
    const covers = row.state === 'skipped' ? row.missed : 1
    const first = row.slot - (covers - 1) * stepMs
    if (covers < 1) problems.push(`${name(row)}: a skip that stands for ${covers} slots`)
    if (first > next)
      problems.push(`${schedule.id}: lost ${(first - next) / stepMs} slots from ${text(next)}`)
    if (first < next) problems.push(`${name(row)}: decided twice, ${(next - first) / stepMs} slots`)
    const dropped = before?.reason === 'missed' && before.slot === row.slot - stepMs ? before.missed : 0
    if (row.state !== 'skipped' && row.missed !== dropped)
      problems.push(`${name(row)}: says ${row.missed} missed, but ${dropped} were dropped before it`)
    next = Math.max(next, row.slot + stepMs)
    before = row
  }
  const last = next - stepMs
  if (schedule.lastSlot !== last)
    problems.push(`${schedule.id}: its last slot is ${text(schedule.lastSlot)}, its last row's ${text(last)}`)
  if (last < until) problems.push(`${schedule.id}: came only as far as ${text(last)}`)
  return problems
}

export interface Tally {
  readonly runs: number
  /** Slots in skip rows, by reason. */
  readonly skipped: Readonly<Record<string, number>>
  /** Attempts after the first, for example of runs taken over from dead workers. */
  readonly retried: number
  /** Percentiles of the time from the slot to the submission of each run, in milliseconds. */
  readonly latenessP50: number
  readonly latenessP99: number
  /** Percentiles of the time from the slot to the start of each run, in milliseconds. */
  readonly startP50: number
  readonly startP99: number
}

export function tally(rows: readonly OccurrenceRow[]): Tally {
  const runs = rows.filter((row) => row.state !== 'skipped')
  const skipped: Record<string, number> = {}
  for (const { state, reason, missed } of rows) {
    if (state === 'skipped') skipped[String(reason)] = (skipped[String(reason)] ?? 0) + missed
  }
  const lateness = runs.map((row) => row.submitted - row.slot)
  const starts = runs.flatMap((row) => (row.started === null ? [] : [row.started - row.slot]))
  return {
    runs: runs.length,
    skipped,
    retried: runs.reduce((sum, row) => sum + Math.max(0, row.attempt - 1), 0),
    latenessP50: quantile(lateness, 0.5),
    latenessP99: quantile(lateness, 0.99),
    startP50: quantile(starts, 0.5),
    startP99: quantile(starts, 0.99),
  }
}

export async function occurrenceRows(database: TestDatabase): Promise<OccurrenceRow[]> {
  const rows = await database.query(
    'SELECT id, periodic_task_id, slot, missed, state, reason, submitted, started, attempt FROM job WHERE periodic_task_id IS NOT NULL',
  )
  return rows.map((row) => ({
    id: String(row['id']),
    schedule: String(row['periodic_task_id']),
    slot: instant(row['slot']) ?? 0,
    missed: Number(row['missed']),
    state: String(row['state']),
    reason: textOf(row['reason']),
    submitted: instant(row['submitted']) ?? 0,
    started: instant(row['started']),
    attempt: Number(row['attempt']),
  }))
}

export async function scheduleEnds(database: TestDatabase): Promise<ScheduleEnd[]> {
  const rows = await database.query('SELECT id, last_slot, worker FROM periodic_task')
  return rows.map((row) => ({
    id: String(row['id']),
    lastSlot: instant(row['last_slot']),
    worker: textOf(row['worker']),
  }))
}

/** Unix milliseconds of an instant in the format of the databases. */
export function instant(value: unknown): number | null {
  const told = textOf(value)
  return told === null ? null : Date.parse(`${told.replace(' ', 'T')}Z`)
}

/** An instant in the format of the tables. */
export function sqlInstant(unixMs: number): string {
  return new Date(unixMs).toISOString().replace('T', ' ').slice(0, 23)
}

/** All databases return instants and names as text. */
function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

function name(row: OccurrenceRow): string {
  return `${row.schedule} at ${text(row.slot)} (${row.state}${row.reason === null ? '' : `, ${row.reason}`})`
}

function text(unixMs: number | null): string {
  return unixMs === null ? 'none' : new Date(unixMs).toISOString()
}
