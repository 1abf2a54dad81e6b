import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { JobCounts, JobPage } from '../generated/api.ts'
import type { Query } from '../api/query.ts'
import { link, linkHere, query, setQuery } from '../router.ts'
import { count } from '../time/format.ts'
import { Button, IconButton } from './Button.tsx'
import { Icon, type IconName } from './Icon.tsx'
import { Empty, Stale } from './placeholders.tsx'
import { type Column, Table } from './Table.tsx'

const TYPING_MS = 250
const PAGE_SIZE = 50

export function Search({ name = 'q', label }: { readonly name?: string; readonly label: string }) {
  const value = query.value[name] ?? ''
  const [text, setText] = useState(value)
  const timer = useRef<ReturnType<typeof setTimeout>>()
  const written = useRef(value)
  useEffect(() => {
    if (value !== written.current) setText(value)
    written.current = value
  }, [value])
  const write = (next: string, ms: number) => {
    setText(next)
    clearTimeout(timer.current)
    timer.current = setTimeout(() => {
      written.current = next.trim()
      setQuery({ [name]: next.trim() }, 'replace')
    }, ms)
  }
  useEffect(() => () => clearTimeout(timer.current), [])
  return (
    <div class="search">
      <Icon name="search" />
      <input
        type="search"
        aria-label={label}
        placeholder={label}
        value={text}
        onInput={(event) => write(event.currentTarget.value, TYPING_MS)}
        onKeyDown={(event) => {
          if (event.key === 'Enter') write(event.currentTarget.value, 0)
          if (event.key === 'Escape') {
            if (event.currentTarget.value === '') event.currentTarget.blur()
            write('', 0)
          }
        }}
      />
    </div>
  )
}

interface FilterChipsProps {
  readonly names: readonly string[]
  readonly labelOf?: (name: string) => string
  readonly textOf?: (value: string, name: string) => string
}

/** Filters that were set by a link from another page, each with a button that removes it. */
export function FilterChips({ names, labelOf = String, textOf = String }: FilterChipsProps) {
  return (
    <>
      {Object.entries(filtersOf(names)).map(([name, value]) => (
        <span key={name} class="chip">
          <span>
            {labelOf(name)} <b>{textOf(value, name)}</b>
          </span>
          <IconButton
            icon="failed"
            label={`Remove the filter ${name}`}
            onClick={() => setQuery({ [name]: undefined })}
          />
        </span>
      ))}
    </>
  )
}

export function filtersOf(names: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(query.value).filter(([name]) => names.includes(name)))
}

export interface BulkAction {
  readonly label: string
  readonly isDangerous?: boolean
  /** @returns whether the action was done; if so, the selection is cleared */
  readonly run: (ids: readonly string[]) => Promise<boolean>
}

interface ListProps<Row extends { readonly id: string }> {
  readonly query: Query<PageOf<Row>>
  readonly title: string
  readonly columns: readonly Column<Row>[]
  /** The applied filter and the position in the list. */
  readonly filter: Readonly<Record<string, unknown>>
  /** Shown if no filter is set and the list is empty. */
  readonly empty: ComponentChildren
  readonly actions: readonly BulkAction[]
  readonly children?: ComponentChildren
}

export function List<Row extends { readonly id: string }>(props: ListProps<Row>) {
  const { query: list, title, columns, filter, empty, actions, children } = props
  const [ids, change] = useState<ReadonlySet<string>>(new Set())
  const { data } = list
  const what = title.toLowerCase()
  const isFiltered = Object.values(filter).some((value) => value !== undefined)
  const clear = () => change(new Set())
  const perform = async (run: BulkAction['run']) => {
    if (await run([...ids])) clear()
  }
  return (
    <>
      <Stale query={list} />
      <Table
        label={title}
        query={list}
        rows={data?.items}
        columns={columns}
        selection={actions.length > 0 ? { ids, change } : undefined}
        empty={isFiltered ? <NoMatches what={what} hasMore={typeof data?.next === 'string'} /> : empty}
      />
      {data !== undefined && <Pager of={data} what={what} />}
      {data !== undefined && data.items.length > 0 && children}
      {ids.size > 0 && (
        <div class="row bulk" role="region" aria-label={`Selected ${what}`}>
          <span>{count(ids.size)} selected</span>
          {actions.map(({ label, isDangerous, run }) => (
            <Button
              key={label}
              label={label}
              kind={isDangerous === true ? 'danger' : undefined}
              onClick={() => perform(run)}
            />
          ))}
          <Button label="Clear" kind="plain" onClick={clear} />
        </div>
      )}
    </>
  )
}

function NoMatches({ what, hasMore }: { readonly what: string; readonly hasMore: boolean }) {
  return (
    <Empty title={`No matching ${what}`}>
      {hasMore && <p>Only some {what} were searched. The next page searches further.</p>}
      <a href={link([what])}>Show all {what}</a>
    </Empty>
  )
}

interface StateCountsProps {
  readonly names: readonly IconName[]
  readonly counts: JobCounts | undefined
  /** The query parameter that holds the selected value. */
  readonly entry: string
}

export function StateCounts({ names, counts, entry }: StateCountsProps) {
  const chosen = query.value[entry]
  return (
    <nav class="row counts" aria-label={`By ${entry}`}>
      <a href={linkHere({ [entry]: undefined })} aria-current={chosen === undefined ? 'true' : undefined}>
        all
      </a>
      {names.map((name) => {
        const number = counts?.counts[name] ?? 0
        return (
          <a
            key={name}
            href={linkHere({ [entry]: name })}
            aria-current={chosen === name ? 'true' : undefined}
            class={number === 0 && counts !== undefined ? 'zero' : undefined}
          >
            <span class={`state ${number === 0 ? '' : name}`}>
              <Icon name={name} />
            </span>
            {name} <b>{counts === undefined ? '…' : count(number)}</b>
          </a>
        )
      })}
    </nav>
  )
}

interface PageOf<Row> extends Omit<JobPage, 'items'> {
  readonly items: readonly Row[]
}

function Pager({ of, what }: { readonly of: PageOf<unknown>; readonly what: string }) {
  const { items, total, next } = of
  const starts = pageStarts()
  const first = starts.length * PAGE_SIZE + 1
  if (items.length === 0 && next === null && starts.length === 0) return null
  return (
    <nav class="row pager" aria-label="Pages of the list">
      <span>
        {items.length === 0 ? 0 : `${count(first)}–${count(first + items.length - 1)}`}
        {total === null ? ` ${what} found so far` : ` of ${totalText(total)} ${what}`}
      </span>
      {starts.length > 0 && (
        <IconButton icon="left" label="Previous page" href={pageLink(starts.slice(0, -1))} />
      )}
      {next !== null && <IconButton icon="right" label="Next page" href={pageLink([...starts, next])} />}
    </nav>
  )
}

/** Totals are counted up to one thousand. */
export function totalText(total: number): string {
  return total === 1000 ? '1,000+' : count(total)
}

function pageLink(starts: readonly string[]): string {
  return linkHere({ after: starts.join('\n') })
}

/** Where each page starts, from the second page to this one. The address lists the starts, so the user can go back. */
function pageStarts(): readonly string[] {
  return query.value['after']?.split('\n') ?? []
}

export function paging(): { readonly limit: number; readonly after: string | undefined } {
  return { limit: PAGE_SIZE, after: pageStarts().at(-1) }
}
