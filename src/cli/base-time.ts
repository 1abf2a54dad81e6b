/** Parses times as people write them: the timestamps of systemd.time(7), and ISO 8601. */
import { calendar } from '../calendar/index.ts'
import { timeSpan } from '../timer/index.ts'
import { clockOf, ownZone } from './calendar-report.ts'
import { UsageError } from './failure.ts'

const DAYS: ReadonlyMap<string, number> = new Map([
  ['yesterday', -1],
  ['today', 0],
  ['tomorrow', 1],
])
const DATE = String.raw`(?:[A-Za-z]{3,9} )?(?:\d{2}|\d{4})-\d{1,2}-\d{1,2}`
const TIME = String.raw`\d{1,2}:\d{1,2}(?::\d{1,2}(?:\.\d+)?)?`
const WALL_CLOCK = new RegExp(`^(${DATE})?(?:(?:^| )(${TIME}))?(?: ([A-Za-z][\\w/+-]*))?$`)
const ISO = new RegExp(`^(\\d{4}-\\d\\d-\\d\\d)T(${TIME})(Z|[+-]\\d\\d:?\\d\\d)?$`)
// At this instant, the year 1970 has not begun in any zone.
const BEFORE_ALL = -2 * 86_400_000_000

/** @returns microseconds since 1970. @throws UsageError if the text is not a time */
export function baseTime(option: string, text: string): number {
  const nowMicros = Date.now() * 1000
  const zone = ownZone()
  let cause: unknown
  try {
    const found =
      relativeTime(text, nowMicros, zone) ??
      unixTime(text) ??
      isoTime(text, zone) ??
      wallClockTime(text, nowMicros, zone)
    if (found !== undefined) return found
  } catch (error) {
    // A part of the text is not a valid time span, date or zone.
    cause = error
  }
  throw new UsageError(
    `option '${option}': ${JSON.stringify(text)} is not a time; write one such as '2026-03-27 00:00 UTC', ` +
      "'2026-03-27T00:00:00Z', '10:00', 'tomorrow', 'now' or '-5min'",
    { cause },
  )
}

function relativeTime(text: string, nowMicros: number, zone: string): number | undefined {
  if (text === 'now') return nowMicros
  const days = DAYS.get(text)
  if (days !== undefined) return atMidnight(localDay(nowMicros, zone, days), zone)
  const [, sign, span, ago] = /^([+-])(.+)$|^(.+) ago$/.exec(text) ?? []
  if (span !== undefined) return nowMicros + (sign === '-' ? -1000 : 1000) * timeSpan(span)
  return ago === undefined ? undefined : nowMicros - 1000 * timeSpan(ago)
}

function unixTime(text: string): number | undefined {
  const [, seconds, fraction = ''] = /^@(\d{1,11})(?:\.(\d{1,6}))?$/.exec(text) ?? []
  return seconds === undefined ? undefined : Number(seconds) * 1_000_000 + Number(fraction.padEnd(6, '0'))
}

function isoTime(text: string, zone: string): number | undefined {
  const [, date, time, offset] = ISO.exec(text) ?? []
  if (date === undefined || time === undefined) return undefined
  if (offset === undefined) return oneOff(`${date} ${time}`, zone)
  const utc = oneOff(`${date} ${time}`, 'UTC')
  if (utc === undefined || offset === 'Z') return utc
  const minutes = Number(offset.slice(1, 3)) * 60 + Number(offset.slice(-2))
  return utc - (offset.startsWith('-') ? -1 : 1) * minutes * 60_000_000
}

function wallClockTime(text: string, nowMicros: number, zone: string): number | undefined {
  const [all, date, time, suffix] = WALL_CLOCK.exec(text) ?? []
  if (all === undefined || (date === undefined && time === undefined)) return undefined
  const clock = suffix === undefined ? zone : suffix.toUpperCase() === 'UTC' ? 'UTC' : suffix
  return oneOff(`${date ?? localDay(nowMicros, clock, 0)} ${time ?? '00:00'}`, clock)
}

/** A full date is a calendar event that elapses once. If the time does not exist, the event never elapses. */
function oneOff(wallClock: string, zone: string): number | undefined {
  return calendar(wallClock, { zone }).nextMicros(BEFORE_ALL) ?? undefined
}

/** If midnight is skipped, the day starts at the end of the gap. */
function atMidnight(day: string, zone: string): number | undefined {
  return oneOff(`${day} 00:00`, zone) ?? oneOff(`${day} 01:00`, zone)
}

function localDay(nowMicros: number, zone: string, days: number): string {
  const [today] = clockOf(new Date(Math.floor(nowMicros / 1000)), zone)
  return new Date(Date.parse(today) + days * 86_400_000).toISOString().slice(0, 10)
}
