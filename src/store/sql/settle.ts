/**
 * Writes the outcomes of attempts: the jobs, their attempts, the counters of their schedules, and the next blocked
 * jobs.
 *
 * Locks schedules first and then jobs, each by key, in key order and with SKIP LOCKED; rows that other transactions
 * have locked are returned, and settled again later. An outcome moves the job's entry in the index on (state,
 * finished), and its entry in (open_key, open_turn), which passes to the next job of the schedule.
 */
import { messageOf } from '../../errors.ts'
import { storedEnd } from '../../model/attempt.ts'
import { finish } from '../../model/finish.ts'
import { fromStored, fromText, toText } from '../../model/instant.ts'
import { type ClaimedJob, type Fence, fenceText } from '../../model/job.ts'
import type { JobState } from '../../model/states.ts'
import {
  type AttemptEnd,
  type JobOutcome,
  type LockedJob,
  outcomeOf,
  withoutTexts,
} from '../../model/settle.ts'
import type { Dialect } from '../database.ts'
import type { EndedAttempt, SettledAttempt, SettleResult } from '../executing-store.ts'
import { integerLiteral, placeholders } from '../literals.ts'
import { lockRows, updateFromBatch, updateRows } from './by-key.ts'
import { nextOf, RETRYING } from './conditions.ts'
import type { Context, TablesContext } from './context.ts'
import { groupBy } from '../group-by.ts'
import type { Isolation } from './isolate.ts'
import { type PlannableRow, plannableColumns, plannedFrom, toPlannable } from './rows.ts'
import { confirmReads } from './workers.ts'

export async function settle(
  context: TablesContext,
  isolation: Isolation,
  attempts: readonly EndedAttempt[],
): Promise<SettleResult> {
  let record: typeof writeAttempts | null = writeAttempts
  // If a job was manually reopened after the next job was selected, the reopened job has the turn.
  const writeTogether = (some: readonly EndedAttempt[]) =>
    context.transactionOnKeys((tx) => settleAll(tx, some, record))
  const write = async (some: readonly EndedAttempt[]) => {
    try {
      return await writeTogether(some)
    } catch (error) {
      if (!(error instanceof AttemptsLocked)) throw error
      record = null
      return await writeTogether(some)
    }
  }
  const items = attempts.map((attempt) => ({ id: attempt.fence.id, attempt }))
  const { results, left, refused } = await isolation.write(items, {
    write: (some) => write(some.map(({ attempt }) => attempt)),
    // The database may reject the result or the error text.
    alone: ({ attempt }, error) => write([{ ...attempt, end: withoutTexts(attempt.end, messageOf(error)) }]),
    wrote: ({ settled }) => settled.length > 0,
  })
  return {
    settled: results.flatMap(({ settled }) => settled),
    lost: results.flatMap(({ lost }) => lost),
    locked: [...results.flatMap(({ locked }) => locked), ...left.map(({ attempt }) => attempt)],
    refused: refused.map(({ item: { attempt }, error }) => ({ item: attempt, error })),
  }
}

/** What one transaction settled. */
type Settled = Omit<SettleResult, 'refused'>

/** @param record  a function that stores the attempts that did not succeed, or null to store none */
async function settleAll(
  tx: Context,
  attempts: readonly EndedAttempt[],
  record: typeof writeAttempts | null,
): Promise<Settled> {
  const simple = await settleSimple(tx, attempts)
  const others = attempts.filter((attempt) => !simple.has(attempt))
  if (others.length === 0) return { settled: [...simple.values()], lost: [], locked: [] }
  const { settled, lost, locked } = await settleOthers(tx, others, record)
  return { settled: [...simple.values(), ...settled], lost, locked }
}

/**
 * Finishes successful jobs without a schedule, changing only their own rows.
 *
 * @returns the jobs that this worker still holds and that no other transaction has locked, by attempt
 */
