/**
 * The keyboard: `/` searches, `j` and `k` walk through the rows, `g` and a letter go to a place. Keys are left alone
 * while somebody types, in dialogs, and where they are switched off (speech input types letters, too).
 */
import { signal } from '@preact/signals'
import { following } from './api/live.ts'
import { go, link } from './router.ts'

const OFF = 'kalends.keys'
const SEQUENCE_MS = 1500

export const keysOn = signal(stored())
export const helpShown = signal(false)

const PLACES: Readonly<Record<string, string>> = {
  o: link([]),
  s: link(['schedules']),
  c: link(['calendar']),
  j: link(['jobs']),
  w: link(['workers']),
}

export const KEYS: readonly (readonly [string, string])[] = [
  ['/', 'Search'],
  ['j  k', 'Next row, row before'],
  ['Enter', 'Open the row'],
  ['x', 'Select the row'],
  ['n', 'New schedule'],
  ['g o', 'Overview'],
  ['g s', 'Schedules'],
  ['g c', 'Calendar'],
  ['g j', 'Jobs'],
  ['g w', 'Workers'],
  ['l', 'Live updates on or off'],
  ['?', 'This help'],
]

export function setKeys(on: boolean): void {
  keysOn.value = on
  try {
    localStorage.setItem(OFF, on ? 'on' : 'off')
  } catch {
    // Without storage it lasts until the page is left.
  }
}

export function startKeyboard(): void {
  let afterG = -Infinity
  document.addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || !keysOn.value) return
    if (isTyping(event.target) || document.querySelector('dialog[open]') !== null) return
    const place = event.timeStamp - afterG < SEQUENCE_MS ? PLACES[event.key] : undefined
    afterG = event.key === 'g' ? event.timeStamp : -Infinity
    if (place !== undefined) go(place)
    else if (event.key === 'j') step(1)
    else if (event.key === 'k') step(-1)
    else if (event.key === '/') focusSearch()
    else if (event.key === 'x') select()
    else if (event.key === 'n') go(link(['schedules', 'new']))
    else if (event.key === 'l') following.value = !following.value
    else if (event.key === '?') helpShown.value = true
    else return
    event.preventDefault()
  })
}

/** The link of a row is what has the focus: Enter opens it without help. */
function step(by: 1 | -1): void {
  const links = [...document.querySelectorAll<HTMLElement>('main tbody tr .row-link, main .row-link')]
  const rows = [...new Set(links)]
  const current = rows.findIndex(
    (row) => row === document.activeElement || rowOf(row) === rowOf(document.activeElement),
  )
  const next = rows[current === -1 ? (by === 1 ? 0 : rows.length - 1) : current + by]
  next?.focus()
  next?.scrollIntoView({ block: 'nearest' })
}

function rowOf(element: Element | null): Element | null {
  return element?.closest('tr, li') ?? element
}

function focusSearch(): void {
  const search = document.querySelector<HTMLInputElement>('main input[type="search"]')
  if (search === null) go(link(['schedules']))
  search?.focus()
  search?.select()
}

function select(): void {
  document.activeElement?.closest('tr')?.querySelector<HTMLInputElement>('input[type="checkbox"]')?.click()
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  if (target instanceof HTMLInputElement) return target.type !== 'checkbox'
  return (
    target.isContentEditable || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement
  )
}

function stored(): boolean {
  try {
    return localStorage.getItem(OFF) !== 'off'
  } catch {
    return true
  }
}
