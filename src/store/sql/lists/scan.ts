/**
 * Reads ranges of large tables: pages, totals, counts and overviews.
 *
 * An index serves one condition together with the order. The other conditions filter the rows of that range, slice by
 * slice, because a statement over 100,000 rows would block the event loop on SQLite, and on a server would occupy a
 * connection for a long time if the rows are large. A slice takes tens of milliseconds, other work runs between slices,
 * and the scan ends at its bounds, regardless of the content of the rows. [With 1,000,000 rows, an unbounded search
 * without a match took 2 s, and a page of filtered rows in an order that the index does not provide took 1.5 s.]
 */
import { setImmediate as turn } from 'node:timers/promises'
import { Fitting } from '../../../event-loop.ts'
import { MAX_TOTAL } from '../../../model/filters.ts'
import { type Counts, LIST_BOUNDS, type ListBounds } from '../../list-store.ts'
import { integerLiteral } from '../../literals.ts'
import { and, both, type Condition, NOTHING } from '../conditions.ts'
import type { AnyContext, Context } from '../context.ts'
import { keyOf } from '../tables.ts'

export interface Range {
  readonly table: string
  /** The name of the index, quoted; null means the primary key. */
  readonly index: string | null
  /** The condition that the index serves: ` AND …`. */
  readonly where: Condition
  /**
   * The range contains only rows that meet one of these conditions, each of which the index serves in this order.
   * Default: all rows.
   */
  readonly anyOf?: readonly Condition[] | undefined
  /** Conditions that no index serves: ` AND …`. */
  readonly filter: Condition
  /**
   * The order: the key; an instant and the key; or, if the instant is unique, the instant alone, because MariaDB does
   * not use a unique index if the order also includes the key. Rows without an instant come last.
   */
  readonly order: readonly string[]
  readonly direction: 'ASC' | 'DESC'
}

/** The place of a row in the order of a range. */
export interface Position {
  /** The instant as stored; null if the row has none, or if the key alone orders the range. */
  readonly instant: string | null
  readonly id: string
}

interface Slice<Row> {
  readonly rows: (Row & Position & { readonly matches: number })[]
  /** The last row that was read, whether or not it matches, or null if the range ends here. */
  readonly last: Position | null
}

interface ScanOptions extends ListBounds {
  readonly columns?: Readonly<Record<string, string>>
  /** In each slice, equal rows are returned once, unordered and without positions, with their number in `matches`. */
  readonly isGrouped?: boolean
  readonly after?: Position | null
}

/** The slice size starts small, because one row may contain megabytes. Keys are small. */
const SLICE = { first: 64, most: 5000, ms: 20 }
const SLICE_OF_KEYS = { ...SLICE, first: MAX_TOTAL + 1 }

export async function* scan<Row>(
  context: Context,
  range: Range,
  options: ScanOptions,
): AsyncGenerator<Slice<Row>, void> {
  const { columns, after = null, searchWithin, searchMs } = options
  const deadline = performance.now() + searchMs
  const size = new Fitting(columns === undefined && range.filter.text === '' ? SLICE_OF_KEYS : SLICE)
  let scanned = 0
  let last = after
  for (const part of partsOf(range, after)) {
    for (let isEnd = false; !isEnd; ) {
      // Read at least one row: even if the rows with an instant have reached the limit of the search, the rows without
      // an instant follow.
      const limit = Math.max(1, Math.min(size.rows(), searchWithin - scanned))
      const started = performance.now()
      const { text, params } = sliceOf(context, part, last, limit, options)
      const rows = await context.rows<Slice<Row>['rows'][number] & { readonly place: number }>(text, params)
      const end = rows.find(({ place }) => place === limit)
      isEnd = end === undefined
      if (!isEnd) size.took(limit, performance.now() - started)
      scanned += limit
      last = end === undefined ? null : { instant: end.instant, id: end.id }
      const matching = rows.filter(({ matches }) => matches > 0)
      yield { rows: matching, last }
      if (!isEnd && (scanned >= searchWithin || performance.now() >= deadline)) return
      await turn()
    }
  }
}

/** The column of the instant that orders the rows, or null if the key orders them. */
export function instantOf({ order: [first = 'id'] }: Range): string | null {
  return first === 'id' ? null : first
}

/** The rows with an instant, then those without one. */
function partsOf(range: Range, after: Position | null): Range[] {
  const { where } = range
  const by = instantOf(range)
  if (by === null) return [range]
  const without = { ...range, order: ['id'], where: both(where, and(`${by} IS NULL`)) }
  // This is written as a range; otherwise, SQLite would not use the index.
  const parts = [{ ...range, where: both(where, and(`${by} >= '1970-01-01 00:00:00'`)) }, without]
  return after !== null && after.instant === null ? [without] : parts
}

