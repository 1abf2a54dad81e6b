import { ConflictError } from '../../errors.ts'
import { type Job, type JobState, isFinal } from '../../model/job.ts'
import { ANY_OWNER, type Owner, shownId, storedIds } from '../../model/owner.ts'
import type { Database, Sql, SqlValue } from '../database.ts'
import type { LogLevel, LogLine } from '../executing-store.ts'
import { fromStored, toText } from '../instant.ts'
import { integerLiteral } from '../literals.ts'
import type { JobFilter, JobStore, NewJob, Transaction } from '../job-store.ts'
import type { Listed } from '../list-store.ts'
import { lentTransaction } from '../lent-transaction.ts'
import type { Check, Page } from '../schedule-store.ts'
import { findOpenJob, findOwn, openJobConflict, shownJob } from './own-ids.ts'
import { andEquals, type Condition, ownedBy } from './owned.ts'
import {
  jobColumns,
  type JobRow,
  type ListedRow,
  plannableColumns,
  type PlannableRow,
  previewBytes,
  toJob,
  toListedJob,
} from './rows.ts'
import { endJobs, type EndingRow, endingColumns, touchSchedules } from './settling.ts'
import { againOnDuplicate } from './schedules.ts'
import { placeholders, type Tables } from './tables.ts'

/** Characters of one INSERT: well below the packet limit of any server. */
const LARGEST_INSERT = 1_000_000

/** Names of one look-up: each takes two parameters, and a statement may have 32,766 of them on SQLite. */
const NAMES_AT_ONCE = 1000

export class SqlJobs implements JobStore {
  readonly #database: Database
  readonly #tables: Tables
  readonly #owner: Owner
  /** Part of every statement that reaches a row. */
  readonly #own: Condition

  constructor(database: Database, tables: Tables, owner: Owner = ANY_OWNER) {
    this.#database = database
    this.#tables = tables
    this.#owner = owner
    this.#own = ownedBy(owner)
  }

