/**
 * The end of attempts, as one transaction: the job, the counters of its schedule, and the turn of the job
 * that was blocked behind it.
 */
import type { Fence, JobState } from '../../model/job.ts'
import { type Settlement, settle } from '../../model/settle.ts'
import type { Dialect, Sql } from '../database.ts'
import type { Attempt, Settled, SettleResult } from '../executing-store.ts'
import { fromStored, toText } from '../instant.ts'
import { groupBy } from './group-by.ts'
import { placeholders, type Tables } from './tables.ts'

interface OwnedRow {
  id: string
  schedule: string | null
  task: string
  state: JobState
  worker: string | null
  attempt: number
  started: string | null
  stop_requested: string | null
  clock: string
}

interface Ended {
  readonly row: OwnedRow
  readonly settlement: Settlement
}

/** Settlements that are final and say whether the run went well. */
const isCounted = ({ settlement }: Ended) => settlement.state === 'success' || settlement.state === 'failed'

export async function settleAll(
  sql: Sql,
  dialect: Dialect,
  tables: Tables,
  attempts: readonly Attempt[],
): Promise<SettleResult> {
  const ids = attempts.map((attempt) => attempt.fence.id).toSorted()
  const schedules = await lockSchedules(sql, dialect, tables, ids)
  const columns = `id, periodic_task_id AS schedule, task, state, worker, attempt, ${dialect.instant('started')} AS started, stop_requested, ${dialect.now} AS clock`
  const mine = await sql.rows<OwnedRow>(
    `SELECT ${columns} FROM ${tables.job} ${dialect.byKey} WHERE id IN (${placeholders(ids)}) ORDER BY id ${dialect.skipLocked}`,
    ids,
  )
  const running = new Map(mine.map((row) => [row.id, row]))
  const passedOver = await runningAmong(
    sql,
    tables,
    ids.filter((id) => !running.has(id)),
  )
  const lost: Attempt[] = []
  const locked: Attempt[] = []
  const ended: Ended[] = []
  for (const attempt of attempts) {
    const { fence } = attempt
    const row = running.get(fence.id)
    if (passedOver.has(fenceText(fence))) locked.push(attempt)
    else if (row?.state !== 'running' || row.worker !== fence.worker || row.attempt !== fence.attempt)
      lost.push(attempt)
    else if (row.schedule !== null && schedules.locked.has(row.schedule)) locked.push(attempt)
    else
      ended.push({
        row,
        settlement: settle(attempt.ending, fence.attempt, attempt.policy, row.stop_requested !== null),
      })
  }
  await writeJobs(sql, dialect, tables, ended)
  await writeSchedules(sql, dialect, tables, ended)
  const promoted = await promoteBlocked(sql, dialect, tables, ended)
  const settled = ended.map(
    ({ row, settlement }): Settled => ({
      id: row.id,
      task: row.task,
      scheduleId: row.schedule,
      attempt: row.attempt,
      settlement,
      promoted:
        (row.schedule !== null && settlement.state !== 'waiting' && promoted.get(row.schedule)) || null,
    }),
  )
  return { settled, lost: lost.map((attempt) => attempt.fence), locked }
}

const fenceText = ({ id, worker, attempt }: Fence) => `${id}/${attempt}/${worker}`

/** The jobs that run but could not be locked: somebody else holds their row. */
async function runningAmong(sql: Sql, tables: Tables, ids: readonly string[]): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set()
  const rows = await sql.rows<Fence>(
    `SELECT id, worker, attempt FROM ${tables.job} WHERE id IN (${placeholders(ids)}) AND state = 'running' AND worker IS NOT NULL`,
    ids,
  )
  return new Set(rows.map(fenceText))
}

/**
 * Locks the schedules of the jobs before the jobs: the one order of locks. A schedule that somebody else holds
 * is passed over, so that an administrator's open transaction keeps up only its own job.
 */
async function lockSchedules(
  sql: Sql,
  dialect: Dialect,
  tables: Tables,
  jobIds: readonly string[],
): Promise<{ locked: ReadonlySet<string> }> {
  const wanted = await sql.rows<{ id: string }>(
    `SELECT DISTINCT s.id AS id FROM ${tables.job} AS j JOIN ${tables.schedule} AS s ON s.id = j.periodic_task_id WHERE j.id IN (${placeholders(jobIds)})`,
    jobIds,
  )
  if (wanted.length === 0) return { locked: new Set() }
  const ids = wanted.map((row) => row.id)
  const got = await sql.rows<{ id: string }>(
    `SELECT id FROM ${tables.schedule} ${dialect.byKey} WHERE id IN (${placeholders(ids)}) ORDER BY id ${dialect.skipLocked}`,
    ids,
  )
  const mine = new Set(got.map((row) => row.id))
  return { locked: new Set(ids.filter((id) => !mine.has(id))) }
}

