/**
 * Writes the outcomes of jobs to their rows, to the blocked jobs whose turn comes next, and to the rows of their
 * schedules: counters, the last error, the next retry and, where it depends on the outcome, the next run.
 *
 * The rows of the schedules must be locked first, then those of the jobs. Writes are by key.
 */
import { fromStored, toText } from '../../model/instant.ts'
import { finish } from '../../model/settle.ts'
import type { Dialect } from '../database.ts'
import { groupBy } from '../group-by.ts'
import { integerLiteral, placeholders } from '../literals.ts'
import { idsOf, touchSchedules, updateFromBatch } from './by-key.ts'
import { RETRYING } from './conditions.ts'
import type { AnyContext } from './context.ts'
import { isFinal, nextInTurn, type Settling, writeJobs } from './job-outcomes.ts'
import { type PlannableRow, PLANNED, plannedFrom, toPlannable } from './rows.ts'

export function byUid(rows: readonly PlannableRow[]): Map<string, PlannableRow> {
  return new Map(rows.map((row) => [row.uid, row]))
}

/**
 * Runs the work again without promoting the next blocked jobs if the database rejects a row, because the row of a
 * blocked job must not keep another job from ending. A sweep promotes the job once its row is accepted.
 *
 * @param work  receives the blocked jobs to promote: undefined for those whose turn comes next
 */
export async function evenIfNextIsRejected<Result>(
  { isRejection }: Dialect,
  work: (promoted?: ReadonlyMap<string, string>) => Promise<Result>,
): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (!isRejection(error)) throw error
    return await work(new Map())
  }
}

/**
 * @param schedules  the existing rows, by `uid`
 * @param next  decides how finished runs change the plan of their schedule
 * @returns the blocked jobs that became waiting, by the `uid` of their schedule
 */
export async function writeOutcomes(
  tx: AnyContext,
  settling: readonly Settling[],
  schedules: ReadonlyMap<string, PlannableRow>,
  {
    promoted,
    next = finish,
  }: { promoted?: ReadonlyMap<string, string> | undefined; next?: typeof finish } = {},
): Promise<ReadonlyMap<string, string>> {
  const turns = promoted ?? (await nextInTurn(tx, settling))
  await writeJobs(tx, settling, turns)
  await writeSchedules(tx, settling, schedules, next)
  return turns
}

/** Whether the outcome counts as a success or a failure; a cancelled run counts as neither. */
const isCounted = ({ outcome }: Settling) => outcome.state === 'success' || outcome.state === 'failed'

/** Whether the attempt failed and the job will be retried. */
const hasFailed = ({ outcome }: Settling) => outcome.state === 'waiting' && outcome.why === 'failed'

/** Whether the job's attempt was a retry, or the job waited for one. */
const wasRetried = ({ row: { state, attempt } }: Settling) =>
  attempt > Number(state === 'running' || state === 'external')

const isFailure = (one: Settling) =>
  hasFailed(one) || (one.outcome.state === 'failed' && one.outcome.error !== null)

/** A job that gives way has not used up its retries. */
const isExhausted = ({ outcome }: Settling) => outcome.state === 'failed' && outcome.reason !== 'yielded'

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
  ...PLANNED,
} as const

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
  planned_nextrun: ifMoved('planned_nextrun'),
  planned_by_hand: ifMoved('planned_by_hand'),
  nextrun: ifMoved('nextrun'),
  idle: ifMoved('idle'),
  frozen_until: 'CASE WHEN b.moved = 1 THEN NULL ELSE t.frozen_until END',
}

