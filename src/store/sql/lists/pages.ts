/**
 * Pages of lists. A page starts after a position in the order of its range. As text, the position is the id of a row if
 * the key alone orders the rows. Otherwise, the position is `<instant>/<id>`, because the row may have moved or been
 * deleted by the time the next page is read.
 */
import { InvalidInputError } from '../../../errors.ts'
import { MAX_TOTAL } from '../../../model/filters.ts'
import { shownInput } from '../../../model/input.ts'
import { fromText, toText } from '../../../model/instant.ts'
import { isJobId, type Owner, shownId } from '../../../model/owner.ts'
import type { ListBounds, ListPage } from '../../list-store.ts'
import type { Context } from '../context.ts'
import { storedId } from '../own-ids.ts'
import { firstRows, instantOf, type Position, type Range, upTo } from './scan.ts'
import { placeholders } from '../../literals.ts'
import { keyOf } from '../tables.ts'

interface PageOptions {
  readonly kind: 'schedule' | 'job'
  readonly owner: Owner
  readonly limit: number
  readonly after: string | undefined
  readonly bounds: ListBounds
  readonly columns: string
}

/** @throws InvalidInputError when `after` is not a position in this order */
export async function page<Row extends { readonly id: string }>(
  context: Context,
  range: Range,
  { kind, owner, limit, after, bounds, columns }: PageOptions,
): Promise<ListPage<Row>> {
  const start = after === undefined ? null : positionOf(range, after)
  if (start !== null && kind === 'job' && !isJobId(start.id)) throw noPosition(after)
  const from = start && { ...start, id: await storedId(context, kind, owner, start.id) }
  const counted = await firstRows(context, range, MAX_TOTAL, bounds)
  const { rows, next } =
    from === null ? upTo(limit, counted) : await firstRows(context, range, limit, { ...bounds, after: from })
  const ids = rows.map(({ id }) => id)
  return {
    items: await byKeys<Row>(context, range.table, ids, columns),
    total: counted.next !== null && counted.rows.length < MAX_TOTAL ? null : counted.rows.length,
    next: next && `${instantOf(range) === null ? '' : `${next.instant ?? ''}/`}${shownId(owner, next.id)}`,
  }
}

function positionOf(range: Range, after: string): Position {
  if (instantOf(range) === null) return { instant: null, id: after }
  const [, instant = '', id] = /^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[.\d]{0,4}|)\/(.*)$/s.exec(after) ?? []
  const date = fromText(instant)
  // Excludes dates such as 30 February, which servers reject.
  const isInstant = date !== null && toText(date).startsWith(instant.slice(0, 19))
  if (id !== undefined && (instant === '' || isInstant)) return { instant: instant || null, id }
  throw noPosition(after)
}

function noPosition(after: unknown): InvalidInputError {
  return new InvalidInputError(
    'after',
    `must be \`next\` of the previous page in the same order, got ${shownInput(after)}`,
  )
}

async function byKeys<Row extends { readonly id: string }>(
  context: Context,
  table: string,
  ids: readonly string[],
  columns: string,
): Promise<Row[]> {
  if (ids.length === 0) return []
  const rows = await context.rows<Row>(
    `SELECT ${columns}
     FROM ${context.dialect.found(table, 'key')}
     WHERE id IN (${placeholders(ids, keyOf(context.tables, context.dialect, table))})`,
    ids,
  )
  const byId = new Map(rows.map((row) => [row.id, row]))
  return ids.flatMap((id) => byId.get(id) ?? [])
}
