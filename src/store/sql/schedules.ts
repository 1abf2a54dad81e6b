import { ConflictError } from '../../errors.ts'
import { occurrenceId } from '../../model/occurrence.ts'
import { ANY_OWNER, newId, type Owner, shownId } from '../../model/owner.ts'
import type { Schedule, ScheduleSettings, StoredSchedule } from '../../model/schedule.ts'
import type { Dialect, SqlValue } from '../database.ts'
import { fromStored, toText } from '../../model/instant.ts'
import type { Check, NewSchedule, PlanEdit, ScheduleStore } from '../schedule-store.ts'
import { updateRows } from './by-key.ts'
import { scopeCondition } from './conditions.ts'
import { type AnyContext, inTransactionOf, readClock, type WriteContext } from './context.ts'
import { findOpenJob, findOwnId, shownSchedule } from './own-ids.ts'
import {
  plannedFrom,
  scheduleExpressions,
  type ScheduleRow,
  settingColumns,
  toPlannable,
  toSchedule,
} from './rows.ts'
import { cancelEach, cancelOpen, latestRun, openJobs } from './open-jobs.ts'
import { insertScheduleJobs } from './schedule-jobs.ts'
import { countUpTo } from './lists/scan.ts'
import { placeholders } from '../literals.ts'

export function scheduleStore(context: WriteContext, owner: Owner = ANY_OWNER): ScheduleStore {
  const { dialect, tables } = context
  const scope = scopeCondition(owner)

  const changing = (
    name: string,
    check: Check<Schedule> = () => undefined,
    change: (tx: AnyContext, current: StoredSchedule) => Promise<StoredSchedule>,
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

    create: (created, plan) =>
      creating(context.transaction, dialect, shownId(owner, created.id), (tx) =>
        insert(tx, owner, created, plan),
      ),

    put: (name, create, change, plan) =>
      creating(context.transactionOnKeys, dialect, shownId(owner, name), async (tx) => {
        const current = await readSchedule(tx, owner, name, dialect.locked('wait'))
        if (current === null) {
          const created = { ...create(), id: newId(owner, name) }
          return { result: 'created', schedule: await insert(tx, owner, created, plan) }
        }
        const changes = change(shownSchedule(owner, current))
        if (Object.keys(changes).length === 0)
          return { result: 'unchanged', schedule: shownSchedule(owner, current) }
        await changeSchedule(tx, current.id, changes)
        const changed = await planned(tx, current.id, plan)
        return { result: 'changed', schedule: shownSchedule(owner, changed) }
      }),

    async get(name) {
      const found = await readSchedule(context, owner, name)
      return found && shownSchedule(owner, found)
    },

    update: (name, changes, check, plan) =>
      changing(name, check, async (tx, { id, enabled }) => {
        await changeSchedule(tx, id, changes)
        // The schedule is planned from now, even if no worker noticed the pause.
        if (changes.enabled === true && !enabled)
          await updateRows(tx, tables.schedule, { nextrun: 'NULL', pause_reason: 'NULL' }, [id])
        return planned(tx, id, plan)
      }),

    async pause(name, { reason, jobs }, check, plan) {
      const why = `Not run again, because the schedule was paused${reason === null ? '' : `: ${reason}`}`
      let schedule: StoredSchedule | null = null
      const pause = (isWhole: boolean) =>
        changing(name, check, async (tx, current) => {
          const { id } = current
          schedule = current
          const paused = { enabled: '0', pause_reason: '?' }
          await updateRows(tx, tables.schedule, paused, [id], { params: [reason] })
          if (isWhole && jobs === 'cancel') await cancelOpen(tx, current, scope, why)
          return planned(tx, id, plan)
        })
      const { isolations } = context
      if (isolations === undefined || jobs === 'leave') return await pause(true)
      try {
        return await pause(true)
      } catch (error) {
        if (!dialect.isRejection(error)) throw error
        // The row of a job must not keep the schedule from being paused, and the other jobs from being cancelled.
        const paused = await pause(false)
        if (schedule !== null) await cancelEach({ ...context, isolations }, schedule, scope, why)
        return paused
      }
    },

    delete: (name, check) =>
      changing(name, check, async (tx, current) => {
        await tx.run(`DELETE FROM ${tables.schedule} WHERE id = ?`, [current.id])
        return current
      }),

    reset: (name, check, plan) =>
      changing(name, check, async (tx, { id }) => {
        // NULL in planned_from makes the scheduler plan again, from now.
        const reset = { idle: 'NULL', nextrun: 'NULL', planned_from: 'NULL', last_error: 'NULL' }
        const counters = { run_count: '0', error_count: '0', failed_attempts: '0' }
        await updateRows(tx, tables.schedule, { ...reset, ...counters }, [id])
        return planned(tx, id, plan)
      }),

    count: (most) => countUpTo(context, tables.schedule, scope, most),

    runNow: (...of) => runNow(context, owner, of),

    now: () => readClock(context),
  }
}

