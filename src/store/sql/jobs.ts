import { ConflictError } from '../../errors.ts'
import type { Job, JobState } from '../../model/job.ts'
import type { Database, Sql } from '../database.ts'
import type { LogLevel, LogLine } from '../executing-store.ts'
import { fromStored, toText } from '../instant.ts'
import type { JobFilter, JobStore, NewJob } from '../job-store.ts'
import type { Page } from '../schedule-store.ts'
import { jobColumns, type JobRow, toJob } from './rows.ts'
import { promoteBlocked } from './settling.ts'
import { placeholders, type Tables } from './tables.ts'

export class SqlJobs implements JobStore {
  readonly #database: Database
  readonly #tables: Tables

  constructor(database: Database, tables: Tables) {
    this.#database = database
    this.#tables = tables
  }

  async submit(jobs: readonly NewJob[]): Promise<void> {
    if (jobs.length === 0) return
    const columns =
      'id, task, group_, args, subject, submitter, priority, run_at, timeout, max_retries, retry_delay, retry_backoff'
    const values = jobs.map((job) => [
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
    try {
      await this.#database.run(
        `INSERT INTO ${this.#tables.job} (${columns}) VALUES ${values.map((row) => `(${placeholders(row)})`).join(', ')}`,
        values.flat(),
      )
    } catch (error) {
      if (!this.#database.dialect.isDuplicate(error)) throw error
      throw new ConflictError(
        `There is a job with ${jobs.length === 1 ? `the id '${jobs[0]?.id}'` : 'one of these ids'} already`,
        { cause: error },
      )
    }
  }

  async get(id: string): Promise<Job | null> {
    const [row] = await this.#database.rows<JobRow>(
      `SELECT ${jobColumns(this.#database.dialect)} FROM ${this.#tables.job} WHERE id = ?`,
      [id],
    )
    return row === undefined ? null : toJob(row)
  }

  async list(filter: JobFilter): Promise<Page<Job>> {
    const conditions = Object.entries({
      state: filter.state,
      task: filter.task,
      periodic_task_id: filter.scheduleId,
    }).filter((entry): entry is [string, string] => entry[1] !== undefined)
    const where =
      conditions.length === 0 ? '' : `WHERE ${conditions.map(([column]) => `${column} = ?`).join(' AND ')}`
    const params = conditions.map(([, value]) => value)
    const rows = await this.#database.rows<JobRow>(
      `SELECT ${jobColumns(this.#database.dialect)} FROM ${this.#tables.job} ${where} ORDER BY id DESC LIMIT ${filter.limit} OFFSET ${filter.offset}`,
      params,
    )
    const [count] = await this.#database.rows<{ total: number }>(
      `SELECT COUNT(*) AS total FROM ${this.#tables.job} ${where}`,
      params,
    )
    return { items: rows.map(toJob), total: count?.total ?? 0 }
  }

  cancel(id: string): Promise<JobState | null> {
    return this.#database.transaction(async (sql) => {
      const row = await this.#lockedWithSchedule(sql, id)
      if (row === null) return null
      const { now } = this.#database.dialect
      if (row.state === 'running') {
        await sql.run(
          `UPDATE ${this.#tables.job} SET stop_requested = COALESCE(stop_requested, ${now}) WHERE id = ?`,
          [id],
        )
      }
      if (row.state !== 'waiting' && row.state !== 'blocked') return row.state
      await sql.run(`UPDATE ${this.#tables.job} SET state = 'cancelled', finished = ${now} WHERE id = ?`, [
        id,
      ])
      if (row.state === 'waiting')
        await promoteBlocked(sql, this.#database.dialect, this.#tables, [
          { row, settlement: { state: 'cancelled' } },
        ])
      return 'cancelled'
    })
  }

  async logs(id: string): Promise<LogLine[]> {
    const rows = await this.#database.rows<{ job_id: string; at: string; level: LogLevel; message: string }>(
      `SELECT job_id, ${this.#database.dialect.instant('at')} AS at, level, message FROM ${this.#tables.log} WHERE job_id = ? ORDER BY id`,
      [id],
    )
    return rows.map((row) => ({
      jobId: row.job_id,
      at: fromStored(row.at),
      level: row.level,
      message: row.message,
    }))
  }

  /** Locks a job after its schedule: the one order of locks. */
  async #lockedWithSchedule(
    sql: Sql,
    id: string,
  ): Promise<{ schedule: string | null; state: JobState } | null> {
    const { job, schedule } = this.#tables
    const { forUpdate } = this.#database.dialect
    const [found] = await sql.rows<{ schedule: string | null }>(
      `SELECT periodic_task_id AS schedule FROM ${job} WHERE id = ?`,
      [id],
    )
    if (found === undefined) return null
    if (found.schedule !== null)
      await sql.rows(`SELECT id FROM ${schedule} WHERE id = ? ${forUpdate}`, [found.schedule])
    const [row] = await sql.rows<{ schedule: string | null; state: JobState }>(
      `SELECT periodic_task_id AS schedule, state FROM ${job} WHERE id = ? ${forUpdate}`,
      [id],
    )
    return row ?? null
  }
}
