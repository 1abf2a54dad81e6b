/**
 * Scans a range in many short statements. A single statement over 100,000 rows blocks the event loop on SQLite; on a
 * server, it occupies a connection for a long time if the rows are large. A slice takes some tens of milliseconds,
 * other work runs in between, and the scan ends at its time limit, whatever the rows contain.
 */
import { setImmediate as turn } from 'node:timers/promises'
import { Fitting } from '../../event-loop.ts'
import type { ListBounds } from '../list-store.ts'
import { integerLiteral } from '../literals.ts'
import { and, both, type Condition, NOTHING } from './conditions.ts'
import type { Context } from './context.ts'
import { type IndexRange, source } from './selection.ts'

/** Part of a range: a maximum number of rows, in order, from an offset. */
export interface Slice {
  readonly range: IndexRange
  readonly rows: number
  readonly offset: number
}

/** Starts small, because one row may contain megabytes. */
const SLICE = { first: 64, most: 5000, ms: 20 }
/** Used as a LIMIT: with one, SQLite reads the slice in order instead of choosing another index. */
const ALL_ROWS = Number.MAX_SAFE_INTEGER

/**
 * Visits the slices of a range until it ends or reaches a bound. The duration of a visit determines the size of the
 * next slice.
 *
 * @returns whether all rows were visited; false: there may be more
 */
export async function forEachSlice(
  context: Context,
  range: IndexRange,
  { searchWithin, searchMs }: Pick<ListBounds, 'searchWithin' | 'searchMs'>,
  visit: (slice: Slice) => Promise<'go on' | 'stop'>,
): Promise<boolean> {
  const byKey = /^id( DESC)?$/.exec(range.order.join())
  const deadline = performance.now() + searchMs
  let from = NOTHING
  const size = new Fitting(SLICE)
  for (let scanned = 0; ; ) {
    const rows = Math.min(size.rows(), searchWithin - scanned)
    const remaining = { ...range, where: both(range.where, from) }
    const started = performance.now()
    // If the order has a key, continues from the last key, because rows skipped by an offset are read as well.
    const offset = byKey === null ? scanned : 0
    const last = await lastOf(context, remaining, offset + rows - 1)
    // Limited by the last key instead of a number of rows: rows inserted since that key was read would push others out
    // of the slice, and the next slice starts after the key.
    const until = last === null ? NOTHING : keyed(byKey?.[1] === undefined ? '<=' : '>=', last)
    const slice: Slice =
      byKey === null
        ? { range: remaining, rows, offset }
        : { range: { ...remaining, where: both(remaining.where, until) }, rows: ALL_ROWS, offset }
    if ((await visit(slice)) === 'stop') return false
    scanned += rows
    if (last === null) return true
    const now = performance.now()
    if (scanned >= searchWithin || now >= deadline) return false
    if (byKey !== null) from = keyed(byKey[1] === undefined ? '>' : '<', last)
    size.took(rows, now - started)
    await turn()
  }
}

const keyed = (comparison: '<' | '<=' | '>' | '>=', key: string): Condition => and(`id ${comparison} ?`, key)

/** The key of the last row of a slice, read from the index; null: the range ends before it. */
async function lastOf(context: Context, range: IndexRange, position: number): Promise<string | null> {
  const [last] = await context.rows<{ id: string }>(
    `SELECT id FROM ${source(range, context.dialect)}
     WHERE 1 = 1${range.where.text}
     ORDER BY ${range.order.join(', ')}
     LIMIT 1 OFFSET ${integerLiteral(position)}`,
    range.where.params,
  )
  return last?.id ?? null
}
