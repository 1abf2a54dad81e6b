/** What lists have in common: search, filters, counts by state, pages. */
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Counts, Page } from '../api/types.ts'
import { link, query, segments, setQuery } from '../router.ts'
import { count } from '../time/format.ts'
import { Icon, type IconName } from './Icon.tsx'

const TYPING_MS = 250
export const PAGE_SIZE = 50

/** A text of the query in the address: it is written there when typing rests. */
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

/** A filter that a link from elsewhere has set: shown, and taken away again. */
export function Chip({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <span class="chip">
      <span>{children}</span>
      <button
        type="button"
        class="plain"
        aria-label={`Remove the filter ${name}`}
        onClick={() => setQuery({ [name]: undefined })}
      >
        <Icon name="close" />
      </button>
    </span>
  )
}

interface StateCountsProps<Name extends IconName> {
  readonly names: readonly Name[]
  readonly counts: Counts<Name> | undefined
  /** The entry of the query that says which. */
  readonly entry: string
}

export function StateCounts<Name extends IconName>({ names, counts, entry }: StateCountsProps<Name>) {
  const chosen = query.value[entry]
  const at = (value: string | undefined) =>
    link(segments.value, { ...query.value, page: undefined, [entry]: value })
  return (
    <nav class="counts" aria-label={`By ${entry}`}>
      <a href={at(undefined)} aria-current={chosen === undefined ? 'true' : undefined}>
        all
      </a>
      {names.map((name) => {
        const number = counts?.counts[name] ?? 0
        return (
          <a
            key={name}
            href={at(name)}
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

/** Earlier and later rows, and how many there are; beyond what is counted it says so. */
export function Pager({
  page,
  of,
  what,
}: {
  readonly page: number
  readonly of: Page<unknown>
  readonly what: string
}) {
  const first = (page - 1) * PAGE_SIZE + 1
  const last = first + of.items.length - 1
  const hasMore = last < of.total || (!of.totalIsExact && of.items.length === PAGE_SIZE)
  const total = `${of.totalIsExact ? '' : 'more than '}${count(of.total)}`
  return (
    <nav class="pager" aria-label="Pages of the list">
      <span>
        {of.items.length === 0 ? `0 of ${total}` : `${count(first)}–${count(last)} of ${total}`} {what}
        {!of.totalIsExact && of.total >= 1000 && ': filter or search to see others'}
      </span>
      {page > 1 && (
        <a class="button" href={linkTo(page - 1)} aria-label="Page before">
          <Icon name="left" />
        </a>
      )}
      {hasMore && (
        <a class="button" href={linkTo(page + 1)} aria-label="Next page">
          <Icon name="right" />
        </a>
      )}
    </nav>
  )
}

function linkTo(page: number): string {
  return link(segments.value, { ...query.value, page: page === 1 ? undefined : page })
}

export function pageNumber(): number {
  const page = Number(query.value['page'] ?? 1)
  return Number.isInteger(page) && page > 0 ? page : 1
}
