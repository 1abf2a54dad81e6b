import { ConflictError } from '../../errors.ts'
import { occurrenceId } from '../../model/occurrence.ts'
import { ANY_OWNER, type Owner } from '../../model/owner.ts'
import { elapsesOf } from '../../model/plan.ts'
import { changedSettings, type Schedule, type ScheduleSettings } from '../../model/schedule.ts'
import type { Database, Sql, SqlValue } from '../database.ts'
import { fromStored, fromText, toText } from '../instant.ts'
import type {
  FirstRun,
  NewSchedule,
  Page,
  PutResult,
  ScheduleFilter,
  ScheduleStore,
} from '../schedule-store.ts'
import { andEquals, type Condition, ownedBy } from './owned.ts'
import { scheduleColumns, type ScheduleRow, settingColumns, toSchedule } from './rows.ts'
import { latestRun } from './submitted-jobs.ts'
import { placeholders, type Tables } from './tables.ts'

export class SqlSchedules implements ScheduleStore {
  readonly #database: Database
  readonly #tables: Tables
  /** Part of every statement that reaches a row. */
  readonly #own: Condition

  constructor(database: Database, tables: Tables, owner: Owner = ANY_OWNER) {
    this.#database = database
    this.#tables = tables
    this.#own = ownedBy(owner)
  }

  ownedBy(owner: Owner): ScheduleStore {
    return new SqlSchedules(this.#database, this.#tables, owner)
  }

  async create(id: string, settings: ScheduleSettings, firstRun: FirstRun = 'next'): Promise<void> {
    try {
      await this.#database.transaction((sql) =>
        insertSchedule(sql, this.#database, this.#tables, { id, settings, firstRun }),
      )
    } catch (error) {
      throw this.#orConflict(error, id)
    }
  }

  async put(id: string, settings: ScheduleSettings, firstRun: FirstRun = 'next'): Promise<PutResult> {
    const write = () =>
      this.#database.transaction(async (sql): Promise<PutResult> => {
        const [current] = await lockSchedules(sql, this.#database, this.#tables, this.#where(id))
        if (current === undefined) {
          await insertSchedule(sql, this.#database, this.#tables, { id, settings, firstRun })
          return 'created'
        }
        const { enabled: _, declaredBy: __, ...rest } = settings
        const changes = changedSettings(current, rest)
        if (Object.keys(changes).length === 0) return 'unchanged'
        await changeSchedule(sql, this.#tables, id, changes)
        return 'changed'
      })
    try {
      return await againOnDuplicate(this.#database, write)
    } catch (error) {
      throw this.#orConflict(error, id)
    }
  }

  async get(id: string): Promise<Schedule | null> {
    const { text, params } = this.#where(id)
    const [row] = await this.#database.rows<ScheduleRow>(
      `SELECT ${scheduleColumns(this.#database.dialect)} FROM ${this.#tables.schedule} WHERE ${text}`,
      params,
    )
    return row === undefined ? null : toSchedule(row)
  }

  async list(filter: ScheduleFilter): Promise<Page<Schedule>> {
    const equals = andEquals({
      status: filter.status,
      task: filter.task,
      group_: filter.group,
      submitter: filter.submitter,
      declared_by: filter.declaredBy,
    })
    const contains =
      filter.text === undefined ? '' : ` AND (INSTR(id, ?) > 0 OR INSTR(COALESCE(summary, ''), ?) > 0)`
    const where = `WHERE 1 = 1${equals.text}${contains}${this.#own.text}`
    const searched = filter.text === undefined ? [] : [filter.text, filter.text]
    const params = [...equals.params, ...searched, ...this.#own.params]
    const rows = await this.#database.rows<ScheduleRow>(
      `SELECT ${scheduleColumns(this.#database.dialect)} FROM ${this.#tables.schedule} ${where} ORDER BY id LIMIT ${filter.limit} OFFSET ${filter.offset}`,
      params,
    )
    const [count] = await this.#database.rows<{ total: number }>(
      `SELECT COUNT(*) AS total FROM ${this.#tables.schedule} ${where}`,
      params,
    )
    return { items: rows.map(toSchedule), total: count?.total ?? 0 }
  }

  async update(id: string, changes: Partial<ScheduleSettings>): Promise<boolean> {
    const columns = settingColumns(changes)
    if (columns.length === 0) return (await this.get(id)) !== null
    const assignments = columns.map(([column]) => `${column} = ?`).join(', ')
    return this.#write(
      `UPDATE ${this.#tables.schedule} SET ${assignments}`,
      columns.map(([, value]) => value),
      this.#where(id),
    )
  }

  delete(id: string): Promise<boolean> {
    return this.#write(`DELETE FROM ${this.#tables.schedule}`, [], this.#where(id))
  }

