/** Shortcuts can be turned off, because speech input also types letters. */
import { signal } from '@preact/signals'
import { toggleFollowing } from './api/live.ts'
import { go, link, PLACES } from './router.ts'
import { load, save } from './storage.ts'

const KEYS_ON = 'kalends.keys'
const SEQUENCE_MS = 1500

export const keysOn = signal(load(KEYS_ON) !== 'off')
export const helpShown = signal(false)

export const KEYS: readonly (readonly [string, string])[] = [
  ['/', 'Search'],
  ['j  k', 'Next row, previous row'],
  ['Enter', 'Open the row'],
  ['x', 'Select the row'],
  ['n', 'New schedule'],
  ...PLACES.map(({ key, title }) => [`g ${key}`, title] as const),
  ['l', 'Turn live updates on or off'],
  ['?', 'Show this help'],
]

export function setKeys(on: boolean): void {
  keysOn.value = on
  save(KEYS_ON, on ? 'on' : 'off')
}

export function startKeyboard(): void {
  let afterG = -Infinity
  document.addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || !keysOn.value) return
    if (isTyping(event.target) || document.querySelector('dialog[open]') !== null) return
    const isAfterG = event.timeStamp - afterG < SEQUENCE_MS
    const place = isAfterG ? PLACES.find(({ key }) => key === event.key) : undefined
    afterG = event.key === 'g' ? event.timeStamp : -Infinity
    if (place !== undefined) go(link(place.path))
    else if (event.key === 'j') step(1)
    else if (event.key === 'k') step(-1)
    else if (event.key === '/') focusSearch()
    else if (event.key === 'x')
      document.activeElement
        ?.closest('tr')
        ?.querySelector<HTMLInputElement>('input[type="checkbox"]')
        ?.click()
    else if (event.key === 'n') go(link(['schedules', 'new']))
    else if (event.key === 'l') toggleFollowing()
    else if (event.key === '?') helpShown.value = true
    else return
    event.preventDefault()
  })
}

/** Focuses the link of the next or previous row, so that Enter opens it. */
function step(by: 1 | -1): void {
  const links = [...document.querySelectorAll<HTMLElement>('main .row-link')]
  const row = document.activeElement?.closest('tr, li')
  const current = links.findIndex((link) => link.closest('tr, li') === row)
  const next = links[current === -1 && by === -1 ? links.length - 1 : current + by]
  next?.focus()
  next?.scrollIntoView({ block: 'nearest' })
}

function focusSearch(): void {
  const search = document.querySelector<HTMLInputElement>('main input[type="search"]')
  if (search === null) go(link(['schedules']))
  search?.focus()
  search?.select()
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof Element && target.matches('input:not([type="checkbox"]), select, textarea')
}
