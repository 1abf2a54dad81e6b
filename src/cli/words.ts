/** Times, spans and choices as commands show and take them. */
import { InvalidArgumentError } from 'commander'
import { timestamp } from './calendar-report.ts'
import { CommandError, EXIT } from './failure.ts'

const localZone = new Intl.DateTimeFormat().resolvedOptions().timeZone

/** `Fri 2026-03-27 09:00:00 CET` in the zone of this process; `-` for none. */
export function when(at: Date | null): string {
  return at === null ? '-' : timestamp(at.getTime() * 1000, localZone)
}

const UNITS = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1000, 's'],
] as const

/** The two largest units of a span that say something: `2h 5min`, `300ms`. */
export function spanShort(ms: number): string {
  const length = Math.abs(ms)
  if (length < 1000) return `${Math.round(length)}ms`
  const index = UNITS.findIndex(([unit]) => length >= unit)
  const [large, small] = [UNITS[index], UNITS[index + 1]]
  if (large === undefined) return `${Math.round(length)}ms`
  const whole = Math.floor(length / large[0])
  const rest = small === undefined || whole >= 10 ? 0 : Math.floor((length % large[0]) / small[0])
  return `${whole}${large[1]}${rest === 0 || small === undefined ? '' : ` ${rest}${small[1]}`}`
}

export function firstLine(text: string | null): string {
  return text?.split('\n', 1)[0] ?? ''
}

export function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('A whole number is needed.')
  return Number(text)
}

export function integer(text: string): number {
  if (!/^-?\d{1,10}$/.test(text)) throw new InvalidArgumentError('A whole number is needed.')
  return Number(text)
}

/** JSON from the command line. */
export function jsonValue(text: string): unknown {
  // commander takes it for no value.
  if (text.trim() === 'null') throw new InvalidArgumentError('An object is needed, not null.')
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new InvalidArgumentError(
      `JSON is needed, such as '{"days":30}': ${error instanceof Error ? error.message : String(error)}`,
    )
  }
}

/** A time as people type it: `2026-03-27 09:00 UTC`, `tomorrow`, `+2h`. */
export async function instantOption(option: string, text: string | undefined): Promise<Date | undefined> {
  if (text === undefined) return undefined
  const { baseTime } = await import('./base-time.ts')
  const micros = baseTime(text, { nowMicros: Date.now() * 1000, zone: localZone, option })
  return new Date(Math.floor(micros / 1000))
}

export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}

export function usage(message: string): CommandError {
  return new CommandError(message, { exitCode: EXIT.usage })
}