  ownedBy(owner: Owner): JobStore {
    return new SqlJobs(this.#database, this.#tables, owner)
  }

  async submit(jobs: readonly NewJob[], transaction?: Transaction): Promise<void> {
    const parts = batches(jobs)
    const insert = async (sql: Pick<Sql, 'run'>) => {
      for (const batch of parts) await this.#insert(sql, batch)
    }
    const { dialect } = this.#database
    // Before the try: what cannot run a statement is refused, also where there is nothing to submit.
    const lent = transaction === undefined ? null : lentTransaction(transaction, dialect)
    if (parts.length === 0) return
    try {
      if (lent === null) await this.#database.transaction(insert)
      else if (parts.length === 1) await insert(lent)
      else await wholly(lent, insert)
    } catch (error) {
      if (!withCauses(error).some((cause) => dialect.isDuplicate(cause))) throw error
      const [first] = jobs
      const id = jobs.length === 1 ? `the id '${shownId(this.#owner, first?.id ?? '')}'` : 'one of these ids'
      throw new ConflictError(`There is a job with ${id} already`, { cause: error })
    }
  }

  async get(name: string): Promise<Job | null> {
    const id = await this.#find(this.#database, name)
    if (id === null) return null
    const [row] = await this.#database.rows<JobRow>(
      `SELECT ${jobColumns(this.#database.dialect)} FROM ${this.#tables.job} WHERE id = ?${this.#own.text}`,
      [id, ...this.#own.params],
    )
    return row === undefined ? null : this.#shown(row)
  }

  async existing(names: readonly string[]): Promise<string[]> {
    const found: string[] = []
    for (let start = 0; start < names.length; start += NAMES_AT_ONCE) {
      const part = names.slice(start, start + NAMES_AT_ONCE)
      const own = await findOwn(
        this.#database,
        this.#database.dialect,
        this.#tables,
        'job',
        this.#owner,
        part,
      )
      found.push(...own.keys())
    }
    return found
  }

  async list(filter: JobFilter): Promise<Page<Job>> {
    const equals = andEquals({
      state: filter.state,
      task: filter.task,
      group_: filter.group,
      submitter: filter.submitter,
    })
    const ofSchedule = filter.scheduleId === undefined ? null : storedIds(this.#owner, filter.scheduleId)
    const scheduled = ofSchedule === null ? '' : ` AND periodic_task_id IN (${placeholders(ofSchedule)})`
    const where = `WHERE 1 = 1${equals.text}${scheduled}${this.#own.text}`
    const params = [...equals.params, ...(ofSchedule ?? []), ...this.#own.params]
    const rows = await this.#database.rows<JobRow>(
      `SELECT ${jobColumns(this.#database.dialect)} FROM ${this.#tables.job} ${where} ORDER BY id DESC LIMIT ${integerLiteral(filter.limit)} OFFSET ${integerLiteral(filter.offset)}`,
      params,
    )
    const [count] = await this.#database.rows<{ total: number }>(
      `SELECT COUNT(*) AS total FROM ${this.#tables.job} ${where}`,
      params,
    )
    return { items: rows.map((row) => this.#shown(row)), total: count?.total ?? 0 }
  }

  cancel(name: string, check: Check<Pick<Job, 'task'>> = () => undefined): Promise<JobState | null> {
    const { dialect } = this.#database
    return this.#persistently(async (sql) => {
      const locked = await this.#lockedWithSchedule(sql, name)
      if (locked === null) return null
      const { row, schedules } = locked
      const { id } = row
      check(row)
      if (row.state === 'running') {
        await sql.run(
          `UPDATE ${this.#tables.job} SET stop_requested = COALESCE(stop_requested, ${dialect.now}) WHERE id = ?`,
          [id],
        )
      }
      if (row.state === 'running' || isFinal(row.state)) return row.state
      const settlement = { state: 'cancelled', reason: null, error: null, result: null } as const
      await endJobs(sql, dialect, this.#tables, [{ row, settlement }], schedules)
      return 'cancelled'
    })
  }

  retry(name: string, check: Check<Pick<Job, 'task'>> = () => undefined): Promise<JobState | null> {
    return this.#persistently(async (sql) => {
      const locked = await this.#lockedWithSchedule(sql, name)
      if (locked === null) return null
      const { row, schedules } = locked
      const { id } = row
      check(row)
      if (row.state !== 'failed' && row.state !== 'cancelled') return row.state
      // As the schedule says now; of one that is gone nothing else can come.
      const exclusive = schedules.get(row.schedule ?? '')?.overlap !== 'allow'
      if (row.schedule !== null && exclusive) await this.#refuseWhileOpen(sql, id, row.schedule)
      await touchSchedules(sql, this.#database.dialect, this.#tables, [...schedules.keys()])
      await sql.run(
        `UPDATE ${this.#tables.job} SET state = 'waiting', exclusive = ?, reason = CASE WHEN reason = 'run now' THEN reason END, attempt = 0, run_at = NULL, started = NULL, finished = NULL, worker = NULL, stop_requested = NULL, progress = NULL WHERE id = ?`,
        [Number(exclusive), id],
      )
      return row.state
    })
  }

  async countOpen(most: number): Promise<number> {
    const { group, submitter } = this.#owner
    const { dialect } = this.#database
    const { job, jobOpenGroupIndex, jobOpenSubmitterIndex, jobStateIndex } = this.#tables
    // Not by the other indexes of the owner: those hold its whole history, and this runs with every job submitted.
    const ownIndex = group === null ? jobStateIndex : jobOpenGroupIndex
    const index = submitter === null ? ownIndex : jobOpenSubmitterIndex
    const [row] = await this.#database.rows<{ total: number }>(
      `SELECT COUNT(*) AS total FROM (
        SELECT 1 AS one FROM ${job} ${dialect.onlyByIndex(index)}
        WHERE state IN ('waiting', 'blocked', 'running')${this.#own.text} LIMIT ${integerLiteral(most)}
      ) AS counted`,
      this.#own.params,
    )
    return row?.total ?? 0
  }

