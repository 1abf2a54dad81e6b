import { TZDate, tzOffset } from '@date-fns/tz'
import { lightFormat } from 'date-fns/lightFormat'

export const MINUTE_MS = 60_000
export const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS

const { timeZone }: { readonly timeZone?: string } = Intl.DateTimeFormat().resolvedOptions()
/** UTC if the browser has no name for its zone, such as undefined or `Etc/Unknown`. */
export const myZone = timeZone !== undefined && isZone(timeZone) ? timeZone : 'UTC'

const MINUTES = "yyyy-MM-dd'T'HH:mm"

/** The local time in a zone. An unknown zone is treated as UTC. */
export function wall(at: Date, zone: string) {
  const shown = new TZDate(at, isZone(zone) ? zone : 'UTC')
  const offset = shown.toISOString().slice(-6)
  return {
    weekday: shown.toDateString().slice(0, 3),
    date: lightFormat(shown, 'yyyy-MM-dd'),
    time: lightFormat(shown, 'HH:mm:ss'),
    /** `+01:00`, `UTC` */
    offset: offset === '+00:00' ? 'UTC' : offset.replace('-', '−'),
  }
}

/** `Fri 2026-03-27 09:00:00 +01:00` */
export function exact(at: Date, zone: string): string {
  const { weekday, date, time, offset } = wall(at, zone)
  return `${weekday} ${date} ${time} ${offset}`
}

export function count(value: number): string {
  return value.toLocaleString('en-US').replaceAll(',', ' ')
}

/** `1 job`, `2 jobs` */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`
}

/**
 * The instant of a local time in a zone, such as `2026-03-27T09:00`. A repeated time means its first occurrence. A
 * skipped time is interpreted with the offset from before the change: 02:30 means 03:30. `TZDate` is not used here,
 * because its result for such times depends on the browser's zone.
 */
export function instantOf(typed: string, zone: string): Date | null {
  const shown = Date.parse(`${typed}Z`)
  if (Number.isNaN(shown)) return null
  const [at = shown - offsetMs(shown - DAY_MS, zone)] = instantsOf(shown, zone)
  return new Date(at)
}

/** The instants of a local time in a zone, in order: none if it is skipped, two if it is repeated. */
function instantsOf(shown: number, zone: string): number[] {
  const instants = [-DAY_MS, DAY_MS].map((days) => shown - offsetMs(shown + days, zone))
  return [...new Set(instants)].filter((at) => at + offsetMs(at, zone) === shown)
}

/** The reverse of `instantOf`: the text for an input field. */
export function typedAt(at: Date, zone: string): string {
  const shown = new TZDate(at, zone)
  return lightFormat(shown, shown.getSeconds() === 0 ? MINUTES : `${MINUTES}:ss`)
}

/** A note if a clock change skips or repeats the typed time, else null. @param at  the instant that the text means */
export function changeNote(at: Date, typed: string, zone: string): string | null {
  const { time, offset } = wall(at, zone)
  if (typedAt(at, zone) !== typed)
    return `This time is skipped by a clock change; ${time.slice(0, 5)} ${offset} is used instead`
  const [first, second] = instantsOf(at.getTime() + offsetMs(at.getTime(), zone), zone)
  if (second === undefined) return null
  return `This time occurs twice because of a clock change; the ${first === at.getTime() ? 'first' : 'second'} one, ${offset}, is used`
}

function offsetMs(at: number, zone: string): number {
  return Math.round(tzOffset(zone, new Date(at)) * MINUTE_MS)
}

function isZone(name: string): boolean {
  return !Number.isNaN(tzOffset(name, new Date(0)))
}

/** The zone that a timer names, or UTC if it names none. */
export function zoneOf(timer: string): string {
  const last = timer.trim().split(/\s+/u).at(-1) ?? ''
  return /^[A-Z][\w+-]*(?:\/[\w+-]+)+$/u.test(last) && isZone(last) ? last : 'UTC'
}
