/**
 * Statements for pages and counts of large tables.
 *
 * One condition is served by an index that also holds the order, so that a page is a short range of it. What no
 * index serves is looked for among the first rows of that range, slice by slice (see slices.ts), as many as
 * `searchWithin` says: the cost has a bound, and the caller is told when there may be more. [1,000,000 rows: an unbounded search for what is not
 * there took 2 s, a page of a filter whose order the index does not hold 1.5 s.]
 */
import type { Dialect, SqlValue } from '../database.ts'
import { integerLiteral } from '../literals.ts'
import type { Condition } from './owned.ts'

/** Rows of a table, found by one index in its order. */
export interface Range {
  readonly table: string
  /** Quoted; null: the key. */
  readonly index: string | null
  /** Also on SQLite, which otherwise chooses by itself. */
  readonly isOnlyIndex: boolean
  /** What the index serves: ` AND …`. */
  readonly where: Condition
  /** Where the page begins, also served by the index. */
  readonly from: Condition
  /** Columns, with their direction. */
  readonly order: readonly string[]
  /** What no index serves: ` AND …`. */
  readonly rest: Condition
}

export const NOTHING: Condition = { text: '', params: [] }

export function both(...conditions: readonly Condition[]): Condition {
  return {
    text: conditions.map(({ text }) => text).join(''),
    params: conditions.flatMap(({ params }) => params),
  }
}

export interface Statement {
  readonly text: string
  readonly params: readonly SqlValue[]
}

/** The keys of a page of a range without a rest, as a table with the column `page_id`. */
export function pageOf(
  range: Range,
  dialect: Dialect,
  page: { readonly limit: number; readonly offset: number },
): Statement {
  const where = both(range.where, range.from)
  return {
    text: `SELECT id AS page_id FROM ${source(range, dialect)} WHERE 1 = 1${where.text} ORDER BY ${range.order.join(', ')} LIMIT ${integerLiteral(page.limit)} OFFSET ${integerLiteral(page.offset)}`,
    params: where.params,
  }
}

/** One row: the `total` of a range without a rest, up to one more than is counted. */
export function countOf(range: Range, dialect: Dialect, countUpTo: number): Statement {
  return {
    text: `SELECT COUNT(*) AS total FROM (SELECT 1 AS one FROM ${source(range, dialect)} WHERE 1 = 1${range.where.text} LIMIT ${integerLiteral(countUpTo + 1)}) AS counted`,
    params: range.where.params,
  }
}

/** Some rows of a range in its order: the columns, and in `hit` whether the rest of the conditions holds. */
export function searched(
  { range, rows, offset }: { readonly range: Range; readonly rows: number; readonly offset: number },
  dialect: Dialect,
  columns: readonly string[],
): Statement {
  const hit =
    range.rest.text === '' ? '1 AS hit' : `CASE WHEN 1 = 1${range.rest.text} THEN 1 ELSE 0 END AS hit`
  return {
    text: `SELECT ${[...new Set(columns), hit].join(', ')} FROM ${source(range, dialect)} WHERE 1 = 1${range.where.text} ORDER BY ${range.order.join(', ')} LIMIT ${integerLiteral(rows)} OFFSET ${integerLiteral(offset)}`,
    params: [...range.rest.params, ...range.where.params],
  }
}

export function source({ table, index, isOnlyIndex }: Range, dialect: Dialect): string {
  if (index === null) return `${table} ${dialect.byKey}`
  return `${table} ${isOnlyIndex ? dialect.onlyByIndex(index) : dialect.byIndex(index)}`
}

/** The columns of an order, without their directions. */
export function columnsOf({ order }: Range): string[] {
  return order.map((column) => column.replace(/ DESC$/, ''))
}
