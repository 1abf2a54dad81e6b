/**
 * `cron <expression>`: the five fields of crontab, compiled to a union of calendar events, so that one evaluator serves
 * all timers.
 *
 * It accepts only syntax that cron daemons and libraries read in the same way: `*`, numbers, lists, ranges, steps,
 * names, 7 for Sunday, and macros such as `@daily`. Daemons and libraries disagree about the rest, so it is rejected
 * with an error that, where possible, suggests a timer with the intended meaning:
 *
 * - `5/15` is 5, 20, 35 and 50 to most libraries, and 5 or an error to daemons.
 * - `FRI-MON` and `22-2` wrap around in some programs, and are errors in others.
 * - Next to a restricted weekday, a `*` with a step as the day of the month excludes days in daemons, where both must
 *   match, but adds days in most libraries, where one match is enough. The same applies to a `*` with a step as the
 *   weekday.
 * - Six fields begin with seconds in some programs, and end with years in others. Next to `?`, weekdays often count
 *   from 1.
 *
 * `cron! <expression>` accepts only POSIX syntax: `*`, numbers, lists and ranges.
 */
import { calendar } from '../calendar/index.ts'
import { nearest } from '../nearest.ts'
import { findZone, zoneNames } from '../calendar/zone-names.ts'
import {
  CRON_FIELDS,
  type CronField,
  elapsing,
  endsWithYears,
  eventOf,
  insteadOf,
  MACROS,
} from './cron-event.ts'
import { CronSyntaxError, InvalidTimeSpanError } from './error.ts'
import { timeSpan } from './span.ts'
import { type TimerSpec, union } from './elapses.ts'

const ITEM = /^(\*(?=\/)|\d{1,2}(?!\/))(?:-(\d{1,2}))?(?:\/(\d{1,2}))?$/u
const POSIX_ITEM = /^(\d{1,2})(?:-(\d{1,2}))?$/u

interface Word {
  readonly text: string
  readonly at: number
}

const NO_WORD: Word = { text: '', at: 0 }

type Refuse = (field: string, word: Word, problem: string) => never

/** `crontab` is `cron` as daemons read it: if the day of the month or the weekday begins with *, both must match. */
type Dialect = 'cron' | 'cron!' | 'crontab'

interface Expression {
  /** The fields in normal form. */
  readonly fields: string
  readonly zone: string | undefined
  /** The calendar events, without a zone, whose union is the expression. */
  readonly events: readonly string[]
}

/** @param text  five fields or a macro, and optionally a zone @throws CronSyntaxError */
export function cron(text: string, dialect: 'cron' | 'cron!'): TimerSpec {
  const { fields, zone, events } = expression(text, dialect)
  const suffix = zone === undefined ? '' : ` ${zone}`
  const elapses = union(events.map((event) => calendar(`${event}${suffix}`, { fold: 'both' })))
  return {
    kind: 'cron',
    text: `${dialect} ${fields}${suffix}`,
    zone: zone ?? 'UTC',
    spanMs: null,
    elapses: () => elapses,
  }
}

/** The calendar events, without a zone, whose union is a cron timer. */
export function cronEvents({ text }: { readonly text: string }): readonly string[] {
  return expression(text.replace(/^cron!? /u, ''), 'cron').events
}

