/** Finds the calendar event that has the same meaning as a cron expression in one of the many cron dialects. */
import { calendar } from '../calendar/index.ts'
import { ranges } from '../calendar/format.ts'
import { SHORT_WEEKDAYS } from '../calendar/spec.ts'
import type { CronProblem } from './error.ts'

/** The five fields of each macro, and the calendar event with the same meaning. */
export const MACROS: ReadonlyMap<string, readonly [fields: string, event: string]> = new Map([
  ['@yearly', ['0 0 1 1 *', 'yearly']],
  ['@annually', ['0 0 1 1 *', 'yearly']],
  ['@monthly', ['0 0 1 * *', 'monthly']],
  // For systemd, weekly means Monday; for cron, Sunday.
  ['@weekly', ['0 0 * * 0', 'Sun 00:00']],
  ['@daily', ['0 0 * * *', 'daily']],
  ['@midnight', ['0 0 * * *', 'daily']],
  ['@hourly', ['0 * * * *', 'hourly']],
])
const MONTHS = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC']
const WEEKDAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT']

export interface CronField {
  readonly name: string
  readonly low: number
  readonly high: number
  readonly names?: readonly string[]
  /** The unit of the field in a time span. */
  readonly unit?: string
}

const MINUTE: CronField = { name: 'minute', low: 0, high: 59, unit: 'min' }
const HOUR: CronField = { name: 'hour', low: 0, high: 23, unit: 'h' }
const DAY: CronField = { name: 'day of the month', low: 1, high: 31, unit: 'd' }
const MONTH: CronField = { name: 'month', low: 1, high: 12, names: MONTHS }
const WEEKDAY: CronField = { name: 'day of the week', low: 0, high: 6, names: WEEKDAYS }
const YEAR: CronField = { name: 'year', low: 1970, high: 2199 }
export const CRON_FIELDS: readonly CronField[] = [MINUTE, HOUR, DAY, MONTH, WEEKDAY]

/** At most one of the two is set: a single calendar event, else five POSIX fields. */
type Instead = Pick<CronProblem, 'calendarEvent' | 'fields'>

const NOTHING: Instead = { calendarEvent: null, fields: null }

