/** Finds schedules that a clock in the future may have planned. */
import { fromStored } from '../../model/instant.ts'
import { integerLiteral } from '../literals.ts'
import type { FurthestSchedules } from '../scheduling-store.ts'
import type { Context } from './context.ts'
import { plannableColumns, type PlannableRow, toPlannable } from './rows.ts'
import { placeholders } from './tables.ts'

/**
 * Leaves out schedules that are paused or being submitted. The index on wake_at finds the latest next runs. Slots in the
 * future are found by a scan that reads neither generated columns nor the clock for each row. The rows are read by key in
 * a second statement, because servers would evaluate a UNION in a condition for each row of the table.
 */
export async function furthest({ rows, dialect, tables }: Context, most: number): Promise<FurthestSchedules> {
  const limit = integerLiteral(most)
  const found = await rows<{ id: string }>(
    `SELECT id FROM (
       SELECT id FROM ${dialect.found(tables.schedule, { index: tables.wakeIndex })}
       WHERE wake_at > ${dialect.now} AND worker IS NULL
       ORDER BY wake_at DESC
       LIMIT ${limit}
     ) AS latest
     UNION
     SELECT id FROM (
       SELECT id FROM ${tables.schedule}
       WHERE last_slot > (SELECT ${dialect.now})
         AND enabled = 1 AND worker IS NULL AND (idle IS NULL OR idle = 'done')
       LIMIT ${limit}
     ) AS ahead`,
  )
  if (found.length === 0) return { schedules: [], now: new Date(0) }
  const read = await rows<PlannableRow>(
    `SELECT ${plannableColumns(dialect)}
     FROM ${dialect.found(tables.schedule, 'key')}
     WHERE id IN (${placeholders(found)})
     ORDER BY id`,
    found.map(({ id }) => id),
  )
  return { schedules: read.map(toPlannable), now: fromStored(read[0]?.clock ?? '') }
}
