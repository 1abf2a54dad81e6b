import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Query } from '../api/query.ts'
import { Pending } from './placeholders.tsx'

export interface Column<Row> {
  readonly title: string
  /** Whether the title is only for screen readers. */
  readonly isTitleHidden?: boolean
  /** Null is shown as a dash. */
  readonly cell: (row: Row) => ComponentChildren
  /** The main column identifies the row. On a phone, it is the first line, with labelled values below it. */
  readonly kind?: 'main' | 'wide' | 'number' | 'no-phone'
}

interface Selection {
  readonly ids: ReadonlySet<string>
  readonly change: (ids: ReadonlySet<string>) => void
}

interface Identified {
  readonly id: string
}

interface TableProps<Row extends Identified> {
  readonly label: string
  readonly query: Query<unknown>
  /** Undefined until the response to the query arrives. */
  readonly rows: readonly Row[] | undefined
  readonly columns: readonly Column<Row>[]
  readonly selection?: Selection | undefined
  readonly empty: ComponentChildren
}

export function Table<Row extends Identified>(props: TableProps<Row>) {
  const { label, query, rows, columns, selection, empty } = props
  const [isHeld, setHeld] = useState(false)
  const { shown, isGone, waiting, showAll } = useHeldRows(rows ?? [], query.key, isHeld)
  // When an element is removed, no event reports that the pointer has left it.
  const hasFrame = rows !== undefined && rows.length > 0
  useEffect(() => {
    if (!hasFrame) setHeld(false)
  }, [hasFrame])
  if (rows === undefined) return <Pending query={query} rows={5} />
  if (rows.length === 0) return <>{empty}</>
  return (
    <div
      class="table-frame"
      onPointerEnter={(event) => event.pointerType === 'mouse' && setHeld(true)}
      onPointerLeave={() => setHeld(false)}
      onFocusIn={() => setHeld(true)}
      onFocusOut={(event) => {
        if (!(event.relatedTarget instanceof Node && event.currentTarget.contains(event.relatedTarget)))
          setHeld(false)
      }}
    >
      {waiting > 0 && (
        <button type="button" class="waiting-rows" onClick={showAll}>
          {waiting} new: show
        </button>
      )}
      <table role="table" aria-label={label}>
        <thead role="rowgroup">
          <tr role="row">
            {selection !== undefined && (
              <th role="columnheader" class="select">
                <SelectAll ids={shown.map(({ id }) => id)} selection={selection} />
              </th>
            )}
            {columns.map(({ title, isTitleHidden, kind }) => (
              <th key={title} role="columnheader" scope="col" class={kind}>
                {isTitleHidden === true ? <span class="hidden">{title}</span> : title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {shown.map((row) => (
            <tr key={row.id} role="row" class={isGone(row.id) ? 'gone' : undefined} data-id={row.id}>
              {selection !== undefined && (
                <td role="cell" class="select">
                  <SelectRow id={row.id} selection={selection} />
                </td>
              )}
              {columns.map(({ title, kind, cell }) => (
                <td key={title} role="cell" class={kind} data-label={title}>
                  {cell(row) ?? <span class="none">–</span>}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** While the pointer or the focus is in the table, no row moves, and new rows wait behind a button. */
function useHeldRows<Row extends Identified>(rows: readonly Row[], key: string, isHeld: boolean) {
  const [, showNew] = useState(0)
  const before = useRef({ key, rows })
  const fresh = new Map(rows.map((row) => [row.id, row]))
  const keeps = isHeld && before.current.key === key && before.current.rows.length > 0
  const shown = keeps ? before.current.rows.map((row) => fresh.get(row.id) ?? row) : rows
  before.current = { key, rows: shown }
  const known = new Set(shown.map(({ id }) => id))
  return {
    shown,
    isGone: (id: string) => !fresh.has(id),
    waiting: rows.filter((row) => !known.has(row.id)).length,
    showAll: () => {
      before.current = { key, rows: [] }
      showNew((times) => times + 1)
    },
  }
}

function SelectAll({ ids, selection }: { readonly ids: readonly string[]; readonly selection: Selection }) {
  const chosen = ids.filter((id) => selection.ids.has(id)).length
  return (
    <input
      type="checkbox"
      aria-label="Select all rows shown"
      checked={chosen > 0 && chosen === ids.length}
      indeterminate={chosen > 0 && chosen < ids.length}
      onChange={() => selection.change(new Set(chosen === ids.length ? [] : ids))}
    />
  )
}

function SelectRow({ id, selection }: { readonly id: string; readonly selection: Selection }) {
  const { ids, change } = selection
  const toggle = () => {
    const next = new Set(ids)
    if (!next.delete(id)) next.add(id)
    change(next)
  }
  return <input type="checkbox" aria-label={`Select ${id}`} checked={ids.has(id)} onChange={toggle} />
}
