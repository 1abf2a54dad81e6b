/**
 * A long look in many short statements. One statement over 100,000 rows blocks the event loop on SQLite, and holds a
 * connection on a server for as long as its rows are large. A slice takes some tens of milliseconds, others get their
 * turn in between, and the look ends when its time is over, whatever the rows contain.
 */
import { setImmediate as turn } from 'node:timers/promises'
import type { Database } from '../database.ts'
import type { ListBounds } from '../list-store.ts'
import { integerLiteral } from '../literals.ts'
import type { Condition } from './owned.ts'
import { both, NOTHING, type Range, source } from './selection.ts'

/** Part of a range: at most so many rows in its order, from an offset on. */
export interface Slice {
  readonly range: Range
  readonly rows: number
  readonly offset: number
}

/** Small at first: one row may hold megabytes. */
const FIRST_ROWS = 64
const MOST_ROWS = 5000
const SLICE_MS = 20
/** A slice has at most so many times the rows of the one before. */
const GROWTH = 8
/** A limit nevertheless: with one, SQLite reads the slice in its order instead of choosing another index. */
const ALL_ROWS = Number.MAX_SAFE_INTEGER

/**
 * The slices of a range, until its end or one of the bounds. The time between two slices decides the size of the next.
 *
 * @returns whether all rows were in a slice; false: there may be more
 */
export async function* slices(
  database: Database,
  range: Range,
  { searchWithin, searchMs }: Pick<ListBounds, 'searchWithin' | 'searchMs'>,
): AsyncGenerator<Slice, boolean> {
  const byKey = /^id( DESC)?$/.exec(range.order.join())
  const deadline = performance.now() + searchMs
  let from = NOTHING
  let size = FIRST_ROWS
  for (let looked = 0; ; ) {
    const rows = Math.min(size, searchWithin - looked)
    const rest = { ...range, where: both(range.where, from) }
    const began = performance.now()
    // From the last key on where the order has one: rows that are skipped are read as well.
    const offset = byKey === null ? looked : 0
    const last = await lastOf(database, rest, offset + rows - 1)
    if (byKey === null) yield { range: rest, rows, offset }
    else {
      // Up to the last key, not a number of rows: rows inserted since that key was read would push others out of the
      // slice, and the next one begins after the key.
      const until = last === null ? NOTHING : keyed(byKey[1] === undefined ? '<=' : '>=', last)
      yield { range: { ...rest, where: both(rest.where, until) }, rows: ALL_ROWS, offset }
    }
    looked += rows
    if (last === null) return true
    const now = performance.now()
    if (looked >= searchWithin || now >= deadline) return false
    if (byKey !== null) from = keyed(byKey[1] === undefined ? '>' : '<', last)
    const fitting = (rows * SLICE_MS) / Math.max(1, now - began)
    size = Math.round(Math.min(MOST_ROWS, rows * GROWTH, Math.max(1, fitting)))
    await turn()
  }
}

const keyed = (comparison: '<' | '<=' | '>' | '>=', key: string): Condition => ({
  text: ` AND id ${comparison} ?`,
  params: [key],
})

/** The key of the last row of a slice, read from the index; null: the range ends before it. */
async function lastOf(database: Database, range: Range, position: number): Promise<string | null> {
  const [last] = await database.rows<{ id: string }>(
    `SELECT id FROM ${source(range, database.dialect)} WHERE 1 = 1${range.where.text} ORDER BY ${range.order.join(', ')} LIMIT 1 OFFSET ${integerLiteral(position)}`,
    range.where.params,
  )
  return last?.id ?? null
}