/** @param suffix  the zone with a space before it, or nothing */
export function insteadOf(words: readonly string[], suffix: string): Instead {
  const [first = ''] = words
  if (words.length === 1) {
    const [, macro] = MACROS.get(first.toLowerCase()) ?? []
    return macro === undefined ? NOTHING : { calendarEvent: `${macro}${suffix}`, fields: null }
  }
  const fields = fieldsOf(words)
  if (fields === null) return NOTHING
  // In Quartz and similar dialects, which use ? or seven fields, 1 is Sunday; in all others it is Monday. A missing
  // suggestion is better than a wrong one.
  if ((words.includes('?') || words.length === 7) && /\d/u.test(fields.weekday.replace(/[#/].*$/u, '')))
    return NOTHING
  const event = eventOf(words)
  if (event === null) return NOTHING
  // If the day and the weekday are both restricted, cron fires when either matches; no single event can express that.
  if (!isAny(fields.day) && !isAny(fields.weekday)) {
    const posix = posixOf(fields)
    return posix === null ? NOTHING : { calendarEvent: null, fields: `${posix}${suffix}` }
  }
  return { calendarEvent: elapsing(`${event}${suffix}`), fields: null }
}

/** The calendar event; null if it is invalid or never elapses. */
export function elapsing(event: string): string | null {
  try {
    return calendar(event).next(new Date(0)) === null ? null : event
  } catch {
    return null
  }
}

/** Whether the last of six fields is the year, as in AWS and some other dialects; otherwise, the first is the seconds. */
export function endsWithYears(words: readonly string[]): boolean {
  return words.length === 6 && (words[2] === '?' || words[4] === '?' || /^\d{4}/u.test(words[5] ?? ''))
}

/** The words of an expression by their meaning; only some dialects have seconds and years. */
function fieldsOf(words: readonly string[]) {
  if (words.length < 5 || words.length > 7) return null
  const yearsLast = endsWithYears(words)
  const all = [...(words.length === 5 || yearsLast ? ['0'] : []), ...words]
  const [seconds = '', minute = '', hour = '', day = '', month = '', weekday = '', years = '*'] = all
  return { seconds, minute, hour, day, month, weekday, years }
}

/** The calendar event for five to seven fields, or null. Both the day of the month and the weekday must match. */
export function eventOf(words: readonly string[]): string | null {
  const fields = fieldsOf(words)
  if (fields === null) return null
  const week = weekdays(fields.weekday)
  if (week === null) return null
  const parts = [
    component(fields.seconds, MINUTE),
    component(fields.minute, MINUTE),
    component(fields.hour, HOUR),
    week.days ?? days(fields.day),
    component(fields.month, MONTH),
    component(fields.years, YEAR),
  ].filter((part) => part !== null)
  if (parts.length < 6) return null
  const [seconds = '', minute = '', hour = '', day = '', month = '', years = ''] = parts
  const date = years === '*' && month === '*' && day === '-*' ? '' : `${years}-${month}${day} `
  const weekday = week.names === '' ? '' : `${week.names} `
  const time = `${hour}:${padded(minute)}${seconds === '0' ? '' : `:${padded(seconds)}`}`
  return `${weekday}${date}${time}`
}

/** The expression as five POSIX fields, with lists for steps and numbers for names; null if that is not possible. */
function posixOf(fields: NonNullable<ReturnType<typeof fieldsOf>>): string | null {
  const { seconds, minute, hour, day, month, weekday, years } = fields
  if (seconds !== '0' || years !== '*') return null
  const week = weekdayValues(weekday)
  const posix = [
    posixField(minute, MINUTE),
    posixField(hour, HOUR),
    posixField(day, DAY),
    posixField(month, MONTH),
    week && numberRanges(week),
  ]
  return posix.includes(null) ? null : posix.join(' ')
}

function posixField(text: string, limits: CronField): string | null {
  if (text === '*') return '*'
  const ranges = text.split(',').map((item) => readRange(item, limits))
  if (ranges.includes(null)) return null
  const values = new Set(ranges.flatMap((range) => (range === null ? [] : valuesOf(range, limits))))
  return numberRanges(values)
}

/** `1-5,7` */
function numberRanges(values: ReadonlySet<number>): string {
  return ranges(sorted(values), String, '-').join(',')
}

function sorted(values: ReadonlySet<number>): number[] {
  return [...values].toSorted((a, b) => a - b)
}

function isAny(text: string): boolean {
  return text === '*' || text === '?'
}

function padded(component: string): string {
  return /^\d$/u.test(component) ? `0${component}` : component
}

/** A field in the form that calendar events use; null when it cannot be parsed. */
function component(text: string, limits: CronField): string | null {
  const items = text.split(',').map((item) => itemText(item, limits))
  if (items.includes(null)) return null
  return items.includes('*') ? '*' : items.join(',')
}

function itemText(item: string, limits: CronField): string | null {
  const range = readRange(item, limits)
  if (range === null) return null
  const { first, last, step } = range
  const values = valuesOf(range, limits)
  if (values.length === 1) return String(first)
  if (first > last && step === 1) return `${span(first, limits.high)},${span(limits.low, last)}`
  if (first > last) return values.join(',')
  if (step === 1) return item.startsWith('*') ? '*' : span(first, last)
  return last === limits.high ? `${first}/${step}` : `${span(first, last)}/${step}`
}

function span(first: number, last: number): string {
  return first === last ? String(first) : `${first}..${last}`
}

interface Range {
  readonly first: number
  readonly last: number
  readonly step: number
}

function readRange(item: string, { low, high, names }: CronField): Range | null {
  const [, from, to, by] =
    /^(\*|\d{1,4}|[a-z]{3})(?:-(\d{1,4}|[a-z]{3}))?(?:\/(\d{1,4}))?$/iu.exec(item) ?? []
  if (from === undefined || (from === '*' && to !== undefined)) return null
  const value = (text: string) => {
    const named = names?.indexOf(text.toUpperCase()) ?? -1
    return named >= 0 ? named + low : Number(text)
  }
  const step = by === undefined ? 1 : Number(by)
  const first = from === '*' ? low : value(from)
  const last = from === '*' ? high : to !== undefined ? value(to) : by === undefined ? first : high
  const inside = [first, last].every((number) => Number.isInteger(number) && number >= low && number <= high)
  // A longer step would be misleading: as minutes, */90 means every hour, not every 90 minutes.
  return inside && step >= 1 && step <= high - low + 1 ? { first, last, step } : null
}

/** The values in the order of a range, which may wrap around. */
function valuesOf({ first, last, step }: Range, { low, high }: CronField): number[] {
  const length = high - low + 1
  const reach = last >= first ? last - first : last - first + length
  return Array.from(
    { length: Math.floor(reach / step) + 1 },
    (_, index) => low + ((first - low + index * step) % length),
  )
}

/** The day with its separator: `-15`, or `~1` for the last day. */
function days(text: string): string | null {
  if (text === '?') return '-*'
  if (/^l$/iu.test(text)) return '~1'
  const [, before] = /^l-(\d{1,2})$/iu.exec(text) ?? []
  if (before !== undefined) return `~${1 + Number(before)}`
  const day = component(text, DAY)
  return day === null ? null : `-${day}`
}

/** The names of the weekdays, and the days of the month for `#` and `L`. */
function weekdays(text: string): { names: string; days?: string } | null {
  const [, nthName, nth = ''] = /^([0-7]|[a-z]{3})#([1-5]|l)$/iu.exec(text) ?? []
  const [, lastName] = /^([0-7]|[a-z]{3})l$/iu.exec(text) ?? []
  const chosen = weekdayValues(nthName ?? lastName ?? (text === '?' ? '*' : text))
  if (chosen === null) return null
  const fromMonday = sorted(new Set([...chosen].map((day) => (day + 6) % 7)))
  const names =
    chosen.size === 7 ? '' : ranges(fromMonday, (day) => SHORT_WEEKDAYS[day] ?? '', '..').join(',')
  if (lastName !== undefined || /^l$/iu.test(nth)) return { names, days: '~1..7' }
  if (nthName === undefined) return { names }
  return { names, days: `-${7 * Number(nth) - 6}..${Math.min(7 * Number(nth), 31)}` }
}

/** 0 to 6, where 0 is Sunday. */
function weekdayValues(text: string): ReadonlySet<number> | null {
  const chosen = new Set<number>()
  for (const item of text.split(',')) {
    const range = readRange(item, { ...WEEKDAY, high: 7 })
    if (range === null || range.step > 7) return null
    // Sunday is 0 at the start of a range and 7 at its end.
    const last = item.startsWith('*') || (/^[^-]+\//u.test(item) && range.last === 7) ? 6 : range.last
    const end = last < range.first ? last + 7 : last
    for (let day = range.first; day <= end; day += range.step) chosen.add(day % 7)
  }
  return chosen
}
