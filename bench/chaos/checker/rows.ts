/** Converts rows of the database to the form that the rules read. */
import { msOf } from '../dates.ts'
import type { RowText } from '../record.ts'

/** A row of `job`; instants are Unix ms. */
export interface JobRow {
  readonly id: string
  readonly schedule: string | null
  /** The identity of the row of the schedule. */
  readonly scheduleUid: string | null
  readonly slot: number | null
  readonly missed: number
  readonly task: string
  readonly state: string
  readonly reason: string | null
  readonly exclusive: boolean
  readonly worker: string | null
  readonly attempt: number
  readonly submitted: number
  readonly runAt: number | null
  readonly started: number | null
  readonly finished: number | null
  readonly text: RowText
}

/** A row of `periodic_task` at one instant. */
export interface ScheduleRow {
  readonly id: string
  readonly uid: string | null
  readonly enabled: boolean
  readonly timer: string
  readonly task: string
  readonly created: number
  readonly jitter: number
  readonly starts: number | null
  readonly ends: number | null
  readonly catchUp: number
  readonly overlap: string
  readonly onExhausted: string
  readonly maxRuns: number | null
  readonly nextRunAt: number | null
  readonly idle: string | null
  readonly lastSlot: number | null
  readonly runCount: number
  readonly errorCount: number
  readonly lastRunAt: number | null
  readonly lastFinishedAt: number | null
  readonly lastJobId: string | null
  readonly worker: string | null
  readonly marked: number | null
  readonly markEnds: number | null
  /** The values that determine the next run, as combined by the database. */
  readonly definition: string | null
  readonly plannedFrom: string | null
  readonly plannedRunAt: number | null
  readonly isByHand: boolean
  readonly declaredBy: string | null
  readonly text: RowText
}

export function jobRow(row: RowText): JobRow {
  return {
    id: String(row['id']),
    schedule: textOf(row, 'periodic_task_id'),
    scheduleUid: textOf(row, 'periodic_task_uid'),
    slot: msOf(row['slot']),
    missed: Number(row['missed']),
    task: String(row['task']),
    state: String(row['state']),
    reason: textOf(row, 'reason'),
    exclusive: Number(row['exclusive']) === 1,
    worker: textOf(row, 'worker'),
    attempt: Number(row['attempt']),
    submitted: msOf(row['submitted']) ?? Number.NaN,
    runAt: msOf(row['run_at']),
    started: msOf(row['started']),
    finished: msOf(row['finished']),
    text: row,
  }
}

export function scheduleRow(row: RowText): ScheduleRow {
  return {
    id: String(row['id']),
    uid: textOf(row, 'uid'),
    enabled: Number(row['enabled']) !== 0,
    timer: String(row['timer']),
    task: String(row['task']),
    created: msOf(row['created']) ?? 0,
    jitter: Number(row['jitter'] ?? 0),
    starts: msOf(row['starts']),
    ends: msOf(row['ends']),
    catchUp: Number(row['catch_up'] ?? 1),
    overlap: String(row['overlap'] ?? 'skip'),
    onExhausted: String(row['on_exhausted'] ?? 'continue'),
    maxRuns: numberOf(row, 'max_runs'),
    nextRunAt: msOf(row['nextrun']),
    idle: textOf(row, 'idle'),
    lastSlot: msOf(row['last_slot']),
    runCount: Number(row['run_count'] ?? 0),
    errorCount: Number(row['error_count'] ?? 0),
    lastRunAt: msOf(row['last_run']),
    lastFinishedAt: msOf(row['last_finished']),
    lastJobId: textOf(row, 'last_job'),
    worker: textOf(row, 'worker'),
    marked: msOf(row['marked']),
    markEnds: msOf(row['mark_ends']),
    definition: textOf(row, 'definition'),
    plannedFrom: textOf(row, 'planned_from'),
    plannedRunAt: msOf(row['planned_nextrun']),
    isByHand: Number(row['planned_by_hand']) === 1,
    declaredBy: textOf(row, 'declared_by'),
    text: row,
  }
}

function textOf(row: RowText, column: string): string | null {
  const value = row[column]
  return value === null || value === undefined ? null : String(value)
}

function numberOf(row: RowText, column: string): number | null {
  const value = row[column]
  return value === null || value === undefined ? null : Number(value)
}
