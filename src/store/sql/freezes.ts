/**
 * Statements for freezes, which keep schedules, tasks and groups from running until a given time. The table is tiny and
 * usually empty.
 */
import { FREEZE_COLUMNS } from '../../model/columns.ts'
import { type Freeze, isFrozenBy } from '../../model/freeze.ts'
import { toText } from '../../model/instant.ts'
import { newJobId } from '../../model/occurrence.ts'
import type { FrozenTime, Plannable } from '../../model/planning.ts'
import type { Dialect } from '../database.ts'
import type { FreezeStore } from '../store.ts'
import { updateFound } from './by-key.ts'
import { expressions, type PlannableRow, reader } from './rows.ts'
import { type Context, readClock, type TablesContext } from './context.ts'

export function inForce({ instant, now }: Dialect): string {
  return `${instant('until')} > ${now} AND ${instant('created')} <= ${now}`
}

/** The latest end of the active freezes that apply to a row, as an expression; NULL if there are none. */
function frozenUntil({ dialect, tables }: Context, table: string, scheduleId: string): string {
  return `(SELECT MAX(${dialect.instant('f.until')}) FROM ${tables.freeze} AS f
    WHERE ${inForce(dialect)}
      AND (f.schedule_id IS NULL OR f.schedule_id = ${table}.${scheduleId})
      AND (f.task IS NULL OR f.task = ${table}.task)
      AND (f.group_ IS NULL OR f.group_ = ${table}.group_))`
}

const toFreeze = reader(FREEZE_COLUMNS)

/** @returns a function that finds the freezes of one of these schedules, even those that ended after its next run */
export async function freezesFor(
  context: Context,
  rows: readonly Pick<PlannableRow, 'nextrun'>[],
): Promise<(schedule: Pick<Plannable, 'id' | 'task' | 'group'>) => FrozenTime[]> {
  const [oldest] = rows.flatMap(({ nextrun }) => nextrun ?? []).toSorted()
  const freezes =
    oldest === undefined
      ? []
      : await readFreezes(context, `${context.dialect.instant('until')} > ?`, [oldest])
  return ({ id: scheduleId, task, group }) =>
    freezes
      .filter((freeze) => isFrozenBy(freeze, { scheduleId, task, group }))
      .map(({ createdAt, until }) => ({ from: createdAt, until }))
}

async function readFreezes(
  { rows, dialect, tables }: Context,
  condition: string,
  params: readonly string[] = [],
): Promise<Freeze[]> {
  const found = await rows<{ id: string }>(
    `SELECT ${expressions(dialect, FREEZE_COLUMNS).join(', ')}
     FROM ${tables.freeze}
     WHERE ${condition}
     ORDER BY created, id`,
    params,
  )
  return found.map(toFreeze)
}

export function freezeStore(context: TablesContext): FreezeStore {
  const { dialect, tables } = context
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

    async end(id) {
      const found = await context.run(
        `UPDATE ${tables.freeze} SET until = ${dialect.now} WHERE id = ? AND ${inForce(dialect)}`,
        [id],
      )
      if (found === 0) return null
      await thaw(context)
      const [ended] = await readFreezes(context, 'id = ?', [id])
      return ended ?? null
    },

    inForce: () => readFreezes(context, inForce(dialect)),

    thaw: () => thaw(context),
  }
}

/** Schedules, then jobs, that are held for longer than any freeze requires: ` FROM … WHERE …`. */
export function heldForNothing(context: Context): [schedules: string, jobs: string] {
  const { tables, dialect } = context
  const { schedule, scheduleStatusIndex, job, heldIndex } = tables
  const held = `frozen_until > ${dialect.now}`
  const tooLong = (table: string, scheduleId: string) =>
    `CASE WHEN ${frozenUntil(context, table, scheduleId)} >= ${dialect.instant('frozen_until')} THEN 0 ELSE 1 END = 1`
  return [
    `FROM ${dialect.found(schedule, { index: scheduleStatusIndex })}
     WHERE status = 'frozen' AND ${held} AND ${tooLong(schedule, 'id')}`,
    `FROM ${dialect.found(job, { index: heldIndex })}
     WHERE held_by = '' AND ${held} AND ${tooLong(job, 'periodic_task_id')}`,
  ]
}

/** Rows to which another freeze still applies are held again when they are checked. */
export async function thaw(context: TablesContext): Promise<void> {
  const { tables, dialect } = context
  const [schedules, jobs] = heldForNothing(context)
  const where = `frozen_until > ${dialect.now}`
  // All slots of the schedule up to now became due during the freeze.
  const assignments = { frozen_until: dialect.now }
  const { isolations } = context
  await updateFound(context, isolations.of('thawSchedule'), {
    table: tables.schedule,
    from: schedules,
    where,
    assignments,
  })
  await updateFound(context, isolations.of('thawJob'), {
    table: tables.job,
    from: jobs,
    where,
    assignments: { frozen_until: 'NULL' },
  })
}
