import { syntaxError } from './syntax-error.ts'
import { readList, settle, type WrittenList } from './list.ts'
import { Reader } from './reader.ts'
import { lookUpShorthand } from './shorthand.ts'
import { type CalendarSpec, DAY_FROM_END, DAY_OF_MONTH, EVERY_WEEKDAY, HOUR, type Items } from './spec.ts'
import { MINUTE, MONTH, only, SECOND, SECONDS, YEAR, ZERO } from './spec.ts'
import { readWeekdays } from './weekdays.ts'
import type { Zone } from './zone.ts'
import { findZone } from './zone-names.ts'

const UTC = 'UTC'
/** systemd ignores case only for ASCII letters, and accepts no blanks except spaces. */
const LETTER = /[A-Za-z]/y
const SPACES = / */y
const UNIX_TIME = /@ *\+?/y
const DIGITS = /\d+/y
// The last second of 2199.
const LAST_UNIX_SECOND = 7_258_118_399

/** Parses a calendar event as systemd.time(7) defines it. @throws CalendarSyntaxError */
export function parse(text: string): { readonly spec: CalendarSpec; readonly zone: Zone | undefined } {
  let zone: Zone | undefined
  let end = text.length
  const space = text.lastIndexOf(' ')
  if (space !== -1) {
    zone = suffixZone(text.slice(space + 1))
    if (zone !== undefined) end = space
  }
  const reader = new Reader(text, end)
  if (end === 0)
    throw syntaxError(reader, 0, 'the event is missing', 'write one, such as daily or Mon..Fri 9:00')
  const shorthand = lookUpShorthand(text.slice(0, end))
  if (shorthand !== undefined) return { spec: parse(shorthand).spec, zone }

  let weekdays = EVERY_WEEKDAY
  if (reader.isAt(LETTER)) {
    weekdays = readWeekdays(reader)
    reader.take(SPACES)
  }
  if (reader.peek() === '@') return { spec: readUnixTime(reader, weekdays), zone: findZone(UTC) }
  return { spec: readDateAndTime(reader, weekdays), zone }
}

function suffixZone(name: string): Zone | undefined {
  if (/^utc$/i.test(name)) return findZone(UTC)
  // Saves a lookup: all zone names start with a capital letter, and the last word is usually a time.
  const first = name.charCodeAt(0)
  return first >= 0x41 && first <= 0x5a ? findZone(name) : undefined
}

const NO_RESTRICTION = { years: null, months: null, days: null, daysFromEnd: false } as const
const MIDNIGHT = { hours: ZERO, minutes: ZERO, seconds: ZERO } as const

function readDateAndTime(reader: Reader, weekdays: number): CalendarSpec {
  if (reader.peek() === '') return { weekdays, ...NO_RESTRICTION, ...MIDNIGHT }
  const start = reader.at
  const first = readList(reader, 1)
  if (reader.peek() === ':') return { weekdays, ...NO_RESTRICTION, ...readTime(reader, first) }
  const date = readDate(reader, start, first)
  if (!reader.isAtBlankOrEnd())
    throw syntaxError(reader, reader.at, 'a date can only be followed by a space and a time')
  reader.take(SPACES)
  if (reader.peek() === '') return { weekdays, ...date, ...MIDNIGHT }
  const timeAt = reader.at
  const hours = readList(reader, 1)
  if (reader.peek() !== ':') throw syntaxError(reader, timeAt, 'a time needs a colon between hour and minute')
  return { weekdays, ...date, ...readTime(reader, hours) }
}

/** Reads the rest of a date, after its first field. */
function readDate(
  reader: Reader,
  start: number,
  first: WrittenList,
): Pick<CalendarSpec, 'years' | 'months' | 'days' | 'daysFromEnd'> {
  let years: Items = null
  let months = first
  let back = reader.skip('~')
  if (!back && !reader.skip('-')) {
    throw syntaxError(reader, start, 'a number alone is neither a date (month-day) nor a time (hour:minute)')
  }
  let days = readList(reader, 1)
  if (!back && (reader.peek() === '-' || reader.peek() === '~')) {
    back = reader.skip('~') || !reader.skip('-')
    years = settle(reader, first, YEAR)
    months = days
    days = readList(reader, 1)
  }
  return {
    years,
    months: settle(reader, months, MONTH),
    days: settle(reader, days, back ? DAY_FROM_END : DAY_OF_MONTH),
    daysFromEnd: back && days !== null,
  }
}

/** Reads the rest of a time, after the hours; the reader is at the colon. */
function readTime(reader: Reader, hours: WrittenList): Pick<CalendarSpec, 'hours' | 'minutes' | 'seconds'> {
  reader.skip(':')
  const minutes = readList(reader, 1)
  const seconds = reader.skip(':') ? settle(reader, readList(reader, SECOND), SECONDS) : ZERO
  if (reader.peek() !== '')
    throw syntaxError(reader, reader.at, 'the time can only be followed by a space and a time zone')
  return { hours: settle(reader, hours, HOUR), minutes: settle(reader, minutes, MINUTE), seconds }
}

function readUnixTime(reader: Reader, weekdays: number): CalendarSpec {
  const from = reader.at
  // systemd accepts spaces and a plus here because the C library does.
  reader.take(UNIX_TIME)
  const digits = reader.take(DIGITS)
  if (digits === '' || reader.peek() !== '') {
    const rest = { from, to: reader.text.length }
    throw syntaxError(reader, rest, '@ can only be followed by whole seconds since 1970')
  }
  const seconds = Number(digits)
  if (seconds > LAST_UNIX_SECOND) {
    const time = { from, to: reader.at }
    throw syntaxError(reader, time, `@ counts seconds up to ${LAST_UNIX_SECOND}, the end of 2199`)
  }
  const date = new Date(seconds * 1000)
  return {
    weekdays,
    years: only(date.getUTCFullYear()),
    months: only(date.getUTCMonth() + 1),
    days: only(date.getUTCDate()),
    daysFromEnd: false,
    hours: only(date.getUTCHours()),
    minutes: only(date.getUTCMinutes()),
    seconds: only(date.getUTCSeconds() * SECOND),
  }
}
