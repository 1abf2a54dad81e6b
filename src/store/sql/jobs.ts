import { ConflictError } from '../../errors.ts'
import type { Job } from '../../model/job.ts'
import type { AttemptEnd } from '../../model/settle.ts'
import { ANY_OWNER, type Owner, shownId } from '../../model/owner.ts'
import { JOB_SETTING_NAMES, settingOf } from '../../model/settings.ts'
import type { Dialect, SqlValue } from '../database.ts'
import { fromStored, toText } from '../../model/instant.ts'
import type { SettledAttempt } from '../executing-store.ts'
import type { FinishedRun, JobStore, NewJob, SubmittingStore } from '../job-store.ts'
import { RowsChangedError } from '../rows-changed.ts'
import { lockRows, touchSchedules, updateLocked, updateRows } from './by-key.ts'
import { and, both, type Condition, OPEN, scopeCondition } from './conditions.ts'
import {
  type AnyContext,
  type Context,
  inTransactionOf,
  type TablesContext,
  type WriteContext,
} from './context.ts'
import { type SettlingRow, settlingColumns } from './job-outcomes.ts'
import { byUid, evenIfNextIsRejected, writeOutcomes } from './outcomes.ts'
import { attemptRecorder, type RecordAttempts, settledAttempt } from './settle.ts'
import { findOpenJob, findOwn, findOwnId, shownJob } from './own-ids.ts'
import {
  jobExpressions,
  type JobRow,
  plannableColumns,
  type PlannableRow,
  settingValue,
  toJob,
} from './rows.ts'
import { type QueueOf, queueOf } from './external.ts'
import { countUpTo } from './lists/scan.ts'

/** Maximum number of characters and of rows in one INSERT, well below the packet limit of any server. */
const LARGEST_INSERT = 1_000_000
const MAX_ROWS = 500

/** Each name takes two parameters, and SQLite allows 32,766 in a statement. */
const NAMES_AT_ONCE = 1000

export function jobStore(context: TablesContext, owner: Owner = ANY_OWNER): JobStore {
  /** @throws ConflictError when the database rejects the change */
  const changed = async <Result>(
    [name]: readonly [name: string, ...unknown[]],
    change: () => Promise<Result>,
  ): Promise<Result> => {
    try {
      return await change()
    } catch (error) {
      if (!context.dialect.isRejection(error)) throw error
      throw new ConflictError(`The database rejects this change of the job '${name}' or of its schedule`, {
        cause: error,
      })
    }
  }

  return {
    ownedBy: (other) => jobStore(context, other),

    in: (transaction) => submittingStore(inTransactionOf(context, transaction), owner),

    ...submittingStore(context, owner),

    async get(name) {
      const id = await findOwnId(context, 'job', owner, name)
      return id === null ? null : readJob(context, owner, id)
    },

    cancel: (...of) =>
      changed(of, () =>
        evenIfNextIsRejected(context.dialect, (promoted) => cancelJob(context, owner, of, promoted)),
      ),

    finish: (...of) =>
      changed(of, () =>
        evenIfNextIsRejected(context.dialect, (promoted) =>
          attemptRecorder()((record) =>
            context.transactionOnKeys((tx) => finishLocked(tx, owner, of, record, promoted)),
          ),
        ),
      ),

    retry: (...of) => changed(of, () => retryJob(context, owner, of)),
  }
}

function submittingStore(context: WriteContext, owner: Owner): SubmittingStore {
  const { dialect, tables } = context
  const scope = scopeCondition(owner)

  return {
    submit: (jobs) => submitJobs(context, owner, jobs),

    async existing(names) {
      const found: string[] = []
      for (let start = 0; start < names.length; start += NAMES_AT_ONCE) {
        const own = await findOwn(context, 'job', owner, names.slice(start, start + NAMES_AT_ONCE))
        found.push(...own.keys())
      }
      return found
    },

    countOpen(most) {
      const { job, jobOpenGroupIndex, jobOpenSubmitterIndex, jobStateIndex } = tables
      const { group, submitter } = owner
      const count = (index: string, of: Condition) =>
        countUpTo(context, dialect.found(job, { index }), both(of, scope), most)
      // The other indexes on the owner would be too slow, because they contain the owner's whole history, and this runs
      // for every submission.
      if (submitter !== null) return count(jobOpenSubmitterIndex, and('open_submitter = ?', submitter))
      if (group !== null && group !== '') return count(jobOpenGroupIndex, and('open_group = ?', group))
      return count(jobStateIndex, and(OPEN))
    },
  }
}