async function settleSimple(
  tx: Context,
  attempts: readonly EndedAttempt[],
): Promise<ReadonlyMap<EndedAttempt, SettledAttempt>> {
  const simple = new Map(attempts.filter(isSimple).map((attempt) => [fenceText(attempt.fence), attempt]))
  // There are no further conditions, because with statistics, SQLite might use another index for them.
  const rows = await lockRows<Fence & { state: JobState; schedule: string | null; clock: string }>(tx, {
    table: tx.tables.job,
    columns: `id, worker, claim, state, periodic_task_id AS schedule, ${tx.dialect.now} AS clock`,
    ids: [...new Set([...simple.values()].map(({ fence }) => fence.id))].toSorted(),
  })
  const settled = new Map<EndedAttempt, SettledAttempt>()
  for (const row of rows) {
    const of = simple.get(fenceText(row))
    if (of === undefined || row.state !== 'running' || row.schedule !== null) continue
    const { id, task, attempt, startedAt } = of.job
    const outcome = outcomeOf(of, withoutSchedule(of.job))
    const endedAt = fromStored(row.clock)
    settled.set(of, { id, task, scheduleId: null, attempt, outcome, startedAt, endedAt, promoted: null })
  }
  await writeSuccesses(tx, [...settled.values()])
  return settled
}

function isSimple(attempt: EndedAttempt): attempt is EndedAttempt & { readonly job: ClaimedJob } {
  return attempt.job?.scheduleId === null && attempt.end.kind === 'success'
}

const withoutSchedule = ({ attempt }: ClaimedJob): LockedJob => ({
  attempt,
  stopRequested: false,
  timer: null,
  yields: false,
})

async function settleOthers(
  tx: Context,
  attempts: readonly EndedAttempt[],
  record: typeof writeAttempts | null,
): Promise<Settled> {
  const ids = attempts.map((attempt) => attempt.fence.id).toSorted()
  const schedules = await lockSchedulesOf(tx, ids)
  const columns = endingColumns(tx.dialect)
  const mine = await lockRows<EndingRow>(tx, { table: tx.tables.job, columns, ids })
  const running = new Map(mine.map((row) => [row.id, row]))
  const passedOver = await runningAmong(
    tx,
    ids.filter((id) => !running.has(id)),
  )
  const blocking = await yieldingTo(
    tx,
    [...schedules.rows.values()].filter((row) => row.yields === 1).map(({ id }) => id),
  )
  const lost: EndedAttempt[] = []
  const locked: EndedAttempt[] = []
  const ended: AttemptOfRow[] = []
  for (const attempt of attempts) {
    const { fence } = attempt
    const row = running.get(fence.id)
    if (passedOver.has(fenceText(fence))) locked.push(attempt)
    else if (!hasStarted(row) || row.worker !== fence.worker || row.claim !== fence.claim) lost.push(attempt)
    else if (row.schedule !== null && schedules.locked.has(row.schedule)) locked.push(attempt)
    else
      ended.push({
        row,
        end: attempt.end,
        outcome: outcomeOf(attempt, {
          attempt: row.attempt,
          stopRequested: row.stop_requested !== null,
          timer: schedules.rows.get(row.schedule ?? '')?.timer ?? null,
          yields: blocking.has(row.schedule ?? ''),
        }),
      })
  }
  if (lost.length > 0) await confirmReads(tx)
  const turns = await nextInTurn(tx, ended)
  const heldTurns = await heldAmong(tx, turns)
  // An outcome waits while the next job is locked, because the two are written together.
  const isHeld = ({ row }: EndedJob) => row.schedule !== null && heldTurns.has(row.schedule)
  const held = new Set(ended.filter(isHeld).map(({ row }) => row.id))
  locked.push(...attempts.filter(({ fence }) => held.has(fence.id)))
  const written = ended.filter((end) => !isHeld(end))
  const promoted = new Map([...turns].filter(([schedule]) => !heldTurns.has(schedule)))
  await writeEnds(tx, written, promoted, schedules.rows)
  await record?.(tx, written)
  const settled = written.map(
    ({ row, outcome }): SettledAttempt => ({
      id: row.id,
      task: row.task,
      scheduleId: row.schedule,
      attempt: row.attempt,
      outcome,
      startedAt: fromStored(row.started ?? row.clock),
      endedAt: fromStored(row.clock),
      promoted: (row.schedule !== null && outcome.state !== 'waiting' && promoted.get(row.schedule)) || null,
    }),
  )
  return { settled, lost: lost.map((attempt) => attempt.fence), locked }
}

