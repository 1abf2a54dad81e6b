import { counted } from '../duration.ts'
import type { Plannable } from './planning.ts'
import type { StoredSchedule } from './schedule.ts'

/** A snapshot of what the doctor evaluates. All instants except `localNow` are from the database's clock. */
export interface DoctorInput {
  readonly now: Date
  /** This machine's clock at the moment of `now`. */
  readonly localNow: Date
  /** How long it took to read the clock, which limits the accuracy of the comparison. */
  readonly roundTripMs: number
  readonly workers: readonly {
    readonly id: string
    readonly heartbeatAt: Date
    readonly tasks: readonly string[]
    readonly running: number
  }[]
  /** Schedules that a worker is submitting. */
  readonly marks: readonly { readonly id: string; readonly worker: string; readonly ends: Date | null }[]
  /** Enabled schedules that are not idle, or that are invalid, dead or being retried. */
  readonly schedules: readonly DoctorSchedule[]
  /** The schedules whose next run or last slot is furthest in the future. */
  readonly furthest: readonly Plannable[]
  /** Claimable jobs by task; `since` is the time at which the first of them was submitted. */
  readonly waiting: readonly { readonly task: string; readonly count: number; readonly since: Date }[]
  /** Schedules that keep missing slots, although workers submit them continuously. */
  readonly behind: readonly { readonly id: string }[]
  /** Jobs in the state `blocked`, although no other job blocks them. */
  readonly blocked: readonly { readonly id: string; readonly schedule: string }[]
  /** Schedules that wait for a run whose job was deleted. */
  readonly endless: readonly { readonly id: string }[]
  /** Jobs that have been in an external queue for longer than an hour. */
  readonly unreported: readonly { readonly id: string }[]
  /** Final jobs that were older than the retention when they were last pruned, and still exist. */
  readonly unremoved: readonly { readonly id: string }[]
  /** Running jobs whose worker is not registered. */
  readonly orphans: readonly { readonly id: string; readonly worker: string }[]
}

export interface DoctorSchedule
  extends Pick<
    StoredSchedule,
    | 'id'
    | 'task'
    | 'timer'
    | 'idle'
    | 'nextRunAt'
    | 'createdAt'
    | 'lastError'
    | 'retryAt'
    | 'retry'
    | 'retryLimit'
  > {
  /** Whether a scheduler would submit the schedule now. */
  readonly isDue: boolean
}

/** A problem or possible problem, and its fix. */
export interface Finding {
  readonly code:
    | 'schema'
    | 'driver-copies'
    | 'set-aside'
    | 'clock-skew'
    | 'no-worker'
    | 'dead-worker'
    | 'stale-mark'
    | 'far-mark'
    | 'invalid-schedule'
    | 'dead-schedule'
    | 'retrying-schedule'
    | 'unreported-job'
    | 'unremoved-job'
    | 'late-schedule'
    | 'cannot-keep-up'
    | 'slot-in-the-future'
    | 'unhandled-task'
    | 'unclaimed-job'
    | 'orphaned-job'
    | 'blocked-job'
    | 'endless-schedule'
  /** The ids that the finding concerns: at most ten, earliest or worst first. */
  readonly subjects: readonly string[]
  /** The total number of subjects. */
  readonly count: number
  readonly problem: string
  readonly fix: string
}

export const MAX_SUBJECTS = 10
/** A running scheduler submits schedules, and an idle executor claims jobs, within a fraction of this time. */
export const LATE_MS = 10_000

/** A danger that concerns the connections of this process rather than rows. */
export interface DatabaseWarning extends Pick<Finding, 'problem' | 'fix'> {
  readonly code: 'driver-copies'
}

/** A row that a process leaves out for up to five minutes, because the database rejected a write to it. */
export interface SetAsideRow {
  readonly id: string
  /** Such as `cannot remove the old job 'x' (…)`. */
  readonly problem: string
}

/** @param rows  at least one */
export function adviceAboutSetAside(rows: readonly SetAsideRow[]): Pick<Finding, 'problem' | 'fix'> {
  const others = rows.length > 1 ? `, and ${String(rows.length - 1)} more` : ''
  return {
    problem: `${counted(rows.length, 'row is', 'rows are')} set aside for up to five minutes after an error: ${rows[0]?.problem ?? ''}${others}`,
    fix: `repair ${rows.length === 1 ? 'the row' : 'these rows'}, or whatever rejects the write`,
  }
}

/** At most one finding, about all of these rows. @param rows  the worst first */
export function findings<Row extends { readonly id: string }>(
  code: Finding['code'],
  rows: readonly Row[],
  advice: (worst: Row) => Pick<Finding, 'problem' | 'fix'>,
): Finding[] {
  const [worst] = rows
  if (worst === undefined) return []
  const subjects = rows.slice(0, MAX_SUBJECTS).map(({ id }) => id)
  return [{ code, subjects, count: rows.length, ...advice(worst) }]
}

export function findingsOfEach<Row extends { readonly id: string }>(
  code: Finding['code'],
  rows: readonly Row[],
  advice: (row: Row) => Pick<Finding, 'problem' | 'fix'>,
): Finding[] {
  return rows.flatMap((row) => findings(code, [row], advice))
}

/** Quoted for a shell. */
export function quoted(text: string): string {
  return /^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}
