import { type Field, type Items, NO_END } from './spec.ts'

/** The result of a search that finds nothing; no field contains a negative value. */
export const NONE = -1

/** The direction of a search: 1 means at or after, -1 means at or before. */
export type Direction = 1 | -1

export class FieldSet {
  readonly #items: readonly { readonly start: number; readonly last: number; readonly step: number }[]

  constructor(items: Items, { low, high, unit }: Field) {
    this.#items = (items ?? [{ start: low, end: NO_END, step: unit }]).map(({ start, end, step }) => {
      const last = end !== NO_END ? end : step === 0 ? start : high
      return { start, last, step: step || 1 }
    })
  }

  /** The value nearest to `x` in a direction, or NONE. Calculated, as a list of seconds may have millions of values. */
  nearest(x: number, direction: Direction): number {
    let nearest = NONE
    for (const { start, last, step } of this.#items) {
      const reach = (direction === 1 ? Math.max(x, start) : Math.min(x, last)) - start
      const value = start + (direction === 1 ? Math.ceil(reach / step) : Math.floor(reach / step)) * step
      if (value < start || value > last) continue
      if (nearest === NONE || (value - nearest) * direction < 0) nearest = value
    }
    return nearest
  }
}

interface Digit {
  readonly set: FieldSet
  readonly low: number
  /** The amount by which the number grows when the field's value grows by 1. */
  readonly unit: number
  /** The smallest and the largest number that this digit and those after it can form. */
  readonly first: number
  readonly last: number
}

/** Numbers whose digits are field values, for example hour, minute and second. */
export class Digits {
  readonly #digits: Digit[] = []

  /** @param fields  largest unit first */
  constructor(fields: readonly (readonly [items: Items, field: Field, unit: number])[]) {
    let [first, last] = [0, 0]
    for (const [items, field, unit] of fields.toReversed()) {
      const { low, high } = field
      const set = new FieldSet(items, field)
      first += (set.nearest(low, 1) - low) * unit
      last += (set.nearest(high, -1) - low) * unit
      this.#digits.unshift({ set, low, unit, first, last })
    }
  }

  get first(): number {
    return this.#digits[0]?.first ?? 0
  }

  get last(): number {
    return this.#digits[0]?.last ?? 0
  }

  /** The number that is nearest to `x` in a direction, or NONE. @param at  the first digit to consider */
  nearest(x: number, direction: Direction, at = 0): number {
    const digit = this.#digits[at]
    if (digit === undefined) return 0
    const { set, low, unit } = digit
    const value = Math.floor(x / unit) + low
    if (set.nearest(value, direction) === value) {
      const own = (value - low) * unit
      const rest = this.nearest(x - own, direction, at + 1)
      if (rest !== NONE) return own + rest
    }
    const next = set.nearest(value + direction, direction)
    if (next === NONE) return NONE
    const rest = this.#digits[at + 1]
    return (next - low) * unit + ((direction === 1 ? rest?.first : rest?.last) ?? 0)
  }
}
