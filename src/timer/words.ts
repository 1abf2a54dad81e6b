/**
 * A timer in words, for people who do not read calendar events.
 *
 * What is common is said as people say it; what is not is said exactly rather than prettily.
 */
import { calendar } from '../calendar/index.ts'
import { cronEvents } from './cron.ts'
import { spanWords } from './span.ts'
import type { Timer } from './timer.ts'

const WEEKDAYS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday']
const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
]
/** February is mostly that short. */
const MONTH_LENGTHS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
const LAST_YEAR = 2199
/** More times of a day than these are not listed. */
const MOST_LISTED = 8

/** @returns such as `at 09:00, Monday to Friday (Europe/Berlin)` */
export function inWords(timer: Timer): string {
  switch (timer.kind) {
    case 'every':
      return `every ${everyWords(timer.spanMs ?? 0)}, counted from the creation of the schedule`
    case 'after finish':
      return `${spanWords(timer.spanMs ?? 0)} after the end of each run`
    case 'cron': {
      const [first, second] = cronEvents(timer).map((text) => eventWords(String(calendar(text))))
      if (first === undefined) return timer.text
      // With two the time is the same: by day of the week, and by day of the month.
      const on = second === undefined ? first.on : `${first.on}, and ${second.on}`
      return sentence({ ...first, on }, timer.zone)
    }
    case 'calendar':
      return sentence(eventWords(timer.text), timer.zone)
  }
}

/** `minute` or `5 minutes` */
function everyWords(spanMs: number): string {
  return spanWords(spanMs).replace(/^1 (\w+)$/u, '$1')
}

/** When on a day, and on which days. */
interface EventWords {
  readonly time: string
  /** Empty: on every day. */
  readonly on: string
  /** The time is the same in each hour, and so in nearly every zone. */
  readonly hourly: boolean
}

function sentence({ time, on, hourly }: EventWords, zone: string): string {
  if (on === '')
    return hourly ? `${time}${zone === 'UTC' ? '' : ` (${zone})`}` : `${time} every day (${zone})`
  // Every 5 minutes of every day in January: the day needs no saying.
  const days = hourly ? on.replace(/^every day (?=in |from )/u, '') : on
  const joined = /^(?:on|in|every|from) /u.test(days) ? ' ' : ', '
  return `${time}${joined}${days} (${zone})`
}

/** @param text  a calendar event in normal form; a zone is passed over */
function eventWords(text: string): EventWords {
  const [
    ,
    weekdays = '',
    years = '',
    months = '',
    separator,
    days = '',
    hours = '',
    minutes = '',
    seconds = '',
  ] = /^(?:([A-Z][\w.,]+) )?([^ ~-]+)-([^ ~-]+)([-~])([^ ]+) ([^:]+):([^:]+):([^ ]+)/u.exec(text) ?? []
  const date: DateSets = {
    years: values(years, LAST_YEAR),
    months: values(months, 12),
    days: separator === '~' ? valuesFromEnd(days) : values(days, 31),
    fromEnd: separator === '~',
  }
  const chosen = weekdayNumbers(weekdays)
  return {
    time: timeWords(values(hours, 23), values(minutes, 59), seconds),
    on: chosen === null ? dateWords(date) : weekdayWords(chosen, date),
    hourly: hours === '*',
  }
}

/** The allowed values in ascending order; null: any. */
type Values = readonly number[] | null

function values(field: string, high: number): Values {
  if (field === '*') return null
  const found = new Set<number>()
  for (const { first, last, step } of items(field))
    for (let value = first; value <= (last ?? high); value += step) found.add(value)
  return [...found].toSorted((a, b) => a - b)
}

/** Behind `~` an open repetition counts down to the last day. */
function valuesFromEnd(field: string): Values {
  const found = new Set<number>()
  for (const { first, last, step } of items(field)) {
    if (last === null) for (let value = first; value >= 1; value -= step) found.add(value)
    else for (let value = first; value <= last; value += step) found.add(value)
  }
  return [...found].toSorted((a, b) => a - b)
}

