/**
 * Writes the outcomes of attempts: the jobs, their attempts, the counters of their schedules, and the next blocked
 * jobs.
 *
 * Locks schedules first and then jobs, each by key, in key order and with SKIP LOCKED; rows that other transactions
 * have locked are returned, and settled in a later call. An outcome moves the job's entry in the index on (state,
 * finished), and passes its entry in (open_key, open_turn) to the next job of the schedule.
 *
 * Attempts that did not succeed are inserted into `attempt`; an older row with the same key is replaced. If another
 * transaction has locked that table, the outcomes are written, but not the attempts.
 */
import { messageOf } from '../../errors.ts'
import { storedEnd } from '../../model/attempt.ts'
import { fromStored, fromText, toText } from '../../model/instant.ts'
import { type Fence, fenceText } from '../../model/job.ts'
import { type AttemptEnd, type JobOutcome, outcomeOf, withoutTexts } from '../../model/settle.ts'
import type { Settled, SettledAttempt, UnsettledAttempt } from '../executing-store.ts'
import { placeholders } from '../literals.ts'
import { lockIds, lockRows } from './by-key.ts'
import type { Context, TablesContext } from './context.ts'
import type { Isolation } from './isolate.ts'
import { nextInTurn, type Settling, settlingColumns, type SettlingRow } from './job-outcomes.ts'
import { byUid, writeOutcomes } from './outcomes.ts'
import { type PlannableRow, plannableColumns } from './rows.ts'
import { confirmReads } from './workers.ts'

export async function settle(
  context: TablesContext,
  isolation: Isolation,
  attempts: readonly UnsettledAttempt[],
): Promise<Settled> {
  const recorded = attemptRecorder()
  const write = (some: readonly UnsettledAttempt[], promoted?: ReadonlyMap<string, string>) =>
    recorded((record) =>
      // Runs again if a job was manually reopened after the next job was selected: the reopened job comes first.
      context.transactionOnKeys((tx) => settleAll(tx, some, record, promoted)),
    )
  const unlessRejected = <Result>(written: Promise<Result>, otherwise: () => Promise<Result>) =>
    written.catch((again: unknown) => {
      if (!context.dialect.isRejection(again)) throw again
      return otherwise()
    })
  const items = attempts.map((attempt) => ({ id: attempt.fence.id, attempt }))
  const { results, left, refused } = await isolation.write(items, {
    write: (some) => write(some.map(({ attempt }) => attempt)),
    // The database may have rejected only the result, the error text or the row of the next job.
    alone: async ({ attempt }, error) => {
      const bare = { ...attempt, end: withoutTexts(attempt.end, messageOf(error)) }
      if (attempt.job?.scheduleId === null) return await write([bare])
      const withoutNext = () => unlessRejected(write([attempt], new Map()), () => write([bare], new Map()))
      return await unlessRejected(write([bare]), withoutNext)
    },
    wrote: ({ settled }) => settled.length > 0,
  })
  return {
    settled: results.flatMap(({ settled }) => settled).filter(({ outcome }) => !isUnstarted(outcome)),
    lost: results.flatMap(({ lost }) =>
      lost.filter(({ end }) => end.kind !== 'unstarted').map(({ fence }) => fence),
    ),
    locked: [...results.flatMap(({ locked }) => locked), ...left.map(({ attempt }) => attempt)],
    refused: refused.map(({ item: { attempt }, error }) => ({ item: attempt, error })),
  }
}

/** A job that was returned to the queue before it started had no attempt. */
const isUnstarted = (outcome: JobOutcome) => outcome.state === 'waiting' && outcome.why === 'unstarted'

interface SettledPart extends Pick<Settled, 'settled' | 'locked'> {
  readonly lost: readonly UnsettledAttempt[]
}

