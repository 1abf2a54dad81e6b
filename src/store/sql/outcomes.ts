/**
 * Writes the outcomes of jobs to their rows, to the blocked jobs whose turn comes next, and to the rows of their
 * schedules: counters, the last error, the next retry and, where it depends on the outcome, the next run.
 *
 * The rows of the schedules must be locked first, then those of the jobs. Writes are by key. The unique entry in
 * (open_key, open_turn) passes from one job to the next.
 */
import { fromStored, toText } from '../../model/instant.ts'
import { finish, type JobOutcome } from '../../model/settle.ts'
import type { JobState } from '../../model/states.ts'
import type { Dialect } from '../database.ts'
import { groupBy } from '../group-by.ts'
import { integerLiteral, placeholders } from '../literals.ts'
import { touchSchedules, updateFromBatch, updateLocked } from './by-key.ts'
import { and, nextOf, RETRYING } from './conditions.ts'
import type { AnyContext } from './context.ts'
import { type PlannableRow, plannedFrom, toPlannable } from './rows.ts'

/** The columns of a job that are read before its outcome is written. */
export interface SettlingRow {
  id: string
  /** The `uid` of the row of its schedule, which may have been deleted. */
  schedule: string | null
  /** The id that this row had. */
  scheduleId: string | null
  task: string
  state: JobState
  queue: string | null
  worker: string | null
  attempt: number
  claim: number
  started: string | null
  stop_requested: string | null
  no_retry: string | null
  reason: string | null
  clock: string
}

export interface Settling {
  readonly row: SettlingRow
  readonly outcome: JobOutcome
}

export function settlingColumns({ instant, now }: Dialect): string[] {
  const names = [
    'task',
    'state',
    'queue',
    'worker',
    'attempt',
    'claim',
    'stop_requested',
    'no_retry',
    'reason',
  ]
  return [
    'id',
    'periodic_task_uid AS schedule',
    'periodic_task_id AS scheduleId',
    ...names,
    `${instant('started')} AS started`,
    `${now} AS clock`,
  ]
}

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

/** The latest value that the column can hold. */
const LAST_INSTANT = Date.UTC(9999, 11, 31, 23, 59, 59, 999)

/**
 * Writes the outcomes, and the jobs that become waiting, in the order of the schedules, which is the order in which
 * jobs are inserted. The unique key that allows only one exclusive job at a time passes from one job to the next, and
 * InnoDB then also locks the next entry of the index. [When this was two statements, two such transactions deadlocked.]
 */
async function writeJobs(
  tx: AnyContext,
  settling: readonly Settling[],
  promoted: ReadonlyMap<string, string>,
): Promise<void> {
  const isSimple = ({ row, outcome }: Settling) =>
    row.state === 'running' && row.schedule === null && outcome.state === 'success'
  await writeSuccesses(tx, settling.filter(isSimple))
  const others = settling.filter((one) => !isSimple(one))
  const outcomes = others.map((one) => ({ schedule: one.row.schedule ?? '', row: jobAfter(one) }))
  const turns = [...promoted].map(([schedule, id]) => ({ schedule, row: { ...WAITING, id, stage: 1 } }))
  const inOrder = [...outcomes, ...turns]
    .toSorted((a, b) => compare(a.schedule, b.schedule) || a.row.stage - b.row.stage)
    .map(({ row }) => row)
  for (const rows of tx.dialect.updateStages(inOrder))
    await updateFromBatch(tx, tx.tables.job, JOB_COLUMNS, rows, JOB_ASSIGNMENTS, IS_UNCHANGED)
}

/** Writes the most frequent outcome, success of a job without a schedule, in less CPU time than other outcomes. */
async function writeSuccesses(tx: AnyContext, settling: readonly Settling[]): Promise<void> {
  const rows = settling.map(({ row: { id, claim, clock }, outcome }) => ({
    id,
    claim,
    finished: clock,
    result: outcome.state === 'success' ? outcome.result : null,
  }))
  const [first] = rows
  if (first === undefined) return
  const success = { state: "'success'", releases: '0', run_at: 'NULL', frozen_until: 'NULL', error: 'NULL' }
  const areEqual = rows.every(({ result }) => result === first.result)
  const haveSameClaim = rows.every(({ claim }) => claim === first.claim)
  if (!haveSameClaim || (!areEqual && !tx.dialect.prefersCase)) {
    const columns = { id: 'job id', claim: 'integer', finished: 'instant', result: 'long text' } as const
    const assignments = { ...success, finished: 'b.finished', result: 'b.result' }
    const where = "t.state = 'running' AND t.claim = b.claim"
    await updateFromBatch(tx, tx.tables.job, columns, rows, assignments, where)
    return
  }
  const results = rows.map(() => `WHEN ${tx.dialect.jobId} THEN ?`).join(' ')
  const assignments = { ...success, finished: '?', result: areEqual ? '?' : `CASE id ${results} END` }
  const params = areEqual ? [first.result] : rows.flatMap(({ id, result }) => [id, result])
  await updateLocked(tx, tx.tables.job, assignments, idsOf(rows), {
    params: [first.finished, ...params],
    where: and("+state = 'running' AND claim = ?", first.claim),
  })
}