/** @throws CronSyntaxError */
export function expression(text: string, dialect: Dialect): Expression {
  const strict = dialect === 'cron!'
  const words = Array.from(text.matchAll(/\S+/gu), (match): Word => ({ text: match[0], at: match.index }))
  const zone = words.length > 1 ? zoneNamed(words.at(-1)?.text ?? '') : undefined
  if (zone !== undefined) words.pop()
  const suffix = zone === undefined ? '' : ` ${zone}`
  const refuse: Refuse = (field, { text: token, at }, problem) => {
    // No dialect uses more words, so the rest is not read.
    const few = words.slice(0, 8).map((word) => word.text)
    throw new CronSyntaxError(text, { strict, field, token, at, problem, ...insteadOf(few, suffix) })
  }
  const [macro] = (words.length === 1 && MACROS.get(words[0]?.text.toLowerCase() ?? '')) || []
  if (macro !== undefined && !strict) return { ...expression(macro, dialect), zone }
  if (words.length !== 5) refuseCount(words, text, strict, refuse)
  const fields = CRON_FIELDS.map((field, index) => read(words[index] ?? NO_WORD, field, strict, refuse))
  const [minute = '', hour = '', day = '', month = '', weekday = ''] = fields
  const onDate = [minute, hour, day, month, '*']
  const onWeekday = [minute, hour, '*', month, weekday]
  const days = [words[2] ?? NO_WORD, words[4] ?? NO_WORD]
  const star = days.every((word) => word.text !== '*') && days.find((word) => word.text.startsWith('*'))
  if (star && dialect !== 'crontab') {
    const either = [minute, hour, day.replace(/^\*/u, '1-31'), month, weekday.replace(/^\*/u, '0-6')]
    throw new CronSyntaxError(text, {
      strict,
      field: star === days[0] ? 'day of the month' : 'day of the week',
      token: star.text,
      at: star.at,
      problem:
        'programs disagree on whether both the day of the month and the day of the week must match, or only one of them',
      calendarEvent: elapsing(`${eventOf(fields)}${suffix}`),
      fields: `${either.join(' ')}${suffix}`,
    })
  }
  // If the day of the month and the weekday are both restricted, one match is enough. This is the only rule of cron
  // that no single calendar event can express.
  const single = star || day === '*' || weekday === '*'
  const events = (single ? [fields] : [onWeekday, onDate]).map(eventOf).filter((event) => event !== null)
  if (events.every((event) => elapsing(event) === null)) {
    const lacking =
      month === '*' || /\D/u.test(month) ? 'none of these months has' : 'that month does not have'
    const lastDay = eventOf([minute, hour, 'L', month, '*'])
    refuse(
      'day of the month',
      words[2] ?? NO_WORD,
      `it never fires, because ${lacking} such a day; for the last day, write ${lastDay}`,
    )
  }
  return { fields: fields.join(' '), zone, events }
}

function refuseCount(words: readonly Word[], text: string, strict: boolean, refuse: Refuse): void {
  const [first = NO_WORD, second] = words
  const whole: Word = { text: text.trim(), at: first.at }
  if (first.text.startsWith('@')) refuse('expression', first, macroProblem(first.text, second?.text, strict))
  const last = words.at(-1)
  // No dialect uses four letters in a row, so this must be meant as a zone.
  if (words.length >= 6 && last !== undefined && /[a-z]{4}/iu.test(last.text))
    refuse('zone', last, noSuchZone(last.text))
  const syntax = syntaxName(strict)
  if (words.length === 6 && endsWithYears(words.map((word) => word.text)))
    refuse('expression', whole, `there are six fields, and ${syntax} has no years`)
  if (words.length === 6) refuse('expression', whole, `there are six fields, and ${syntax} has no seconds`)
  if (words.length === 7)
    refuse('expression', whole, `there are seven fields, and ${syntax} has neither seconds nor years`)
  refuse('expression', whole, `must have five fields, got ${words.length}`)
}

function syntaxName(strict: boolean): string {
  return strict ? 'POSIX' : 'crontab syntax'
}

function macroProblem(macro: string, span: string | undefined, strict: boolean): string {
  const problem = strict ? 'macros are not POSIX' : 'only the macros from @hourly to @yearly are supported'
  if (macro.toLowerCase() === '@reboot') return `${problem}, and this one is not a time of day`
  if (macro.toLowerCase() !== '@every' || span === undefined) return problem
  try {
    timeSpan(span)
    return `${problem}; write the timer every ${span}`
  } catch (error) {
    if (error instanceof InvalidTimeSpanError) return `${problem}; write a timer such as every 5min`
    throw error
  }
}