function hasStarted(row: EndingRow | undefined): row is EndingRow {
  return row?.state === 'running' || row?.state === 'external'
}

/** @returns the schedules that have a blocked job */
async function yieldingTo(tx: Context, schedules: readonly string[]): Promise<ReadonlySet<string>> {
  if (schedules.length === 0) return new Set()
  const { job, openIndex } = tx.tables
  const rows = await tx.rows<{ id: string }>(
    `SELECT DISTINCT open_key AS id
     FROM ${tx.dialect.found(job, { index: openIndex })}
     WHERE state = 'blocked' AND open_key IN (${placeholders(schedules)})`,
    schedules,
  )
  return new Set(rows.map(({ id }) => id))
}

/** @returns the schedules whose next job another transaction has locked */
async function heldAmong(tx: Context, turns: ReadonlyMap<string, string>): Promise<ReadonlySet<string>> {
  const ids = [...turns.values()].toSorted()
  const rows = await lockRows<{ id: string }>(tx, { table: tx.tables.job, columns: 'id', ids })
  const got = new Set(rows.map(({ id }) => id))
  return new Set([...turns].filter(([, id]) => !got.has(id)).map(([schedule]) => schedule))
}

/** The running jobs that could not be locked because other transactions have locked their rows. */
export async function runningAmong(tx: Context, ids: readonly string[]): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set()
  const rows = await tx.rows<Fence>(
    `SELECT id, worker, claim FROM ${tx.tables.job}
     WHERE id IN (${placeholders(ids, tx.dialect.jobId)}) AND state IN ('running', 'external') AND worker IS NOT NULL`,
    ids,
  )
  return new Set(rows.map(fenceText))
}

/**
 * Locks the schedules of the jobs before the jobs. This is the only order in which locks are taken. Schedules that
 * other transactions have locked are skipped, so that an administrator's open transaction delays only the jobs of these
 * schedules.
 */
async function lockSchedulesOf(
  tx: Context,
  jobIds: readonly string[],
): Promise<{ locked: ReadonlySet<string>; rows: ReadonlyMap<string, PlannableRow> }> {
  const { job, schedule } = tx.tables
  const wanted = await tx.rows<{ id: string }>(
    `SELECT DISTINCT s.id AS id
     FROM ${job} AS j JOIN ${schedule} AS s ON s.id = j.periodic_task_id
     WHERE j.id IN (${placeholders(jobIds, tx.dialect.jobId)})`,
    jobIds,
  )
  const ids = wanted.map((row) => row.id)
  const columns = plannableColumns(tx.dialect)
  const got = await lockRows<PlannableRow>(tx, { table: schedule, columns, ids })
  const rows = new Map(got.map((row) => [row.id, row]))
  return { locked: new Set(ids.filter((id) => !rows.has(id))), rows }
}

/** The columns of an ending job that are read. */
export interface EndingRow {
  id: string
  schedule: string | null
  task: string
  state: JobState
  queue: string | null
  worker: string | null
  attempt: number
  claim: number
  started: string | null
  stop_requested: string | null
  clock: string
}

