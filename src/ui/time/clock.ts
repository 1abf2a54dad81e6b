/** The time of the server, once a second while somebody looks, and the zone in which times are shown. */
import { computed, signal } from '@preact/signals'
import { myZone } from './format.ts'

const ZONE = 'kalends.zone'

/** How far the server's clock is ahead of this one. */
const skewMs = signal(0)
const tick = signal(Date.now())

/** Once a second; read it only where something is shown that changes with it. */
export const now = computed(() => new Date(tick.value + skewMs.value))

/** Small differences are the way of the answer, not the clock. */
export function setServerTime(at: Date): void {
  const skew = at.getTime() - Date.now()
  skewMs.value = Math.abs(skew) < 2000 ? 0 : skew
}

const isUtc = signal(stored() === 'UTC')
/** Times are shown in it unless a timer has one of its own. */
export const zone = computed(() => (isUtc.value ? 'UTC' : myZone))

export function toggleZone(): void {
  isUtc.value = !isUtc.value
  try {
    localStorage.setItem(ZONE, isUtc.value ? 'UTC' : 'mine')
  } catch {
    // Without storage it lasts until the page is left.
  }
}

export function startClock(): void {
  setInterval(() => {
    if (!document.hidden) tick.value = Date.now()
  }, 1000)
}

function stored(): string | null {
  try {
    return localStorage.getItem(ZONE)
  } catch {
    return null
  }
}
