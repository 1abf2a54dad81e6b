import { ConflictError } from '../../errors.ts'
import { occurrenceId } from '../../model/occurrence.ts'
import { changedSettings, type Schedule, type ScheduleSettings } from '../../model/schedule.ts'
import type { Database, Sql, SqlValue } from '../database.ts'
import { fromStored, fromText, toText } from '../instant.ts'
import type { Page, PutResult, ScheduleFilter, ScheduleStore, SetChanges } from '../schedule-store.ts'
import { scheduleColumns, type ScheduleRow, settingColumns, toSchedule } from './rows.ts'
import { placeholders, type Tables } from './tables.ts'

export class SqlSchedules implements ScheduleStore {
  readonly #database: Database
  readonly #tables: Tables

  constructor(database: Database, tables: Tables) {
    this.#database = database
    this.#tables = tables
  }

  async create(id: string, settings: ScheduleSettings): Promise<void> {
    try {
      await this.#insert(this.#database, id, settings)
    } catch (error) {
      if (!this.#database.dialect.isDuplicate(error)) throw error
      throw new ConflictError(
        `There is a schedule with the id '${id}' already; use put or update to change it`,
        { cause: error },
      )
    }
  }

  async put(id: string, settings: ScheduleSettings): Promise<PutResult> {
    return this.#againOnDuplicate(() =>
      this.#database.transaction(async (sql) => {
        const existing = await this.#locked(sql, 'id = ?', [id])
        const [current] = existing
        if (current === undefined) {
          await this.#insert(sql, id, settings)
          return 'created'
        }
        const { enabled: _, declaredBy: __, ...rest } = settings
        const changes = changedSettings(current, rest)
        if (Object.keys(changes).length === 0) return 'unchanged'
        await this.#change(sql, id, changes)
        return 'changed'
      }),
    )
  }

  async get(id: string): Promise<Schedule | null> {
    const [row] = await this.#database.rows<ScheduleRow>(
      `SELECT ${scheduleColumns(this.#database.dialect)} FROM ${this.#tables.schedule} WHERE id = ?`,
      [id],
    )
    return row === undefined ? null : toSchedule(row)
  }

  async list(filter: ScheduleFilter): Promise<Page<Schedule>> {
    const conditions = Object.entries({
      status: filter.status,
      task: filter.task,
      group_: filter.group,
      submitter: filter.submitter,
      declared_by: filter.declaredBy,
    }).filter((entry): entry is [string, string] => entry[1] !== undefined)
    const where =
      conditions.length === 0 ? '' : `WHERE ${conditions.map(([column]) => `${column} = ?`).join(' AND ')}`
    const params = conditions.map(([, value]) => value)
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
    return (await this.#change(this.#database, id, changes)) > 0
  }

  async delete(id: string): Promise<boolean> {
    return (await this.#database.run(`DELETE FROM ${this.#tables.schedule} WHERE id = ?`, [id])) > 0
  }

  runNow(id: string): Promise<string | null> {
    const { schedule, job } = this.#tables
    const { now, instant, forUpdate } = this.#database.dialect
    return this.#database.transaction(async (sql) => {
      const [row] = await sql.rows<{ last_slot: string | null; clock: string }>(
        `SELECT ${instant('last_slot')} AS last_slot, ${now} AS clock FROM ${schedule} WHERE id = ? ${forUpdate}`,
        [id],
      )
      if (row === undefined) return null
      const [active] = await sql.rows<{ id: string; state: string }>(
        `SELECT id, state FROM ${job} WHERE periodic_task_id = ? AND state IN ('waiting', 'blocked', 'running') ORDER BY id LIMIT 1`,
        [id],
      )
      if (active !== undefined)
        throw new ConflictError(
          `The schedule '${id}' cannot run now: its job ${active.id} is ${active.state}; wait for its end or cancel it`,
        )
      // Slots only grow, so that the run counts as one of its own.
      const slot = new Date(
        Math.max(fromStored(row.clock).getTime(), (fromText(row.last_slot)?.getTime() ?? 0) + 1),
      )
      const jobId = occurrenceId(id, slot)
      await sql.run(
        `INSERT INTO ${job} (id, periodic_task_id, slot, run, task, group_, args, subject, submitter, priority, reason, timeout, max_retries, retry_delay, retry_backoff)
         SELECT ?, id, ?, run_count + 1, task, group_, args, subject, submitter, priority, 'run now', timeout, max_retries, retry_delay, retry_backoff FROM ${schedule} WHERE id = ?`,
        [jobId, toText(slot), id],
      )
      await sql.run(`UPDATE ${schedule} SET last_slot = ? WHERE id = ?`, [toText(slot), id])
      return jobId
    })
  }

  async sync(
    set: string,
    ids: readonly string[],
    decide: (existing: readonly Schedule[]) => SetChanges,
  ): Promise<void> {
    await this.#againOnDuplicate(() =>
      this.#database.transaction(async (sql) => {
        const condition =
          ids.length === 0 ? 'declared_by = ?' : `declared_by = ? OR id IN (${placeholders(ids)})`
        const changes = decide(await this.#locked(sql, condition, [set, ...ids]))
        for (const { id, settings } of inOrder(changes.create)) await this.#insert(sql, id, settings)
        for (const { id, settings } of inOrder(changes.change)) await this.#change(sql, id, settings)
      }),
    )
  }

  /** Reads schedules under lock. Their keys are found first, so that the locks are taken in the order of the key. */
  async #locked(sql: Sql, condition: string, params: readonly SqlValue[]): Promise<Schedule[]> {
    const { schedule } = this.#tables
    const found = await sql.rows<{ id: string }>(`SELECT id FROM ${schedule} WHERE ${condition}`, params)
    if (found.length === 0) return []
    const rows = await sql.rows<ScheduleRow>(
      `SELECT ${scheduleColumns(this.#database.dialect)} FROM ${schedule} ${this.#database.dialect.byKey} WHERE id IN (${placeholders(found)}) ORDER BY id ${this.#database.dialect.forUpdate}`,
      found.map((row) => row.id),
    )
    return rows.map(toSchedule)
  }

  #insert(sql: Sql, id: string, settings: ScheduleSettings): Promise<number> {
    const columns: [string, SqlValue][] = [['id', id], ...settingColumns(settings)]
    return sql.run(
      `INSERT INTO ${this.#tables.schedule} (${columns.map(([column]) => column).join(', ')}) VALUES (${placeholders(columns)})`,
      columns.map(([, value]) => value),
    )
  }

  async #change(sql: Sql, id: string, changes: Partial<ScheduleSettings>): Promise<number> {
    const columns = settingColumns(changes)
    if (columns.length === 0) {
      return (await sql.rows(`SELECT id FROM ${this.#tables.schedule} WHERE id = ?`, [id])).length
    }
    return sql.run(
      `UPDATE ${this.#tables.schedule} SET ${columns.map(([column]) => `${column} = ?`).join(', ')} WHERE id = ?`,
      [...columns.map(([, value]) => value), id],
    )
  }

  /** Two that create the same row at once: the second finds it there and begins anew. */
  async #againOnDuplicate<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work()
    } catch (error) {
      if (!this.#database.dialect.isDuplicate(error)) throw error
      return work()
    }
  }
}

/** In the order of the key, as everyone locks. */
function inOrder<Item extends { readonly id: string }>(items: readonly Item[]): Item[] {
  return items.toSorted((a, b) => (a.id < b.id ? -1 : 1))
}