  async history(scheduleId: string, limit: number, before: Date | null): Promise<Listed<Job>[]> {
    // The unique key of occurrences holds filter and order.
    const id = await this.#findSchedule(scheduleId)
    if (id === null) return []
    const older = before === null ? '' : 'AND slot < ?'
    const rows = await this.#database.rows<ListedRow<JobRow>>(
      `SELECT ${jobColumns(this.#database.dialect, previewBytes(limit))} FROM ${this.#tables.job} WHERE periodic_task_id = ? ${older}${this.#own.text} ORDER BY slot DESC LIMIT ${integerLiteral(limit)}`,
      [id, ...(before === null ? [] : [toText(before)]), ...this.#own.params],
    )
    return rows.map((row) => shownJob(this.#owner, toListedJob(row)))
  }

  async historyFrom(scheduleId: string, from: Date, limit: number): Promise<Listed<Job>[]> {
    const id = await this.#findSchedule(scheduleId)
    if (id === null) return []
    const rows = await this.#database.rows<ListedRow<JobRow>>(
      `SELECT ${jobColumns(this.#database.dialect, previewBytes(limit))} FROM ${this.#tables.job} WHERE periodic_task_id = ? AND slot >= ?${this.#own.text} ORDER BY slot LIMIT ${integerLiteral(limit)}`,
      [id, toText(from), ...this.#own.params],
    )
    return rows.map((row) => shownJob(this.#owner, toListedJob(row)))
  }

  async logs(name: string): Promise<LogLine[]> {
    const id = await this.#find(this.#database, name)
    if (id === null) return []
    const rows = await this.#database.rows<{ job_id: string; at: string; level: LogLevel; message: string }>(
      `SELECT job_id, ${this.#database.dialect.instant('at')} AS at, level, message FROM ${this.#tables.log} WHERE job_id = ? ORDER BY id`,
      [id],
    )
    return rows.map((row) => ({
      jobId: shownId(this.#owner, row.job_id),
      at: fromStored(row.at),
      level: row.level,
      message: row.message,
    }))
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
      `INSERT INTO ${this.#tables.job} (id, task, group_, args, subject, submitter, priority, run_at, timeout, max_retries, retry_delay, retry_backoff, submitted) VALUES ${values.map((row) => `(${placeholders(row)}, ${this.#database.dialect.now})`).join(', ')}`,
      values.flat(),
    )
  }

  #shown(row: JobRow): Job {
    return shownJob(this.#owner, toJob(row))
  }

  /** @returns the id under which it is stored; null when this owner has none of this name */
  async #find(sql: Sql, name: string): Promise<string | null> {
    const { dialect } = this.#database
    return (await findOwn(sql, dialect, this.#tables, 'job', this.#owner, [name])).get(name) ?? null
  }

  async #findSchedule(name: string): Promise<string | null> {
    const { dialect } = this.#database
    const found = await findOwn(this.#database, dialect, this.#tables, 'schedule', this.#owner, [name])
    return found.get(name) ?? null
  }

  /** A job that was put back by hand since others were looked for is found the second time. */
  #persistently<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result> {
    return againOnDuplicate(this.#database, () => this.#database.transaction(work))
  }

  /** Whoever submits for a schedule that is there waits for its row, which is locked here. */
  async #refuseWhileOpen(sql: Sql, id: string, schedule: string): Promise<void> {
    const open = await findOpenJob(sql, this.#tables, this.#owner, schedule)
    if (open === null) return
    throw openJobConflict(
      `The job ${shownId(this.#owner, id)} of the schedule '${shownId(this.#owner, schedule)}' cannot run again now`,
      open,
    )
  }

  /** Locks a job after its schedule: the one order of locks. */
  async #lockedWithSchedule(
    sql: Sql,
    name: string,
  ): Promise<{ row: EndingRow; schedules: ReadonlyMap<string, PlannableRow> } | null> {
    const { job, schedule } = this.#tables
    const { dialect } = this.#database
    const id = await this.#find(sql, name)
    if (id === null) return null
    const [found] = await sql.rows<{ schedule: string | null }>(
      `SELECT periodic_task_id AS schedule FROM ${job} WHERE id = ?${this.#own.text}`,
      [id, ...this.#own.params],
    )
    if (found === undefined) return null
    const schedules =
      found.schedule === null
        ? []
        : await sql.rows<PlannableRow>(
            `SELECT ${plannableColumns(dialect)} FROM ${schedule} WHERE id = ? ${dialect.forUpdate}`,
            [found.schedule],
          )
    const [row] = await sql.rows<EndingRow>(
      `SELECT ${endingColumns(dialect)} FROM ${job} WHERE id = ?${this.#own.text} ${dialect.forUpdate}`,
      [id, ...this.#own.params],
    )
    return row === undefined ? null : { row, schedules: new Map(schedules.map((of) => [of.id, of])) }
  }
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