async function runNow(
  context: WriteContext,
  owner: Owner,
  [name, args, decide]: Parameters<ScheduleStore['runNow']>,
): Promise<string | null> {
  const { dialect, tables } = context
  // The transaction is retried if a job was manually reopened after the check for open jobs; the retry then finds a
  // conflict.
  return await context.transactionOnKeys(async (tx) => {
    const schedule = await readSchedule(tx, owner, name, dialect.locked('wait'))
    if (schedule === null) return null
    const { id, uid } = schedule
    const [latest] = await tx.select<{ number: number | null; clock: string }>(
      [`${latestRun(tables)} AS number`, `${dialect.now} AS clock`],
      `FROM ${tables.schedule} AS s
       WHERE s.id = ?`,
      [id],
    )
    if (latest === undefined) return null
    const state = {
      ...shownSchedule(owner, schedule),
      latestRun: latest.number ?? 0,
      open: await findOpenJob(tx, owner, uid),
    }
    const { slot, run } = decide(state, fromStored(latest.clock))
    const job = occurrenceId(uid, slot)
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
    const last = { last_slot: '?', last_run: '?', last_job: '?' }
    await updateRows(tx, tables.schedule, last, [id], { params: [toText(slot), latest.clock, job] })
    return job
  })
}

async function readSchedule(
  context: AnyContext,
  owner: Owner,
  name: string,
  locked = '',
): Promise<StoredSchedule | null> {
  const { dialect, tables } = context
  const scope = scopeCondition(owner)
  const id = await findOwnId(context, 'schedule', owner, name)
  if (id === null) return null
  const [row] = await context.select<ScheduleRow>(
    scheduleExpressions(dialect),
    `FROM ${dialect.found(tables.schedule, 'key')}
     WHERE id = ?${scope.text} ${locked}`,
    [id, ...scope.params],
  )
  return row === undefined ? null : toSchedule(row)
}

async function insert(
  tx: AnyContext,
  owner: Owner,
  created: NewSchedule,
  plan: PlanEdit | undefined,
): Promise<Schedule> {
  await insertSchedule(tx, created)
  return shownSchedule(owner, await planned(tx, created.id, plan))
}

/** Plans a schedule that this transaction has written. @returns the schedule afterwards */
async function planned(tx: AnyContext, id: string, planEdit: PlanEdit | undefined): Promise<StoredSchedule> {
  const { dialect, tables } = tx
  const [row] = await tx.select<ScheduleRow>(
    scheduleExpressions(dialect),
    `FROM ${dialect.found(tables.schedule, 'key')}
     WHERE id = ? ${dialect.locked('wait')}`,
    [id],
  )
  if (row === undefined) throw new Error(`the schedule ${id} was written but cannot be found`)
  const schedule = toSchedule(row)
  if (planEdit === undefined) return schedule
  const plan = planEdit(toPlannable(row), fromStored(row.clock), await openJobs(tx, row.uid))
  if (plan === null) return schedule
  const { nextRunAt, idle, lastSlot, lastError, frozenUntil } = plan
  const written = {
    nextrun: nextRunAt && toText(nextRunAt),
    idle,
    last_slot: lastSlot && toText(lastSlot),
    last_error: lastError,
    frozen_until: null,
    ...plannedFrom(row.definition, plan),
  }
  const assignments = Object.fromEntries(Object.keys(written).map((column) => [column, '?']))
  await updateRows(tx, tables.schedule, assignments, [id], { params: Object.values(written) })
  return { ...schedule, nextRunAt, idle, lastSlot, lastError, frozenUntil }
}

/** Runs the work in a transaction. @throws ConflictError when the id is in use */
async function creating<Result>(
  transaction: WriteContext['transaction'],
  { isDuplicate }: Dialect,
  name: string,
  work: (tx: AnyContext) => Promise<Result>,
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

export async function insertSchedule(tx: AnyContext, { id, settings, isDue }: NewSchedule): Promise<void> {
  const columns: [string, SqlValue][] = [['id', id], ...settingColumns(settings)]
  const now = isDue === null ? null : await readClock(tx)
  // A schedule whose nextrun is not in the future is due immediately.
  if (now !== null && isDue?.(id, now) === true) columns.push(['nextrun', toText(now)])
  await tx.run(
    `INSERT INTO ${tx.tables.schedule} (${columns.map(([column]) => column).join(', ')}, created)
     VALUES (${placeholders(columns)}, ${tx.dialect.now})`,
    columns.map(([, value]) => value),
  )
}

export async function changeSchedule(
  tx: AnyContext,
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
