/** One second. The seconds field and all instants in this folder are in microseconds. */
export const SECOND = 1_000_000
export const DAY = 86_400 * SECOND

export const FIRST_YEAR = 1970
export const LAST_YEAR = 2199

export const WEEKDAYS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday']
export const SHORT_WEEKDAYS = WEEKDAYS.map((day) => day.slice(0, 3))

/** The unrestricted set of weekdays: one bit per day, with Monday as the lowest bit. */
export const EVERY_WEEKDAY = 0b1111111

/** The weekdays in a bit set; Monday is 0. */
export function weekdayNumbers(set: number): number[] {
  return WEEKDAYS.flatMap((_, day) => ((set & (1 << day)) === 0 ? [] : [day]))
}

/**
 * One item of a list in normal form: `start`, `start..end/step` or `start/step`. A plain value has no end and a step of
 * 0. Seconds are in microseconds.
 */
export interface Item {
  readonly start: number
  /** The last value reached, or NO_END. */
  readonly end: number
  /** The distance to the next value; 0 for a plain value. */
  readonly step: number
}

export const NO_END = -1

/** The items of a field, sorted and without duplicates; null is `*`. */
export type Items = readonly Item[] | null

/** A calendar event without its zone. */
export interface CalendarSpec {
  readonly weekdays: number
  readonly years: Items
  readonly months: Items
  readonly days: Items
  /** Whether days count back from the end of the month (`~`): 1 is the last day. */
  readonly daysFromEnd: boolean
  readonly hours: Items
  readonly minutes: Items
  readonly seconds: Items
}

export interface Field {
  readonly name: string
  readonly low: number
  readonly high: number
  /** The default step of a range. */
  readonly unit: number
}

export const YEAR: Field = { name: 'year', low: FIRST_YEAR, high: LAST_YEAR, unit: 1 }
export const MONTH: Field = { name: 'month', low: 1, high: 12, unit: 1 }
export const DAY_OF_MONTH: Field = { name: 'day', low: 1, high: 31, unit: 1 }
export const DAY_FROM_END: Field = { name: 'day from the end', low: 1, high: 28, unit: 1 }
export const HOUR: Field = { name: 'hour', low: 0, high: 23, unit: 1 }
export const MINUTE: Field = { name: 'minute', low: 0, high: 59, unit: 1 }
export const SECONDS: Field = { name: 'second', low: 0, high: 60 * SECOND - 1, unit: SECOND }

export function only(value: number): readonly Item[] {
  return [{ start: value, end: NO_END, step: 0 }]
}

export const ZERO: readonly Item[] = only(0)
