/** Parses the fields of a normalised calendar event into their allowed values, and describes such values in words. */

/** The allowed values in ascending order; null means any value. */
export type Values = readonly number[] | null

/** Also null if all values are listed. */
export function restricted(of: Values, all: number): Values {
  return of?.length === all ? null : of
}

/** @param end  where an open repetition ends: the largest value, or 1 if days count down to the last day */
export function values(field: string, end: number): Values {
  if (field === '*') return null
  const found = new Set<number>()
  for (const { first, last = end, step } of items(field)) {
    if (last < first) for (let value = first; value >= last; value -= step) found.add(value)
    else for (let value = first; value <= last; value += step) found.add(value)
  }
  return [...found].toSorted((a, b) => a - b)
}

/** The items of a list; `last` is undefined when the repetition is open. */
export function items(field: string): { first: number; last: number | undefined; step: number }[] {
  return field.split(',').map((item) => {
    const [, first, last, step] = /^([\d.]*?\d)(?:\.\.([\d.]+))?(?:\/([\d.]+))?$/u.exec(item) ?? []
    const open = last === undefined && step !== undefined
    return {
      first: Number(first),
      last: last !== undefined ? Number(last) : open ? undefined : Number(first),
      step: Number(step ?? 1),
    }
  })
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

/** Describes ascending values; more than two consecutive values become a range. */
export function ranges(of: readonly number[], name: (value: number) => string, separator: string): string[] {
  return runsOf(of).flatMap((run) =>
    run.length > 2 ? [`${name(run[0] ?? 0)}${separator}${name(run.at(-1) ?? 0)}`] : run.map(name),
  )
}

/** Groups ascending values into runs of consecutive values. */
export function runsOf(values: readonly number[]): readonly (readonly number[])[] {
  const runs: number[][] = []
  for (const value of values) {
    const run = runs.at(-1)
    if (run?.at(-1) === value - 1) run.push(value)
    else runs.push([value])
  }
  return runs
}

export function enumeration(parts: readonly string[]): string {
  return parts.length < 2 ? (parts[0] ?? '') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`
}

export function single(of: Values): number | null {
  return of?.length === 1 ? (of[0] ?? null) : null
}

/** `09` */
export function two(value: number): string {
  return String(value).padStart(2, '0')
}