function cancelJob(
  context: TablesContext,
  owner: Owner,
  [name, decide]: Parameters<JobStore['cancel']>,
  promoted?: ReadonlyMap<string, string>,
): Promise<Job | null> {
  return context.transactionOnKeys(async (tx) => {
    const locked = await lockWithSchedule(tx, owner, name)
    if (locked === null) return null
    const { row, schedules } = locked
    const what = decide(row)
    if (what === 'request stop') {
      const stop = { stop_requested: `COALESCE(stop_requested, ${tx.dialect.now})` }
      await updateRows(tx, tx.tables.job, stop, [row.id])
    }
    if (what === 'cancel') {
      const outcome = { state: 'cancelled', reason: null, error: null, result: null } as const
      await writeOutcomes(tx, [{ row, outcome }], schedules, { promoted })
    }
    return readJob(tx, owner, row.id)
  })
}

async function finishLocked(
  tx: Context,
  owner: Owner,
  [name, decide, { startedAt: started, finishedAt }]: Parameters<JobStore['finish']>,
  record: RecordAttempts,
  next?: ReadonlyMap<string, string>,
): ReturnType<JobStore['finish']> {
  const locked = await lockWithSchedule(tx, owner, name)
  if (locked === null) return null
  const { schedules } = locked
  const run = decide(locked.row)
  let settled: SettledAttempt | null = null
  if (run !== null) {
    // The attempt may still be 0: the queue may report the outcome before the hand-over is committed, or the COMMIT may
    // have failed.
    const row = { ...locked.row, attempt: Math.max(1, locked.row.attempt) }
    const of = { row, outcome: { ...run, reason: null }, end: attemptEnd(run) }
    const promoted = await writeOutcomes(tx, [of], schedules, { promoted: next })
    if (row.worker !== null) await record(tx, [of])
    const endedAt = earlierOf(finishedAt, fromStored(row.clock))
    const startedAt = earlierOf(started ?? (row.started === null ? null : fromStored(row.started)), endedAt)
    await updateRows(tx, tx.tables.job, { started: '?', finished: '?' }, [row.id], {
      params: [toText(startedAt), toText(endedAt)],
    })
    settled = { ...settledAttempt(of, schedules, promoted), startedAt, endedAt }
  }
  const job = await readJob(tx, owner, locked.row.id)
  return job && { job, settled }
}

function attemptEnd({ state, error, result }: FinishedRun): AttemptEnd {
  if (state === 'success') return { kind: 'success', result }
  return state === 'cancelled'
    ? { kind: 'cancelled', error }
    : { kind: 'error', error: error ?? '', permanent: true }
}

/** The queue's clock may be ahead of the database's. */
function earlierOf(time: Date | null, limit: Date): Date {
  return time !== null && time < limit ? time : limit
}

function retryJob(
  context: TablesContext,
  owner: Owner,
  [name, decide]: Parameters<JobStore['retry']>,
): Promise<Job | null> {
  const { tables } = context
  return context.transactionOnKeys(async (tx) => {
    const locked = await lockWithSchedule(tx, owner, name)
    if (locked === null) return null
    const { row, schedules } = locked
    const { schedule, scheduleId } = row
    const overlap = schedules.get(schedule ?? '')?.overlap ?? null
    const { exclusive } = decide({
      id: shownId(owner, row.id),
      task: row.task,
      state: row.state,
      queue: row.queue,
      scheduleId: scheduleId && shownId(owner, scheduleId),
      overlap,
      // Submissions of the schedule wait for its row, which is locked here.
      open: schedule === null || overlap === 'allow' ? null : await findOpenJob(tx, owner, schedule),
    })
    await touchSchedules(
      tx,
      [...schedules.values()].map(({ id }) => id),
    )
    await updateLocked(tx, tables.job, { ...AGAIN, exclusive: '?' }, [row.id], {
      params: [Number(exclusive)],
      where: and('+state = ? AND claim = ?', row.state, row.claim),
    })
    return readJob(tx, owner, row.id)
  })
}

async function readJob({ select, tables, dialect }: Context, owner: Owner, id: string): Promise<Job | null> {
  const scope = scopeCondition(owner)
  const [row] = await select<JobRow>(
    jobExpressions({ dialect, tables }),
    `FROM ${tables.job} WHERE id = ${dialect.jobId}${scope.text}`,
    [id, ...scope.params],
  )
  return row === undefined ? null : shownJob(owner, toJob(row))
}

async function submitJobs(context: WriteContext, owner: Owner, jobs: readonly NewJob[]): Promise<void> {
  const [only] = jobs
  if (only === undefined) return
  const parts = batches(jobs)
  const insert = async (of: AnyContext) => {
    const queue = await queueOf(of, jobs.length)
    for (const batch of parts) await insertJobs(of, batch, queue)
  }
  try {
    await (parts.length === 1 ? insert(context) : context.transaction(insert))
  } catch (error) {
    if (!context.dialect.isDuplicate(error)) throw error
    const id = jobs.length === 1 ? `the id '${shownId(owner, only.id)}'` : 'one of these ids'
    throw new ConflictError(`A job with ${id} already exists`, { cause: error })
  }
}

