/**
 * Writes the outcomes of attempts: the jobs, their attempts, the counters of their schedules, and the next blocked
 * jobs.
 *
 * Locks schedules first and then jobs, each by key, in key order and with SKIP LOCKED; rows that other transactions
 * have locked are returned, and settled again later. An outcome moves the job's entry in the index on (state,
 * finished), and its entry in (open_key, open_turn), which passes to the next job of the schedule.
 */
import { messageOf } from '../../errors.ts'
import { fromStored } from '../../model/instant.ts'
import { type ClaimedJob, type Fence, fenceText } from '../../model/job.ts'
import type { JobState } from '../../model/states.ts'
import { type LockedJob, outcomeOf, withoutTexts } from '../../model/settle.ts'
import type { EndedAttempt, SettledAttempt, SettleResult } from '../executing-store.ts'
import { placeholders } from '../literals.ts'
import { type AttemptOfRow, attemptRecorder, type RecordAttempts } from './attempts.ts'
import { lockRows } from './by-key.ts'
import type { Context, TablesContext } from './context.ts'
import { type EndedJob, endingColumns, type EndingRow, nextInTurn, writeSuccesses } from './ended-jobs.ts'
import { writeEnds } from './ends.ts'
import type { Isolation } from './isolate.ts'
import { type PlannableRow, plannableColumns } from './rows.ts'
import { confirmReads } from './workers.ts'

export async function settle(
  context: TablesContext,
  isolation: Isolation,
  attempts: readonly EndedAttempt[],
): Promise<SettleResult> {
  const recorded = attemptRecorder()
  const write = (some: readonly EndedAttempt[]) =>
    recorded((record) =>
      // If a job was manually reopened after the next job was selected, the reopened job has the turn.
      context.transactionOnKeys((tx) => settleAll(tx, some, record)),
    )
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

async function settleAll(
  tx: Context,
  attempts: readonly EndedAttempt[],
  record: RecordAttempts,
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
  record: RecordAttempts,
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
  await record(tx, written)
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