function sliceOf(
  { dialect, tables }: Context,
  range: Range,
  after: Position | null,
  limit: number,
  { columns = {}, isGrouped = false }: ScanOptions,
): Condition {
  const { table, order, direction, filter } = range
  const by = instantOf(range)
  const rows = integerLiteral(limit)
  const names = Object.keys(columns)
  const position = after === null ? NOTHING : beyond(range, after, keyOf(tables, dialect, table))
  const parts = (range.anyOf ?? [NOTHING]).map((one) => both(one, range.where, position))
  const selected = [
    'id',
    `${by === null ? 'NULL' : dialect.instantText(`${table}.${by}`)} AS instant`,
    `${filter.text === '' ? '1' : `CASE WHEN 1 = 1${filter.text} THEN 1 ELSE 0 END`} AS matches`,
    ...Object.entries(columns).map(([name, expression]) => `${expression} AS ${name}`),
  ]
  const slice = (where: Condition) => `SELECT ${selected.join(', ')}
    FROM ${source(dialect, range)}
    WHERE 1 = 1${where.text}
    ORDER BY ${order.map((column) => `${table}.${column} ${direction}`).join(', ')}
    LIMIT ${rows}`
  // The last row is returned even if it does not match, because the next slice starts after it.
  const ofLast = (column: string) => `MAX(CASE WHEN place = ${rows} THEN ${column} END) AS ${column}`
  const returned = isGrouped
    ? [ofLast('id'), ofLast('instant'), 'SUM(matches) AS matches', 'MAX(place) AS place']
    : ['id', 'instant', 'matches', 'place']
  return {
    text: `SELECT ${[...names, ...returned].join(', ')}
      FROM (
        SELECT slice.*, ROW_NUMBER() OVER (ORDER BY instant ${direction}, id ${direction}) AS place
        FROM (${dialect.union(parts.map(slice))}) AS slice
      ) AS placed
      WHERE place < ${rows} AND matches = 1 OR place = ${rows}
      ${isGrouped ? `GROUP BY ${names.join(', ')}` : 'ORDER BY place'}`,
    params: parts.flatMap((where) => [...filter.params, ...where.params]),
  }
}

/** Rows beyond a position. Servers would use no index for a row comparison. @param key  the placeholder for a key */
function beyond(range: Range, { instant, id }: Position, key: string): Condition {
  const by = instantOf(range)
  const comparison = range.direction === 'ASC' ? '>' : '<'
  if (by === null) return and(`id ${comparison} ${key}`, id)
  return and(
    `${by} ${comparison}= ? AND (${by} ${comparison} ? OR id ${comparison} ${key})`,
    instant,
    instant,
    id,
  )
}

function source(dialect: Context['dialect'], { table, index }: Range): string {
  return dialect.found(table, index === null ? 'key' : { index })
}

export async function firstRows<Row>(
  context: Context,
  range: Range,
  limit: number,
  options: ScanOptions,
): Promise<Found<Row>> {
  // This is a map, because a row that moves during the scan may be found twice.
  const found = new Map<string, Row & Position>()
  let next: Position | null = null
  for await (const { rows, last } of scan<Row>(context, range, options)) {
    for (const row of rows) found.set(row.id, row)
    next = last
    if (found.size > limit) break
  }
  return upTo(limit, { rows: [...found.values()], next })
}

interface Found<Row> {
  readonly rows: (Row & Position)[]
  /** The position at which to continue, or null if there are no more matches. */
  readonly next: Position | null
}

export function upTo<Row>(limit: number, { rows, next }: Found<Row>): Found<Row> {
  return { rows: rows.slice(0, limit), next: rows.length > limit ? (rows[limit - 1] ?? null) : next }
}

export async function groupsIn<Row>(
  context: Context,
  range: Range,
  columns: Readonly<Record<string, string>>,
  bounds: ListBounds,
): Promise<Pick<Slice<Row>, 'rows'> & { readonly isComplete: boolean }> {
  const all: Slice<Row>['rows'] = []
  let isComplete = true
  for await (const { rows, last } of scan<Row>(context, range, { ...bounds, columns, isGrouped: true })) {
    all.push(...rows)
    isComplete = last === null
  }
  return { rows: all, isComplete }
}

/** Counts the rows of a range by the value of a column. @param rangeOf  the range of all rows with one value */
export async function countBy<Name extends string>(
  context: Context,
  range: Range,
  column: string,
  names: readonly Name[],
  rangeOf: (name: Name) => Range,
  bounds: ListBounds = LIST_BOUNDS,
): Promise<Counts<Name>> {
  const counts: Partial<Record<Name, number>> = {}
  if (range.index !== null || range.where.text !== '' || range.filter.text !== '') {
    const { rows, isComplete } = await groupsIn<{ name: Name }>(context, range, { name: column }, bounds)
    for (const { name, matches } of rows)
      if (names.includes(name)) counts[name] = (counts[name] ?? 0) + matches
    return { counts, isExact: isComplete }
  }
  let isExact = true
  for (const name of names) {
    const one = rangeOf(name)
    const total = await countUpTo(context, source(context.dialect, one), one.where, bounds.countUpTo + 1)
    if (total > 0) counts[name] = Math.min(total, bounds.countUpTo)
    isExact &&= total <= bounds.countUpTo
  }
  return { counts, isExact }
}

/** @param from  a table; see `Dialect.found` */
export async function countUpTo(
  context: AnyContext,
  from: string,
  { text, params }: Condition,
  most: number,
): Promise<number> {
  const [row] = await context.select<{ total: number }>(
    ['COUNT(*) AS total'],
    `FROM (SELECT 1 AS one FROM ${from} WHERE 1 = 1${text} LIMIT ${integerLiteral(most)}) AS counted`,
    params,
  )
  return row?.total ?? 0
}
