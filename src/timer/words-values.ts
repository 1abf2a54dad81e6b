import { ranges } from '../calendar/format.ts'
import { type Items, NO_END } from '../calendar/spec.ts'

/** The allowed values in ascending order; null means any value. */
export type Values = readonly number[] | null

/** Also null if all values are listed. */
export function restricted(of: Values, all: number): Values {
  return of?.length === all ? null : of
}

/** @param end  where an open repetition ends: the largest value, or 1 if days count down to the last day */
export function values(items: Items, end: number, unit = 1): Values {
  if (items === null) return null
  const found = new Set<number>()
  for (const item of items) {
    const [first, step] = [item.start / unit, item.step / unit]
    const last = item.end === NO_END ? end : item.end / unit
    if (step === 0) found.add(first)
    else if (last < first) for (let value = first; value >= last; value -= step) found.add(value)
    else for (let value = first; value <= last; value += step) found.add(value)
  }
  return [...found].toSorted((a, b) => a - b)
}

export function numbers(of: readonly number[]): string {
  return listed(of, String)
}

/** `1, 5 and 9 to 12`; a long series with equal steps as `0, 7, 14 … 56`. */
export function listed(of: readonly number[], name: (value: number) => string): string {
  const [first = 0, second = 0, third = 0] = of
  const step = second - first
  if (of.length > 6 && step > 1 && of.every((value, index) => value === first + index * step))
    return `${[first, second, third].map(name).join(', ')} … ${name(of.at(-1) ?? 0)}`
  return joinedRuns(of, name)
}

export function joinedRuns(of: readonly number[], name: (value: number) => string): string {
  return enumeration(ranges(of, name, ' to '))
}

export function enumeration(parts: readonly string[]): string {
  return parts.length < 2 ? (parts[0] ?? '') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`
}

export function single(of: Values): number | null {
  return of?.length === 1 ? (of[0] ?? null) : null
}

/** `09`, or `09.5` for seconds */
export function two(value: number): string {
  return `${value < 10 ? '0' : ''}${value}`
}
