/** The output of `systemd-analyze calendar` (systemd 252), byte for byte. */
import type { CalendarEvent } from '../calendar/index.ts'
import { localZone } from '../calendar/zone-names.ts'

export interface ReportContext {
  readonly nowMicros: number
  readonly afterMicros: number
  readonly iterations: number
}

export function calendarReport(expression: string, event: CalendarEvent, context: ReportContext): string {
  const normalized = String(event)
  const lines: string[] = []
  const add = (label: string, text: string) => lines.push(`${label.padStart(15)}: ${text.trimEnd()}\n`)
  if (normalized !== expression) add('Original form', expression)
  add('Normalized form', normalized)
  const elapses = elapsesOf(event, context)
  const zone = ownZone()
  if (elapses.length === 0 && context.iterations > 0) add('Next elapse', 'never')
  for (const [index, elapse] of elapses.entries()) {
    add(index === 0 ? 'Next elapse' : `Iter. #${index + 1}`, timestamp(elapse, zone))
    if (!isUtc(zone)) add('(in UTC)', timestamp(elapse, 'UTC'))
    add('From now', relative(elapse, context.nowMicros))
  }
  return lines.join('')
}

/** In microseconds. */
export function elapsesOf(event: CalendarEvent, { afterMicros, iterations }: ReportContext): number[] {
  const elapses: number[] = []
  let next = event.nextMicros(afterMicros)
  while (next !== null && elapses.length < iterations) {
    elapses.push(next)
    next = event.nextMicros(next)
  }
  return elapses
}

/** `Fri 2026-03-27 08:00:00 UTC` */
export function timestamp(micros: number, zone: string): string {
  const date = new Date(Math.floor(micros / 1000))
  const [day, time] = clockOf(date, zone)
  return `${new Date(day).toUTCString().slice(0, 3)} ${day} ${time} ${abbreviation(date, zone)}`
}

/** `2026-03-27` and `08:00:00`. Uses the only locale that every build of Node.js has. */
export function clockOf(date: Date, timeZone: string): [day: string, time: string] {
  const digits = {
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
  } as const
  const style = { ...digits, second: '2-digit', hourCycle: 'h23', calendar: 'gregory', timeZone } as const
  const parts = new Intl.DateTimeFormat('en-US', style).formatToParts(date)
  const { year, month, day, hour, minute, second } = Object.fromEntries(
    parts.map(({ type, value }) => [type, value]),
  )
  return [`${year}-${month}-${day}`, `${hour}:${minute}:${second}`]
}

/** The zone of this process, in which commands print times; UTC if it has no name. */
export function ownZone(): string {
  return localZone() ?? 'UTC'
}

/** Each ICU locale contains only the abbreviations of its own country. */
const LANGUAGES = ['en-US', 'en-GB', 'en-AU', 'en-IN', 'en-NZ', 'en-ZA', 'ja-JP']
/** The abbreviations that the tz database also has; ICU knows more. */
const ABBREVIATIONS = new Set(
  (
    'UTC GMT BST IST WET WEST CET CEST EET EEST MSK SAST WAT CAT EAT EST EDT CST CDT MST MDT PST PDT AKST AKDT HST ' +
    'HDT AST ADT NST NDT SST JST KST HKT PKT WIB WITA WIT IDT AEST AEDT ACST ACDT AWST NZST NZDT'
  ).split(' '),
)

/** An abbreviation such as `CET`, or if there is none, the UTC offset as in the tz database: `-03`, `+0545`. */
function abbreviation(date: Date, zone: string): string {
  for (const language of LANGUAGES) {
    const name = zoneName(date, zone, language, 'short')
    // For past dates in Morocco, ICU has WET and WEST, but the tz database now has only numeric offsets.
    if (ABBREVIATIONS.has(name) && !(name.startsWith('WE') && zone.startsWith('Africa/'))) return name
  }
  const [, sign = '+', hours = '00', minutes = '00'] =
    /^GMT([+-])(\d\d):(\d\d)/.exec(zoneName(date, zone, 'en-US', 'longOffset')) ?? []
  return `${sign}${hours}${minutes === '00' ? '' : minutes}`
}

function zoneName(date: Date, zone: string, language: string, style: 'short' | 'longOffset'): string {
  const format = new Intl.DateTimeFormat(language, { timeZone: zone, timeZoneName: style })
  return format.formatToParts(date).find(({ type }) => type === 'timeZoneName')?.value ?? ''
}

/** For a zone that never differs from UTC, systemd does not repeat times in UTC. */
function isUtc(zone: string): boolean {
  const year = 2024
  return [0, 6].every(
    (month) => zoneName(new Date(Date.UTC(year, month, 1)), zone, 'en-US', 'longOffset') === 'GMT+00:00',
  )
}

const MS = 1000
const SECOND = 1000 * MS
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const WEEK = 7 * DAY
const MONTH = 2_629_800 * SECOND
const YEAR = 31_557_600 * SECOND

function relative(micros: number, nowMicros: number): string {
  const distance = Math.abs(micros - nowMicros)
  if (distance === 0) return 'now'
  return `${span(distance)}${micros < nowMicros ? ' ago' : ' left'}`
}

function span(distance: number): string {
  if (distance >= YEAR)
    return `${counted(distance, YEAR, 'year')} ${counted(distance % YEAR, MONTH, 'month')}`
  if (distance >= MONTH)
    return `${counted(distance, MONTH, 'month')} ${counted(distance % MONTH, DAY, 'day')}`
  if (distance >= WEEK) return `${counted(distance, WEEK, 'week')} ${counted(distance % WEEK, DAY, 'day')}`
  if (distance >= 2 * DAY) return counted(distance, DAY, 'day')
  if (distance >= 25 * HOUR) return `1 day ${whole(distance - DAY, HOUR)}h`
  if (distance >= 6 * HOUR) return `${whole(distance, HOUR)}h`
  if (distance >= HOUR) return `${whole(distance, HOUR)}h ${whole(distance % HOUR, MINUTE)}min`
  if (distance >= 5 * MINUTE) return `${whole(distance, MINUTE)}min`
  if (distance >= MINUTE) return `${whole(distance, MINUTE)}min ${whole(distance % MINUTE, SECOND)}s`
  if (distance >= SECOND) return `${whole(distance, SECOND)}s`
  return distance >= MS ? `${whole(distance, MS)}ms` : `${distance}us`
}

function counted(distance: number, unit: number, name: string): string {
  const count = whole(distance, unit)
  return `${count} ${name}${count === 1 ? '' : 's'}`
}

function whole(distance: number, unit: number): number {
  return Math.floor(distance / unit)
}
