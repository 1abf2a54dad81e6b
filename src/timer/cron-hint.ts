/** The calendar event that says what a cron expression of one of the many dialects means, for error messages. */
import { calendar } from '../calendar/index.ts'

const MACROS: Readonly<Record<string, string>> = {
  '@yearly': 'yearly',
  '@annually': 'yearly',
  '@monthly': 'monthly',
  // systemd's weekly is Monday, cron's is Sunday.
  '@weekly': 'Sun 00:00',
  '@daily': 'daily',
  '@midnight': 'daily',
  '@hourly': 'hourly',
}
const MONTHS = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC']
const WEEKDAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT']
const WEEKDAY_NAMES = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun']

interface Limits {
  readonly low: number
  readonly high: number
  readonly names?: readonly string[]
}

const MINUTE: Limits = { low: 0, high: 59 }
const HOUR: Limits = { low: 0, high: 23 }
const DAY: Limits = { low: 1, high: 31 }
const MONTH: Limits = { low: 1, high: 12, names: MONTHS }
const WEEKDAY: Limits = { low: 0, high: 7, names: WEEKDAYS }

/** @returns null when no single calendar event says it */
export function calendarFor(words: readonly string[], zone: string | undefined): string | null {
  const text = words.length === 1 ? (MACROS[(words[0] ?? '').toLowerCase()] ?? null) : fromFields(words)
  if (text === null) return null
  const zoned = zone === undefined ? text : `${text} ${zone}`
  try {
    return calendar(zoned).next(new Date(0)) === null ? null : zoned
  } catch {
    return null
  }
}

function fromFields(words: readonly string[]): string | null {
  if (words.length !== 5 && words.length !== 6) return null
  const seconds = words.length === 6 ? component(words[0] ?? '', MINUTE) : null
  const [minuteText = '', hourText = '', dayText = '', monthText = '', weekdayText = ''] = words.slice(-5)
  const minute = component(minuteText, MINUTE)
  const hour = component(hourText, HOUR)
  const month = component(monthText, MONTH)
  const week = weekdays(weekdayText)
  const day = week?.days === undefined ? days(dayText) : week.days
  if (minute === null || hour === null || month === null || week === null || day === null) return null
  if (words.length === 6 && seconds === null) return null
  // Either of two days: no single calendar event can say it.
  if (dayText !== '*' && dayText !== '?' && week.names !== '') return null
  const date = month === '*' && day === '-*' ? '' : `*-${month}${day} `
  const weekday = week.names === '' ? '' : `${week.names} `
  const time = `${hour}:${/^\d$/u.test(minute) ? `0${minute}` : minute}`
  const second =
    seconds === null || seconds === '0' ? '' : `:${/^\d$/u.test(seconds) ? `0${seconds}` : seconds}`
  return `${weekday}${date}${time}${second}`
}

function component(text: string, limits: Limits): string | null {
  const items = text.split(',').map((item) => itemText(item, limits))
  return items.includes('*') ? '*' : items.some((item) => item === null) ? null : items.join(',')
}

function itemText(item: string, limits: Limits): string | null {
  const range = readRange(item, limits)
  if (range === null) return null
  const { first, last, step } = range
  if (first === limits.low && last === limits.high) return step === 1 ? '*' : `${first}/${step}`
  if (first === last) return String(first)
  if (first > last) return step === 1 ? `${first}..${limits.high},${limits.low}..${last}` : null
  if (last === limits.high && step !== 1) return `${first}/${step}`
  return step === 1 ? `${first}..${last}` : `${first}..${last}/${step}`
}

function readRange(
  item: string,
  { low, high, names }: Limits,
): { first: number; last: number; step: number } | null {
  const [, from, to, by] = /^(\*|\?|\d+|[a-z]{3})(?:-(\d+|[a-z]{3}))?(?:\/(\d+))?$/iu.exec(item) ?? []
  if (from === undefined) return null
  const value = (text: string) => {
    const named = names?.indexOf(text.toUpperCase()) ?? -1
    return named >= 0 ? named + low : Number(text)
  }
  const step = by === undefined ? 1 : Number(by)
  const first = from === '*' || from === '?' ? low : value(from)
  const last =
    from === '*' || from === '?' ? high : to !== undefined ? value(to) : by === undefined ? first : high
  const inside = [first, last].every((number) => Number.isInteger(number) && number >= low && number <= high)
  return inside && step >= 1 ? { first, last, step } : null
}

/** The day with its separator: `-15`, or `~1` for the last. */
function days(text: string): string | null {
  const [, before] = /^l(?:-(\d+))?$/iu.exec(text) ?? []
  if (/^l/iu.test(text)) return /^l(?:-\d+)?$/iu.test(text) ? `~${1 + Number(before ?? 0)}` : null
  const day = component(text, DAY)
  return day === null ? null : `-${day}`
}

/** Names of days, and the days of the month that `#` and `L` mean. */
function weekdays(text: string): { names: string; days?: string } | null {
  const [, name = '', nth] = /^(\d|[a-z]{3})#([1-5])$/iu.exec(text) ?? []
  const [, lastName = ''] = /^(\d|[a-z]{3})l$/iu.exec(text) ?? []
  const special = name === '' ? lastName : name
  const chosen = new Set<number>()
  for (const item of (special === '' ? text : special).split(',')) {
    const range = readRange(item, WEEKDAY)
    if (range === null) return null
    const end =
      item.startsWith('*') || item.startsWith('?')
        ? 6
        : range.last < range.first
          ? range.last + 7
          : range.last
    for (let day = range.first; day <= end; day += range.step) chosen.add((day + 6) % 7)
  }
  const names = chosen.size === 7 ? '' : nameRanges(chosen)
  if (nth !== undefined) return { names, days: `-${7 * Number(nth) - 6}..${Math.min(7 * Number(nth), 31)}` }
  return lastName === '' ? { names } : { names, days: '~1..7' }
}

function nameRanges(days: ReadonlySet<number>): string {
  const parts: string[] = []
  for (let day = 0; day < 7; day += 1) {
    if (!days.has(day)) continue
    let last = day
    while (days.has(last + 1)) last += 1
    const names = WEEKDAY_NAMES.slice(day, last + 1)
    parts.push(names.length > 2 ? `${names[0]}..${names.at(-1)}` : names.join(','))
    day = last
  }
  return parts.join(',')
}
