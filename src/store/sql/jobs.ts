import { ConflictError } from '../../errors.ts'
import { type Job, type JobState, isFinal } from '../../model/job.ts'
import { ANY_OWNER, type Owner, shownId } from '../../model/owner.ts'
import type { Sql, SqlValue } from '../database.ts'
import { toText } from '../instant.ts'
import { integerLiteral } from '../literals.ts'
import type { JobStore, NewJob, Transaction } from '../job-store.ts'
import { callerTransaction } from '../caller-transaction.ts'
import type { Check } from '../schedule-store.ts'
import { lockRows, updateRows } from './by-key.ts'
import { OPEN } from './conditions.ts'
import type { Context, TablesContext } from './context.ts'
import { findOpenJob, findOwn, openJobConflict, shownJob } from './own-ids.ts'
import { type Condition, ownedBy } from './owned.ts'
import { jobColumns, type JobRow, plannableColumns, type PlannableRow, toJob } from './rows.ts'
import { endJobs, type EndingRow, endingColumns, touchSchedules } from './ends.ts'
import { placeholders } from './tables.ts'

/** Characters of one INSERT: well below the packet limit of any server. */
const LARGEST_INSERT = 1_000_000

/** Names of one look-up: each takes two parameters, and a statement may have 32,766 of them on SQLite. */
const NAMES_AT_ONCE = 1000

export class SqlJobs implements JobStore {
  readonly #context: TablesContext
  readonly #owner: Owner
  /** Part of every statement that reaches a row. */
  readonly #own: Condition

  constructor(context: TablesContext, owner: Owner = ANY_OWNER) {
    this.#context = context
    this.#owner = owner
    this.#own = ownedBy(owner)
  }

  ownedBy(owner: Owner): JobStore {
    return new SqlJobs(this.#context, owner)
  }

  async submit(jobs: readonly NewJob[], transaction?: Transaction): Promise<void> {
    const parts = batches(jobs)
    const insert = async (sql: Pick<Sql, 'run'>) => {
      for (const batch of parts) await this.#insert(sql, batch)
    }
    const { dialect } = this.#context
    // Before the try: what cannot run a statement is refused, also where there is nothing to submit.
    const given = transaction === undefined ? null : callerTransaction(transaction, dialect)
    if (parts.length === 0) return
    try {
      if (given === null) await this.#context.transaction(insert)
      else if (parts.length === 1) await insert(given)
      else await wholly(given, insert)
    } catch (error) {
      if (!withCauses(error).some((cause) => dialect.isDuplicate(cause))) throw error
      const [first] = jobs
      const id = jobs.length === 1 ? `the id '${shownId(this.#owner, first?.id ?? '')}'` : 'one of these ids'
      throw new ConflictError(`There is a job with ${id} already`, { cause: error })
    }
  }

  async get(name: string): Promise<Job | null> {
    const id = await this.#find(this.#context, name)
    if (id === null) return null
    const [row] = await this.#context.rows<JobRow>(
      `SELECT ${jobColumns(this.#context.dialect)} FROM ${this.#context.tables.job} WHERE id = ?${this.#own.text}`,
      [id, ...this.#own.params],
    )
    return row === undefined ? null : this.#shown(row)
  }

  async existing(names: readonly string[]): Promise<string[]> {
    const found: string[] = []
    for (let start = 0; start < names.length; start += NAMES_AT_ONCE) {
      const part = names.slice(start, start + NAMES_AT_ONCE)
      const own = await findOwn(this.#context, 'job', this.#owner, part)
      found.push(...own.keys())
    }
    return found
  }

  cancel(
    name: string,
    check: Check<Pick<Job, 'task' | 'state'>> = () => undefined,
  ): Promise<JobState | null> {
    return this.#context.transactionOnKeys(async (tx) => {
      const locked = await this.#lockedWithSchedule(tx, name)
      if (locked === null) return null
      const { row, schedules } = locked
      check(row)
      if (row.state === 'running') {
        const stop = { stop_requested: `COALESCE(stop_requested, ${tx.dialect.now})` }
        await updateRows(tx, tx.tables.job, stop, [row.id])
      }
      if (row.state === 'running' || isFinal(row.state)) return row.state
      const outcome = { state: 'cancelled', reason: null, error: null, result: null } as const
      await endJobs(tx, [{ row, outcome }], schedules)
      return 'cancelled'
    })
  }

