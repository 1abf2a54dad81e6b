import { ConflictError } from '../../errors.ts'
import { occurrenceId } from '../../model/occurrence.ts'
import { ANY_OWNER, newId, type Owner, shownId } from '../../model/owner.ts'
import {
  type Schedule,
  type ScheduleSettings,
  type StoredSchedule,
  withSettings,
} from '../../model/schedule.ts'
import type { Dialect, SqlValue } from '../database.ts'
import { fromStored, fromText, toText } from '../../model/instant.ts'
import type { Check, NewSchedule, ScheduleStore } from '../schedule-store.ts'
import { updateRows } from './by-key.ts'
import { scopeCondition } from './conditions.ts'
import { type Context, inTransactionOf, readClock, type TablesContext } from './context.ts'
import { findOpenJob, findOwnId, shownSchedule } from './own-ids.ts'
import { scheduleExpressions, type ScheduleRow, settingColumns, toSchedule } from './rows.ts'
import { insertScheduleJobs, latestRun } from './schedule-jobs.ts'
import { countUpTo } from './selection.ts'
import { placeholders } from './tables.ts'

export function scheduleStore(context: TablesContext, owner: Owner = ANY_OWNER): ScheduleStore {
  const { dialect, tables } = context
  /** Part of every statement that accesses a row. */
  const scope = scopeCondition(owner)

  const changing = (
    name: string,
    check: Check<Schedule> = () => undefined,
    change: (tx: Context, current: StoredSchedule) => Promise<StoredSchedule>,
  ): Promise<Schedule | null> =>
    context.transaction(async (tx) => {
      const current = await readSchedule(tx, owner, name, dialect.locked('wait'))
      if (current === null) return null
      check(shownSchedule(owner, current))
      return shownSchedule(owner, await change(tx, current))
    })

  return {
    ownedBy: (other) => scheduleStore(context, other),

    in: (transaction) => scheduleStore(inTransactionOf(context, transaction), owner),

    create: (created) =>
      creating(context.transaction, dialect, shownId(owner, created.id), (tx) => insert(tx, owner, created)),

    put: (name, create, change) =>
      creating(context.transactionOnKeys, dialect, shownId(owner, name), async (tx) => {
        const current = await readSchedule(tx, owner, name, dialect.locked('wait'))
        if (current === null) {
          const created = { ...create(), id: newId(owner, name) }
          return { result: 'created', schedule: await insert(tx, owner, created) }
        }
        const changes = change(shownSchedule(owner, current))
        await changeSchedule(tx, current.id, changes)
        return {
          result: Object.keys(changes).length === 0 ? 'unchanged' : 'changed',
          schedule: shownSchedule(owner, withSettings(current, changes)),
        }
      }),

    async get(name) {
      const found = await readSchedule(context, owner, name)
      return found && shownSchedule(owner, found)
    },

    update: (name, changes, check) =>
      changing(name, check, async (tx, current) => {
        await changeSchedule(tx, current.id, changes)
        if (changes.enabled !== true || current.enabled) return withSettings(current, changes)
        // Planned from now, even if no worker has seen that it was paused. What is due stays due.
        const { now, instant } = dialect
        const nextrun = `CASE WHEN ${instant('nextrun')} <= ${now} THEN nextrun END`
        await updateRows(tx, tables.schedule, { nextrun }, [current.id])
        const [row] = await tx.rows<{ nextrun: string | null }>(
          `${tx.select([`${instant('nextrun')} AS nextrun`])} FROM ${tables.schedule} WHERE id = ?`,
          [current.id],
        )
        return withSettings({ ...current, nextRunAt: fromText(row?.nextrun ?? null) }, changes)
      }),

    delete: (name, check) =>
      changing(name, check, async (tx, current) => {
        await tx.run(`DELETE FROM ${tables.schedule} WHERE id = ?`, [current.id])
        return current
      }),

    reset: (name, check) =>
      changing(name, check, async (tx, current) => {
        // planned_from NULL: planned again, from now.
        const reset = { idle: 'NULL', nextrun: 'NULL', planned_from: 'NULL', last_error: 'NULL' }
        await updateRows(tx, tables.schedule, { ...reset, run_count: '0', error_count: '0' }, [current.id])
        return { ...current, idle: null, nextRunAt: null, lastError: null, runCount: 0, errorCount: 0 }
      }),

    count: (most) => countUpTo(context, tables.schedule, { ...scope, text: `1 = 1${scope.text}` }, most),

    runNow: (...of) => runNow(context, owner, of),

    now: () => readClock(context),
  }
}

