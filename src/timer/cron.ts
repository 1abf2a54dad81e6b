/**
 * `cron <expression>`: the five fields of POSIX crontab, strictly, compiled to a union of calendar events, so that one
 * evaluator serves all timers.
 *
 * Strictly, because the dialects disagree about everything beyond POSIX: what one reads as Sunday is Saturday to
 * another. Error messages suggest a calendar event with the intended meaning.
 */
import { calendar } from '../calendar/index.ts'
import { nearest } from '../nearest.ts'
import { zoneNames } from '../calendar/zone-names.ts'
import { endsWithYears, insteadOf } from './cron-hint.ts'
import { CronSyntaxError, InvalidTimeSpanError } from './error.ts'
import { timeSpan } from './span.ts'
import type { TimerSpec } from './elapses.ts'
import { union } from './union.ts'

interface CronField {
  readonly name: string
  readonly low: number
  readonly high: number
}

const CRON_FIELDS = [
  { name: 'minute', low: 0, high: 59 },
  { name: 'hour', low: 0, high: 23 },
  { name: 'day of the month', low: 1, high: 31 },
  { name: 'month', low: 1, high: 12 },
  { name: 'day of the week', low: 0, high: 6 },
] as const satisfies readonly CronField[]

const CRON_WEEKDAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'] as const

/** A word of the expression, and its offset. */
interface Word {
  readonly text: string
  readonly at: number
}

const NO_WORD: Word = { text: '', at: 0 }

type Refuse = (field: string, word: Word, problem: string) => never

/** The allowed values in ascending order; null is `*`. */
type Values = readonly number[] | null

/** A field in normal form, and its values. */
interface Read {
  readonly text: string
  readonly values: Values
}

/** A parsed expression. */
interface Expression {
  /** The fields in normal form. */
  readonly fields: string
  readonly zone: string | undefined
  /** The calendar events, without a zone, whose union is the expression. */
  readonly events: readonly string[]
}

/**
 * @param text  five fields, and optionally a zone
 * @throws CronSyntaxError naming the field, the reason, and the equivalent calendar event
 */
export function cron(text: string): TimerSpec {
  const { fields, zone, events } = expression(text)
  const suffix = zone === undefined ? '' : ` ${zone}`
  const elapses = union(events.map((event) => calendar(`${event}${suffix}`, { fold: 'both' })))
  return {
    kind: 'cron',
    text: `cron ${fields}${suffix}`,
    zone: zone ?? 'UTC',
    spanMs: null,
    elapses: () => elapses,
  }
}

/** The calendar events, without a zone, whose union is a cron timer. */
export function cronEvents({ text }: { readonly text: string }): readonly string[] {
  return expression(text.slice('cron '.length)).events
}

function expression(text: string): Expression {
  const words = Array.from(text.matchAll(/\S+/gu), (match): Word => ({ text: match[0], at: match.index }))
  const zone = words.length > 1 ? zoneNamed(words.at(-1)?.text ?? '') : undefined
  if (zone !== undefined) words.pop()
  const refuse: Refuse = (field, { text: token, at }, problem) => {
    // No dialect has more words, so the rest is not read.
    const few = words.slice(0, 8).map((word) => word.text)
    throw new CronSyntaxError(text, { field, token, at, problem, ...insteadOf(few, zone) })
  }
  if (words.length !== 5) refuseCount(words, text, refuse)
  const fields = CRON_FIELDS.map((field, index) => read(words[index] ?? NO_WORD, field, refuse))
  const [minutes, hours, days, months, weekdays] = fields.map(({ values }) => values)
  const events = eventTexts({ minutes, hours, days, months, weekdays })
  if (events.every((event) => calendar(event).next(new Date(0)) === null)) {
    const lacking = listed(months) ? 'none of these months has' : 'that month does not have'
    const lastDay = `*-${component(months)}~1 ${component(hours)}:${component(minutes).replace(/^\d$/u, '0$&')}`
    refuse(
      'day of the month',
      words[2] ?? NO_WORD,
      `it never fires, for ${lacking} such a day; the last day is ${lastDay}`,
    )
  }
  return { fields: fields.map((field) => field.text).join(' '), zone, events }
}

interface AllValues {
  readonly minutes: Values | undefined
  readonly hours: Values | undefined
  readonly days: Values | undefined
  readonly months: Values | undefined
  readonly weekdays: Values | undefined
}

function eventTexts({ minutes, hours, days, months, weekdays }: AllValues): string[] {
  const time = `${component(hours)}:${component(minutes)}:00`
  const onDate = `*-${component(months)}-${component(days)} ${time}`
  if (!weekdays) return [onDate]
  const onWeekday = `${weekdays.map((day) => CRON_WEEKDAYS[day]).join(',')} *-${component(months)}-* ${time}`
  // If both are restricted, either is enough: the only rule of cron that no single calendar event can express.
  return days ? [onWeekday, onDate] : [onWeekday]
}