/** The items of a list; `last` is null when the repetition is open. */
function items(field: string): { first: number; last: number | null; step: number }[] {
  return field.split(',').map((item) => {
    const [, first, last, step] = /^([\d.]*?\d)(?:\.\.([\d.]+))?(?:\/([\d.]+))?$/u.exec(item) ?? []
    const open = last === undefined && step !== undefined
    return {
      first: Number(first),
      last: last !== undefined ? Number(last) : open ? null : Number(first),
      step: Number(step ?? 1),
    }
  })
}

// --- the time of day ---

function timeWords(hours: Values, minutes: Values, secondField: string): string {
  if (secondField === '00') return hours === null ? ofEveryHour(minutes) : ofHours(hours, minutes)
  const [hour, minute] = [single(hours), single(minutes)]
  const every = secondField === '*' ? 1 : evenStep(secondField)
  if (every !== null) {
    const words = every === 1 ? 'every second' : `every ${every} seconds`
    if (hours === null && minutes === null) return words
    if (hour !== null && minute !== null) {
      const time = clockTime(hour, minute)
      return `${words} from ${time}:00 to ${time}:${60 - every}`
    }
    return `${words} of ${minuteOf(minutes)}${hourOf(hours, minutes)}`
  }
  // With fractions they are not taken apart: there may be millions in a minute.
  const seconds = /\.\d/u.test(secondField) ? null : values(secondField, 59)
  if (hours !== null && minutes !== null) {
    const shown = /^\d\d(?:\.\d+)?$/u.test(secondField)
      ? [secondField.replace(/(\.\d*?)0+$/u, '$1')]
      : seconds?.map(two)
    if (shown !== undefined && hours.length * minutes.length * shown.length <= MOST_LISTED)
      return `at ${enumeration(clockTimes(hours, minutes).flatMap((time) => shown.map((second) => `${time}:${second}`)))}`
  }
  const several = /[^\d.]|\.\./u.test(secondField) ? 's' : ''
  const list = seconds === null ? fractionWords(secondField) : numbers(seconds)
  return `at second${several} ${list} of ${minuteOf(minutes)}${hourOf(hours, minutes)}`
}

/** The `10` of `00/10`, when it divides the minute evenly. */
function evenStep(secondField: string): number | null {
  const step = Number(/^00\/([\d.]+)$/u.exec(secondField)?.[1])
  return Number.isInteger(60_000_000 / Math.round(step * 1_000_000)) ? step : null
}

function minuteOf(minutes: Values): string {
  if (minutes === null) return 'every minute'
  return `${minutes.length === 1 ? 'minute' : 'minutes'} ${numbers(minutes)}`
}

function hourOf(hours: Values, minutes: Values): string {
  if (hours === null) return minutes === null ? '' : ' of every hour'
  return ` of ${hours.length === 1 ? 'hour' : 'hours'} ${numbers(hours)}`
}

function fractionWords(field: string): string {
  return enumeration(
    items(field).map(({ first, last, step }) => {
      const range = last === null ? `${trimmed(first)} and on` : `${trimmed(first)} to ${trimmed(last)}`
      if (first === last) return trimmed(first)
      return `${range} in steps of ${trimmed(step)}`
    }),
  )
}

function trimmed(number: string | number): string {
  return String(Number(number))
}

function ofEveryHour(minutes: Values): string {
  if (minutes === null) return 'every minute'
  if (single(minutes) === 0) return 'every hour'
  const step = evenSteps(minutes, 60)
  if (step !== null) return step === 1 ? 'every minute' : `every ${step} minutes`
  return `at ${minuteOf(minutes)} of every hour`
}