/** Writes the counters, and the next run if the outcomes change it. */
async function writeSchedules(
  tx: AnyContext,
  settling: readonly Settling[],
  rows: ReadonlyMap<string, PlannableRow>,
  next: typeof finish,
): Promise<void> {
  const bySchedule = groupBy(settling, ({ row }) => row.schedule ?? '')
  const changed = [...bySchedule].flatMap(([uid, jobs]) => {
    const row = rows.get(uid)
    const relevant = jobs.filter((one) => isFinal(one) || hasFailed(one) || (row?.retry_at ?? null) !== null)
    return row === undefined || relevant.length === 0 ? [] : [{ row, uid, id: row.id, jobs: relevant }]
  })
  const awaiting = changed.filter(({ row }) => row.idle === 'awaiting-finish')
  const open = await openCounts(tx, uidsOf(awaiting))
  // Only these schedules are searched for retries, because the search may take a long time.
  const retried = uidsOf(changed.filter(({ jobs }) => jobs.some((one) => hasFailed(one) || wasRetried(one))))
  const retries = await nextRetries(tx, retried)
  const batch = changed.map(({ uid, row, jobs }) => ({
    ...scheduleAfter(row, jobs, open.get(uid) ?? 0, next),
    retried: Number(retried.includes(uid)),
    ...(retries.get(uid) ?? NO_RETRY),
  }))
  await updateFromBatch(tx, tx.tables.schedule, SCHEDULE_COLUMNS, batch, SCHEDULE_ASSIGNMENTS)
  const unchanged = changed.filter(
    ({ jobs }, index) => jobs.some(isFinal) && batch[index]?.runs === 0 && batch[index].moved === 0,
  )
  await touchSchedules(tx, idsOf(unchanged))
}

const uidsOf = (rows: readonly { readonly uid: string }[]) => rows.map(({ uid }) => uid)

/** @param open  the number of the schedule's jobs that are not final */
function scheduleAfter(row: PlannableRow, jobs: readonly Settling[], open: number, next: typeof finish) {
  const clock = jobs[0]?.row.clock ?? ''
  const runs = jobs.filter(isCounted)
  const errors = runs.filter(({ outcome }) => outcome.state === 'failed').length
  const schedule = toPlannable(row)
  const afterwards = { ...schedule, successes: schedule.successes + runs.length - errors }
  const change = jobs.some(isFinal) ? next(afterwards, runs.some(isExhausted), open, fromStored(clock)) : null
  const latest = jobs.findLast((one) => isCounted(one) || hasFailed(one))?.outcome
  return {
    id: row.id,
    runs: runs.length,
    errors,
    failed_attempts: jobs.filter(isFailure).length,
    last_finished: runs.length === 0 ? null : clock,
    attempted: Number(latest !== undefined),
    last_error: latest === undefined || latest.state === 'success' ? null : latest.error,
    moved: Number(change !== null),
    nextrun: change?.nextRunAt ? toText(change.nextRunAt) : null,
    idle: change?.idle ?? null,
    ...plannedFrom(row.definition, { nextRunAt: change?.nextRunAt ?? null, isByHand: false }),
  }
}

const NO_RETRY = { retry_at: null, retry: null, retry_limit: null }

/** The earliest retry of each schedule that has one. */
async function nextRetries(tx: AnyContext, schedules: readonly string[]) {
  if (schedules.length === 0) return new Map<string, never>()
  const { dialect, tables } = tx
  const rows = await tx.select<{ uid: string; retry_at: string; retry: number; retry_limit: number | null }>(
    ['uid', 'retry_at', 'retry', 'retry_limit'],
    `FROM (
       SELECT open_key AS uid, COALESCE(${dialect.instant('run_at')}, ${dialect.now}) AS retry_at,
         CASE WHEN state = 'running' THEN attempt - 1 ELSE attempt END AS retry,
         CASE WHEN max_retries >= 0 THEN max_retries END AS retry_limit,
         ROW_NUMBER() OVER (PARTITION BY open_key ORDER BY run_at, id) AS place
       FROM ${dialect.found(`${tables.job} AS a`, { index: tables.openIndex })}
       WHERE ${RETRYING} AND open_key IN (${placeholders(schedules, dialect.jobId)})
     ) AS retries
     WHERE place = 1`,
    schedules,
  )
  return new Map(rows.map(({ uid, ...retry }) => [uid, retry]))
}

async function openCounts(
  tx: AnyContext,
  schedules: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  if (schedules.length === 0) return new Map()
  const { job, openIndex } = tx.tables
  const rows = await tx.select<{ uid: string; open: number }>(
    ['open_key AS uid', 'COUNT(*) AS open'],
    `FROM ${tx.dialect.found(job, { index: openIndex })}
     WHERE open_key IN (${placeholders(schedules, tx.dialect.jobId)})
     GROUP BY open_key`,
    schedules,
  )
  return new Map(rows.map((row) => [row.uid, row.open]))
}
