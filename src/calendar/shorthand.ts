import { type CalendarSpec, EVERY_WEEKDAY, type Items, NO_END, only, ZERO } from './spec.ts'

function spec(weekdays: number, months: Items, days: Items, hours: Items, minutes: Items): CalendarSpec {
  return { weekdays, years: null, months, days, daysFromEnd: false, hours, minutes, seconds: ZERO }
}

function monthly(...months: number[]): CalendarSpec {
  return spec(
    EVERY_WEEKDAY,
    months.map((start) => ({ start, end: NO_END, step: 0 })),
    only(1),
    ZERO,
    ZERO,
  )
}

const HALF_YEARLY = monthly(1, 7)
const YEARLY = monthly(1)

/** The words that stand for a whole event. systemd accepts some that its manual does not list. */
export const SHORTHANDS: ReadonlyMap<string, CalendarSpec> = new Map([
  ['minutely', spec(EVERY_WEEKDAY, null, null, null, null)],
  ['hourly', spec(EVERY_WEEKDAY, null, null, null, ZERO)],
  ['daily', spec(EVERY_WEEKDAY, null, null, ZERO, ZERO)],
  ['weekly', spec(1, null, null, ZERO, ZERO)],
  ['monthly', spec(EVERY_WEEKDAY, null, only(1), ZERO, ZERO)],
  ['quarterly', monthly(1, 4, 7, 10)],
  ['semiannually', HALF_YEARLY],
  ['semi-annually', HALF_YEARLY],
  ['biannually', HALF_YEARLY],
  ['bi-annually', HALF_YEARLY],
  ['yearly', YEARLY],
  ['annually', YEARLY],
  ['anually', YEARLY],
])

/** The event of a shorthand in the first `end` characters of a text, case-insensitive; undefined if there is none. */
export function lookUpShorthand(text: string, end: number): CalendarSpec | undefined {
  // All shorthands end in y, and none is longer than 13 characters. The rest is checked to be ASCII, because
  // toLowerCase() also maps the Kelvin sign to k.
  if ((text.charCodeAt(end - 1) | 0x20) !== 0x79 || end > 13) return undefined
  const word = text.slice(0, end)
  return /^[a-z-]+$/i.test(word) ? SHORTHANDS.get(word.toLowerCase()) : undefined
}
