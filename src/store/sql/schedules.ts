import { ConflictError } from '../../errors.ts'
import { occurrenceId } from '../../model/occurrence.ts'
import { ANY_OWNER, newId, type Owner, shownId } from '../../model/owner.ts'
import { elapsesOf } from '../../model/plan.ts'
import { changedSettings, type Schedule, type ScheduleSettings, withSettings } from '../../model/schedule.ts'
import type { SqlValue } from '../database.ts'
import { fromStored, fromText, toText } from '../instant.ts'
import { integerLiteral } from '../literals.ts'
import type { Check, FirstRun, NewSchedule, PutResult, ScheduleStore } from '../schedule-store.ts'
import { lockRows, updateRows } from './by-key.ts'
import type { Context, TablesContext } from './context.ts'
import { findOpenJob, findOwn, openJobConflict, shownSchedule } from './own-ids.ts'
import { type Condition, ownedBy } from './owned.ts'
import { scheduleColumns, type ScheduleRow, settingColumns, toSchedule } from './rows.ts'
import { insertScheduleJobs, latestRun, nextNumber } from './schedule-jobs.ts'
import { placeholders } from './tables.ts'

export class SqlSchedules implements ScheduleStore {
  readonly #context: TablesContext
  readonly #owner: Owner
  /** Part of every statement that reaches a row. */
  readonly #own: Condition

  constructor(context: TablesContext, owner: Owner = ANY_OWNER) {
    this.#context = context
    this.#owner = owner
    this.#own = ownedBy(owner)
  }

  ownedBy(owner: Owner): ScheduleStore {
    return new SqlSchedules(this.#context, owner)
  }

  async create(id: string, settings: ScheduleSettings, firstRun: FirstRun = 'next'): Promise<Schedule> {
    try {
      return await this.#context.transaction((tx) => this.#insert(tx, { id, settings, firstRun }))
    } catch (error) {
      throw this.#orConflict(error, id)
    }
  }

  async put(
    id: string,
    settings: ScheduleSettings,
    firstRun: FirstRun = 'next',
    check: Check<Schedule | null> = () => undefined,
  ): Promise<{ readonly result: PutResult; readonly schedule: Schedule }> {
    try {
      return await this.#context.transactionOnKeys(async (tx) => {
        const current = await this.#locked(tx, id)
        check(current && shownSchedule(this.#owner, current))
        if (current === null) {
          const created = { id: newId(this.#owner, id), settings, firstRun }
          return { result: 'created', schedule: await this.#insert(tx, created) }
        }
        const { enabled: _, declaredBy: __, ...rest } = settings
        const changes = changedSettings(current, rest)
        await changeSchedule(tx, current.id, changes)
        return {
          result: Object.keys(changes).length === 0 ? 'unchanged' : 'changed',
          schedule: shownSchedule(this.#owner, withSettings(current, changes)),
        }
      })
    } catch (error) {
      throw this.#orConflict(error, id)
    }
  }

  async get(id: string): Promise<Schedule | null> {
    const stored = await this.#find(this.#context, id)
    if (stored === null) return null
    const { text, params } = this.#where(stored)
    const [row] = await this.#context.rows<ScheduleRow>(
      `SELECT ${scheduleColumns(this.#context.dialect)} FROM ${this.#context.tables.schedule} WHERE ${text}`,
      params,
    )
    return row === undefined ? null : shownSchedule(this.#owner, toSchedule(row))
  }

  update(id: string, changes: Partial<ScheduleSettings>, check?: Check<Schedule>): Promise<Schedule | null> {
    return this.#changing(id, check, async (tx, current) => {
      await changeSchedule(tx, current.id, changes)
      return withSettings(current, changes)
    })
  }

  delete(id: string, check?: Check<Schedule>): Promise<Schedule | null> {
    return this.#changing(id, check, async (tx, current) => {
      await tx.run(`DELETE FROM ${tx.tables.schedule} WHERE id = ?`, [current.id])
      return current
    })
  }

  reset(id: string, check?: Check<Schedule>): Promise<Schedule | null> {
    return this.#changing(id, check, async (tx, current) => {
      // planned_from NULL: planned again, from now.
      const reset = { idle: 'NULL', nextrun: 'NULL', planned_from: 'NULL', last_error: 'NULL' }
      await updateRows(tx, tx.tables.schedule, { ...reset, run_count: '0', error_count: '0' }, [current.id])
      const after = { ...current, idle: null, nextRun: null, lastError: null, runCount: 0, errorCount: 0 }
      return withSettings(after, {})
    })
  }

  async count(most: number): Promise<number> {
    const [row] = await this.#context.rows<{ total: number }>(
      `SELECT COUNT(*) AS total FROM (
         SELECT 1 AS one FROM ${this.#context.tables.schedule} WHERE 1 = 1${this.#own.text}
         LIMIT ${integerLiteral(most)}
       ) AS counted`,
      this.#own.params,
    )
    return row?.total ?? 0
  }

  runNow(
    name: string,
    args: string | null = null,
    check: Check<Pick<Schedule, 'task'>> = () => undefined,
  ): Promise<string | null> {
    // A job may have been put back manually since it was looked for: then it is in the way.
    return this.#context.transactionOnKeys(async (tx) => {
      const { schedule } = tx.tables
      const { now, instant, locked } = tx.dialect
      const id = await this.#find(tx, name)
      if (id === null) return null
      const own = this.#where(id)
      const [row] = await tx.rows<{
        task: string
        last_slot: string | null
        overlap: string
        run_count: number
        clock: string
      }>(
        `SELECT task, ${instant('last_slot')} AS last_slot, overlap, run_count, ${now} AS clock
         FROM ${schedule}
         WHERE ${own.text} ${locked('wait')}`,
        own.params,
      )
      if (row === undefined) return null
      check(row)
      const open = await findOpenJob(tx, this.#owner, id)
      if (open !== null && row.overlap !== 'allow')
        throw openJobConflict(`The schedule '${name}' cannot run now`, open)
      // Slots only increase, so that the run has its own.
      const slot = new Date(
        Math.max(fromStored(row.clock).getTime(), (fromText(row.last_slot)?.getTime() ?? 0) + 1),
      )
      const [latest] = await tx.rows<{ number: number | null }>(
        `SELECT ${latestRun(tx.tables)} AS number FROM ${schedule} AS s WHERE s.id = ?`,
        [id],
      )
      const job = occurrenceId(id, slot)
      await insertScheduleJobs(tx, [
        {
          id: job,
          schedule: id,
          slot: toText(slot),
          missed: 0,
          number: nextNumber(Math.max(row.run_count + (open?.number ?? 0), latest?.number ?? 0)),
          state: 'waiting',
          reason: 'run now',
          error: null,
          finished: null,
          args,
        },
      ])
      await updateRows(tx, schedule, { last_slot: '?' }, [id], { params: [toText(slot)] })
      return job
    })
  }

  async now(): Promise<Date> {
    const [row] = await this.#context.rows<{ clock: string }>(`SELECT ${this.#context.dialect.now} AS clock`)
    return fromStored(row?.clock ?? '')
  }

  #where(id: string): Condition {
    return { text: `id = ?${this.#own.text}`, params: [id, ...this.#own.params] }
  }

  /** @returns the id under which it is stored; null when this owner has none of this name */
  async #find(context: Context, name: string): Promise<string | null> {
    return (await findOwn(context, 'schedule', this.#owner, [name])).get(name) ?? null
  }

  /** As it is stored. */
  async #locked(tx: Context, name: string): Promise<Schedule | null> {
    const id = await this.#find(tx, name)
    if (id === null) return null
    const [row] = await lockRows<ScheduleRow>(tx, {
      table: tx.tables.schedule,
      columns: scheduleColumns(tx.dialect),
      ids: [id],
      locked: 'wait',
      where: `1 = 1${this.#own.text}`,
      params: this.#own.params,
    })
    return row === undefined ? null : toSchedule(row)
  }

  /** @returns what `change` returns, as the owner sees it; null when there is no such schedule */
  #changing(
    name: string,
    check: Check<Schedule> = () => undefined,
    change: (tx: Context, current: Schedule) => Promise<Schedule>,
  ): Promise<Schedule | null> {
    return this.#context.transaction(async (tx) => {
      const current = await this.#locked(tx, name)
      if (current === null) return null
      check(shownSchedule(this.#owner, current))
      return shownSchedule(this.#owner, await change(tx, current))
    })
  }

  /** @returns the schedule as the owner sees it */
  async #insert(tx: Context, created: NewSchedule): Promise<Schedule> {
    await insertSchedule(tx, created)
    const [row] = await tx.rows<ScheduleRow>(
      `SELECT ${scheduleColumns(tx.dialect)} FROM ${tx.tables.schedule} WHERE id = ?`,
      [created.id],
    )
    if (row === undefined) throw new Error(`the schedule ${created.id} was inserted and is not there`)
    return shownSchedule(this.#owner, toSchedule(row))
  }

  #orConflict(error: unknown, id: string): unknown {
    if (!this.#context.dialect.isDuplicate(error)) return error
    return new ConflictError(
      `There is a schedule with the id '${shownId(this.#owner, id)}' already; use put or update to change it`,
      { cause: error },
    )
  }
}

