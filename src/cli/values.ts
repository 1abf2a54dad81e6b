import { InvalidArgumentError } from 'commander'
import { messageOf } from '../errors.ts'
import { ownZone, timestamp } from './calendar-report.ts'

/** Defined here, so that importing it does not load the schema in `command-task.ts`. */
export const COMMAND_TASK = 'command'

const zone = ownZone()

/** Formats an instant like `Fri 2026-03-27 09:00:00 CET`, in the zone of this process; null becomes `-`. */
export function when(at: Date | null): string {
  return at === null ? '-' : timestamp(at.getTime() * 1000, zone)
}

/** @param otherwise  what `none` means, if it is allowed */
export function wholeNumber(least: number, most: number, otherwise?: string): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (/^-?\d+$/.test(text) && value >= least && value <= most) return value
    const none = otherwise === undefined ? '' : `, or none (${otherwise})`
    throw new InvalidArgumentError(`It must be an integer between ${least} and ${most}${none}.`)
  }
}

export function jsonValue(text: string): unknown {
  // commander would replace null with an empty string.
  if (text.trim() === 'null') throw new InvalidArgumentError('It must be an object, not null.')
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new InvalidArgumentError(`It must be JSON, such as '{"days":30}': ${messageOf(error)}`)
  }
}

export async function instantOption(option: string, text: string | undefined): Promise<Date | undefined> {
  if (text === undefined) return undefined
  const { baseTime } = await import('./base-time.ts')
  return new Date(Math.floor(baseTime(option, text) / 1000))
}
