/**
 * Writes the outcomes of jobs: the jobs, the next blocked jobs, and what the outcomes change in the rows of their
 * schedules: counters, the last error, the next retry and, where it depends on the outcome, the next run.
 *
 * The rows of the schedules, and then those of the jobs, must be locked; writes by key.
 */
import { finish } from '../../model/finish.ts'
import { fromStored, toText } from '../../model/instant.ts'
import { groupBy } from '../group-by.ts'
import { integerLiteral, placeholders } from '../literals.ts'
import { updateFromBatch, updateRows } from './by-key.ts'
import { RETRYING } from './conditions.ts'
import type { Context } from './context.ts'
import { type EndedJob, nextInTurn, writeJobs } from './ended-jobs.ts'
import { type PlannableRow, plannedFrom, toPlannable } from './rows.ts'

export async function endJobs(
  tx: Context,
  ended: readonly EndedJob[],
  schedules: ReadonlyMap<string, PlannableRow>,
  ofSchedule = finish,
): Promise<void> {
  await writeEnds(tx, ended, await nextInTurn(tx, ended), schedules, ofSchedule)
}

/** @param promoted  the blocked job that becomes waiting, by schedule */
export async function writeEnds(
  tx: Context,
  ended: readonly EndedJob[],
  promoted: ReadonlyMap<string, string>,
  schedules: ReadonlyMap<string, PlannableRow>,
  ofSchedule = finish,
): Promise<void> {
  await writeJobs(tx, ended, promoted)
  await writeSchedules(tx, ended, schedules, ofSchedule)
}

/** Final outcomes that count as a success or a failure. */
const isCounted = ({ outcome }: EndedJob) => outcome.state === 'success' || outcome.state === 'failed'

const isFinal = ({ outcome }: EndedJob) => outcome.state !== 'waiting'
/** Whether the attempt failed and the job will be retried. */
const hasFailed = ({ outcome }: EndedJob) => outcome.state === 'waiting' && outcome.why === 'failed'

/** Whether the job's attempt was a retry, or the job waited for one. */
const wasRetried = ({ row: { state, attempt } }: EndedJob) =>
  attempt > Number(state === 'running' || state === 'external')

/** Whether the attempt failed. */
const isFailure = (end: EndedJob) =>
  hasFailed(end) || (end.outcome.state === 'failed' && end.outcome.error !== null)

/** A job that gives way has not used up its retries. */
const isExhausted = ({ outcome }: EndedJob) => outcome.state === 'failed' && outcome.reason !== 'yielded'

const LARGEST = integerLiteral(Number.MAX_SAFE_INTEGER)
/** Counts stop at the largest exact integer, so that the run can still be settled. */
const counted = (column: string, more: string) =>
  `CASE WHEN t.${column} > ${LARGEST} - b.${more} THEN ${LARGEST} ELSE t.${column} + b.${more} END`
const ifCounted = (column: string) => `CASE WHEN b.runs > 0 THEN b.${column} ELSE t.${column} END`
const ifRetried = (column: string) => `CASE WHEN b.retried = 1 THEN b.${column} ELSE t.${column} END`
const ifMoved = (column: string) => `CASE WHEN b.moved = 1 THEN b.${column} ELSE t.${column} END`

const SCHEDULE_COLUMNS = {
  id: 'schedule id',
  runs: 'integer',
  errors: 'integer',
  failed_attempts: 'integer',
  last_finished: 'instant',
  attempted: 'integer',
  last_error: 'long text',
  retried: 'integer',
  retry_at: 'instant',
  retry: 'integer',
  retry_limit: 'integer',
  moved: 'integer',
  nextrun: 'instant',
  idle: 'text',
  planned_from: 'text',
} as const

/** A cancelled run counts neither as a run nor as an error. */
const SCHEDULE_ASSIGNMENTS = {
  run_count: counted('run_count', 'runs'),
  error_count: counted('error_count', 'errors'),
  failed_attempts: counted('failed_attempts', 'failed_attempts'),
  last_finished: ifCounted('last_finished'),
  last_error: 'CASE WHEN b.attempted = 1 THEN b.last_error ELSE t.last_error END',
  retry_at: ifRetried('retry_at'),
  retry: ifRetried('retry'),
  retry_limit: ifRetried('retry_limit'),
  planned_from: ifMoved('planned_from'),
  nextrun: ifMoved('nextrun'),
  idle: ifMoved('idle'),
  frozen_until: 'CASE WHEN b.moved = 1 THEN NULL ELSE t.frozen_until END',
}

