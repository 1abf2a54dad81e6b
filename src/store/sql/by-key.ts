/** Locks and updates rows by their keys. Otherwise, rows are only locked through the index that selects them. */
import type { SqlValue } from '../database.ts'
import type { Context } from './context.ts'
import { keyOf, placeholders } from './tables.ts'

export interface LockedRows {
  /** A quoted table name. */
  readonly table: string
  /** The selected columns. */
  readonly columns: string
  readonly ids: readonly string[]
  /** Default: `skip`, which leaves out rows that others have locked. */
  readonly locked?: 'wait' | 'skip'
  /** More conditions. */
  readonly where?: string
  /** The parameters of `where`. */
  readonly params?: readonly SqlValue[]
}

/** Locks rows and reads them in key order, the order in which all transactions take locks. */
export async function lockRows<Row>(
  context: Context,
  { table, columns, ids, locked = 'skip', where, params = [] }: LockedRows,
): Promise<Row[]> {
  if (ids.length === 0) return []
  const key = keyOf(context.tables, context.dialect, table)
  return await context.rows<Row>(
    `SELECT ${columns}
     FROM ${context.dialect.found(table, 'key')}
     WHERE id IN (${placeholders(ids, key)})${where === undefined ? '' : ` AND ${where}`}
     ORDER BY id ${context.dialect.locked(locked)}`,
    [...ids, ...params],
  )
}

/**
 * @param assignments  expressions by column
 * @param params  the parameters of the assignments
 * @param where  more conditions, without parameters
 * @returns the number of matched rows
 */
export async function updateRows(
  context: Context,
  table: string,
  assignments: Readonly<Record<string, string>>,
  ids: readonly string[],
  { params = [], where }: { readonly params?: readonly SqlValue[]; readonly where?: string } = {},
): Promise<number> {
  if (ids.length === 0) return 0
  const key = keyOf(context.tables, context.dialect, table)
  const list = Object.entries(assignments).map(([column, value]) => `${column} = ${value}`)
  return await context.run(
    `UPDATE ${context.dialect.found(table, 'key')}
     SET ${list.join(', ')}
     WHERE id IN (${placeholders(ids, key)})${where === undefined ? '' : ` AND ${where}`}`,
    [...params, ...ids],
  )
}
