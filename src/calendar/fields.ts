import { type Field, type Item, type Items, NO_END, SECOND, SECONDS, ZERO } from './spec.ts'

/** The result of a search that finds nothing; no field contains a negative value. */
export const NONE = -1

/** The values of one field, prepared for searches. */
export interface FieldSet {
  readonly first: number
  readonly last: number
  /** The smallest value that is at least `x`, or NONE. */
  atOrAfter(x: number): number
  /** The largest value that is at most `x`, or NONE. */
  atOrBefore(x: number): number
}

/** A set with few possible values: each search is one lookup. */
class TableSet implements FieldSet {
  readonly first: number
  readonly last: number
  readonly #low: number
  readonly #high: number
  readonly #after: Int16Array
  readonly #before: Int16Array

  constructor(items: Items, low: number, high: number) {
    const size = high - low + 1
    const held = new Uint8Array(size).fill(items === null ? 1 : 0)
    for (const item of items ?? []) {
      const end = lastOf(item, high)
      for (let value = item.start; value <= end; value += item.step || 1) held[value - low] = 1
    }
    this.#low = low
    this.#high = high
    this.#after = new Int16Array(size)
    this.#before = new Int16Array(size)
    for (let index = size - 1, nearest = NONE; index >= 0; index--) {
      if (held[index] === 1) nearest = low + index
      this.#after[index] = nearest
    }
    for (let index = 0, nearest = NONE; index < size; index++) {
      if (held[index] === 1) nearest = low + index
      this.#before[index] = nearest
    }
    this.first = this.atOrAfter(low)
    this.last = this.atOrBefore(high)
  }

  atOrAfter(x: number): number {
    return x > this.#high ? NONE : (this.#after[x < this.#low ? 0 : x - this.#low] ?? NONE)
  }

  atOrBefore(x: number): number {
    return x < this.#low ? NONE : (this.#before[(x > this.#high ? this.#high : x) - this.#low] ?? NONE)
  }
}

/** A set whose values may be as close as a microsecond: each search calculates the nearest value of each item. */
class RepetitionSet implements FieldSet {
  readonly first: number
  readonly last: number
  readonly #items: readonly Item[]
  readonly #high: number

  constructor(items: readonly Item[], field: Field) {
    this.#items = items
    this.#high = field.high
    this.first = this.atOrAfter(field.low)
    this.last = this.atOrBefore(field.high)
  }

  atOrAfter(x: number): number {
    let nearest = NONE
    for (const item of this.#items) {
      const steps = item.step === 0 || x <= item.start ? 0 : Math.ceil((x - item.start) / item.step)
      const value = item.start + steps * item.step
      if (value >= x && value <= lastOf(item, this.#high) && (nearest === NONE || value < nearest))
        nearest = value
    }
    return nearest
  }

  atOrBefore(x: number): number {
    let nearest = NONE
    for (const item of this.#items) {
      if (x < item.start) continue
      const reach = Math.min(x, lastOf(item, this.#high)) - item.start
      const value = item.step === 0 ? item.start : item.start + reach - (reach % item.step)
      if (value > nearest) nearest = value
    }
    return nearest
  }
}

/** Whole seconds, searched in microseconds. */
class WholeSecondSet implements FieldSet {
  readonly first: number
  readonly last: number
  readonly #seconds: TableSet

  constructor(items: Items) {
    this.#seconds = new TableSet(items, 0, 59)
    this.first = this.#seconds.first * SECOND
    this.last = this.#seconds.last * SECOND
  }

  atOrAfter(x: number): number {
    const second = this.#seconds.atOrAfter(Math.ceil(x / SECOND))
    return second === NONE ? NONE : second * SECOND
  }

  atOrBefore(x: number): number {
    const second = this.#seconds.atOrBefore(Math.floor(x / SECOND))
    return second === NONE ? NONE : second * SECOND
  }
}

function lastOf(item: Item, high: number): number {
  if (item.end !== NO_END) return item.end
  return item.step === 0 ? item.start : high
}

const everyValue = new Map<Field, FieldSet>()

/** The set of a field of whole numbers. */
export function wholeSet(items: Items, field: Field): FieldSet {
  if (items !== null) return new TableSet(items, field.low, field.high)
  // Most fields are `*`, so all events share one set.
  let set = everyValue.get(field)
  if (set === undefined) {
    set = new TableSet(null, field.low, field.high)
    everyValue.set(field, set)
  }
  return set
}

const EVERY_SECOND = new WholeSecondSet(null)
const FULL_MINUTE = new WholeSecondSet(ZERO)

/** The set of the seconds field, in microseconds. */
export function secondSet(items: Items): FieldSet {
  if (items === null) return EVERY_SECOND
  if (items === ZERO) return FULL_MINUTE
  if (items.some((item) => item.start % SECOND !== 0 || item.step % SECOND !== 0)) {
    return new RepetitionSet(items, SECONDS)
  }
  return new WholeSecondSet(
    items.map(({ start, end, step }) => ({
      start: start / SECOND,
      end: end === NO_END ? NO_END : end / SECOND,
      step: step / SECOND,
    })),
  )
}
