import { type FieldSet, NONE, secondSet, wholeSet } from './fields.ts'
import { MONTHS, monthOf, monthShape, monthStart, SHAPES } from './months.ts'
import { type CalendarSpec, DAY, DAY_FROM_END, DAY_OF_MONTH, EVERY_WEEKDAY } from './spec.ts'
import { HOUR, MINUTE, MONTH, NO_END, SECOND, YEAR } from './spec.ts'

const DAYS = monthStart(MONTHS)

/**
 * The wall-clock times of an event, without a zone: microseconds since 1970-01-01 00:00 on the clock.
 *
 * A search does not enumerate times: each field needs one lookup, and at most the 2,760 months from 1970 to 2199 are
 * skipped.
 */
export class WallClock {
  readonly #years: FieldSet
  readonly #months: FieldSet
  /** The matching days, one bit for each, by the shape of the month. */
  readonly #days: Int32Array
  readonly #hours: FieldSet
  readonly #minutes: FieldSet
  readonly #seconds: FieldSet
  readonly #firstTime: number
  readonly #lastTime: number

  constructor(spec: CalendarSpec) {
    this.#years = wholeSet(spec.years, YEAR)
    this.#months = wholeSet(spec.months, MONTH)
    this.#days = matchingDays(spec)
    this.#hours = wholeSet(spec.hours, HOUR)
    this.#minutes = wholeSet(spec.minutes, MINUTE)
    this.#seconds = secondSet(spec.seconds)
    this.#firstTime = timeOf(this.#hours.first, this.#minutes.first, this.#seconds.first)
    this.#lastTime = timeOf(this.#hours.last, this.#minutes.last, this.#seconds.last)
  }

  /** The first matching time at or after `wall`; Infinity when there is none. */
  atOrAfter(wall: number): number {
    let month = 0
    if (wall >= 0) {
      const day = Math.floor(wall / DAY)
      if (day >= DAYS) return Infinity
      month = monthOf(day)
      if (this.#monthAtOrAfter(month) === month) {
        const start = monthStart(month)
        const days = (this.#days[monthShape(month)] ?? 0) >>> (day - start)
        if ((days & 1) === 1) {
          const time = this.#timeAtOrAfter(wall - day * DAY)
          if (time !== NONE) return day * DAY + time
        }
        const later = days >>> 1
        if (later !== 0) return (day + 1 + lowestBit(later)) * DAY + this.#firstTime
      }
      month++
    }
    for (month = this.#monthAtOrAfter(month); month !== NONE; month = this.#monthAtOrAfter(month + 1)) {
      const days = this.#days[monthShape(month)] ?? 0
      if (days !== 0) return (monthStart(month) + lowestBit(days)) * DAY + this.#firstTime
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
      if (this.#monthAtOrBefore(month) === month) {
        const start = monthStart(month)
        // Shifted so that the day itself is the highest bit.
        const days = (this.#days[monthShape(month)] ?? 0) << (31 - (day - start))
        if (days < 0) {
          const time = this.#timeAtOrBefore(wall - day * DAY)
          if (time !== NONE) return day * DAY + time
        }
        const earlier = days & 0x7fffffff
        if (earlier !== 0) return (day - Math.clz32(earlier)) * DAY + this.#lastTime
      }
      month--
    }
    for (month = this.#monthAtOrBefore(month); month !== NONE; month = this.#monthAtOrBefore(month - 1)) {
      const days = this.#days[monthShape(month)] ?? 0
      if (days !== 0) return (monthStart(month) + 31 - Math.clz32(days)) * DAY + this.#lastTime
    }
    return -Infinity
  }

  #monthAtOrAfter(month: number): number {
    const year = Math.floor(month / 12) + YEAR.low
    if (this.#years.atOrAfter(year) === year) {
      const inYear = this.#months.atOrAfter((month % 12) + 1)
      if (inYear !== NONE) return (year - YEAR.low) * 12 + inYear - 1
    }
    const later = this.#years.atOrAfter(year + 1)
    return later === NONE ? NONE : (later - YEAR.low) * 12 + this.#months.first - 1
  }

  #monthAtOrBefore(month: number): number {
    if (month < 0) return NONE
    const year = Math.floor(month / 12) + YEAR.low
    if (this.#years.atOrBefore(year) === year) {
      const inYear = this.#months.atOrBefore((month % 12) + 1)
      if (inYear !== NONE) return (year - YEAR.low) * 12 + inYear - 1
    }
    const earlier = this.#years.atOrBefore(year - 1)
    return earlier === NONE ? NONE : (earlier - YEAR.low) * 12 + this.#months.last - 1
  }

