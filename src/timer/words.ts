/** A timer in words, for people who do not read calendar events. */
import { calendar } from '../calendar/index.ts'
import { CRON_WEEKDAYS } from './cron.ts'
import type { Timer } from './timer.ts'

const WEEKDAYS: Readonly<Record<string, string>> = {
  Mon: 'Monday',
  Tue: 'Tuesday',
  Wed: 'Wednesday',
  Thu: 'Thursday',
  Fri: 'Friday',
  Sat: 'Saturday',
  Sun: 'Sunday',
}
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

/** @returns such as `at 09:00 on Monday to Friday, Europe/Berlin time` */
export function inWords(timer: Timer): string {
  switch (timer.kind) {
    case 'every':
      return `${timer.text}, counted from the creation of the schedule`
    case 'after finish':
      return `${timer.text.slice(0, -' finish'.length)} the end of each run`
    case 'cron':
      return cronWords(timer)
    case 'calendar':
      return `${eventWords(timer.text)}, ${timer.zone} time`
  }
}

function cronWords({ text, zone }: Timer): string {
  const [minute, hour, day = '*', month, weekday = '*'] = text.split(' ').slice(1)
  const suffix = `${hour}:${minute}:00`.replaceAll('-', '..')
  const months = (month ?? '*').replaceAll('-', '..')
  const onDays = `*-${months}-${day.replaceAll('-', '..')} ${suffix}`
  if (weekday === '*') return `${eventWords(String(calendar(onDays)))}, ${zone} time`
  const byWeekday = eventWords(String(calendar(`${cronWeekdays(weekday)} *-${months}-* ${suffix}`)))
  return day === '*'
    ? `${byWeekday}, ${zone} time`
    : `${byWeekday}, and ${eventWords(String(calendar(onDays)))}, ${zone} time`
}

/** Cron's week begins on Sunday, so its ranges are written out. */
function cronWeekdays(field: string): string {
  const days = field.split(',').flatMap((item) => {
    const [first = 0, last = first] = item.split('-').map(Number)
    return Array.from({ length: last - first + 1 }, (_, index) => CRON_WEEKDAYS[first + index])
  })
  return days.join(',')
}

/** @param text  a calendar event in normal form */
function eventWords(text: string): string {
  const [
    ,
    weekdays,
    years = '*',
    months = '*',
    separator,
    days = '*',
    hours = '*',
    minutes = '*',
    seconds = '*',
  ] = /^(?:([A-Z][\w.,]+) )?([^ ~-]+)-([^ ~-]+)([-~])([^ ]+) ([^:]+):([^:]+):([^ ]+)/u.exec(text) ?? []
  const time = timeWords(hours, minutes, seconds)
  const date = dateWords(years, months, separator === '~', days)
  const week = weekdays === undefined ? '' : listWords(weekdays, (name) => WEEKDAYS[name] ?? name)
  const on = week === '' ? date : `on ${week}${dateOfWeekday(date)}`
  if (on === '') return time.startsWith('every') ? time : `${time} every day`
  return `${time} ${on}`
}

/** `, if that is day 1 to 7 of every month`, or ` in January`. */
function dateOfWeekday(date: string): string {
  if (date === '') return ''
  return date.startsWith('every day ')
    ? date.slice('every day'.length)
    : `, if that is ${date.slice('on '.length)}`
}

function timeWords(hours: string, minutes: string, seconds: string): string {
  if (
    [hours, minutes, seconds].every((field) => /^[\d.,]+$/u.test(field) && !field.includes('..')) &&
    hours.split(',').length * minutes.split(',').length <= 12
  ) {
    if (!seconds.includes(',')) {
      const times = hours
        .split(',')
        .flatMap((hour) =>
          minutes.split(',').map((minute) => `${hour}:${minute}${seconds === '00' ? '' : `:${seconds}`}`),
        )
      return `at ${enumeration(times)}`
    }
  }
  if (hours === '*' && minutes === '*')
    return seconds === '*'
      ? 'every second'
      : seconds === '00'
        ? 'every minute'
        : (step(seconds, 'second') ?? `every minute at second ${listWords(seconds, plain)}`)
  const atSecond =
    seconds === '00'
      ? ''
      : seconds === '*'
        ? 'every second of '
        : `at second ${listWords(seconds, plain)} of `
  const minute =
    minutes === '*' ? 'every minute' : (step(minutes, 'minute') ?? `at minute ${listWords(minutes, plain)}`)
  if (hours === '*')
    return minutes === '00' && seconds === '00'
      ? 'every hour'
      : `${atSecond}${minute}${minute.startsWith('at') ? ' of every hour' : ''}`
  const everyHours = minutes === '00' && seconds === '00' ? step(hours, 'hour') : null
  if (everyHours !== null) return everyHours
  return `${atSecond}${minute} of ${step(hours, 'hour') ?? `hour ${listWords(hours, plain)}`}`
}

/** `00/5` → `every 5 minutes`; null for anything else. */
function step(field: string, unit: string): string | null {
  const [, by] = /^00\/(\d+)$/u.exec(field) ?? []
  return by === undefined ? null : `every ${by} ${unit}s`
}

function dateWords(years: string, months: string, fromEnd: boolean, days: string): string {
  const year = years === '*' ? '' : ` ${listWords(years, plain)}`
  const month = months === '*' ? '' : listWords(months, (number) => MONTHS[Number(number) - 1] ?? number)
  if (days === '*' && !fromEnd) {
    if (month === '' && year === '') return ''
    return `every day in ${month === '' ? 'every month of' : month}${year}`
  }
  const day = fromEnd ? fromEndWords(days) : `day ${listWords(days, plain)}`
  if (!fromEnd && /^\d+$/u.test(days) && /^\d+$/u.test(months))
    return `on ${Number(days)} ${month}${year === '' ? ' every year' : year}`
  return `on ${day} of ${month === '' ? 'every month' : month}${year}`
}

function fromEndWords(days: string): string {
  if (days === '01') return 'the last day'
  if (days === '01..07' || days === '07/1') return 'one of the last seven days'
  return `day ${listWords(days, plain)} from the end`
}

/** A field as words: `1, 5 and 9 to 12, every 2nd`. */
function listWords(field: string, name: (item: string) => string): string {
  return enumeration(
    field.split(',').map((item) => {
      const [, first = '', last, by] = /^([^./]+(?:\.\d+)?)(?:\.\.([^/]+))?(?:\/(.+))?$/u.exec(item) ?? []
      const range = last === undefined ? name(first) : `${name(first)} to ${name(last)}`
      return by === undefined ? range : `${range}${last === undefined ? ' and on' : ''} in steps of ${by}`
    }),
  )
}

function plain(number: string): string {
  return /^\d+$/u.test(number) ? String(Number(number)) : number
}

function enumeration(items: readonly string[]): string {
  return items.length < 2 ? (items[0] ?? '') : `${items.slice(0, -1).join(', ')} and ${items.at(-1)}`
}
