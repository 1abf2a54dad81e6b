/** Prints lists that the library returns. */
import type { Listed, ListPage, PageQuery } from '../index.ts'
import { print, printJson, say } from './output.ts'
import { type Column, tableText } from './table.ts'
import { counted } from './values.ts'

const PAGE = 1000
/** The description of `--after`. */
export const AFTER = 'continue after an earlier list, which prints the value to use here'

interface List<Row> {
  readonly list: (page: PageQuery) => Promise<ListPage<Listed<Row>>>
  readonly get: (id: string) => Promise<Row | null>
  readonly columns: readonly Column<Row>[]
  readonly noun: string
}

interface ListFlags {
  readonly limit: number
  readonly after?: string | undefined
  readonly json?: boolean | undefined
}

/** Prints the first rows of a list as a table; with `--json`, including the values that a list omits. */
export async function printList<Row extends { readonly id: string }>(
  { list, get, columns, noun }: List<Row>,
  { limit, after, json = false }: ListFlags,
): Promise<void> {
  // A map, because a row that moves during the reads may be found twice.
  const found = new Map<string, Listed<Row>>()
  const read = async (from: string | undefined) => {
    const { items, ...page } = await list({ limit: Math.min(PAGE, limit - found.size), after: from })
    for (const item of items) found.set(item.id, item)
    return page
  }
  let { total, next } = await read(after)
  while (next !== null && found.size < limit) ({ total, next } = await read(next))
  const rows = [...found.values()]
  if (json) {
    for (const row of rows) printJson(row.truncated === undefined ? row : ((await get(row.id)) ?? row))
    return
  }
  if (rows.length > 0) print(tableText(columns, rows))
  const of = total === null || total <= rows.length ? '' : ` of ${total === 1000 ? '1,000+' : total}`
  const more = next === null ? '' : ` For more, repeat it with --after '${next.replaceAll("'", `'\\''`)}'`
  say(`${counted(rows.length, noun)} listed${of}.${more}`)
}
