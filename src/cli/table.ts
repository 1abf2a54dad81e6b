import { counted } from '../duration.ts'
import type { Listed, ListPage, PageQuery } from '../index.ts'
import { MAX_TOTAL } from '../model/filters.ts'
import { harmlessText, lineWidth, painted, print, printJson, say, type Style } from './output.ts'

export interface Column<Row> {
  readonly title: string
  readonly value: (row: Row) => string
  readonly style?: (row: Row) => Style | undefined
  readonly align?: 'right'
  /** The smallest width in cells that the column may be cut to; default: it is not cut. */
  readonly least?: number
  /** If there is not enough room, columns with a larger value here are omitted first; default: never omitted. */
  readonly optional?: number
}

const GAP = 2

export function tableText<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  width = lineWidth(),
): string {
  let shown = columns.map((column) => {
    const cells = rows.map((row) => harmlessText(column.value(row)))
    const widest = Math.max(cellsOf(column.title), ...cells.map(cellsOf))
    return { ...column, cells, width: widest, least: Math.min(widest, column.least ?? widest) }
  })
  while (total(shown.map(({ least }) => least)) > width) {
    const [last] = shown.toSorted((a, b) => (b.optional ?? 0) - (a.optional ?? 0))
    if (last?.optional === undefined) break
    shown = shown.filter((one) => one !== last)
  }
  // Until the line fits, take one character from the widest of the columns that may still be cut.
  while (total(shown.map((one) => one.width)) > width) {
    const [widest] = shown.filter((one) => one.width > one.least).toSorted((a, b) => b.width - a.width)
    if (widest === undefined) break
    widest.width -= 1
  }
  const line = (cellOf: (column: (typeof shown)[number]) => readonly [string, Style | undefined]) => {
    const parts = shown.map((column) => {
      const [text, style] = cellOf(column)
      const cut = cutTo(text, column.width)
      const blanks = ' '.repeat(Math.max(0, column.width - cellsOf(cut)))
      return column.align === 'right' ? blanks + painted(style, cut) : painted(style, cut) + blanks
    })
    return `${parts.join(' '.repeat(GAP)).trimEnd()}\n`
  }
  const head = line(({ title }) => [title, 'bold'])
  const body = rows.map((row, number) => line(({ cells, style }) => [cells[number] ?? '', style?.(row)]))
  return head + body.join('')
}

function total(widths: readonly number[]): number {
  return widths.reduce((sum, each) => sum + each + GAP, -GAP)
}

/** `name: value` lines with right-aligned names, like `systemctl status`. */
export function factsText(
  facts: readonly (readonly [name: string, value: string | null | undefined])[],
): string {
  const given = facts.filter(([, value]) => value !== null && value !== undefined && value !== '')
  const width = Math.max(0, ...given.map(([name]) => name.length))
  return given
    .map(([name, value = '']) => {
      const [first = '', ...rest] = (value ?? '').split('\n').map(harmlessText)
      const indented = rest.map((line) => `\n${' '.repeat(width + 2)}${line}`).join('')
      return `${painted('bold', name.padStart(width))}: ${first}${indented}\n`
    })
    .join('')
}

const WIDE =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\uff01-\uff60]/u
const characters = new Intl.Segmenter()

/** The width in terminal cells. */
export function cellsOf(text: string): number {
  if (/^[ -~]*$/.test(text)) return text.length
  let cells = 0
  for (const { segment } of characters.segment(text)) cells += WIDE.test(segment) ? 2 : 1
  return cells
}

function cutTo(text: string, width: number): string {
  return cellsOf(text) <= width ? text : `${startOf(text, width - 1, cellsOf)}…`
}

/** As much of a string as fits; no character is cut in half. */
export function startOf(text: string, most: number, sizeOf: (text: string) => number): string {
  let start = ''
  for (const { segment } of characters.segment(text)) {
    if (sizeOf(start + segment) > most) break
    start += segment
  }
  return start
}

export function printRows<Row>(
  json: boolean | undefined,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  noun: string,
  ending = '.',
): void {
  if (json === true) for (const row of rows) printJson(row)
  else {
    if (rows.length > 0) print(tableText(columns, rows))
    say(`${counted(rows.length, noun)} listed${ending}`)
  }
}

const PAGE = 1000
export const AFTER = 'continue an earlier list, which printed the value to pass here'

interface Lists<Row, Query> {
  readonly list: (query: Query) => Promise<ListPage<Listed<Row>>>
  readonly get: (id: string) => Promise<Row | null>
}

interface ListFlags {
  readonly limit: number
  readonly after?: string | undefined
  readonly json?: boolean | undefined
}

/** Prints the first rows of a list as a table or, with `--json`, as whole rows including the values that lists omit. */
export async function printList<Row extends { readonly id: string }, Query>(
  lists: Lists<Row, Query & PageQuery>,
  query: Query,
  columns: readonly Column<Row>[],
  noun: string,
  { limit, after, json }: ListFlags,
): Promise<void> {
  // A map, because a row whose position changes between reads may be found twice.
  const found = new Map<string, Listed<Row>>()
  let total: number | null
  let next = after
  do {
    const page = await lists.list({ ...query, limit: Math.min(PAGE, limit - found.size), after: next })
    for (const item of page.items) found.set(item.id, item)
    total = page.total
    next = page.next ?? undefined
  } while (next !== undefined && found.size < limit)
  const rows = [...found.values()]
  if (json === true) {
    for (const row of rows) printJson(row.truncated === undefined ? row : ((await lists.get(row.id)) ?? row))
    return
  }
  const of = total === null || total <= rows.length ? '' : ` of ${total === MAX_TOTAL ? '1,000+' : total}`
  const more =
    next === undefined ? '' : ` For more, repeat the command with --after '${next.replaceAll("'", `'\\''`)}'`
  printRows(false, columns, rows, noun, `${of}.${more}`)
}