export interface EndedJob {
  readonly row: EndingRow
  readonly outcome: JobOutcome
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

export function endingColumns({ instant, now }: Dialect): string {
  return `id, periodic_task_id AS schedule, task, state, queue, worker, attempt, claim,
    ${instant('started')} AS started, stop_requested, ${now} AS clock`
}

/** Writes the outcomes of jobs. The rows of their schedules, and then those of the jobs, must be locked. */
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

/** The columns that the success of a job without a schedule writes, except for its result. */
const SUCCESS = { state: "'success'", releases: '0', run_at: 'NULL', frozen_until: 'NULL', error: 'NULL' }

const resultOf = ({ outcome }: SettledAttempt) => (outcome.state === 'success' ? outcome.result : null)

/** Writes the outcomes of successful jobs without a schedule. Their rows must be locked. */
export async function writeSuccesses(tx: Context, settled: readonly SettledAttempt[]): Promise<void> {
  const [first] = settled
  if (first === undefined) return
  const { job } = tx.tables
  const finished = toText(first.endedAt)
  const result = resultOf(first)
  if (settled.every((one) => resultOf(one) === result)) {
    const assignments = { ...SUCCESS, finished: '?', result: '?' }
    const ids = settled.map(({ id }) => id)
    await updateRows(tx, job, assignments, ids, { params: [finished, result] })
    return
  }
  const rows = settled.map((one) => ({ id: one.id, finished, result: resultOf(one) }))
  if (tx.dialect.prefersCase) {
    const results = rows.map(() => `WHEN ${tx.dialect.jobId} THEN ?`).join(' ')
    const assignments = { ...SUCCESS, finished: '?', result: `CASE id ${results} END` }
    const params = [finished, ...rows.flatMap((row) => [row.id, row.result])]
    const ids = rows.map(({ id }) => id)
    await updateRows(tx, job, assignments, ids, { params })
    return
  }
  const columns = { id: 'job id', finished: 'instant', result: 'long text' } as const
  await updateFromBatch(tx, job, columns, rows, { ...SUCCESS, finished: 'b.finished', result: 'b.result' })
}

/** The latest value that the column can hold. */
const LAST_INSTANT = Date.UTC(9999, 11, 31, 23, 59, 59, 999)

/**
 * Writes the outcomes, and the jobs that become waiting, in the order of the schedules, as for inserts of jobs. The
 * unique key that allows only one job at a time passes from one job to the other, and InnoDB then also locks the next
 * entry of the index. [When this was two statements, two such transactions deadlocked.]
 */
async function writeJobs(
  tx: Context,
  ended: readonly EndedJob[],
  promoted: ReadonlyMap<string, string>,
): Promise<void> {
  const ends = ended.map((end) => ({ schedule: end.row.schedule ?? '', row: endRow(end) }))
  const turns = [...promoted].map(([schedule, id]) => ({ schedule, row: { ...WAITING, id, stage: 1 } }))
  const inOrder = [...ends, ...turns]
    .toSorted((a, b) => compare(a.schedule, b.schedule) || a.row.stage - b.row.stage)
    .map(({ row }) => row)
  for (const rows of tx.dialect.updateStages(inOrder))
    await updateFromBatch(tx, tx.tables.job, END_COLUMNS, rows, END_ASSIGNMENTS)
}

const END_COLUMNS = {
  id: 'job id',
  stage: 'integer',
  state: 'text',
  reason: 'text',
  attempt: 'integer',
  released: 'integer',
  run_at: 'instant',
  finished: 'instant',
  result: 'long text',
  error: 'long text',
} as const

/** For a promoted job (stage 1), everything except the state stays unchanged. */
const ifEnded = (column: string) => `CASE WHEN b.stage = 1 THEN t.${column} ELSE b.${column} END`

const END_ASSIGNMENTS = {
  // A job that was cancelled manually in the meantime stays cancelled.
  state: "CASE WHEN b.stage = 1 AND t.state <> 'blocked' THEN t.state ELSE b.state END",
  reason: 'COALESCE(b.reason, t.reason)',
  attempt: ifEnded('attempt'),
  // -1 keeps the value, because there was no attempt.
  started: 'CASE WHEN b.released = -1 THEN NULL ELSE t.started END',
  releases: `CASE b.released WHEN 0 THEN 0 WHEN 1 THEN ${nextOf('t.releases')} ELSE t.releases END`,
  run_at: ifEnded('run_at'),
  finished: ifEnded('finished'),
  result: ifEnded('result'),
  error: "CASE WHEN b.state = 'success' THEN NULL ELSE COALESCE(b.error, t.error) END",
  // A final job keeps its worker, so that the history shows which worker ran it.
  worker: "CASE WHEN b.state = 'waiting' THEN NULL ELSE t.worker END",
  frozen_until: 'NULL',
}

const compare = (one: string, other: string) => (one < other ? -1 : Number(one > other))

/** A job that waits for its first or next attempt. */
const WAITING = {
  state: 'waiting',
  reason: null,
  attempt: 0,
  released: 0,
  run_at: null,
  finished: null,
  result: null,
  error: null,
}

function endRow({ row, outcome }: EndedJob) {
  const { id, attempt, clock } = row
  if (outcome.state !== 'waiting') {
    const { state, reason, result, error } = outcome
    return { id, stage: 0, state, reason, attempt, released: 0, run_at: null, finished: clock, result, error }
  }
  const { delayMs, why, error } = outcome
  return {
    ...WAITING,
    id,
    stage: 0,
    attempt: why === 'failed' ? attempt : Math.max(0, attempt - 1),
    released: why === 'unstarted' ? -1 : Number(why === 'released'),
    run_at:
      delayMs === 0 ? null : toText(new Date(Math.min(fromStored(clock).getTime() + delayMs, LAST_INSTANT))),
    error,
  }
}

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

/** Finds the jobs that are blocked by the ending jobs. @returns the first blocked job of each schedule */
export async function nextInTurn(
  tx: Context,
  ended: readonly EndedJob[],
): Promise<ReadonlyMap<string, string>> {
  const final = ended.filter(({ outcome }) => outcome.state !== 'waiting').map(({ row }) => row)
  const schedules = [...new Set(final.flatMap(({ schedule }) => schedule ?? []))].toSorted()
  if (schedules.length === 0) return new Map()
  const ids = final.map(({ id }) => id)
  const { jobId } = tx.dialect
  // Without the index, MySQL reads the history of each schedule.
  const { job, openIndex: index } = tx.tables
  const rows = await tx.rows<{ id: string; schedule: string }>(
    `SELECT MIN(id) AS id, open_key AS schedule
     FROM ${tx.dialect.found(`${job} AS b`, { index })}
     WHERE open_key IN (${placeholders(schedules)})
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

/** An attempt that ended, with its job's previous row. */
export interface AttemptOfRow extends EndedJob {
  readonly end: AttemptEnd
}

/**
 * Thrown if another transaction locks gaps in `attempt`, as `DELETE … WHERE ended < …` does under REPEATABLE READ. The
 * outcomes are then written without their attempts, because the history must not keep outcomes from being written.
 */
export class AttemptsLocked extends Error {
  override readonly name = 'AttemptsLocked'
}

/**
 * Writes the attempts that did not succeed, in the transaction that writes their outcomes.
 *
 * @throws AttemptsLocked
 */
export async function writeAttempts(tx: Context, ended: readonly AttemptOfRow[]): Promise<void> {
  try {
    await insertAttempts(tx, ended)
  } catch (error) {
    throw tx.dialect.isLockWait(error)
      ? new AttemptsLocked('Another transaction has locked the table attempt', { cause: error })
      : error
  }
}

async function insertAttempts(tx: Context, attempts: readonly AttemptOfRow[]): Promise<void> {
  const rows = attempts.flatMap(({ row, end, outcome: of }) => {
    const stored = storedEnd(end, of)
    if (stored === null) return []
    // Text that is not an instant can only have been written manually.
    const started = fromText(row.started) ?? fromStored(row.clock)
    const { outcome, error } = stored
    return [
      [row.id, row.claim, row.attempt, row.worker ?? 'none', toText(started), row.clock, outcome, error],
    ]
  })
  if (rows.length === 0) return
  const insert = () =>
    tx.run(
      `INSERT INTO ${tx.tables.attempt} (job_id, claim, attempt, worker, started, ended, outcome, error)
       VALUES ${rows.map(() => '(?, ?, ?, ?, ?, ?, ?, ?)').join(', ')}`,
      rows.flat(),
    )
  try {
    await insert()
  } catch (error) {
    if (!tx.dialect.isDuplicate(error)) throw error
    // Only the statement was rolled back. The key exists if a job was deleted manually and submitted again with the
    // same id, or if its `claim` has reached the maximum value. The newer attempt is kept.
    const key = `(job_id = ${tx.dialect.jobId} AND claim = ?)`
    await tx.run(
      `DELETE FROM ${tx.tables.attempt} WHERE ${rows.map(() => key).join(' OR ')}`,
      rows.flatMap(([job = null, claim = null]) => [job, claim]),
    )
    await insert()
  }
}
