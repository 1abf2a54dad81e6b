/** Pages and counts of a range, in statements with bounded cost. */
import type { Counts, ListBounds, MatchingIds, PageBounds } from '../list-store.ts'
import { integerLiteral } from '../literals.ts'
import { both } from './conditions.ts'
import type { Context } from './context.ts'
import { columnsOf, countOf, type IndexRange, pageOf, scanned } from './selection.ts'
import { forEachSlice, type Slice } from './slices.ts'
import { placeholders } from './tables.ts'

/** The rows of a page, and the total. */
interface Found<Row> {
  readonly rows: Row[]
  readonly total: number
  readonly totalIsExact: boolean
}

export async function page<Row extends { readonly id: string }>(
  context: Context,
  range: IndexRange,
  bounds: PageBounds,
  columns: string,
): Promise<Found<Row>> {
  if (range.filter.text !== '') return await search(context, range, bounds, columns)
  const { dialect } = context
  // First the keys of the page, then its rows by key.
  const keys = pageOf(range, dialect, bounds)
  const rows = await context.rows<Row>(
    `SELECT ${columns}
     FROM ${dialect.joinedByKey(`(${keys.text}) AS page`, range.table, 'found', 'page_id')}
     ORDER BY ${range.order.map((column) => `found.${column}`).join(', ')}`,
    keys.params,
  )
  const count = countOf(range, dialect, bounds.countUpTo)
  const [counted] = await context.rows<{ total: number }>(count.text, count.params)
  const total = counted?.total ?? 0
  return { rows, total: Math.min(total, bounds.countUpTo), totalIsExact: total <= bounds.countUpTo }
}

/** One scan for the page and the total: collects the keys of matches until the page is full, then only counts. */
async function search<Row extends { readonly id: string }>(
  context: Context,
  range: IndexRange,
  bounds: PageBounds,
  columns: string,
): Promise<Found<Row>> {
  const { offset, limit } = bounds
  // The total includes the rows before the page, even if the page starts after an id.
  const all = range.from.text === '' ? null : await countMatches(context, range, bounds)
  // A set, because a row that moves during the scan is found twice.
  const ids = new Set<string>()
  let total = 0
  const after = { ...range, where: both(range.where, range.from) }
  const isExact = await forEachSlice(context, after, bounds, async (slice) => {
    if (ids.size >= offset + limit) {
      if (all !== null) return 'stop'
      total += await countInSlice(context, slice)
      return 'go on'
    }
    const found = await matches<{ id: string }>(context, slice, ['id', ...columnsOf(range)], 'id')
    total += found.length
    for (const { id } of found) ids.add(id)
    return 'go on'
  })
  const rows = await byKeys<Row>(context, range, [...ids].slice(offset, offset + limit), columns)
  return { rows, total: all?.total ?? total, totalIsExact: all?.isExact ?? isExact }
}

/** The keys of the first matches in a range. */
export async function idsIn(
  context: Context,
  range: IndexRange,
  limit: number,
  bounds: ListBounds,
): Promise<MatchingIds> {
  const ids = new Set<string>()
  const isComplete = await forEachSlice(context, range, bounds, async (slice) => {
    for (const { id } of await matches<{ id: string }>(context, slice, ['id', ...columnsOf(range)], 'id')) {
      if (ids.size === limit) return 'stop'
      ids.add(id)
    }
    return 'go on'
  })
  return { ids: [...ids], isComplete }
}

async function countMatches(
  context: Context,
  range: IndexRange,
  bounds: ListBounds,
): Promise<{ readonly total: number; readonly isExact: boolean }> {
  let total = 0
  const isExact = await forEachSlice(context, range, bounds, async (slice) => {
    total += await countInSlice(context, slice)
    return 'go on'
  })
  return { total, isExact }
}

async function countInSlice(context: Context, slice: Slice): Promise<number> {
  const rows = scanned(slice, context.dialect, [])
  const [row] = await context.rows<{ total: number }>(
    `SELECT COALESCE(SUM(matches), 0) AS total FROM (${rows.text}) AS scanned`,
    rows.params,
  )
  return row?.total ?? 0
}

/** The rows of a slice that match the filter, in order. */
export async function matches<Row>(
  context: Context,
  slice: Slice,
  columns: readonly string[],
  selected: string,
): Promise<Row[]> {
  const rows = scanned(slice, context.dialect, [...columns, ...columnsOf(slice.range)])
  return await context.rows<Row>(
    `SELECT ${selected} FROM (${rows.text}) AS scanned
     WHERE matches = 1
     ORDER BY ${slice.range.order.join(', ')}`,
    rows.params,
  )
}

/** The rows with these keys, in the same order. */
async function byKeys<Row extends { readonly id: string }>(
  context: Context,
  { table }: IndexRange,
  ids: readonly string[],
  columns: string,
): Promise<Row[]> {
  if (ids.length === 0) return []
  const rows = await context.rows<Row>(
    `SELECT ${columns}
     FROM ${context.dialect.found(table, 'key')}
     WHERE id IN (${placeholders(ids)})`,
    ids,
  )
  const byId = new Map(rows.map((row) => [row.id, row]))
  return ids.flatMap((id) => byId.get(id) ?? [])
}

/** Counts short ranges of an index, one for each name. */
export async function countEach<Name extends string>(
  context: Context,
  names: readonly Name[],
  rangeOf: (name: Name) => IndexRange,
  { countUpTo }: ListBounds,
): Promise<Counts<Name>> {
  const counted = names.map((name) => countOf(rangeOf(name), context.dialect, countUpTo))
  const rows = await context.rows<{ place: number; total: number }>(
    context.dialect.union(
      counted.map(
        ({ text }, place) => `SELECT ${integerLiteral(place)} AS place, total FROM (${text}) AS one`,
      ),
    ),
    counted.flatMap(({ params }) => params),
  )
  const totals = new Map(rows.map(({ place, total }) => [names[place], total]))
  const counts: Partial<Record<Name, number>> = {}
  for (const name of names) {
    const total = totals.get(name) ?? 0
    if (total > 0) counts[name] = Math.min(total, countUpTo)
  }
  return { counts, isExact: rows.every(({ total }) => total <= countUpTo) }
}

/** Counts the rows of a range by the value of a column. */
export async function countTogether<Name extends string>(
  context: Context,
  range: IndexRange,
  column: string,
  names: readonly Name[],
  bounds: ListBounds,
): Promise<Counts<Name>> {
  const counts: Partial<Record<Name, number>> = {}
  const isExact = await forEachSlice(context, range, bounds, async (slice) => {
    const { text, params } = scanned(slice, context.dialect, ['id', column, ...columnsOf(range)])
    const rows = await context.rows<{ name: Name; total: number }>(
      `SELECT ${column} AS name, COUNT(*) AS total
       FROM (${text}) AS scanned
       WHERE matches = 1
       GROUP BY ${column}`,
      params,
    )
    for (const { name, total } of rows) if (names.includes(name)) counts[name] = (counts[name] ?? 0) + total
    return 'go on'
  })
  return { counts, isExact }
}
