/** Functions that return timer text, with their input checked. */
import { InvalidInputError } from '../errors.ts'
import { timeSpan } from './span.ts'
import { timer, withZone } from './timer.ts'

export interface BuilderOptions {
  /** An IANA name, or 'local'; default UTC. */
  readonly zone?: string | undefined
}

export type Weekday = 'mon' | 'tue' | 'wed' | 'thu' | 'fri' | 'sat' | 'sun'

const WEEKDAYS: readonly string[] = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun']

/**
 * On fixed slots from the creation of the schedule, or counted from the end of each run.
 *
 * @param span  a time span such as `5min`, or milliseconds
 * @throws InvalidInputError
 */
export function every(span: string | number, options: { readonly after?: 'finish' } = {}): string {
  const text = typeof span === 'number' ? `${span}ms` : span
  return checked('span', () => {
    timeSpan(text)
    return `every ${text}${options.after === 'finish' ? ' after finish' : ''}`
  })
}

/** Every hour at a minute, 0 to 59. @throws InvalidInputError */
export function hourly(minute = 0, options: BuilderOptions = {}): string {
  return zoned(`*-*-* *:${two(whole('minute', minute, 0, 59))}:00`, options)
}

/** Every day at a time, such as `03:00` or `03:00:30`. @throws InvalidInputError */
export function daily(time: string, options: BuilderOptions = {}): string {
  return zoned(`*-*-* ${clock(time)}`, options)
}

/** On days of the week at a time. @throws InvalidInputError */
export function weekly(days: readonly Weekday[], time: string, options: BuilderOptions = {}): string {
  if (days.length === 0) throw new InvalidInputError('days', 'at least one day is needed')
  const names = days.map((day) => {
    if (!WEEKDAYS.includes(day))
      throw new InvalidInputError(
        'days',
        `one of ${WEEKDAYS.join(', ')} is needed, not ${JSON.stringify(day)}`,
      )
    return `${day.charAt(0).toUpperCase()}${day.slice(1)}`
  })
  return zoned(`${names.join(',')} *-*-* ${clock(time)}`, options)
}

/** On a day of the month, 1 to 31, at a time; months without that day are skipped. @throws InvalidInputError */
export function monthly(day: number, time: string, options: BuilderOptions = {}): string {
  return zoned(`*-*-${two(whole('day', day, 1, 31))} ${clock(time)}`, options)
}

/** Once, at an instant. @throws InvalidInputError */
export function at(instant: Date): string {
  if (Number.isNaN(instant.getTime())) throw new InvalidInputError('instant', 'an invalid Date came in')
  return `${instant
    .toISOString()
    .replace('T', ' ')
    .slice(0, 23)
    .replace(/\.000$/u, '')} UTC`
}

function zoned(text: string, { zone = 'UTC' }: BuilderOptions): string {
  const written = withZone(text, zone)
  return timer(written).text
}

function clock(time: string): string {
  const [, hour, minute, second = '00'] = /^(\d{1,2}):(\d{2})(?::(\d{2}))?$/u.exec(time) ?? []
  if (
    hour === undefined ||
    minute === undefined ||
    Number(hour) > 23 ||
    Number(minute) > 59 ||
    Number(second) > 59
  ) {
    throw new InvalidInputError(
      'time',
      `a time from 00:00 to 23:59 is needed, such as '09:30', not ${JSON.stringify(time)}`,
    )
  }
  return `${hour.padStart(2, '0')}:${minute}:${second}`
}

function whole(field: string, value: number, low: number, high: number): number {
  if (!Number.isInteger(value) || value < low || value > high) {
    throw new InvalidInputError(
      field,
      `a whole number from ${low} to ${high} is needed, not ${String(value)}`,
    )
  }
  return value
}

function two(value: number): string {
  return String(value).padStart(2, '0')
}

function checked(field: string, make: () => string): string {
  try {
    const text = make()
    timer(text)
    return text
  } catch (error) {
    throw new InvalidInputError(field, error instanceof Error ? error.message : String(error), {
      cause: error,
    })
  }
}
