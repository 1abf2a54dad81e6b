/**
 * Writes the outcomes of jobs to their rows, and to the blocked jobs whose turn comes next. The unique entry in
 * (open_key, open_turn) passes from one job to the next.
 */
import { fromStored, toText } from '../../model/instant.ts'
import type { JobOutcome } from '../../model/settle.ts'
import type { JobState } from '../../model/states.ts'
import type { Dialect } from '../database.ts'
import { placeholders } from '../literals.ts'
import { idsOf, updateFromBatch, updateLocked } from './by-key.ts'
import { and, nextOf } from './conditions.ts'
import type { AnyContext } from './context.ts'

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

export const isFinal = ({ outcome }: Settling) => outcome.state !== 'waiting'

/** The latest value that the column can hold. */
const LAST_INSTANT = Date.UTC(9999, 11, 31, 23, 59, 59, 999)

/**
 * Writes the outcomes, and the jobs that become waiting, in the order of the schedules, which is the order in which
 * jobs are inserted. The unique key that allows only one exclusive job at a time passes from one job to the next, and
 * InnoDB then also locks the next entry of the index. [When this was two statements, two such transactions deadlocked.]
 */
export async function writeJobs(
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
