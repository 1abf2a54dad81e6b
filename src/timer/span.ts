import { InvalidTimeSpanError } from './error.ts'

/** Milliseconds of each unit of systemd.time(7); a year is 365.25 days, a month a twelfth of it. */
const UNITS: ReadonlyMap<string, number> = new Map(
  (
    [
      [0.001, 'usec us µs μs'],
      [1, 'msec ms'],
      [1000, 'seconds second sec s'],
      [60_000, 'minutes minute min m'],
      [3_600_000, 'hours hour hr h'],
      [86_400_000, 'days day d'],
      [604_800_000, 'weeks week w'],
      [2_629_800_000, 'months month M'],
      [31_557_600_000, 'years year y'],
    ] as const
  ).flatMap(([milliseconds, names]) => names.split(' ').map((name) => [name, milliseconds] as const)),
)

/**
 * Reads a time span as systemd.time(7) writes it: `10min`, `1h 30min`, `2.5s`, `45` (seconds).
 *
 * @param text  a time span, or a number of milliseconds, which is returned as it is
 * @returns milliseconds, rounded to whole ones
 * @throws InvalidTimeSpanError naming what could not be read
 */
export function timeSpan(text: string | number): number {
  if (typeof text === 'number') {
    if (!Number.isFinite(text) || text < 0)
      throw new InvalidTimeSpanError(String(text), 'is not a positive number of milliseconds')
    return Math.round(text)
  }
  if (text.trim() === '') throw new InvalidTimeSpanError(text, 'is empty')
  const part = /\s*(\d+(?:\.\d+)?)\s*([a-zA-Zµμ]*)\s*/uy
  let total = 0
  let end = 0
  while (end < text.length) {
    const [, amount, unit = ''] = part.exec(text) ?? []
    if (amount === undefined)
      throw new InvalidTimeSpanError(text, `cannot be read from '${text.slice(end)}' on`)
    const milliseconds = UNITS.get(unit === '' ? 's' : unit)
    if (milliseconds === undefined) throw new InvalidTimeSpanError(text, `has the unknown unit '${unit}'`)
    total += Number(amount) * milliseconds
    end = part.lastIndex
  }
  return Math.round(total)
}
