/**
 * Statements for pages and counts of large tables.
 *
 * An index serves one condition together with the order, so that a page is a short range of the index. The other
 * conditions filter the first `searchWithin` rows of that range, slice by slice (see slices.ts). So the cost is
 * bounded, and the caller learns when there may be more. [1,000,000 rows: an unbounded search without a match took 2 s,
 * a page of a filter whose order the index does not have 1.5 s.]
 */
import type { Dialect, SqlValue } from '../database.ts'
import { integerLiteral } from '../literals.ts'
import { both, type Condition } from './conditions.ts'
import type { Context } from './context.ts'

/** Rows of a table in the order of one index. */
export interface IndexRange {
  readonly table: string
  /** Quoted; null: the primary key. */
  readonly index: string | null
  /** The condition that the index serves: ` AND …`. */
  readonly where: Condition
  /** Where the page starts, also served by the index. */
  readonly from: Condition
  /** Columns, with their direction. */
  readonly order: readonly string[]
  /** Conditions that no index serves: ` AND …`. */
  readonly filter: Condition
}

export interface Statement {
  readonly text: string
  readonly params: readonly SqlValue[]
}

/** The keys of a page of a range without a filter, as a table with the column `page_id`. */
export function pageOf(
  range: IndexRange,
  dialect: Dialect,
  page: { readonly limit: number; readonly offset: number },
): Statement {
  const where = both(range.where, range.from)
  return {
    text: `SELECT id AS page_id
      FROM ${source(range, dialect)}
      WHERE 1 = 1${where.text}
      ORDER BY ${range.order.join(', ')}
      LIMIT ${integerLiteral(page.limit)} OFFSET ${integerLiteral(page.offset)}`,
    params: where.params,
  }
}

/** One row: the `total` of a range without a filter, at most one more than the limit. */
export function countOf(range: IndexRange, dialect: Dialect, most: number): Statement {
  const { text, params } = range.where
  return { text: `SELECT ${TOTAL} ${rowsOf(source(range, dialect), `1 = 1${text}`, most + 1)}`, params }
}

const TOTAL = 'COUNT(*) AS total'

function rowsOf(from: string, where: string, most: number): string {
  return `FROM (SELECT 1 AS one FROM ${from} WHERE ${where} LIMIT ${integerLiteral(most)}) AS counted`
}

/** Counts up to `most` rows. @param from  a table; see `Dialect.found` */
export async function countUpTo(
  context: Context,
  from: string,
  { text, params }: Condition,
  most: number,
): Promise<number> {
  const [row] = await context.rows<{ total: number }>(
    `${context.select([TOTAL])} ${rowsOf(from, text, most)}`,
    params,
  )
  return row?.total ?? 0
}

/** Some rows of a range, in order: the columns, and `matches`: 1 if the row matches the filter, otherwise 0. */
export function scanned(
  { range, rows, offset }: { readonly range: IndexRange; readonly rows: number; readonly offset: number },
  dialect: Dialect,
  columns: readonly string[],
): Statement {
  const matches =
    range.filter.text === ''
      ? '1 AS matches'
      : `CASE WHEN 1 = 1${range.filter.text} THEN 1 ELSE 0 END AS matches`
  return {
    text: `SELECT ${[...new Set(columns), matches].join(', ')}
      FROM ${source(range, dialect)}
      WHERE 1 = 1${range.where.text}
      ORDER BY ${range.order.join(', ')}
      LIMIT ${integerLiteral(rows)} OFFSET ${integerLiteral(offset)}`,
    params: [...range.filter.params, ...range.where.params],
  }
}

export function source({ table, index }: IndexRange, dialect: Dialect): string {
  return dialect.found(table, index === null ? 'key' : { index })
}

/** The columns of an order, without their directions. */
export function columnsOf({ order }: IndexRange): string[] {
  return order.map((column) => column.replace(/ DESC$/, ''))
}