function ofHours(hours: readonly number[], minutes: Values): string {
  const minute = single(minutes)
  const [firstHour = 0] = hours
  const lastHour = hours.at(-1) ?? 0
  const inARow = lastHour - firstHour === hours.length - 1
  if (minute !== null) {
    const [first, last] = [clockTime(firstHour, minute), clockTime(lastHour, minute)]
    if (inARow && hours.length > 3) return `every hour from ${first} to ${last}`
    const step = evenSteps(hours, 24)
    if (step !== null && hours.length > 3) return `every ${step} hours from ${first}`
  }
  if (minutes !== null && hours.length * minutes.length <= MOST_LISTED)
    return `at ${enumeration(clockTimes(hours, minutes))}`
  const step = minutes === null ? 1 : evenSteps(minutes, 60)
  if (step !== null && minute === null) {
    const every = step === 1 ? 'every minute' : `every ${step} minutes`
    if (inARow) return `${every} from ${clockTime(firstHour, 0)} to ${clockTime(lastHour, 60 - step)}`
    return `${every} of the hours ${numbers(hours)}`
  }
  return `at ${minuteOf(minutes)} of ${hours.length === 1 ? 'hour' : 'the hours'} ${numbers(hours)}`
}

function clockTimes(hours: readonly number[], minutes: readonly number[]): string[] {
  return hours.flatMap((hour) => minutes.map((minute) => clockTime(hour, minute)))
}

function clockTime(hour: number, minute: number): string {
  return `${two(hour)}:${two(minute)}`
}

/** The step of values that begin with 0 and divide the whole evenly. */
function evenSteps(of: readonly number[], whole: number): number | null {
  const step = whole / of.length
  return of.length > 1 && of.every((value, index) => value === index * step) ? step : null
}

// --- the days ---

interface DateSets {
  readonly years: Values
  readonly months: Values
  readonly days: Values
  readonly fromEnd: boolean
}

function weekdayNumbers(names: string): readonly number[] | null {
  if (names === '') return null
  return names.split(',').flatMap((item) => {
    const [first = '', last = first] = item.split('..')
    return range(weekdayNumber(first), weekdayNumber(last))
  })
}

function weekdayNumber(name: string): number {
  return WEEKDAYS.findIndex((weekday) => weekday.startsWith(name))
}

/** Empty: on every day. */
function dateWords({ years, months, days, fromEnd }: DateSets): string {
  const inYears = years === null ? '' : ` ${inYearsWords(years)}`
  const month = single(months)
  if (days === null) {
    if (months === null) return years === null ? '' : `every day${inYears}`
    return `every day ${inMonths(months)}${inYears}`
  }
  const day = single(days)
  if (day !== null && month !== null && !fromEnd) {
    const date = `on ${day} ${MONTHS[month - 1]}`
    if (day === 29 && month === 2 && years === null) return `${date} in leap years`
    const year = single(years)
    return year === null ? `${date}${years === null ? ' every year' : inYears}` : `${date} ${year}`
  }
  return `on the ${fromEnd ? fromEndWords(days) : ordinals(days)} ${ofMonths(months, fromEnd ? 1 : (day ?? 1))}${inYears}`
}

function weekdayWords(chosen: readonly number[], date: DateSets): string {
  const { years, months, days, fromEnd } = date
  const inYears = years === null ? '' : ` ${inYearsWords(years)}`
  const weekday = single(chosen)
  const name = weekday === null ? '' : (WEEKDAYS[weekday] ?? '')
  const which = weekday === null || days === null ? null : whichOfMonth(days, fromEnd)
  if (which !== null)
    return `on the ${which} ${name} ${ofMonths(months, which === 'fifth' ? 32 : 1)}${inYears}`
  const on = weekdayNames(chosen, name)
  if (days === null) return `${on}${months === null ? '' : ` ${inMonths(months)}`}${inYears}`
  if (single(years) !== null && single(months) !== null && single(days) !== null && !fromEnd)
    return `${dateWords(date)}, if that is ${name === '' ? `one of ${enumeration(chosen.map((day) => WEEKDAYS[day] ?? ''))}` : `a ${name}`}`
  return `${on}, but only ${dateWords(date)}`
}

function weekdayNames(chosen: readonly number[], name: string): string {
  if (name !== '') return `every ${name}`
  const names = joinedRuns(chosen, (day) => WEEKDAYS[day] ?? '')
  return / to /u.test(names) && !/,| and /u.test(names) ? names : `on ${names}`
}

