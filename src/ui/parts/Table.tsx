/**
 * A table that does not move under the pointer: while somebody points into it, or has the focus in it, rows keep
 * their order and new ones wait; their cells stay live.
 */
import type { ComponentChildren } from 'preact'
import { useRef, useState } from 'preact/hooks'

export interface Column<Row> {
  readonly title: string
  readonly cell: (row: Row) => ComponentChildren
  /** Aligned to the right. */
  readonly isNumber?: boolean
  /** On a phone: the first line of a row, or left out; default a labelled value below it. */
  readonly phone?: 'first' | 'none'
  readonly class?: string
}

export interface Selection {
  readonly ids: ReadonlySet<string>
  readonly change: (ids: ReadonlySet<string>) => void
}

interface TableProps<Row> {
  readonly label: string
  readonly rows: readonly Row[]
  readonly idOf: (row: Row) => string
  readonly columns: readonly Column<Row>[]
  /** What is looked at: with another filter or page rows may change at once. */
  readonly view?: string
  readonly selection?: Selection | undefined
}

export function Table<Row>({ label, rows, idOf, columns, view = '', selection }: TableProps<Row>) {
  const [held, setHeld] = useState(false)
  const [, showNew] = useState(0)
  const shown = useRef<{ readonly view: string; readonly rows: readonly Row[] }>({ view, rows })
  const fresh = new Map(rows.map((row) => [idOf(row), row]))
  const keeps = held && shown.current.view === view && shown.current.rows.length > 0
  const visible = keeps ? shown.current.rows.map((row) => fresh.get(idOf(row)) ?? row) : rows
  shown.current = { view, rows: visible }
  const known = new Set(visible.map(idOf))
  const waiting = keeps ? rows.filter((row) => !known.has(idOf(row))).length : 0

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
        <button
          type="button"
          class="waiting-rows"
          onClick={() => {
            shown.current = { view, rows: [] }
            showNew((times) => times + 1)
          }}
        >
          {waiting} new: show
        </button>
      )}
      <table role="table" aria-label={label}>
        <thead role="rowgroup">
          <tr role="row">
            {selection !== undefined && (
              <th role="columnheader" class="select">
                <SelectAll ids={visible.map(idOf)} selection={selection} />
              </th>
            )}
            {columns.map((column) => (
              <th key={column.title} role="columnheader" scope="col" class={classOf(column)}>
                {column.title.startsWith('#') ? (
                  <span class="hidden">{column.title.slice(1)}</span>
                ) : (
                  column.title
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {visible.map((row) => {
            const id = idOf(row)
            return (
              <tr key={id} role="row" class={fresh.has(id) ? undefined : 'gone'} data-id={id}>
                {selection !== undefined && (
                  <td role="cell" class="select">
                    <input
                      type="checkbox"
                      aria-label={`Select ${id}`}
                      checked={selection.ids.has(id)}
                      onChange={() => selection.change(toggled(selection.ids, id))}
                    />
                  </td>
                )}
                {columns.map((column) => (
                  <td
                    key={column.title}
                    role="cell"
                    class={classOf(column)}
                    data-label={column.title.startsWith('#') ? undefined : column.title}
                  >
                    {column.cell(row)}
                  </td>
                ))}
              </tr>
            )
          })}
        </tbody>
      </table>
    </div>
  )
}

function SelectAll({ ids, selection }: { readonly ids: readonly string[]; readonly selection: Selection }) {
  const chosen = ids.filter((id) => selection.ids.has(id)).length
  return (
    <input
      type="checkbox"
      aria-label="Select all rows shown"
      checked={chosen > 0 && chosen === ids.length}
      ref={(input) => {
        if (input !== null) input.indeterminate = chosen > 0 && chosen < ids.length
      }}
      onChange={() => selection.change(new Set(chosen === ids.length ? [] : ids))}
    />
  )
}

function toggled(ids: ReadonlySet<string>, id: string): ReadonlySet<string> {
  const next = new Set(ids)
  if (!next.delete(id)) next.add(id)
  return next
}

function classOf<Row>({ isNumber, phone, class: own }: Column<Row>): string | undefined {
  const classes = [
    isNumber === true && 'number',
    phone === 'first' && 'first',
    phone === 'none' && 'no-phone',
    own,
  ]
  return classes.filter((name) => name !== false && name !== undefined).join(' ') || undefined
}
