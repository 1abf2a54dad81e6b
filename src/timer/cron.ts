/**
 * `cron <expression>`: the five fields of POSIX crontab, strictly, compiled to a union of calendar events, so
 * that one evaluator serves all timers.
 *
 * Strictly, because the dialects disagree about everything beyond POSIX: what one reads as Sunday is Saturday
 * to another. What is refused is refused with the calendar event that says it.
 */
import { type CalendarEvent, calendar } from '../calendar/index.ts'
import { calendarFor } from './cron-hint.ts'
import { CronSyntaxError } from './error.ts'
import type { Elapses, TimerSpec } from './timer.ts'

interface CronField {
  readonly name: string
  readonly low: number
  readonly high: number
}

export const CRON_FIELDS = [
  { name: 'minute', low: 0, high: 59 },
  { name: 'hour', low: 0, high: 23 },
  { name: 'day of the month', low: 1, high: 31 },
  { name: 'month', low: 1, high: 12 },
  { name: 'day of the week', low: 0, high: 6 },
] as const satisfies readonly CronField[]

export const CRON_WEEKDAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'] as const

/** Inclusive ranges; null is `*`. */
type Ranges = readonly (readonly [first: number, last: number])[] | null

/**
 * @param text  five fields, and perhaps a zone
 * @throws CronSyntaxError naming the field, the reason, and the calendar event that would do it
 */
export function cron(text: string): TimerSpec {
  const words = text.split(/\s+/u).filter((word) => word !== '')
  const zone = words.length === 6 && isZone(words[5] ?? '') ? words.pop() : undefined
  const refuse = (field: string, token: string, problem: string): never => {
    throw new CronSyntaxError(text, { field, token, problem, calendarEvent: calendarFor(words, zone) })
  }
  if (words.length === 1 && words[0]?.startsWith('@')) refuse('expression', words[0], 'macros are not POSIX')
  if (words.length !== 5) {
    const many =
      words.length === 6
        ? 'there are six fields, and POSIX has no seconds'
        : `five fields are needed, not ${words.length}`
    refuse('expression', text, many)
  }
  const [minutes, hours, days, months, weekdays] = CRON_FIELDS.map((field, index) =>
    ranges(words[index] ?? '', field, refuse),
  )
  const time = `${component(hours)}:${component(minutes)}:00${zone === undefined ? '' : ` ${zone}`}`
  const onDate = `*-${component(months)}-${component(days)} ${time}`
  const onWeekday = weekdays ? `${weekdayNames(weekdays)} *-${component(months)}-* ${time}` : onDate
  // Both restricted means either: the one rule of cron that no single calendar event can say.
  const texts = !weekdays ? [onDate] : days ? [onWeekday, onDate] : [onWeekday]
  const events = texts.map((event) => calendar(event, { fold: 'both' }))
  if (events.every((event) => event.next(new Date(0)) === null)) {
    refuse('day of the month', words[2] ?? '', 'it never fires, for no such month has that day')
  }
  return {
    kind: 'cron',
    text: `cron ${[...words, ...(zone === undefined ? [] : [zone])].join(' ')}`,
    zone: zone ?? 'UTC',
    spanMs: null,
    elapses: () => union(events),
  }
}

function ranges(
  text: string,
  field: CronField,
  refuse: (field: string, token: string, problem: string) => never,
): Ranges {
  if (text === '*') return null
  return text.split(',').map((item) => {
    const [, from, to] = /^(\d{1,2})(?:-(\d{1,2}))?$/u.exec(item) ?? []
    if (from === undefined) return refuse(field.name, item, problemOf(item, field))
    const first = Number(from)
    const last = to === undefined ? first : Number(to)
    for (const value of [first, last]) {
      if (value < field.low || value > field.high)
        refuse(field.name, item, `${value} is not between ${field.low} and ${field.high}`)
    }
    if (last < first) refuse(field.name, item, 'the range runs backwards')
    return [first, last]
  })
}

function problemOf(item: string, field: CronField): string {
  if (item === '') return 'an item of the list is empty'
  if (item.includes('/')) return 'steps are not POSIX'
  if (item === '?') return "'?' is not POSIX; write *"
  if (item === '*') return "'*' cannot stand in a list"
  if (/^\d*l(?:-\d+)?$/iu.test(item) || /^\d+w$/iu.test(item) || /^lw$/iu.test(item))
    return "'L' and 'W' are not POSIX"
  if (item.includes('#')) return "'#' is not POSIX"
  if (/^[a-z]{3}/iu.test(item)) return `names are not POSIX; write ${field.low} to ${field.high}`
  return `a number from ${field.low} to ${field.high}, a range or * is needed`
}

function component(of: Ranges | undefined): string {
  if (!of) return '*'
  return of.map(([first, last]) => (first === last ? String(first) : `${first}..${last}`)).join(',')
}

function weekdayNames(of: NonNullable<Ranges>): string {
  return CRON_WEEKDAYS.filter((_, day) => of.some(([first, last]) => day >= first && day <= last)).join(',')
}

function isZone(word: string): boolean {
  try {
    calendar('daily', { zone: word })
    return true
  } catch {
    return false
  }
}

function union(events: readonly CalendarEvent[]): Elapses {
  const [only, ...others] = events
  if (only !== undefined && others.length === 0) return only
  return {
    next: (after) =>
      pick(
        Math.min,
        events.map((event) => event.next(after)),
      ),
    previous: (at) =>
      pick(
        Math.max,
        events.map((event) => event.previous(at)),
      ),
  }
}

function pick(choose: (...times: number[]) => number, found: readonly (Date | null)[]): Date | null {
  const times = found.filter((date) => date !== null).map((date) => date.getTime())
  return times.length === 0 ? null : new Date(choose(...times))
}