async function writeJobs(sql: Sql, dialect: Dialect, tables: Tables, ended: readonly Ended[]): Promise<void> {
  if (ended.length === 0) return
  const batch = ended.map(({ row, settlement }) =>
    settlement.state === 'waiting'
      ? {
          id: row.id,
          state: 'waiting',
          reason: null,
          attempt: settlement.countAttempt ? row.attempt : row.attempt - 1,
          run_at:
            settlement.delayMs === 0
              ? null
              : toText(new Date(fromStored(row.clock).getTime() + settlement.delayMs)),
          finished: null,
          result: null,
          error: settlement.error,
        }
      : {
          id: row.id,
          state: settlement.state,
          reason: settlement.reason,
          attempt: row.attempt,
          run_at: null,
          finished: row.clock,
          result: settlement.result,
          error: settlement.error,
        },
  )
  const table = dialect.batch({
    id: 'id',
    state: 'text',
    reason: 'text',
    attempt: 'integer',
    run_at: 'instant',
    finished: 'instant',
    result: 'long text',
    error: 'long text',
  })
  // The worker of a final job stays, so that history tells who ran it.
  const assignments = {
    state: 'b.state',
    reason: 'b.reason',
    attempt: 'b.attempt',
    run_at: 'b.run_at',
    finished: 'b.finished',
    result: 'b.result',
    error: "CASE WHEN b.state = 'success' THEN NULL ELSE COALESCE(b.error, t.error) END",
    worker: "CASE WHEN b.state = 'waiting' THEN NULL ELSE t.worker END",
  }
  await sql.run(dialect.updateFromBatch(tables.job, table, assignments), [JSON.stringify(batch)])
}

async function writeSchedules(
  sql: Sql,
  dialect: Dialect,
  tables: Tables,
  ended: readonly Ended[],
): Promise<void> {
  const bySchedule = groupBy(
    ended.filter((end) => end.row.schedule !== null && isCounted(end)),
    (end) => end.row.schedule,
  )
  if (bySchedule.size === 0) return
  const batch = [...bySchedule].map(([id, ends]) => {
    const last = ends[ends.length - 1]
    const failures = ends.filter((end) => end.settlement.state === 'failed').length
    return {
      id,
      runs: ends.length,
      errors: failures,
      last_run: last?.row.started ?? null,
      last_finished: last?.row.clock ?? null,
      last_job: last?.row.id ?? null,
      last_error: last !== undefined && last.settlement.state === 'failed' ? last.settlement.error : null,
    }
  })
  const table = dialect.batch({
    id: 'id',
    runs: 'integer',
    errors: 'integer',
    last_run: 'instant',
    last_finished: 'instant',
    last_job: 'text',
    last_error: 'long text',
  })
  const assignments = {
    run_count: 't.run_count + b.runs',
    error_count: 't.error_count + b.errors',
    last_run: 'b.last_run',
    last_finished: 'b.last_finished',
    last_job: 'b.last_job',
    last_error: 'b.last_error',
  }
  await sql.run(dialect.updateFromBatch(tables.schedule, table, assignments), [JSON.stringify(batch)])
}

/** The turn of the job that was blocked behind one that is final now. @returns its id by schedule */
export async function promoteBlocked(
  sql: Sql,
  dialect: Dialect,
  tables: Tables,
  ended: readonly { row: { schedule: string | null }; settlement: { state: string } }[],
): Promise<ReadonlyMap<string, string>> {
  const schedules = [
    ...new Set(
      ended.flatMap(({ row, settlement }) =>
        row.schedule !== null && settlement.state !== 'waiting' ? [row.schedule] : [],
      ),
    ),
  ].toSorted()
  if (schedules.length === 0) return new Map()
  const first = await sql.rows<{ id: string; schedule: string }>(
    `SELECT MIN(id) AS id, periodic_task_id AS schedule FROM ${tables.job} AS b WHERE state = 'blocked' AND periodic_task_id IN (${placeholders(schedules)})
     AND NOT EXISTS (SELECT 1 FROM ${tables.job} AS a WHERE a.active_key = b.periodic_task_id) GROUP BY periodic_task_id`,
    schedules,
  )
  if (first.length > 0) {
    // In the order of the schedules, as jobs are inserted: the key that holds "one at a time" is theirs.
    const batch = first.toSorted((a, b) => (a.schedule < b.schedule ? -1 : 1)).map(({ id }) => ({ id }))
    const update = dialect.updateFromBatch(tables.job, dialect.batch({ id: 'id' }), { state: `'waiting'` })
    await sql.run(update, [JSON.stringify(batch)])
  }
  return new Map(first.map((row) => [row.schedule, row.id]))
}