async function runNow(
  context: TablesContext,
  owner: Owner,
  [name, args, decide]: Parameters<ScheduleStore['runNow']>,
): Promise<string | null> {
  const { dialect, tables } = context
  const scope = scopeCondition(owner)
  // Retried if a job was manually reopened after the check for open jobs; then it is a conflict.
  return await context.transactionOnKeys(async (tx) => {
    const id = await findOwnId(tx, 'schedule', owner, name)
    if (id === null) return null
    const lastSlot = `${dialect.instant('last_slot')} AS last_slot`
    const [row] = await tx.rows<Pick<ScheduleRow, 'task' | 'last_slot' | 'overlap' | 'run_count' | 'clock'>>(
      `${tx.select(['task', lastSlot, 'overlap', 'run_count', `${dialect.now} AS clock`])}
       FROM ${tables.schedule}
       WHERE id = ?${scope.text} ${dialect.locked('wait')}`,
      [id, ...scope.params],
    )
    if (row === undefined) return null
    const [latest] = await tx.rows<{ number: number | null }>(
      `${tx.select([`${latestRun(tables)} AS number`])} FROM ${tables.schedule} AS s WHERE s.id = ?`,
      [id],
    )
    const state = {
      id: name,
      task: row.task,
      overlap: row.overlap,
      lastSlot: fromText(row.last_slot),
      runCount: row.run_count,
      latestRun: latest?.number ?? 0,
      open: await findOpenJob(tx, owner, id),
    }
    const { slot, run } = decide(state, fromStored(row.clock))
    const job = occurrenceId(id, slot)
    await insertScheduleJobs(tx, [
      {
        id: job,
        schedule: id,
        slot: toText(slot),
        missed: 0,
        number: run,
        state: 'waiting',
        reason: 'run-now',
        error: null,
        finished: null,
        args,
      },
    ])
    await updateRows(tx, tables.schedule, { last_slot: '?' }, [id], { params: [toText(slot)] })
    return job
  })
}

/** @param locked  ends the SELECT; see `Dialect.locked` */
async function readSchedule(
  context: Context,
  owner: Owner,
  name: string,
  locked = '',
): Promise<StoredSchedule | null> {
  const { dialect, tables } = context
  const scope = scopeCondition(owner)
  const id = await findOwnId(context, 'schedule', owner, name)
  if (id === null) return null
  const [row] = await context.rows<ScheduleRow>(
    `${context.select(scheduleExpressions(dialect))}
     FROM ${dialect.found(tables.schedule, 'key')}
     WHERE id = ?${scope.text} ${locked}`,
    [id, ...scope.params],
  )
  return row === undefined ? null : toSchedule(row)
}

/** @returns the schedule as the owner sees it */
async function insert(tx: Context, owner: Owner, created: NewSchedule): Promise<Schedule> {
  await insertSchedule(tx, created)
  const inserted = await readSchedule(tx, ANY_OWNER, created.id)
  if (inserted === null) throw new Error(`the schedule ${created.id} was inserted but cannot be found`)
  return shownSchedule(owner, inserted)
}

/** Runs the work in a transaction. @throws ConflictError when the id is in use */
async function creating<Result>(
  transaction: TablesContext['transaction'],
  { isDuplicate }: Dialect,
  name: string,
  work: (tx: Context) => Promise<Result>,
): Promise<Result> {
  try {
    return await transaction(work)
  } catch (error) {
    if (!isDuplicate(error)) throw error
    throw new ConflictError(
      `A schedule with the id '${name}' already exists; use put or update to change it`,
      { cause: error },
    )
  }
}

/** A nextrun in the past means "now", whatever the current time is. */
const AT_ONCE = '1970-01-01 00:00:00.000'

export async function insertSchedule(tx: Context, { id, settings, isDue }: NewSchedule): Promise<void> {
  const columns: [string, SqlValue][] = [['id', id], ...settingColumns(settings)]
  if (isDue?.(id, await readClock(tx)) === true) columns.push(['nextrun', AT_ONCE])
  await tx.run(
    `INSERT INTO ${tx.tables.schedule} (${columns.map(([column]) => column).join(', ')}, created)
     VALUES (${placeholders(columns)}, ${tx.dialect.now})`,
    columns.map(([, value]) => value),
  )
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
