/**
 * Statements for pages and counts of large tables.
 *
 * One condition is served by an index that also holds the order, so that a page is a short range of it. What no
 * index serves is looked for among the first rows of that range, as many as `searchWithin` says: the cost has a
 * bound, and whoever looks is told when there may be more. [1,000,000 rows: an unbounded search for what is not
 * there took 2 s, a page of a filter whose order the index does not hold 1.5 s.]
 */
import type { Dialect, SqlValue } from '../database.ts'
import type { ListBounds } from '../list-store.ts'
import type { Condition } from './owned.ts'

/** Rows of a table, found by one index in its order. */
export interface Range {
  readonly table: string
  /** Quoted; null: the key. */
  readonly index: string | null
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

/** The keys of a page, as a table with the column `page_id`. */
export function pageOf(
  range: Range,
  dialect: Dialect,
  page: ListBounds & { readonly limit: number; readonly offset: number },
): Statement {
  const order = range.order.join(', ')
  const slice = `ORDER BY ${order} LIMIT ${page.limit} OFFSET ${page.offset}`
  const where = both(range.where, range.from)
  if (range.rest.text === '') {
    return {
      text: `SELECT id AS page_id FROM ${source(range, dialect)} WHERE 1 = 1${where.text} ${slice}`,
      params: where.params,
    }
  }
  const seen = searched({ ...range, where }, dialect, page.searchWithin, ['id', ...columnsOf(range.order)])
  return {
    text: `SELECT id AS page_id FROM (${seen.text}) AS seen WHERE hit = 1 ${slice}`,
    params: seen.params,
  }
}

/** One row: `total`, and `looked`, how many rows were looked at for it. */
export function countOf(range: Range, dialect: Dialect, { countUpTo, searchWithin }: ListBounds): Statement {
  if (range.rest.text === '') {
    return {
      text: `SELECT COUNT(*) AS total, COUNT(*) AS looked FROM (SELECT 1 AS one FROM ${source(range, dialect)} WHERE 1 = 1${range.where.text} LIMIT ${countUpTo + 1}) AS counted`,
      params: range.where.params,
    }
  }
  const seen = searched(range, dialect, searchWithin, [])
  return {
    text: `SELECT COALESCE(SUM(hit), 0) AS total, COUNT(*) AS looked FROM (${seen.text}) AS seen`,
    params: seen.params,
  }
}

/** The first rows of a range: the columns, and in `hit` whether the rest of the conditions holds. */
export function searched(
  range: Range,
  dialect: Dialect,
  searchWithin: number,
  columns: readonly string[],
): Statement {
  const hit =
    range.rest.text === '' ? '1 AS hit' : `CASE WHEN 1 = 1${range.rest.text} THEN 1 ELSE 0 END AS hit`
  return {
    text: `SELECT ${[...new Set(columns), hit].join(', ')} FROM ${source(range, dialect)} WHERE 1 = 1${range.where.text} ORDER BY ${range.order.join(', ')} LIMIT ${searchWithin}`,
    params: [...range.rest.params, ...range.where.params],
  }
}

export function source({ table, index }: Range, dialect: Dialect): string {
  return `${table} ${index === null ? dialect.byKey : dialect.byIndex(index)}`
}

function columnsOf(order: readonly string[]): string[] {
  return order.map((column) => column.replace(/ DESC$/, ''))
}
