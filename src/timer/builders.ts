import { asInput, InvalidInputError } from '../errors.ts'
import { spanText } from '../duration.ts'
import { timeSpan } from './span.ts'
import { checkedZone, timer } from './timer.ts'

/** The zone of the built timer. */
export interface BuilderOptions {
  /** An IANA name, or 'local'. By default, the timer names no zone, so the application's zone applies, or else UTC. */
  readonly zone?: string | undefined
}

/** Shorter spans must have a unit, because a bare number was probably meant as seconds or minutes. */
const SHORTEST_BARE_MS = 1000

/** A day for `weekly`. */
export type Weekday = 'mon' | 'tue' | 'wed' | 'thu' | 'fri' | 'sat' | 'sun'

const TIME = /^(?:[01]?\d|2[0-3])(?::[0-5]\d){1,2}$/u
const WEEKDAYS: readonly string[] = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun']

/**
 * At fixed intervals from the creation of the schedule, or one span after the end of each run.
 *
 * @param span  a time span such as `5min`, or a number of milliseconds, at least 1000
 * @throws InvalidInputError
 */
export function every(
  span: string | number,
  options: { readonly after?: 'finish' | undefined } = {},
): string {
  const { after } = options
  if (after !== undefined && after !== 'finish')
    throw new InvalidInputError('after', `must be 'finish' or left out, got ${JSON.stringify(after)}`)
  if (typeof span === 'number' && span > 0 && span < SHORTEST_BARE_MS)
    throw new InvalidInputError(
      'span',
      `${span} would be milliseconds; write '${span}ms' if you mean that, or another unit, such as '${span}min'`,
    )
  return asInput('span', () => {
    const text = typeof span === 'number' ? spanText(timeSpan(span)) : span
    // Text that is not a span could still form a valid timer, as in '5min after finish'.
    timeSpan(text)
    return timer(`every ${text}${after === undefined ? '' : ' after finish'}`).text
  })
}

/** Every hour at the given minute, 0 to 59. @throws InvalidInputError */
export function hourly(minute = 0, options: BuilderOptions = {}): string {
  return zoned(`*-*-* *:${whole('minute', minute, 0, 59)}`, options)
}

/** Every day at the given time, such as `03:00` or `03:00:30`. @throws InvalidInputError */
export function daily(time: string, options: BuilderOptions = {}): string {
  return zoned(`*-*-* ${clock(time)}`, options)
}

/** On the given days of the week, at the given time. @throws InvalidInputError */
export function weekly(days: readonly Weekday[], time: string, options: BuilderOptions = {}): string {
  if (!Array.isArray(days) || days.length === 0)
    throw new InvalidInputError('days', 'must have at least one day')
  for (const day of days)
    if (!WEEKDAYS.includes(day))
      throw new InvalidInputError('days', `must be one of ${WEEKDAYS.join(', ')}, got ${JSON.stringify(day)}`)
  return zoned(`${days.join(',')} *-*-* ${clock(time)}`, options)
}

/** On the given day of the month, 1 to 31, at the given time; skips shorter months. @throws InvalidInputError */
export function monthly(day: number, time: string, options: BuilderOptions = {}): string {
  return zoned(`*-*-${whole('day', day, 1, 31)} ${clock(time)}`, options)
}

/** Once, at an instant in the years 1970 to 2199. @throws InvalidInputError */
export function at(instant: Date): string {
  if (!(instant instanceof Date) || Number.isNaN(instant.getTime()))
    throw new InvalidInputError('instant', `must be a valid Date, got ${String(instant)}`)
  return asInput('instant', () => timer(instant.toISOString().replace('T', ' ').replace('Z', ' UTC')).text)
}

function zoned(text: string, { zone }: BuilderOptions): string {
  if (zone === undefined) return timer(text).text
  // An explicit UTC is also written, so that the application's zone does not replace it.
  return timer(`${text} ${checkedZone(zone)}`).text
}

function clock(time: string): string {
  if (typeof time === 'string' && TIME.test(time)) return time
  throw new InvalidInputError(
    'time',
    `must be a time from 00:00 to 23:59, such as '09:30', got ${JSON.stringify(time)}`,
  )
}

/** @throws InvalidInputError */
export function whole(field: string, value: number, low: number, high: number): number {
  if (!Number.isInteger(value) || value < low || value > high) {
    throw new InvalidInputError(field, `must be an integer between ${low} and ${high}, got ${String(value)}`)
  }
  return value
}
