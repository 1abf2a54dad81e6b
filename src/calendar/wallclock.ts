import { Digits, FieldSet, NONE } from './fields.ts'
import { MONTHS, monthOf, monthShape, monthStart, SHAPES } from './months.ts'
import { type CalendarSpec, DAY, DAY_OF_MONTH, EVERY_WEEKDAY, HOUR, type Item } from './spec.ts'
import { MINUTE, MONTH, NO_END, SECOND, SECONDS, YEAR } from './spec.ts'

const DAYS = monthStart(MONTHS)

/**
 * The wall-clock times of an event, without a zone: microseconds since 1970-01-01 00:00 on the clock.
 *
 * A search does not enumerate times: each field needs few steps, and at most the 2,760 months from 1970 to 2199 are
 * skipped.
 */
export class WallClock {
  /** From January 1970, as in months.ts. */
  readonly #months: Digits
  /** The matching days, one bit for each, by the shape of the month. */
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
    let month = 0
    if (wall >= 0) {
      const day = Math.floor(wall / DAY)
      if (day >= DAYS) return Infinity
      month = monthOf(day)
      if (this.#months.nearest(month, 1) === month) {
        const start = monthStart(month)
        const days = (this.#days[monthShape(month)] ?? 0) >>> (day - start)
        if ((days & 1) === 1) {
          const time = this.#times.nearest(wall - day * DAY, 1)
          if (time !== NONE) return day * DAY + time
        }
        const later = days >>> 1
        if (later !== 0) return (day + 1 + lowestBit(later)) * DAY + this.#times.first
      }
      month++
    }
    for (month = this.#months.nearest(month, 1); month !== NONE; month = this.#months.nearest(month + 1, 1)) {
      const days = this.#days[monthShape(month)] ?? 0
      if (days !== 0) return (monthStart(month) + lowestBit(days)) * DAY + this.#times.first
    }
    return Infinity
  }

  /** The last matching time at or before `wall`; -Infinity when there is none. */
  atOrBefore(wall: number): number {
    let month = MONTHS - 1
    if (wall < DAYS * DAY) {
      const day = Math.floor(wall / DAY)
      if (day < 0) return -Infinity
      month = monthOf(day)
      if (this.#months.nearest(month, -1) === month) {
        const start = monthStart(month)
        // Shifted so that the day itself is the highest bit.
        const days = (this.#days[monthShape(month)] ?? 0) << (31 - (day - start))
        if (days < 0) {
          const time = this.#times.nearest(wall - day * DAY, -1)
          if (time !== NONE) return day * DAY + time
        }
        const earlier = days & 0x7fffffff
        if (earlier !== 0) return (day - Math.clz32(earlier)) * DAY + this.#times.last
      }
      month--
    }
    for (
      month = this.#months.nearest(month, -1);
      month !== NONE;
      month = this.#months.nearest(month - 1, -1)
    ) {
      const days = this.#days[monthShape(month)] ?? 0
      if (days !== 0) return (monthStart(month) + 31 - Math.clz32(days)) * DAY + this.#times.last
    }
    return -Infinity
  }
}

function lowestBit(bits: number): number {
  return 31 - Math.clz32(bits & -bits)
}

function matchingDays({
  weekdays,
  days: items,
  daysFromEnd,
}: Pick<CalendarSpec, 'weekdays' | 'days' | 'daysFromEnd'>): Int32Array {
  const set = new FieldSet(daysFromEnd && items !== null ? items.map(countedDown) : items, DAY_OF_MONTH)
  let listed = 0
  // From the end, as if every month had 31 days.
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

/** From the end, an open repetition runs towards the last day, 1. */
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
