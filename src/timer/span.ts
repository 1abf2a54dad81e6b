import { InvalidTimeSpanError } from './error.ts'

/** The units of systemd.time(7) in milliseconds; a year is 365.25 days, and a month is a twelfth of that. */
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
 * Parses a time span of systemd.time(7): `10min`, `1h 30min`, `2.5s`, `45` (seconds).
 *
 * @param text  a time span, or a number of milliseconds
 * @returns milliseconds, rounded
 * @throws InvalidTimeSpanError naming the part that could not be parsed
 */
export function timeSpan(text: string | number): number {
  if (typeof text === 'number') {
    if (!Number.isFinite(text) || text < 0)
      throw new InvalidTimeSpanError(String(text), 'is negative or not a number of milliseconds')
    return checkedLength(Math.round(text), String(text))
  }
  if (text.trim() === '') throw new InvalidTimeSpanError(text, 'is empty')
  const part = /\s*(\d+(?:\.\d+)?|\.\d+)(?![\d.])\s*([a-zA-Zµμ]*)\s*/duy
  let total = 0
  let end = 0
  while (end < text.length) {
    const found = part.exec(text)
    const [, amount, unit = ''] = found ?? []
    if (amount === undefined) {
      const at = text.length - text.slice(end).trimStart().length
      const rest = text.slice(at)
      throw new InvalidTimeSpanError(text, `is invalid from '${shortened(rest)}' onwards`, {
        at,
        token: /^\S+/u.exec(rest)?.[0] ?? rest,
      })
    }
    const milliseconds = UNITS.get(unit === '' ? 's' : unit)
    if (milliseconds === undefined) {
      const problem = `has the unknown unit '${shortened(unit)}'`
      throw new InvalidTimeSpanError(text, problem, { at: found?.indices?.[2]?.[0] ?? end, token: unit })
    }
    total += Number(amount) * milliseconds
    end = part.lastIndex
  }
  return checkedLength(Math.round(total), text)
}

function checkedLength(milliseconds: number, text: string): number {
  if (milliseconds > Number.MAX_SAFE_INTEGER) throw new InvalidTimeSpanError(text, 'is too long')
  return milliseconds
}

function shortened(text: string): string {
  return text.length > 40 ? `${text.slice(0, 37)}...` : text
}

/** The first unit of varying length (months or years) in a time span, or null if there is none. */
export function varyingUnit(text: string): string | null {
  return /\d\s*(months?|M|years?|y)(?![a-zA-Z])/u.exec(text)?.[1] ?? null
}