/** @returns the field in normal form */
function read(word: Word, field: CronField, strict: boolean, refuse: Refuse): string {
  if (word.text === '*') return '*'
  const { name, low, high, names } = field
  const end = strict || name !== 'day of the week' ? high : 7
  const texts = new Set<string>()
  let at = word.at
  for (const item of word.text.split(',')) {
    const token: Word = { text: item, at }
    at += item.length + 1
    const digits = item.replaceAll(/\b[a-z]{3}\b/giu, (text) => {
      const index = names?.indexOf(text.toUpperCase()) ?? -1
      return strict || index < 0 ? text : String(low + index)
    })
    const [, from, to, by = '1'] = (strict ? POSIX_ITEM : ITEM).exec(digits) ?? []
    const step = Number(by)
    if (from === undefined || step < 1 || step > high - low + 1)
      return refuse(name, token, problemOf(item, field, strict))
    if (from === '*') {
      texts.add(`*/${step}`)
      continue
    }
    const first = Number(from)
    let last = Number(to ?? from)
    for (const value of [first, last]) {
      if (value >= low && value <= end) continue
      const sunday = value === 7 && name === 'day of the week' ? '; Sunday is 0' : ''
      refuse(name, token, `${value} is not between ${low} and ${end}${sunday}`)
    }
    if (last < first) refuse(name, token, 'the range runs backwards')
    if (last > high) {
      // Sunday is 0 in the normal form: 5-7 becomes 0,5-6.
      if (first > low && (last - first) % step === 0) texts.add('0')
      last = high
    }
    if (first === last) texts.add(`${first}`)
    if (first < last) texts.add(`${first}-${last}${step === 1 ? '' : `/${step}`}`)
  }
  const text = [...texts].join(',')
  return text === '*/1' ? '*' : text
}

function problemOf(item: string, { name, low, high, names, unit }: CronField, strict: boolean): string {
  const syntax = syntaxName(strict)
  if (item === '') return 'an item of the list is empty'
  if (/^h(?:[(/]|$)/iu.test(item)) return `'H' is not ${syntax}; the jitter of a schedule spreads its runs`
  const [, step] = /\/(\d{1,9})$/u.exec(item) ?? []
  if (step !== undefined && Number(step) > high - low + 1)
    return `${strict ? 'steps are not POSIX, and this one' : 'the step'} is longer than the field${
      unit === undefined ? '' : `; consider a timer such as every ${step}${unit}`
    }`
  if (item.includes('/'))
    return strict ? 'steps are not POSIX' : `a step follows * or a range, as in */2 or ${low}-${high}/2`
  if (item === '?') {
    const quartz = name === 'day of the week' || name === 'day of the month'
    return `'?' is not ${syntax}; write *${quartz ? ' (where ? is known, weekdays are often 1 to 7 from Sunday; here 0 to 6)' : ''}`
  }
  if (item === '*') return "'*' is not allowed in a list"
  if (/^(?:\d{1,2}|l)w$/iu.test(item))
    return `'W' is not ${syntax}, and no calendar event can express the nearest workday`
  if (/^(?:\d{0,2}|[a-z]{3})l(?:-\d{1,2})?$/iu.test(item)) return `'L' is not ${syntax}`
  if (item.includes('#')) return `'#' is not ${syntax}`
  if (strict && /^[a-z]{3}/iu.test(item)) return `names are not POSIX; write ${low} to ${high}`
  const named = strict || names === undefined ? '' : `, a name from ${names[0]} to ${names.at(-1)}`
  return `must be a number from ${low} to ${high}${named}, a range or *`
}

function zoneNamed(word: string): string | undefined {
  return /^utc$/iu.test(word) ? 'UTC' : findZone(word)?.name
}

function noSuchZone(word: string): string {
  if (word === 'local') return "use its name here; 'local' is only for options"
  const meant = nearest(word, zoneNames())
  const hint = meant === undefined ? "must be an IANA name such as 'Europe/Berlin'" : `did you mean ${meant}?`
  return `unknown zone; ${hint}`
}
