/**
 * Writes the rows of jobs that end, and of the blocked jobs whose turn comes next.
 *
 * The rows must be locked; writes by key. The unique entry in (open_key, open_turn) passes from one job to the next.
 */
import { fromStored, toText } from '../../model/instant.ts'
import type { JobOutcome } from '../../model/settle.ts'
import type { JobState } from '../../model/states.ts'
import type { Dialect } from '../database.ts'
import type { SettledAttempt } from '../executing-store.ts'
import { placeholders } from '../literals.ts'
import { updateFromBatch, updateRows } from './by-key.ts'
import { nextOf } from './conditions.ts'
import type { Context } from './context.ts'

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

export function endingColumns({ instant, now }: Dialect): string {
  return `id, periodic_task_id AS schedule, task, state, queue, worker, attempt, claim,
    ${instant('started')} AS started, stop_requested, ${now} AS clock`
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
export async function writeJobs(
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
