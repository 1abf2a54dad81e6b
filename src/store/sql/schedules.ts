import { ConflictError } from '../../errors.ts'
import { occurrenceId } from '../../model/occurrence.ts'
import { ANY_OWNER, newId, type Owner, shownId } from '../../model/owner.ts'
import { elapsesOf } from '../../model/plan.ts'
import { changedSettings, type Schedule, type ScheduleSettings } from '../../model/schedule.ts'
import type { Database, Sql, SqlValue } from '../database.ts'
import { fromStored, fromText, toText } from '../instant.ts'
import { integerLiteral } from '../literals.ts'
import type {
  Check,
  FirstRun,
  NewSchedule,
  Page,
  PutResult,
  ScheduleFilter,
  ScheduleStore,
} from '../schedule-store.ts'
import { findOpenJob, findOwn, openJobConflict, shownSchedule } from './own-ids.ts'
import { andEquals, type Condition, ownedBy } from './owned.ts'
import { scheduleColumns, type ScheduleRow, settingColumns, toSchedule } from './rows.ts'
import { latestRun, nextNumber } from './submitted-jobs.ts'
import { placeholders, type Tables } from './tables.ts'

export class SqlSchedules implements ScheduleStore {
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

  async put(
    id: string,
    settings: ScheduleSettings,
    firstRun: FirstRun = 'next',
    check: Check<Schedule | null> = () => undefined,
  ): Promise<PutResult> {
    const write = () =>
      this.#database.transaction(async (sql): Promise<PutResult> => {
        const current = await this.#locked(sql, id)
        check(current && shownSchedule(this.#owner, current))
        if (current === null) {
          await insertSchedule(sql, this.#database, this.#tables, {
            id: newId(this.#owner, id),
            settings,
            firstRun,
          })
          return 'created'
        }
        const { enabled: _, declaredBy: __, ...rest } = settings
        const changes = changedSettings(current, rest)
        if (Object.keys(changes).length === 0) return 'unchanged'
        await changeSchedule(sql, this.#tables, current.id, changes)
        return 'changed'
      })
    try {
      return await againOnDuplicate(this.#database, write)
    } catch (error) {
      throw this.#orConflict(error, id)
    }
  }

  async get(id: string): Promise<Schedule | null> {
    const stored = await this.#find(this.#database, id)
    if (stored === null) return null
    const { text, params } = this.#where(stored)
    const [row] = await this.#database.rows<ScheduleRow>(
      `SELECT ${scheduleColumns(this.#database.dialect)} FROM ${this.#tables.schedule} WHERE ${text}`,
      params,
    )
    return row === undefined ? null : shownSchedule(this.#owner, toSchedule(row))
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
      `SELECT ${scheduleColumns(this.#database.dialect)} FROM ${this.#tables.schedule} ${where} ORDER BY id LIMIT ${integerLiteral(filter.limit)} OFFSET ${integerLiteral(filter.offset)}`,
      params,
    )
    const [count] = await this.#database.rows<{ total: number }>(
      `SELECT COUNT(*) AS total FROM ${this.#tables.schedule} ${where}`,
      params,
    )
    const items = rows.map((row) => shownSchedule(this.#owner, toSchedule(row)))
    return { items, total: count?.total ?? 0 }
  }

  update(id: string, changes: Partial<ScheduleSettings>, check?: Check<Schedule>): Promise<boolean> {
    return this.#changing(id, check, async (sql, current) => {
      await changeSchedule(sql, this.#tables, current.id, changes)
      return true
    })
  }

  delete(id: string, check?: Check<Schedule>): Promise<boolean> {
    return this.#changing(id, check, async (sql, current) => {
      await sql.run(`DELETE FROM ${this.#tables.schedule} WHERE id = ?`, [current.id])
      return true
    })
  }

  reset(id: string, check?: Check<Schedule>): Promise<boolean> {
    return this.#changing(id, check, async (sql, current) => {
      if (current.idle !== 'done' && current.idle !== 'dead') return false
      // planned_from NULL: planned anew, from now.
      await sql.run(
        `UPDATE ${this.#tables.schedule} SET idle = NULL, nextrun = NULL, planned_from = NULL, run_count = 0, error_count = 0, last_error = NULL WHERE id = ?`,
        [current.id],
      )
      return true
    })
  }

  async count(most: number): Promise<number> {
    const [row] = await this.#database.rows<{ total: number }>(
      `SELECT COUNT(*) AS total FROM (SELECT 1 AS one FROM ${this.#tables.schedule} WHERE 1 = 1${this.#own.text} LIMIT ?) AS counted`,
      [...this.#own.params, most],
    )
    return row?.total ?? 0
  }

  runNow(
    name: string,
    args: string | null = null,
    check: Check<Pick<Schedule, 'task'>> = () => undefined,
  ): Promise<string | null> {
    const { schedule, job } = this.#tables
    const { now, instant, forUpdate } = this.#database.dialect
    const submit = async (sql: Sql) => {
      const id = await this.#find(sql, name)
      if (id === null) return null
      const own = this.#where(id)
      const [row] = await sql.rows<{
        task: string
        last_slot: string | null
        overlap: string
        run_count: number
        clock: string
      }>(
        `SELECT task, ${instant('last_slot')} AS last_slot, overlap, run_count, ${now} AS clock FROM ${schedule} WHERE ${own.text} ${forUpdate}`,
        own.params,
      )
      if (row === undefined) return null
      check(row)
      const open = await findOpenJob(sql, this.#tables, this.#owner, id)
      if (open !== null && row.overlap !== 'allow')
        throw openJobConflict(`The schedule '${name}' cannot run now`, open)
      // Slots only grow, so that the run counts as one of its own.
      const slot = new Date(
        Math.max(fromStored(row.clock).getTime(), (fromText(row.last_slot)?.getTime() ?? 0) + 1),
      )
      const jobId = occurrenceId(id, slot)
      const [latest] = await sql.rows<{ number: number | null }>(
        `SELECT ${latestRun(job)} AS number FROM ${schedule} AS s WHERE s.id = ?`,
        [id],
      )
      const number = nextNumber(Math.max(row.run_count + (open?.number ?? 0), latest?.number ?? 0))
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

  /** @returns the id under which it is stored; null when this owner has none of this name */
  async #find(sql: Sql, name: string): Promise<string | null> {
    const { dialect } = this.#database
    const found = await findOwn(sql, dialect, this.#tables, 'schedule', this.#owner, [name])
    return found.get(name) ?? null
  }

  /** As it is stored. */
  async #locked(sql: Sql, name: string): Promise<Schedule | null> {
    const id = await this.#find(sql, name)
    if (id === null) return null
    const [current] = await lockSchedules(sql, this.#database, this.#tables, this.#where(id))
    return current ?? null
  }

  /** @returns false also when there is no such schedule */
  #changing(
    name: string,
    check: Check<Schedule> = () => undefined,
    change: (sql: Sql, current: Schedule) => Promise<boolean>,
  ): Promise<boolean> {
    return this.#database.transaction(async (sql) => {
      const current = await this.#locked(sql, name)
      if (current === null) return false
      check(shownSchedule(this.#owner, current))
      return change(sql, current)
    })
  }

  #orConflict(error: unknown, id: string): unknown {
    if (!this.#database.dialect.isDuplicate(error)) return error
    return new ConflictError(
      `There is a schedule with the id '${shownId(this.#owner, id)}' already; use put or update to change it`,
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