/** A past nextrun means "now", whatever the clock shows. */
const AT_ONCE = '1970-01-01 00:00:00.000'

export async function insertSchedule(tx: Context, { id, settings, firstRun }: NewSchedule): Promise<void> {
  const { now } = tx.dialect
  const columns: [string, SqlValue][] = [['id', id], ...settingColumns(settings)]
  if (firstRun !== 'next') {
    const [row] = await tx.rows<{ clock: string }>(`SELECT ${now} AS clock`)
    if (firstRun === 'now' || hasElapsedInMinute(id, settings, fromStored(row?.clock ?? '')))
      columns.push(['nextrun', AT_ONCE])
  }
  await tx.run(
    `INSERT INTO ${tx.tables.schedule} (${columns.map(([column]) => column).join(', ')}, created)
     VALUES (${placeholders(columns)}, ${now})`,
    columns.map(([, value]) => value),
  )
}

/** Later times of this minute are next runs. */
function hasElapsedInMinute(id: string, settings: ScheduleSettings, now: Date): boolean {
  const minute = Math.floor(now.getTime() / 60_000) * 60_000
  const elapse = elapsesOf({ id, ...settings, created: now }).next(new Date(minute - 1))
  return elapse !== null && elapse <= now
}

export async function changeSchedule(
  tx: Context,
  id: string,
  changes: Partial<ScheduleSettings>,
): Promise<void> {
  const columns = settingColumns(changes)
  if (columns.length === 0) return
  await updateRows(
    tx,
    tx.tables.schedule,
    Object.fromEntries(columns.map(([column]) => [column, '?'])),
    [id],
    { params: columns.map(([, value]) => value) },
  )
}