async function settleAll(
  tx: Context,
  attempts: readonly UnsettledAttempt[],
  record: RecordAttempts,
  promoting?: ReadonlyMap<string, string>,
): Promise<SettledPart> {
  const ids = attempts.map(({ fence }) => fence.id).toSorted()
  const withSchedule = new Set(
    attempts.flatMap(({ job, fence }) => (job?.scheduleId === null ? [] : fence.id)),
  )
  const before = await lockSchedulesOf(tx, [...withSchedule])
  const columns = settlingColumns(tx.dialect)
  // With further conditions, SQLite might use another index if it has statistics.
  const mine = await lockRows<SettlingRow>(tx, { table: tx.tables.job, columns, ids })
  // If jobs have been given a schedule in SQL since their claim, the lock order is reversed. Neither lock waits.
  const late = mine.filter(({ id, schedule }) => schedule !== null && !withSchedule.has(id))
  const after = await lockSchedulesOf(
    tx,
    late.map(({ id }) => id),
  )
  const schedules = {
    rows: new Map([...before.rows, ...after.rows]),
    locked: new Set([...before.locked, ...after.locked]),
  }
  const running = new Map(mine.map((row) => [row.id, row]))
  const passedOver = await runningAmong(
    tx,
    ids.filter((id) => !running.has(id)),
  )
  const blocking = await yieldingTo(
    tx,
    [...schedules.rows.values()].filter((row) => row.yields === 1).map(({ uid }) => uid),
  )
  const lost: UnsettledAttempt[] = []
  const locked: UnsettledAttempt[] = []
  const settling: (SettlingAttempt & { readonly attempt: UnsettledAttempt })[] = []
  for (const attempt of attempts) {
    const { fence, end } = attempt
    const row = running.get(fence.id)
    if (passedOver.has(fenceText(fence))) locked.push(attempt)
    else if (!hasStarted(row) || row.worker !== fence.worker || row.claim !== fence.claim) lost.push(attempt)
    else if (row.schedule !== null && schedules.locked.has(row.schedule)) locked.push(attempt)
    else {
      const outcome = outcomeOf(attempt, {
        attempt: row.attempt,
        stopRequested: row.stop_requested !== null,
        noRetry: row.no_retry,
        isManual: row.reason === 'run-now' || row.reason === 'retried',
        timer: schedules.rows.get(row.schedule ?? '')?.timer ?? null,
        yields: blocking.has(row.schedule ?? ''),
      })
      settling.push({ attempt, row, end, outcome })
    }
  }
  if (lost.length > 0) await confirmReads(tx)
  const turns = promoting ?? (await nextInTurn(tx, settling))
  const heldTurns = await heldAmong(tx, turns)
  // An outcome waits while the next job is locked, because the two are written together.
  const isHeld = ({ row }: Settling) => row.schedule !== null && heldTurns.has(row.schedule)
  locked.push(...settling.filter(isHeld).map(({ attempt }) => attempt))
  const written = settling.filter((one) => !isHeld(one))
  const promoted = new Map([...turns].filter(([schedule]) => !heldTurns.has(schedule)))
  await writeOutcomes(tx, written, schedules.rows, { promoted })
  await record(tx, written)
  return { settled: written.map((one) => settledAttempt(one, schedules.rows, promoted)), lost, locked }
}

/**
 * @param schedules  the existing schedules, by `uid`
 * @param promoted  the blocked jobs that became waiting, by the `uid` of their schedule
 */
export function settledAttempt(
  { row, outcome }: Settling,
  schedules: ReadonlyMap<string, unknown>,
  promoted: ReadonlyMap<string, string>,
): SettledAttempt {
  return {
    id: row.id,
    task: row.task,
    scheduleId: row.scheduleId,
    ...(row.schedule !== null && !schedules.has(row.schedule) && { scheduleDeleted: true }),
    attempt: row.attempt,
    outcome,
    startedAt: fromStored(row.started ?? row.clock),
    endedAt: fromStored(row.clock),
    promoted: (row.schedule !== null && outcome.state !== 'waiting' && promoted.get(row.schedule)) || null,
  }
}

function hasStarted(row: SettlingRow | undefined): row is SettlingRow {
  return row?.state === 'running' || row?.state === 'external'
}

/** @returns the schedules that have a blocked job */
async function yieldingTo(tx: Context, schedules: readonly string[]): Promise<ReadonlySet<string>> {
  if (schedules.length === 0) return new Set()
  const { job, openIndex } = tx.tables
  const rows = await tx.rows<{ uid: string }>(
    `SELECT DISTINCT open_key AS uid
     FROM ${tx.dialect.found(job, { index: openIndex })}
     WHERE state = 'blocked' AND open_key IN (${placeholders(schedules, tx.dialect.jobId)})`,
    schedules,
  )
  return new Set(rows.map(({ uid }) => uid))
}

