import { Digits, type Direction, FieldSet, NONE } from './fields.ts'
import { type CalendarSpec, DAY, DAY_OF_MONTH, EVERY_WEEKDAY, HOUR, type Item } from './spec.ts'
import { FIRST_YEAR, LAST_YEAR, MINUTE, MONTH, NO_END, SECOND, SECONDS, YEAR } from './spec.ts'

/**
 * The number of months from 1970 to 2199. Tables are indexed by month (0 is January 1970), so that the search for an
 * elapse needs only lookups. Days count from 1970-01-01.
 */
const MONTHS = (LAST_YEAR - FIRST_YEAR + 1) * 12

const starts = new Int32Array(MONTHS + 1)
const shapes = new Uint8Array(MONTHS)
for (let month = 0; month <= MONTHS; month++) {
  starts[month] = Date.UTC(FIRST_YEAR, month, 1) / 86_400_000
}
for (let month = 0; month < MONTHS; month++) {
  const length = monthStart(month + 1) - monthStart(month)
  shapes[month] = (length - 28) * 7 + ((monthStart(month) + 3) % 7)
}

/** The number of month shapes: four lengths times seven first weekdays. */
const SHAPES = 28

function monthStart(month: number): number {
  return starts[month] ?? 0
}

/** The shape of a month: (length - 28) * 7 + the weekday of its first day; Monday is 0. */
function monthShape(month: number): number {
  return shapes[month] ?? 0
}

function monthOf(day: number): number {
  let month = Math.floor(day / 30.436875)
  if (month >= MONTHS || monthStart(month) > day) month--
  else if (monthStart(month + 1) <= day) month++
  return month
}

const DAYS = monthStart(MONTHS)

/**
 * The wall-clock times of an event, without a zone: microseconds since 1970-01-01 00:00 on the clock.
 *
 * A search does not enumerate times: each field takes only a few steps, and at most the 2,760 months from 1970 to 2199
 * are skipped.
 */
export class WallClock {
  readonly #months: Digits
  /** The matching days, one bit per day, by the shape of the month. */
  readonly #days: Int32Array
  /** Microseconds of the day. */
  readonly #times: Digits

  constructor({ years, months, hours, minutes, seconds, ...spec }: CalendarSpec) {
    this.#months = new Digits([
      [years, YEAR, 12],
      [months, MONTH, 1],
    ])
    this.#days = matchingDays(spec)
    this.#times = new Digits([
      [hours, HOUR, 3600 * SECOND],
      [minutes, MINUTE, 60 * SECOND],
      [seconds, SECONDS, 1],
    ])
  }

  /** The first matching time at or after `wall`; Infinity when there is none. */
  atOrAfter(wall: number): number {
    return wall >= DAYS * DAY ? Infinity : this.#nearest(wall, 1)
  }

  /** The last matching time at or before `wall`; -Infinity when there is none. */
  atOrBefore(wall: number): number {
    return wall < 0 ? -Infinity : this.#nearest(wall, -1)
  }

  #nearest(wall: number, direction: Direction): number {
    const within = Math.max(0, Math.min(wall, DAYS * DAY - 1))
    const today = Math.floor(within / DAY)
    let day = this.#nearestDay(today, direction)
    if (day === today) {
      const time = this.#times.nearest(within - today * DAY, direction)
      if (time !== NONE) return today * DAY + time
      day = this.#nearestDay(today + direction, direction)
    }
    if (day === NONE) return direction * Infinity
    return day * DAY + (direction === 1 ? this.#times.first : this.#times.last)
  }

  #nearestDay(day: number, direction: Direction): number {
    if (day < 0 || day >= DAYS) return NONE
    const own = monthOf(day)
    const inMonth = day - monthStart(own)
    // In the month of `day` itself, the days on the wrong side of it are left out.
    const mask = direction === 1 ? -1 << inMonth : (2 << inMonth) - 1
    let month = this.#months.nearest(own, direction)
    for (; month !== NONE; month = this.#months.nearest(month + direction, direction)) {
      const days = (this.#days[monthShape(month)] ?? 0) & (month === own ? mask : -1)
      if (days === 0) continue
      const bit = direction === 1 ? days & -days : days
      return monthStart(month) + 31 - Math.clz32(bit)
    }
    return NONE
  }
}

function matchingDays({
  weekdays,
  days: items,
  daysFromEnd,
}: Pick<CalendarSpec, 'weekdays' | 'days' | 'daysFromEnd'>): Int32Array {
  const set = new FieldSet(daysFromEnd && items !== null ? items.map(countedDown) : items, DAY_OF_MONTH)
  let listed = 0
  // With `daysFromEnd`, days count from the end, as if every month had 31 days.
  for (let day = 1; day <= 31; day++)
    if (set.nearest(day, 1) === day) listed |= 1 << (daysFromEnd ? 31 - day : day - 1)
  const masks = new Int32Array(SHAPES)
  for (let shape = 0; shape < SHAPES; shape++) {
    const length = 28 + Math.floor(shape / 7)
    const days = daysFromEnd ? listed >>> (31 - length) : listed
    masks[shape] = days & weekdayPattern(weekdays, shape % 7) & (2 ** length - 1)
  }
  return masks
}

/** If days count from the end, an open repetition runs towards the last day, 1. */
function countedDown(item: Item): Item {
  const { start, end, step } = item
  if (end !== NO_END || step === 0) return item
  return { start: start - Math.floor((start - 1) / step) * step, end: start, step }
}

/** The bits of the days whose weekday matches, in a month that starts on the given weekday. */
function weekdayPattern(weekdays: number, first: number): number {
  const week = ((weekdays >>> first) | (weekdays << (7 - first))) & EVERY_WEEKDAY
  return week | (week << 7) | (week << 14) | (week << 21) | (week << 28)
}