/** Leaves out columns that hold their default in all of the jobs. [On MariaDB, this makes an INSERT 33 % cheaper.] */
async function insertJobs(
  { run, tables, dialect }: AnyContext,
  jobs: readonly NewJob[],
  queue: QueueOf,
): Promise<void> {
  const settings = JOB_SETTING_NAMES.map((name) => {
    const { column, default: unset } = settingOf(name)
    return { column, unset, cells: jobs.map((job) => parameter(settingValue(name, job[name]))) }
  })
  const columns = [
    { column: 'id', unset: undefined, cells: jobs.map(({ id }) => parameter(id)) },
    { column: 'run_at', unset: null, cells: jobs.map((job) => runAtOf(dialect, job)) },
    ...settings,
    { column: 'queue', unset: null, cells: jobs.map(({ task }) => queue(task)) },
    { column: 'submitted', unset: undefined, cells: jobs.map(() => ({ text: dialect.now, params: [] })) },
  ].filter(({ unset, cells }) => cells.some(({ text, params }) => text !== '?' || params[0] !== unset))
  const textOf = ({ text }: Condition) => (text === '?' ? dialect.storedValue : text)
  const rows = jobs.map((_, row) => columns.flatMap(({ cells }) => cells[row] ?? []))
  await run(
    `INSERT INTO ${tables.job} (${columns.map(({ column }) => column).join(', ')})
     VALUES ${rows.map((cells) => `(${cells.map(textOf).join(', ')})`).join(', ')}`,
    rows.flatMap((cells) => cells.flatMap(({ params }) => params)),
  )
}

const parameter = (value: SqlValue): Condition => ({ text: '?', params: [value] })

function runAtOf(dialect: Dialect, { runAt, delayMs }: NewJob): Condition {
  return delayMs === null ? parameter(runAt && toText(runAt)) : { text: dialect.nowPlus(delayMs), params: [] }
}

/**
 * Locks the schedule, then the job: the order in which all transactions take locks.
 *
 * @returns the schedule by `uid`; no schedule if it was deleted
 * @throws RowsChangedError if it was deleted or renamed while its lock was awaited
 */
async function lockWithSchedule(
  tx: Context,
  owner: Owner,
  name: string,
): Promise<{ row: SettlingRow; schedules: ReadonlyMap<string, PlannableRow> } | null> {
  const { tables, dialect } = tx
  const scope = scopeCondition(owner)
  const id = await findOwnId(tx, 'job', owner, name)
  if (id === null) return null
  const params = [id, ...scope.params]
  const scheduleOfJob = `(SELECT s.id FROM ${tables.schedule} AS s WHERE s.uid = periodic_task_uid)`
  const [found] = await tx.select<{ schedule: string | null; uid: string | null }>(
    [`${scheduleOfJob} AS schedule`, 'periodic_task_uid AS uid'],
    `FROM ${tables.job} WHERE id = ${dialect.jobId}${scope.text}`,
    params,
  )
  if (found === undefined) return null
  const rows = await lockRows<PlannableRow>(tx, {
    table: tables.schedule,
    columns: plannableColumns(dialect),
    ids: found.schedule === null ? [] : [found.schedule],
    locked: 'wait',
  })
  if (found.schedule !== null && rows[0]?.uid !== found.uid)
    throw new RowsChangedError(tables.schedule, 0, rows.length)
  const [row] = await tx.select<SettlingRow>(
    settlingColumns(dialect),
    `FROM ${tables.job}
     WHERE id = ${dialect.jobId}${scope.text} ${dialect.locked('wait')}`,
    params,
  )
  return row === undefined ? null : { row, schedules: byUid(rows) }
}

const AGAIN = {
  state: "'waiting'",
  reason: "'retried'",
  attempt: '0',
  releases: '0',
  run_at: 'NULL',
  frozen_until: 'NULL',
  started: 'NULL',
  finished: 'NULL',
  worker: 'NULL',
  stop_requested: 'NULL',
  no_retry: 'NULL',
  progress: 'NULL',
}

function batches(jobs: readonly NewJob[]): NewJob[][] {
  const parts: NewJob[][] = []
  let size = Infinity
  for (const job of jobs) {
    // Text that is not plain ASCII is written as hexadecimal, which doubles its length.
    size += 2 * job.args.length + 500
    if (size > LARGEST_INSERT || parts.at(-1)?.length === MAX_ROWS) {
      parts.push([])
      size = 2 * job.args.length + 500
    }
    parts.at(-1)?.push(job)
  }
  return parts
}