/** Writes the counters, and the next run if the outcomes change it. */
async function writeSchedules(
  tx: Context,
  ended: readonly EndedJob[],
  rows: ReadonlyMap<string, PlannableRow>,
  ofSchedule: typeof finish,
): Promise<void> {
  const relevant = ended.filter(
    (end) => isFinal(end) || hasFailed(end) || (rows.get(end.row.schedule ?? '')?.retry_at ?? null) !== null,
  )
  const bySchedule = groupBy(relevant, (end) => end.row.schedule ?? '')
  const schedules = [...bySchedule].flatMap(([id, ends]) => {
    const row = rows.get(id)
    return row === undefined ? [] : [{ row, ends }]
  })
  const open = await openCounts(
    tx,
    schedules.filter(({ row }) => row.idle === 'awaiting-finish').map(({ row }) => row.id),
  )
  // Other schedules are not affected by retries, and finding retries may take a long time.
  const retried = schedules.filter(({ ends }) => ends.some((end) => hasFailed(end) || wasRetried(end)))
  const isRetried = new Set(retried.map(({ row }) => row.id))
  const retries = await nextRetries(
    tx,
    retried.map(({ row }) => row.id),
  )
  const batch = schedules.map(({ row, ends }) => ({
    ...scheduleAfter(row, ends, open.get(row.id) ?? 0, ofSchedule),
    ...(retries.get(row.id) ?? {
      retried: Number(isRetried.has(row.id)),
      retry_at: null,
      retry: null,
      retry_limit: null,
    }),
  }))
  await updateFromBatch(tx, tx.tables.schedule, SCHEDULE_COLUMNS, batch, SCHEDULE_ASSIGNMENTS)
  const asBefore = schedules.filter(
    ({ ends }, index) => ends.some(isFinal) && batch[index]?.runs === 0 && batch[index].moved === 0,
  )
  await touchSchedules(
    tx,
    asBefore.map(({ row }) => row.id),
  )
}

/** @param open  the number of the schedule's jobs that are not final */
function scheduleAfter(
  row: PlannableRow,
  ends: readonly EndedJob[],
  open: number,
  ofSchedule: typeof finish,
) {
  const counted = ends.filter(isCounted)
  const last = counted.at(-1)
  const failures = counted.filter((end) => end.outcome.state === 'failed').length
  const runs = counted.length
  const clock = ends[0]?.row.clock ?? ''
  const failedAttempts = ends.filter(isFailure).length
  const schedule = toPlannable(row)
  const afterwards = { ...schedule, successes: schedule.successes + runs - failures }
  const next = ends.some(isFinal)
    ? ofSchedule(afterwards, counted.some(isExhausted), open, fromStored(clock))
    : null
  const latest = ends.findLast((end) => isCounted(end) || hasFailed(end))?.outcome
  return {
    id: row.id,
    runs,
    errors: failures,
    failed_attempts: failedAttempts,
    last_finished: last === undefined ? null : clock,
    // A job that yielded keeps the error of its last attempt.
    attempted: Number(latest !== undefined && !(latest.state === 'failed' && latest.error === null)),
    last_error: latest === undefined || latest.state === 'success' ? null : latest.error,
    moved: Number(next !== null),
    nextrun: next?.nextRunAt ? toText(next.nextRunAt) : null,
    idle: next?.idle ?? null,
    planned_from: next === null ? null : plannedFrom(row.definition, { ...next, isByHand: false }),
  }
}

/**
 * Writes to schedules without changing them. In a cluster, only one server knows a lock. Across servers, two
 * transactions exclude each other only if both write the same row, and an unchanged value is not written. Without this,
 * a job that is submitted while the previous job ends on another server would stay blocked. Flipping the lowest bit
 * twice works for any value of the column.
 */
export async function touchSchedules(tx: Context, ids: readonly string[]): Promise<void> {
  for (let turn = 0; turn < 2; turn += 1)
    await updateRows(
      tx,
      tx.tables.schedule,
      { error_count: 'error_count + 1 - 2 * (error_count % 2)' },
      ids.toSorted(),
    )
}

/** The next retry of each schedule that has one; if several jobs are being retried, the earliest. */
async function nextRetries(tx: Context, schedules: readonly string[]) {
  if (schedules.length === 0) return new Map<string, never>()
  const { dialect, tables } = tx
  const rows = await tx.rows<{ id: string; retry_at: string; retry: number; retry_limit: number | null }>(
    `SELECT id, retry_at, retry, retry_limit
     FROM (
       SELECT periodic_task_id AS id, COALESCE(${dialect.instant('run_at')}, ${dialect.now}) AS retry_at,
         CASE WHEN state = 'running' THEN attempt - 1 ELSE attempt END AS retry,
         CASE WHEN max_retries >= 0 THEN max_retries END AS retry_limit,
         ROW_NUMBER() OVER (PARTITION BY periodic_task_id ORDER BY run_at, id) AS place
       FROM ${dialect.found(`${tables.job} AS a`, { index: tables.openIndex })}
       WHERE ${RETRYING} AND open_key IN (${placeholders(schedules)})
     ) AS retries
     WHERE place = 1`,
    schedules,
  )
  return new Map(rows.map((row) => [row.id, { ...row, retried: 1 }]))
}

/** The number of jobs of each schedule that are not final. */
async function openCounts(tx: Context, schedules: readonly string[]): Promise<ReadonlyMap<string, number>> {
  if (schedules.length === 0) return new Map()
  const { job, openIndex } = tx.tables
  const rows = await tx.rows<{ id: string; open: number }>(
    `SELECT open_key AS id, COUNT(*) AS open
     FROM ${tx.dialect.found(job, { index: openIndex })}
     WHERE open_key IN (${placeholders(schedules)})
     GROUP BY open_key`,
    schedules,
  )
  return new Map(rows.map((row) => [row.id, row.open]))
}
