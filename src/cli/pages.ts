/** Reads lists of the library, page by page. */
import type { Listed, ListPage } from '../index.ts'
import { printJson } from './output.ts'

/** The most rows in a page. */
const PAGE = 1000

/**
 * The first rows of a list, without duplicates.
 *
 * @param list  returns a page: after the row `last`, or after `offset` rows
 * @param limit  the most rows
 */
export async function firstRows<Row extends { readonly id: string }>(
  list: (page: {
    readonly limit: number
    readonly offset: number
    readonly last: string | undefined
  }) => Promise<ListPage<Row>>,
  limit: number,
): Promise<ListPage<Row>> {
  const rows = new Map<string, Row>()
  let offset = 0
  let last: string | undefined
  for (;;) {
    const size = Math.max(1, Math.min(PAGE, limit - rows.size))
    const { items, ...total } = await list({ limit: size, offset, last })
    for (const item of items) rows.set(item.id, item)
    if (items.length < size || rows.size >= limit)
      return { items: [...rows.values()].slice(0, limit), ...total }
    offset += items.length
    last = items.at(-1)?.id
  }
}

/** Such as `5 schedules listed of 10000 or more.` */
export function listed({ items, total, totalIsExact }: ListPage<unknown>, counted: string): string {
  if (total <= items.length) return `${counted} listed.`
  return `${counted} listed of ${total}${totalIsExact ? '' : ' or more'}.`
}

/** Prints complete rows for `--json`, including the values that a list leaves out. */
export async function printWhole<Row extends { readonly id: string }>(
  rows: readonly Listed<Row>[],
  get: (id: string) => Promise<Row | null>,
): Promise<void> {
  for (const row of rows) printJson(row.truncated === undefined ? row : ((await get(row.id)) ?? row))
}