/** `first` to `fifth`, `last`: the weeks of a month that a weekday falls into. */
function whichOfMonth(days: readonly number[], fromEnd: boolean): string | null {
  const [first = 0] = days
  const last = days.at(-1) ?? 0
  if (last - first !== days.length - 1) return null
  if (fromEnd) {
    if (first % 7 !== 1 || last !== first + 6) return null
    return ['last', 'second last', 'third last', 'fourth last'][(first - 1) / 7] ?? null
  }
  if (first % 7 !== 1 || last !== Math.min(first + 6, 31)) return null
  return ['first', 'second', 'third', 'fourth', 'fifth'][(first - 1) / 7] ?? null
}

/** `in 2026 and 2028`, `from 2026 to 2030` */
function inYearsWords(years: readonly number[]): string {
  const text = numbers(years)
  return /^\d+ to \d+$/u.test(text) ? `from ${text}` : `in ${text}`
}

/** `in January and July`, `from January to March` */
function inMonths(months: readonly number[]): string {
  const [first = 1] = months
  const last = months.at(-1) ?? 1
  if (months.length > 2 && last - first === months.length - 1)
    return `from ${MONTHS[first - 1]} to ${MONTHS[last - 1]}`
  return `in ${enumeration(months.map((month) => MONTHS[month - 1] ?? ''))}`
}

/** @param day  that some of the months do not have it is said; 32: that none is sure to have it */
function ofMonths(months: Values, day: number): string {
  const having = (months ?? [2]).some((month) => day > (MONTH_LENGTHS[month - 1] ?? 0)) ? ' that has one' : ''
  if (months === null) return `of every month${having}`
  const [first = 1] = months
  const last = months.at(-1) ?? 1
  if (months.length > 2 && last - first === months.length - 1)
    return `of every month from ${MONTHS[first - 1]} to ${MONTHS[last - 1]}${having}`
  const some = enumeration(months.map((month) => MONTHS[month - 1] ?? ''))
  return `of ${some}${having === '' ? '' : ', where there is one'}`
}

function fromEndWords(days: readonly number[]): string {
  const [first = 1] = days
  const last = days.at(-1) ?? 1
  if (days.length > 2 && last - first === days.length - 1)
    return first === 1 ? `last ${days.length} days` : `${nameFromEnd(last)} to ${nameFromEnd(first)} day`
  return `${enumeration(days.toReversed().map(nameFromEnd))} day`
}

function nameFromEnd(day: number): string {
  return day === 1 ? 'last' : `${ordinal(day)} last`
}

function ordinals(days: readonly number[]): string {
  return listed(days, ordinal)
}

function ordinal(day: number): string {
  const ending = day > 10 && day < 14 ? 'th' : (['th', 'st', 'nd', 'rd'][day % 10] ?? 'th')
  return `${day}${ending}`
}

// --- lists ---

function numbers(of: readonly number[]): string {
  return listed(of, String)
}

/** `1, 5 and 9 to 12`; a long row in equal steps as `0, 7, 14 … 56`. */
function listed(of: readonly number[], name: (value: number) => string): string {
  const [first = 0, second = 0, third = 0] = of
  const step = second - first
  if (of.length > 6 && step > 1 && of.every((value, index) => value === first + index * step))
    return `${[first, second, third].map(name).join(', ')} … ${name(of.at(-1) ?? 0)}`
  return joinedRuns(of, name)
}

function joinedRuns(of: readonly number[], name: (value: number) => string): string {
  const runs: number[][] = []
  for (const value of of) {
    const run = runs.at(-1)
    if (run?.at(-1) === value - 1) run.push(value)
    else runs.push([value])
  }
  return enumeration(
    runs.flatMap((run) =>
      run.length > 2 ? [`${name(run[0] ?? 0)} to ${name(run.at(-1) ?? 0)}`] : run.map(name),
    ),
  )
}

function enumeration(parts: readonly string[]): string {
  return parts.length < 2 ? (parts[0] ?? '') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`
}

function single(of: Values): number | null {
  return of?.length === 1 ? (of[0] ?? null) : null
}

function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index)
}

function two(value: number): string {
  return String(value).padStart(2, '0')
}