  /** `time` and the result are microseconds of the day. */
  #timeAtOrAfter(time: number): number {
    if (time <= this.#firstTime) return this.#firstTime
    if (time > this.#lastTime) return NONE
    const hour = Math.floor(time / HOUR_LENGTH)
    if (this.#hours.atOrAfter(hour) === hour) {
      const inHour = time - hour * HOUR_LENGTH
      const minute = Math.floor(inHour / MINUTE_LENGTH)
      if (this.#minutes.atOrAfter(minute) === minute) {
        const second = this.#seconds.atOrAfter(inHour - minute * MINUTE_LENGTH)
        if (second !== NONE) return timeOf(hour, minute, second)
      }
      const later = this.#minutes.atOrAfter(minute + 1)
      if (later !== NONE) return timeOf(hour, later, this.#seconds.first)
    }
    const later = this.#hours.atOrAfter(hour + 1)
    return later === NONE ? NONE : timeOf(later, this.#minutes.first, this.#seconds.first)
  }

  #timeAtOrBefore(time: number): number {
    if (time >= this.#lastTime) return this.#lastTime
    if (time < this.#firstTime) return NONE
    const hour = Math.floor(time / HOUR_LENGTH)
    if (this.#hours.atOrBefore(hour) === hour) {
      const inHour = time - hour * HOUR_LENGTH
      const minute = Math.floor(inHour / MINUTE_LENGTH)
      if (this.#minutes.atOrBefore(minute) === minute) {
        const second = this.#seconds.atOrBefore(inHour - minute * MINUTE_LENGTH)
        if (second !== NONE) return timeOf(hour, minute, second)
      }
      const earlier = this.#minutes.atOrBefore(minute - 1)
      if (earlier !== NONE) return timeOf(hour, earlier, this.#seconds.last)
    }
    const earlier = this.#hours.atOrBefore(hour - 1)
    return earlier === NONE ? NONE : timeOf(earlier, this.#minutes.last, this.#seconds.last)
  }
}

const MINUTE_LENGTH = 60 * SECOND
const HOUR_LENGTH = 60 * MINUTE_LENGTH

function timeOf(hour: number, minute: number, second: number): number {
  return hour * HOUR_LENGTH + minute * MINUTE_LENGTH + second
}

function lowestBit(bits: number): number {
  return 31 - Math.clz32(bits & -bits)
}

function matchingDays(spec: CalendarSpec): Int32Array {
  const listed = spec.daysFromEnd ? daysFromEnd(spec) : listedDays(spec)
  const masks = new Int32Array(SHAPES)
  for (let shape = 0; shape < SHAPES; shape++) {
    const length = 28 + Math.floor(shape / 7)
    const days = spec.daysFromEnd ? listed >>> (31 - length) : listed
    masks[shape] = days & weekdayPattern(spec.weekdays, shape % 7) & (2 ** length - 1)
  }
  return masks
}

function listedDays(spec: CalendarSpec): number {
  let days = spec.days === null ? 0x7fffffff : 0
  for (const { start, end, step } of spec.days ?? []) {
    const last = end !== NO_END ? end : step === 0 ? start : DAY_OF_MONTH.high
    for (let day = start; day <= last; day += step || 1) days |= 1 << (day - 1)
  }
  return days
}

/** The days as if every month had 31; an open repetition runs towards the end of the month. */
function daysFromEnd(spec: CalendarSpec): number {
  let days = 0
  for (const { start, end, step } of spec.days ?? []) {
    const first =
      end !== NO_END || step === 0 ? start : start - Math.floor((start - DAY_FROM_END.low) / step) * step
    const last = end !== NO_END ? end : start
    for (let back = first; back <= last; back += step || 1) days |= 1 << (31 - back)
  }
  return days
}

/** The bits of the days whose weekday matches, in a month that starts on the given weekday. */
function weekdayPattern(weekdays: number, first: number): number {
  const week = ((weekdays >>> first) | (weekdays << (7 - first))) & EVERY_WEEKDAY
  return week | (week << 7) | (week << 14) | (week << 21) | (week << 28)
}
