import { FIRST_YEAR, LAST_YEAR } from './spec.ts'

/**
 * The months from 1970 to 2199 by number (0 is January 1970), so that the search for an elapse needs only table
 * lookups. Days count from 1970-01-01.
 */
export const MONTHS = (LAST_YEAR - FIRST_YEAR + 1) * 12

const starts = new Int32Array(MONTHS + 1)
const shapes = new Uint8Array(MONTHS)
for (let month = 0; month <= MONTHS; month++) {
  starts[month] = Date.UTC(FIRST_YEAR, month, 1) / 86_400_000
}
for (let month = 0; month < MONTHS; month++) {
  const length = monthStart(month + 1) - monthStart(month)
  shapes[month] = (length - 28) * 7 + ((monthStart(month) + 3) % 7)
}

/** The number of shapes: four lengths times seven first weekdays. */
export const SHAPES = 28

/** The first day of a month. */
export function monthStart(month: number): number {
  return starts[month] ?? 0
}

/** Everything that the days of a month depend on: (length - 28) * 7 + the weekday of its first day; Monday is 0. */
export function monthShape(month: number): number {
  return shapes[month] ?? 0
}

/** The month of a day from 1970 to 2199. */
export function monthOf(day: number): number {
  let month = Math.floor(day / 30.436875)
  if (month >= MONTHS || monthStart(month) > day) month--
  else if (monthStart(month + 1) <= day) month++
  return month
}