/** @returns the schedules whose next job another transaction has locked */
async function heldAmong(tx: Context, turns: ReadonlyMap<string, string>): Promise<ReadonlySet<string>> {
  const got = new Set(await lockIds(tx, tx.tables.job, [...turns.values()].toSorted()))
  return new Set([...turns].filter(([, id]) => !got.has(id)).map(([schedule]) => schedule))
}

/**
 * The fences of these jobs, if they are running or in an external queue. The caller could not lock the jobs, so other
 * transactions have locked their rows.
 */
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
 * Locks the existing schedules of these jobs, by their ids. Skips those that other transactions have locked, so that an
 * administrator's open transaction delays only the jobs of these schedules. A schedule that was deleted or renamed in
 * the meantime counts as locked: the row that has its id now may be another one.
 *
 * @returns schedules by `uid`
 */
async function lockSchedulesOf(
  tx: Context,
  jobIds: readonly string[],
): Promise<{ locked: ReadonlySet<string>; rows: ReadonlyMap<string, PlannableRow> }> {
  if (jobIds.length === 0) return { locked: new Set(), rows: new Map() }
  const { job, schedule } = tx.tables
  const wanted = await tx.rows<{ id: string; uid: string }>(
    `SELECT DISTINCT s.id AS id, s.uid AS uid
     FROM ${job} AS j JOIN ${schedule} AS s ON s.uid = j.periodic_task_uid
     WHERE j.id IN (${placeholders(jobIds, tx.dialect.jobId)})`,
    jobIds,
  )
  const ids = wanted.map((row) => row.id)
  const columns = plannableColumns(tx.dialect)
  const got = await lockRows<PlannableRow>(tx, { table: schedule, columns, ids })
  const rows = byUid(got)
  return { locked: new Set(wanted.flatMap(({ uid }) => (rows.has(uid) ? [] : [uid]))), rows }
}

export type RecordAttempts = (tx: Context, settling: readonly SettlingAttempt[]) => Promise<void>

type SettlingAttempt = Settling & { readonly end: AttemptEnd }

class AttemptsLocked extends Error {
  override readonly name = 'AttemptsLocked'
}

/**
 * Runs the transactions of one call; each records its attempts. If another transaction locks gaps in `attempt`, as
 * `DELETE … WHERE ended < …` does under REPEATABLE READ, the blocked transaction runs again without recording its
 * attempts, because the history must not keep outcomes from being written. Later transactions do not record theirs,
 * because each would wait for the lock.
 */
export function attemptRecorder(): <Result>(
  transaction: (record: RecordAttempts) => Promise<Result>,
) => Promise<Result> {
  let isLocked = false
  const record: RecordAttempts = async (tx, settling) => {
    if (isLocked) return
    await insertAttempts(tx, settling).catch((error: unknown) => {
      throw tx.dialect.isLockWait(error)
        ? new AttemptsLocked("Another transaction has locked the table 'attempt'", { cause: error })
        : error
    })
  }
  return async (transaction) => {
    try {
      return await transaction(record)
    } catch (error) {
      if (!(error instanceof AttemptsLocked)) throw error
      isLocked = true
      return await transaction(record)
    }
  }
}

const ATTEMPT_KEY = ['job_id', 'claim']
const ATTEMPT_VALUES = ['attempt', 'worker', 'started', 'ended', 'outcome', 'error']

async function insertAttempts(tx: Context, attempts: readonly SettlingAttempt[]): Promise<void> {
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
  // The key exists if a job was deleted manually and submitted again with the same id, or if its `claim` has reached the
  // maximum value. The newer attempt is kept.
  await tx.run(
    `INSERT INTO ${tx.tables.attempt} (${[...ATTEMPT_KEY, ...ATTEMPT_VALUES].join(', ')})
     VALUES ${rows.map(() => '(?, ?, ?, ?, ?, ?, ?, ?)').join(', ')}
     ${tx.dialect.orOverwrite(ATTEMPT_KEY, ATTEMPT_VALUES)}`,
    rows.flat(),
  )
}
