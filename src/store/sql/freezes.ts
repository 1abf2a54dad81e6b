/** Freezes: what must not run until some time. The table is tiny, and mostly empty. */
import type { Freeze } from '../../model/freeze.ts'
import { fromStored, toText } from '../../model/instant.ts'
import { newJobId } from '../../model/occurrence.ts'
import type { FreezeStore } from '../freeze-store.ts'
import { integerLiteral } from '../literals.ts'
import { lockRows, updateRows } from './by-key.ts'
import { type Context, readClock, type TablesContext } from './context.ts'

const AT_ONCE = 500

/** Expression: when the last freeze in force ends that applies to a row; NULL: none does. @param of  its columns */
function frozenUntil(
  { dialect, tables }: Context,
  of: { readonly schedule: string; readonly task: string; readonly group: string },
): string {
  return `(SELECT MAX(${dialect.instant('f.until')}) FROM ${tables.freeze} AS f
    WHERE ${dialect.instant('f.until')} > ${dialect.now}
      AND (f.schedule_id IS NULL OR f.schedule_id = ${of.schedule})
      AND (f.task IS NULL OR f.task = ${of.task})
      AND (f.group_ IS NULL OR f.group_ = ${of.group}))`
}

export function frozenSchedule(context: Context): string {
  const { schedule: of } = context.tables
  return frozenUntil(context, { schedule: `${of}.id`, task: `${of}.task`, group: `${of}.group_` })
}

export function frozenJob(context: Context): string {
  const { job: of } = context.tables
  return frozenUntil(context, {
    schedule: `${of}.periodic_task_id`,
    task: `${of}.task`,
    group: `${of}.group_`,
  })
}

interface FreezeRow {
  id: string
  schedule_id: string | null
  task: string | null
  group_: string | null
  until: string
  reason: string | null
  created: string
}

export function freezeStore(context: TablesContext): FreezeStore {
  const { dialect, tables } = context
  const list = async (condition: string, params: readonly string[]): Promise<Freeze[]> => {
    const rows = await context.rows<FreezeRow>(
      `SELECT id, schedule_id, task, group_, reason,
         ${dialect.instant('until')} AS until, ${dialect.instant('created')} AS created
       FROM ${tables.freeze}
       WHERE ${condition}
       ORDER BY id`,
      params,
    )
    return rows.map((row) => ({
      id: row.id,
      scheduleId: row.schedule_id,
      task: row.task,
      group: row.group_,
      until: fromStored(row.until),
      reason: row.reason,
      createdAt: fromStored(row.created),
    }))
  }

  return {
    async add(freeze) {
      const { scheduleId, task, group, until, reason } = freeze
      const createdAt = await readClock(context)
      if (until <= createdAt) return null
      const id = newJobId(createdAt)
      await context.run(
        `INSERT INTO ${tables.freeze} (id, schedule_id, task, group_, until, reason, created)
         VALUES (?, ?, ?, ?, ?, ?, ?)`,
        [id, scheduleId, task, group, toText(until), reason, toText(createdAt)],
      )
      return { ...freeze, id, createdAt }
    },

    async remove(id) {
      const [removed] = await list('id = ?', [id])
      if (removed === undefined) return null
      await context.run(`DELETE FROM ${tables.freeze} WHERE id = ?`, [id])
      await thaw(context)
      return removed
    },

    inForce: () => list(`${dialect.instant('until')} > ${dialect.now}`, []),

    thaw: () => thaw(context),
  }
}

/** Lets go of what no freeze holds as long. What another freeze still holds is held again when it is looked at. */
export async function thaw(context: TablesContext): Promise<void> {
  const { tables, dialect } = context
  const { schedule, scheduleStatusIndex, job, dueIndex } = tables
  const held = `frozen_until > ${dialect.now}`
  await letGo(context, {
    table: schedule,
    from: dialect.found(schedule, { index: scheduleStatusIndex }),
    where: `status = 'frozen' AND ${held}`,
    still: frozenSchedule(context),
    // The slots until now came during the freeze.
    until: dialect.now,
  })
  await letGo(context, {
    table: job,
    from: dialect.found(job, { index: dueIndex }),
    where: `due_at > ${dialect.now} AND ${held}`,
    still: frozenJob(context),
    until: 'NULL',
  })
}

interface Held {
  readonly table: string
  readonly from: string
  readonly where: string
  readonly still: string
  readonly until: string
}

async function letGo(context: TablesContext, { table, from, where, still, until }: Held): Promise<void> {
  for (let isEnd = false; !isEnd; ) {
    const rows = await context.rows<{ id: string; held: string; still: string | null }>(
      `SELECT id, ${context.dialect.instant('frozen_until')} AS held, ${still} AS still
       FROM ${from}
       WHERE ${where}
       LIMIT ${integerLiteral(AT_ONCE)}`,
    )
    const free = rows.filter((row) => row.still === null || row.still < row.held).map(({ id }) => id)
    const freed = await context.transaction(async (tx) => {
      const got = await lockRows<{ id: string }>(tx, { table, columns: 'id', ids: free.toSorted(), where })
      return await updateRows(
        tx,
        table,
        { frozen_until: until },
        got.map(({ id }) => id),
      )
    })
    isEnd = rows.length < AT_ONCE || freed === 0
  }
}