  retry(name: string, check: Check<Pick<Job, 'task'>> = () => undefined): Promise<JobState | null> {
    return this.#context.transactionOnKeys(async (tx) => {
      const locked = await this.#lockedWithSchedule(tx, name)
      if (locked === null) return null
      const { row, schedules } = locked
      check(row)
      if (row.state !== 'failed' && row.state !== 'cancelled') return row.state
      // By the present policy of the schedule; a schedule that was deleted submits nothing else.
      const exclusive = schedules.get(row.schedule ?? '')?.overlap !== 'allow'
      if (row.schedule !== null && exclusive) await this.#refuseWhileOpen(tx, row.id, row.schedule)
      await touchSchedules(tx, [...schedules.keys()])
      await updateRows(tx, tx.tables.job, { ...AGAIN, exclusive: '?' }, [row.id], {
        params: [Number(exclusive)],
      })
      return row.state
    })
  }

  async countOpen(most: number): Promise<number> {
    const { group, submitter } = this.#owner
    const { dialect, tables } = this.#context
    const { job, jobOpenGroupIndex, jobOpenSubmitterIndex, jobStateIndex } = tables
    // Not by the other indexes of the owner: those hold its whole history, and this runs with every job submitted.
    const ownIndex = group === null ? jobStateIndex : jobOpenGroupIndex
    const index = submitter === null ? ownIndex : jobOpenSubmitterIndex
    const [row] = await this.#context.rows<{ total: number }>(
      `SELECT COUNT(*) AS total FROM (
        SELECT 1 AS one FROM ${dialect.found(job, { index })}
        WHERE ${OPEN}${this.#own.text} LIMIT ${integerLiteral(most)}
      ) AS counted`,
      this.#own.params,
    )
    return row?.total ?? 0
  }

  async #insert(sql: Pick<Sql, 'run'>, jobs: readonly NewJob[]): Promise<void> {
    const values = jobs.map((job): SqlValue[] => [
      job.id,
      job.task,
      job.group,
      job.args,
      job.subject,
      job.submitter,
      job.priority,
      job.runAt && toText(job.runAt),
      job.timeoutMs,
      job.maxRetries,
      job.retryDelayMs,
      job.retryBackoff,
    ])
    await sql.run(
      `INSERT INTO ${this.#context.tables.job} (
         id, task, group_, args, subject, submitter, priority, run_at,
         timeout, max_retries, retry_delay, retry_backoff, submitted
       )
       VALUES ${values.map((row) => `(${placeholders(row)}, ${this.#context.dialect.now})`).join(', ')}`,
      values.flat(),
    )
  }

  #shown(row: JobRow): Job {
    return shownJob(this.#owner, toJob(row))
  }

  /** @returns the id under which it is stored; null when this owner has none of this name */
  async #find(context: Context, name: string): Promise<string | null> {
    return (await findOwn(context, 'job', this.#owner, [name])).get(name) ?? null
  }

  /** Submissions of the schedule wait for its row, which is locked here. */
  async #refuseWhileOpen(tx: Context, id: string, schedule: string): Promise<void> {
    const open = await findOpenJob(tx, this.#owner, schedule)
    if (open === null) return
    throw openJobConflict(
      `The job ${shownId(this.#owner, id)} of the schedule '${shownId(this.#owner, schedule)}' cannot run again now`,
      open,
    )
  }

  /** Locks a job after its schedule: the one order of locks. */
  async #lockedWithSchedule(
    tx: Context,
    name: string,
  ): Promise<{ row: EndingRow; schedules: ReadonlyMap<string, PlannableRow> } | null> {
    const { job, schedule } = tx.tables
    const { dialect } = tx
    const id = await this.#find(tx, name)
    if (id === null) return null
    const own = [id, ...this.#own.params]
    const [found] = await tx.rows<{ schedule: string | null }>(
      `SELECT periodic_task_id AS schedule FROM ${job} WHERE id = ?${this.#own.text}`,
      own,
    )
    if (found === undefined) return null
    const schedules = await lockRows<PlannableRow>(tx, {
      table: schedule,
      columns: plannableColumns(dialect),
      ids: found.schedule === null ? [] : [found.schedule],
      locked: 'wait',
    })
    const [row] = await tx.rows<EndingRow>(
      `SELECT ${endingColumns(dialect)} FROM ${job} WHERE id = ?${this.#own.text} ${dialect.locked('wait')}`,
      own,
    )
    return row === undefined ? null : { row, schedules: new Map(schedules.map((of) => [of.id, of])) }
  }
}

/** Assignments: a job starts over, from its first attempt. */
const AGAIN = {
  state: "'waiting'",
  reason: "CASE WHEN reason = 'run now' THEN reason END",
  attempt: '0',
  run_at: 'NULL',
  started: 'NULL',
  finished: 'NULL',
  worker: 'NULL',
  stop_requested: 'NULL',
  progress: 'NULL',
}

/** All statements or none, in a transaction that goes on when one of them is refused. */
async function wholly(sql: Pick<Sql, 'run'>, work: (sql: Pick<Sql, 'run'>) => Promise<void>): Promise<void> {
  await sql.run('SAVEPOINT kalends_submit')
  try {
    await work(sql)
  } catch (error) {
    // After a deadlock the transaction is gone, and the savepoint with it.
    await sql.run('ROLLBACK TO SAVEPOINT kalends_submit').catch(() => undefined)
    throw error
  }
  await sql.run('RELEASE SAVEPOINT kalends_submit')
}

/** Query builders wrap what their driver throws, some of them twice. */
function withCauses(error: unknown): unknown[] {
  const errors: unknown[] = []
  for (
    let at = error;
    at !== undefined && errors.length < 10;
    at = at instanceof Error ? at.cause : undefined
  )
    errors.push(at)
  return errors
}

/** Parts that fit into one statement each. */
function batches(jobs: readonly NewJob[]): NewJob[][] {
  const parts: NewJob[][] = []
  let size = Infinity
  for (const job of jobs) {
    // Hexadecimal doubles a text that is not plain.
    size += 2 * job.args.length + 500
    if (size > LARGEST_INSERT) {
      parts.push([])
      size = 2 * job.args.length + 500
    }
    parts.at(-1)?.push(job)
  }
  return parts
}
