import { computed, signal } from '@preact/signals'
import { load, save } from '../storage.ts'
import { myZone } from './format.ts'

const ZONE = 'kalends.zone'

/** How far the server's clock is ahead of the browser's. */
const skewMs = signal(0)
const tick = signal(Date.now())

/** Changes once a second, so a component that reads it is rendered each time. */
export const now = computed(() => new Date(tick.value + skewMs.value))

/** Ignores a small difference, which is due to the network, not the clock. */
export function setServerTime(at: Date): void {
  const skew = at.getTime() - Date.now()
  skewMs.value = Math.abs(skew) < 2000 ? 0 : skew
}

const isUtc = signal(load(ZONE) === 'UTC')
export const zone = computed(() => (isUtc.value ? 'UTC' : myZone))

export function toggleZone(): void {
  isUtc.value = !isUtc.value
  save(ZONE, isUtc.value ? 'UTC' : 'mine')
}

export function startClock(): void {
  setInterval(() => {
    if (!document.hidden) tick.value = Date.now()
  }, 1000)
}