  reset(id: string): Promise<boolean> {
    const { text, params } = this.#where(id)
    // planned_from NULL: planned anew, from now.
    return this.#write(
      `UPDATE ${this.#tables.schedule} SET idle = NULL, nextrun = NULL, planned_from = NULL, run_count = 0, error_count = 0, last_error = NULL`,
      [],
      { text: `${text} AND idle IN ('done', 'dead')`, params },
    )
  }

  runNow(id: string, args: string | null = null): Promise<string | null> {
    const { schedule, job } = this.#tables
    const { now, instant, forUpdate } = this.#database.dialect
    const own = this.#where(id)
    const submit = async (sql: Sql) => {
      const [row] = await sql.rows<{
        last_slot: string | null
        overlap: string
        run_count: number
        clock: string
      }>(
        `SELECT ${instant('last_slot')} AS last_slot, overlap, run_count, ${now} AS clock FROM ${schedule} WHERE ${own.text} ${forUpdate}`,
        own.params,
      )
      if (row === undefined) return null
      const [open] = await sql.rows<{ id: string; state: string; number: number }>(
        `SELECT id, state, COUNT(*) OVER () AS number FROM ${job} WHERE periodic_task_id = ? AND state IN ('waiting', 'blocked', 'running') ORDER BY id LIMIT 1`,
        [id],
      )
      if (open !== undefined && row.overlap !== 'allow')
        throw new ConflictError(
          `The schedule '${id}' cannot run now: its job ${open.id} is ${open.state}; wait for its end or cancel it`,
          { jobId: open.id },
        )
      // Slots only grow, so that the run counts as one of its own.
      const slot = new Date(
        Math.max(fromStored(row.clock).getTime(), (fromText(row.last_slot)?.getTime() ?? 0) + 1),
      )
      const jobId = occurrenceId(id, slot)
      const [latest] = await sql.rows<{ number: number | null }>(
        `SELECT ${latestRun(job)} AS number FROM ${schedule} AS s WHERE s.id = ?`,
        [id],
      )
      const number = Math.max(row.run_count + (open?.number ?? 0), latest?.number ?? 0) + 1
      await sql.run(
        `INSERT INTO ${job} (id, periodic_task_id, slot, run, task, group_, args, subject, submitter, priority, exclusive, reason, submitted, timeout, max_retries, retry_delay, retry_backoff)
         SELECT ?, id, ?, ?, task, group_, COALESCE(?, args), subject, submitter, priority, CASE WHEN overlap = 'allow' THEN 0 ELSE 1 END, 'run now', ${now}, timeout, max_retries, retry_delay, retry_backoff FROM ${schedule} WHERE id = ?`,
        [jobId, toText(slot), number, args, id],
      )
      await sql.run(`UPDATE ${schedule} SET last_slot = ? WHERE id = ?`, [toText(slot), id])
      return jobId
    }
    // A job may have been put back by hand since it was looked for: then it is in the way.
    return againOnDuplicate(this.#database, () => this.#database.transaction(submit))
  }

  async now(): Promise<Date> {
    const [row] = await this.#database.rows<{ clock: string }>(
      `SELECT ${this.#database.dialect.now} AS clock`,
    )
    return fromStored(row?.clock ?? '')
  }

  #where(id: string): Condition {
    return { text: `id = ?${this.#own.text}`, params: [id, ...this.#own.params] }
  }

  async #write(statement: string, values: readonly SqlValue[], where: Condition): Promise<boolean> {
    return (await this.#database.run(`${statement} WHERE ${where.text}`, [...values, ...where.params])) > 0
  }

  #orConflict(error: unknown, id: string): unknown {
    if (!this.#database.dialect.isDuplicate(error)) return error
    return new ConflictError(
      `There is a schedule with the id '${id}' already; use put or update to change it`,
      { cause: error },
    )
  }
}

/** Reads schedules under lock. Their keys are found first, so that the locks are taken in the order of the key. */
export async function lockSchedules(
  sql: Sql,
  { dialect }: Database,
  { schedule }: Tables,
  where: Condition,
): Promise<Schedule[]> {
  const found = await sql.rows<{ id: string }>(`SELECT id FROM ${schedule} WHERE ${where.text}`, where.params)
  if (found.length === 0) return []
  const rows = await sql.rows<ScheduleRow>(
    `SELECT ${scheduleColumns(dialect)} FROM ${schedule} ${dialect.byKey} WHERE id IN (${placeholders(found)}) ORDER BY id ${dialect.forUpdate}`,
    found.map((row) => row.id),
  )
  return rows.map(toSchedule)
}

/** A past nextrun set by hand means "now", whatever the clock shows. */
const AT_ONCE = '1970-01-01 00:00:00.000'

export async function insertSchedule(
  sql: Sql,
  { dialect }: Database,
  { schedule }: Tables,
  { id, settings, firstRun }: NewSchedule,
): Promise<void> {
  const columns: [string, SqlValue][] = [['id', id], ...settingColumns(settings)]
  if (firstRun !== 'next') {
    const [row] = await sql.rows<{ clock: string }>(`SELECT ${dialect.now} AS clock`)
    if (firstRun === 'now' || hasElapsedInMinute(id, settings, fromStored(row?.clock ?? '')))
      columns.push(['nextrun', AT_ONCE])
  }
  await sql.run(
    `INSERT INTO ${schedule} (${columns.map(([column]) => column).join(', ')}, created) VALUES (${placeholders(columns)}, ${dialect.now})`,
    columns.map(([, value]) => value),
  )
}

/** What the rest of the minute still brings comes by itself. */
function hasElapsedInMinute(id: string, settings: ScheduleSettings, now: Date): boolean {
  const minute = Math.floor(now.getTime() / 60_000) * 60_000
  const elapse = elapsesOf({ id, ...settings, created: now }).next(new Date(minute - 1))
  return elapse !== null && elapse <= now
}

export async function changeSchedule(
  sql: Sql,
  { schedule }: Tables,
  id: string,
  changes: Partial<ScheduleSettings>,
): Promise<void> {
  const columns = settingColumns(changes)
  if (columns.length === 0) return
  await sql.run(
    `UPDATE ${schedule} SET ${columns.map(([column]) => `${column} = ?`).join(', ')} WHERE id = ?`,
    [...columns.map(([, value]) => value), id],
  )
}

/** Two that write the same key at once: the second finds it there and begins anew. */
export async function againOnDuplicate<Result>(
  { dialect }: Database,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (!dialect.isDuplicate(error)) throw error
    return work()
  }
}