const JOB_COLUMNS = {
  id: 'job id',
  stage: 'integer',
  was: 'text',
  claim: 'integer',
  state: 'text',
  reason: 'text',
  attempt: 'integer',
  released: 'integer',
  run_at: 'instant',
  finished: 'instant',
  result: 'long text',
  error: 'long text',
} as const

/**
 * The state and the number of the claim change with every start and every outcome, and a number is never used twice. A
 * promoted job (stage 1) must only exist.
 */
const IS_UNCHANGED = 'b.stage = 1 OR (t.state = b.was AND t.claim = b.claim)'

/** A promoted job keeps its value in this column. */
const unlessPromoted = (column: string) => `CASE WHEN b.stage = 1 THEN t.${column} ELSE b.${column} END`

const JOB_ASSIGNMENTS = {
  // A job that was cancelled manually in the meantime stays cancelled.
  state: "CASE WHEN b.stage = 1 AND t.state <> 'blocked' THEN t.state ELSE b.state END",
  reason: 'COALESCE(b.reason, t.reason)',
  attempt: unlessPromoted('attempt'),
  // -1 means that there was no attempt: `started` is cleared, and `releases` keeps its value.
  started: 'CASE WHEN b.released = -1 THEN NULL ELSE t.started END',
  releases: `CASE b.released WHEN 0 THEN 0 WHEN 1 THEN ${nextOf('t.releases')} ELSE t.releases END`,
  run_at: unlessPromoted('run_at'),
  finished: unlessPromoted('finished'),
  result: unlessPromoted('result'),
  error: "CASE WHEN b.state = 'success' THEN NULL ELSE COALESCE(b.error, t.error) END",
  // A final job keeps its worker, so that the history shows which worker ran it.
  worker: "CASE WHEN b.state = 'waiting' THEN NULL ELSE t.worker END",
  frozen_until: 'NULL',
}

const compare = (one: string, other: string) => (one < other ? -1 : Number(one > other))

const WAITING = {
  was: null,
  claim: null,
  state: 'waiting',
  reason: null,
  attempt: 0,
  released: 0,
  run_at: null,
  finished: null,
  result: null,
  error: null,
}

function jobAfter({ row, outcome }: Settling) {
  const { id, attempt, clock } = row
  const before = { id, stage: 0, was: row.state, claim: row.claim }
  if (outcome.state !== 'waiting') {
    const { state, reason, result, error } = outcome
    return { ...before, state, reason, attempt, released: 0, run_at: null, finished: clock, result, error }
  }
  const { delayMs, why, error } = outcome
  return {
    ...WAITING,
    ...before,
    attempt: why === 'failed' ? attempt : Math.max(0, attempt - 1),
    released: why === 'unstarted' ? -1 : Number(why === 'released'),
    run_at:
      delayMs === 0 ? null : toText(new Date(Math.min(fromStored(clock).getTime() + delayMs, LAST_INSTANT))),
    error,
  }
}

/** The first blocked job of each schedule whose open jobs are all blocked after these outcomes. */
export async function nextInTurn(
  tx: AnyContext,
  settling: readonly Settling[],
): Promise<ReadonlyMap<string, string>> {
  const final = settling.filter((one) => isFinal(one) && one.row.schedule !== null).map(({ row }) => row)
  const schedules = [...new Set(final.flatMap(({ schedule }) => schedule ?? []))].toSorted()
  if (schedules.length === 0) return new Map()
  const ids = final.map(({ id }) => id)
  const { jobId } = tx.dialect
  // Without this index, MySQL would read the whole history of each schedule.
  const { job, openIndex: index } = tx.tables
  const rows = await tx.select<{ id: string; schedule: string }>(
    ['MIN(id) AS id', 'open_key AS schedule'],
    `FROM ${tx.dialect.found(`${job} AS b`, { index })}
     WHERE open_key IN (${placeholders(schedules, jobId)})
       AND state = 'blocked'
       AND id NOT IN (${placeholders(ids, jobId)})
       AND NOT EXISTS (
         SELECT 1 FROM ${tx.dialect.found(`${job} AS a`, { index })}
         WHERE a.open_key = b.open_key AND a.state <> 'blocked' AND a.id NOT IN (${placeholders(ids, jobId)})
       )
     GROUP BY open_key`,
    [...schedules, ...ids, ...ids],
  )
  return new Map(rows.map((row) => [row.schedule, row.id]))
}

/** Whether the outcome counts as a success or a failure; a cancelled run counts as neither. */
const isCounted = ({ outcome }: Settling) => outcome.state === 'success' || outcome.state === 'failed'

const isFinal = ({ outcome }: Settling) => outcome.state !== 'waiting'

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
  planned_from: 'text',
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

const idsOf = (rows: readonly { readonly id: string }[]) => rows.map(({ id }) => id)
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
    planned_from: change === null ? null : plannedFrom(row.definition, { ...change, isByHand: false }),
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