function refuseCount(words: readonly Word[], text: string, refuse: Refuse): void {
  const [first = NO_WORD, second] = words
  const whole: Word = { text: text.trim(), at: first.at }
  if (first.text.startsWith('@')) refuse('expression', first, macroProblem(first.text, second?.text))
  const last = words.at(-1)
  // No dialect has four letters in a row, so this must be meant as a zone.
  if (words.length >= 6 && last !== undefined && /[a-z]{4}/iu.test(last.text))
    refuse('zone', last, noSuchZone(last.text))
  if (words.length === 6 && endsWithYears(words.map((word) => word.text)))
    refuse('expression', whole, 'there are six fields, and POSIX has no years')
  if (words.length === 6) refuse('expression', whole, 'there are six fields, and POSIX has no seconds')
  if (words.length === 7)
    refuse('expression', whole, 'there are seven fields, and POSIX has neither seconds nor years')
  refuse('expression', whole, `five fields are needed, not ${words.length}`)
}

function macroProblem(macro: string, span: string | undefined): string {
  if (macro.toLowerCase() === '@reboot') return 'macros are not POSIX, and this one is no time of the clock'
  if (macro.toLowerCase() !== '@every' || span === undefined) return 'macros are not POSIX'
  try {
    timeSpan(span)
    return `macros are not POSIX; the timer that says it: every ${span}`
  } catch (error) {
    if (error instanceof InvalidTimeSpanError) return 'macros are not POSIX; write a timer such as every 5min'
    throw error
  }
}

function read(word: Word, field: CronField, refuse: Refuse): Read {
  if (word.text === '*') return { text: '*', values: null }
  const allowed = new Set<number>()
  const texts: string[] = []
  let at = word.at
  for (const item of word.text.split(',')) {
    const token: Word = { text: item, at }
    const [, from, to] = /^(\d{1,2})(?:-(\d{1,2}))?$/u.exec(item) ?? []
    if (from === undefined) return refuse(field.name, token, problemOf(item, field))
    const first = Number(from)
    const last = to === undefined ? first : Number(to)
    for (const value of [first, last]) {
      if (value < field.low || value > field.high) refuse(field.name, token, outOfRange(value, field))
    }
    if (last < first) refuse(field.name, token, 'the range runs backwards')
    for (let value = first; value <= last; value += 1) allowed.add(value)
    texts.push(to === undefined ? `${first}` : `${first}-${last}`)
    at += item.length + 1
  }
  return { text: texts.join(','), values: [...allowed].toSorted((a, b) => a - b) }
}

function outOfRange(value: number, { name, low, high }: CronField): string {
  const sunday = name === 'day of the week' && value === 7 ? ', Sunday is 0' : ''
  return `${value} is not between ${low} and ${high}${sunday}`
}

function problemOf(item: string, field: CronField): string {
  if (item === '') return 'an item of the list is empty'
  if (/^h(?:[(/]|$)/iu.test(item)) return "'H' is not POSIX; the jitter of a schedule spreads its runs"
  const [, step] = /\/(\d{1,9})$/u.exec(item) ?? []
  if (step !== undefined && Number(step) > field.high - field.low + 1)
    return `steps are not POSIX, and this one is longer than the field; a timer such as every ${step}min may be meant`
  if (item.includes('/')) return 'steps are not POSIX'
  if (item === '?') {
    const quartz = field.name === 'day of the week' || field.name === 'day of the month'
    return `'?' is not POSIX; write *${quartz ? ' (where ? is known, weekdays are often 1 to 7 from Sunday; here 0 to 6)' : ''}`
  }
  if (item === '*') return "'*' cannot stand in a list"
  if (/^(?:\d{1,2}|l)w$/iu.test(item))
    return "'W' is not POSIX, and no calendar event says the nearest workday"
  if (/^(?:\d{0,2}|[a-z]{3})l(?:-\d{1,2})?$/iu.test(item)) return "'L' is not POSIX"
  if (item.includes('#')) return "'#' is not POSIX"
  if (/^[a-z]{3}/iu.test(item)) return `names are not POSIX; write ${field.low} to ${field.high}`
  return `a number from ${field.low} to ${field.high}, a range or * is needed`
}

/** The field as a calendar event writes it: `1,2,5`. */
function component(values: Values | undefined): string {
  return values ? values.join(',') : '*'
}

function listed(values: Values | undefined): boolean {
  return !values || values.length > 1
}

/** The normalised name of a zone; undefined when there is none. */
function zoneNamed(word: string): string | undefined {
  // No zone name is that long, and every zone name has a letter.
  if (word.length > 64 || !/[a-z]/iu.test(word)) return undefined
  try {
    return calendar(`daily ${word}`).zone
  } catch {
    return undefined
  }
}

function noSuchZone(word: string): string {
  if (word === 'local') return "here it needs its name; 'local' is for options only"
  const meant = nearest(word, zoneNames())
  const hint =
    meant === undefined ? "an IANA name such as 'Europe/Berlin' is needed" : `did you mean ${meant}?`
  return `there is no such zone; ${hint}`
}
