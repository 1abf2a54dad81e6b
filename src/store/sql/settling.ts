/** Settles attempts in one transaction. The rules decide the outcome of each job; this writes it. */
import type { EndRules, LockedJob } from '../../model/end-rules.ts'
import { type ClaimedJob, type Fence, fenceText } from '../../model/job.ts'
import type { EndedAttempt, SettledAttempt, SettleResult } from '../executing-store.ts'
import { fromStored } from '../../model/instant.ts'
import type { AttemptOfRow, writeAttempts } from './attempts.ts'
import { lockRows } from './by-key.ts'
import type { Context } from './context.ts'
import {
  type EndedJob,
  endingColumns,
  type EndingRow,
  nextInTurn,
  writeEnds,
  writeSuccesses,
} from './ends.ts'
import { plannableColumns, type PlannableRow } from './rows.ts'
import { placeholders } from './tables.ts'
import { writeHeartbeat } from './workers.ts'

/** @param record  stores the attempts that did not succeed; null: they are not stored */
export async function settleAll(
  tx: Context,
  attempts: readonly EndedAttempt[],
  rules: EndRules,
  record: typeof writeAttempts | null,
): Promise<SettleResult> {
  const simple = await settleSimple(tx, attempts, rules)
  const isSettled = new Set(simple.map(({ id }) => id))
  const others = attempts.filter(({ fence }) => !isSettled.has(fence.id))
  if (others.length === 0) return { settled: simple, lost: [], locked: [] }
  const { settled, lost, locked } = await settleOthers(tx, others, rules, record)
  return { settled: [...simple, ...settled], lost, locked }
}

/**
 * Ends successful jobs without a schedule: nothing but their own rows changes.
 *
 * @returns those that this worker still holds and that nobody else has locked
 */
async function settleSimple(
  tx: Context,
  attempts: readonly EndedAttempt[],
  rules: EndRules,
): Promise<SettledAttempt[]> {
  const jobs = new Map(
    attempts.flatMap(({ fence, job, end, policy }) =>
      job?.scheduleId === null && end.kind === 'success'
        ? [[fence.id, { fence, job, outcome: rules.ofJob({ end, policy }, withoutSchedule(job)) }] as const]
        : [],
    ),
  )
  const rows = await lockRows<Fence & { clock: string }>(tx, {
    table: tx.tables.job,
    columns: `id, worker, claim, ${tx.dialect.now} AS clock`,
    ids: [...jobs.keys()].toSorted(),
    where: "state = 'running' AND periodic_task_id IS NULL",
  })
  const settled = rows.flatMap((row): SettledAttempt[] => {
    const of = jobs.get(row.id)
    if (of === undefined || fenceText(of.fence) !== fenceText(row)) return []
    const { id, task, attempt, startedAt } = of.job
    const endedAt = fromStored(row.clock)
    return [{ id, task, scheduleId: null, attempt, outcome: of.outcome, startedAt, endedAt, promoted: null }]
  })
  await writeSuccesses(tx, settled)
  return settled
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
  rules: EndRules,
  record: typeof writeAttempts | null,
): Promise<SettleResult> {
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
        outcome: rules.ofJob(attempt, {
          attempt: row.attempt,
          stopRequested: row.stop_requested !== null,
          timer: schedules.rows.get(row.schedule ?? '')?.timer ?? null,
          yields: blocking.has(row.schedule ?? ''),
        }),
      })
  }
  for (const worker of new Set(lost.map(({ fence }) => fence.worker))) await writeHeartbeat(tx, worker)
  const turns = await nextInTurn(tx, ended)
  const heldTurns = await heldAmong(tx, turns)
  // An end waits while the next job is locked, because the two are written together.
  const isHeld = ({ row }: EndedJob) => row.schedule !== null && heldTurns.has(row.schedule)
  const held = new Set(ended.filter(isHeld).map(({ row }) => row.id))
  locked.push(...attempts.filter(({ fence }) => held.has(fence.id)))
  const written = ended.filter((end) => !isHeld(end))
  const promoted = new Map([...turns].filter(([schedule]) => !heldTurns.has(schedule)))
  await writeEnds(tx, written, promoted, schedules.rows, rules.ofSchedule)
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

/** @returns those of these schedules that have a blocked job */
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

/** @returns the schedules whose next job is locked by others */
async function heldAmong(tx: Context, turns: ReadonlyMap<string, string>): Promise<ReadonlySet<string>> {
  const ids = [...turns.values()].toSorted()
  const rows = await lockRows<{ id: string }>(tx, { table: tx.tables.job, columns: 'id', ids })
  const got = new Set(rows.map(({ id }) => id))
  return new Set([...turns].filter(([, id]) => !got.has(id)).map(([schedule]) => schedule))
}

/** The running jobs that could not be locked because others have locked their rows. */
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
 * Locks the schedules of the jobs before the jobs: the only order in which locks are taken. Schedules that others have
 * locked are skipped, so that an administrator's open transaction delays only their own jobs.
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
