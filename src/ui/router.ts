/** Paths and links are relative to the document's base, so that the page works under any prefix. */
import { computed, signal } from '@preact/signals'

const base = new URL(document.baseURI)
const address = signal(location.href)

const url = computed(() => new URL(address.value))

/** The decoded segments of the path: `['schedules', 'nightly']`; empty on the overview page. */
export const segments = computed<readonly string[]>(() =>
  url.value.pathname
    .slice(base.pathname.length)
    .split('/')
    .filter((segment) => segment !== '')
    .map(decoded),
)

export const query = computed<Readonly<Record<string, string>>>(() =>
  Object.fromEntries([...url.value.searchParams].filter(([, value]) => value !== '')),
)

type Values = Readonly<Record<string, string | undefined>>

export function link(path: readonly string[], values: Values = {}): string {
  const params = new URLSearchParams()
  for (const [key, value = ''] of Object.entries(values)) if (value !== '') params.set(key, value)
  const text = params.toString()
  return `${path.length === 0 ? './' : path.map(encodeURIComponent).join('/')}${text === '' ? '' : `?${text}`}`
}

/** @param mode  `replace` adds no entry to the history, for changes while the user types */
export function go(to: string, mode: 'push' | 'replace' = 'push'): void {
  const target = new URL(to, base)
  if (target.href === address.value) return
  history[mode === 'push' ? 'pushState' : 'replaceState'](null, '', target)
  const samePath = target.pathname === url.value.pathname
  address.value = target.href
  if (!samePath) {
    scrollTo(0, 0)
    // This makes screen readers announce the new page.
    requestAnimationFrame(() => document.querySelector<HTMLElement>('h1')?.focus({ preventScroll: true }))
  }
}

/** A link to this page with other query parameters. A new filter begins on its first page. */
export function linkHere(changes: Values): string {
  return link(segments.value, { ...query.value, after: undefined, ...changes })
}

export function setQuery(changes: Values, mode: 'push' | 'replace' = 'push'): void {
  go(linkHere(changes), mode)
}

export function startRouter(): void {
  addEventListener('popstate', () => {
    address.value = location.href
  })
  document.addEventListener('click', (event) => {
    const opensElsewhere = event.metaKey || event.ctrlKey || event.shiftKey || event.altKey
    if (event.defaultPrevented || event.button !== 0 || opensElsewhere) return
    const anchor = event.target instanceof Element ? event.target.closest('a') : null
    if (anchor === null || anchor.origin !== base.origin || !anchor.pathname.startsWith(base.pathname)) return
    event.preventDefault()
    go(anchor.href)
  })
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

/** `g` followed by the first letter of a name opens that page. */
const NAMES = ['overview', 'schedules', 'calendar', 'jobs', 'workers'] as const

export const PLACES = NAMES.map((name) => ({
  name,
  title: `${name.charAt(0).toUpperCase()}${name.slice(1)}`,
  path: name === 'overview' ? [] : [name],
  key: name.charAt(0),
}))
