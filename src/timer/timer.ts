/**
 * Timers: the text in `periodic_task.timer`, ready to be asked when it goes off.
 *
 * A timer is a systemd calendar event; one without a zone is in UTC, for everyone who reads the row.
 */
import { calendar } from '../calendar/index.ts'
import { InvalidInputError } from '../errors.ts'

export interface Timer {
  /** The first elapse strictly later than `after`; null when nothing is to come. */
  next(after: Date): Date | null
  /** The last elapse at or before `at`; null when there is none. */
  previous(at: Date): Date | null
}

/** Parsed timers by their text: a pass asks for the same few again and again. */
const parsed = new Map<string, Timer>()
const MOST_PARSED = 2000

/**
 * @param text  a calendar event of systemd.time(7), such as `Mon..Fri 09:00 Europe/Berlin`
 * @throws CalendarSyntaxError with column, token and hint
 */
export function timer(text: string): Timer {
  const known = parsed.get(text)
  if (known !== undefined) return known
  const event = calendar(text)
  if (parsed.size >= MOST_PARSED) parsed.clear()
  parsed.set(text, event)
  return event
}

/**
 * Writes a zone into a timer that names none, so that the text means the same to everyone who reads it.
 *
 * @param zone  an IANA zone name, or 'local' for the zone of this process
 * @throws CalendarSyntaxError when the text is no calendar event
 * @throws InvalidInputError when there is no such zone
 */
export function withZone(text: string, zone: string): string {
  const name = checkedZone(zone)
  calendar(text)
  if (name === 'UTC') return text
  const zoned = `${text} ${name}`
  // A text that names a zone already, or is an instant (`@…`), does not take another.
  try {
    return calendar(zoned).zone === name ? zoned : text
  } catch {
    return text
  }
}

/**
 * @param zone  an IANA zone name, or 'local' for the zone of this process
 * @returns the name of the zone
 * @throws InvalidInputError when there is no such zone
 */
export function checkedZone(zone: string): string {
  if (zone === 'local') return Intl.DateTimeFormat().resolvedOptions().timeZone
  try {
    calendar('daily', { zone })
    return zone
  } catch (error) {
    throw new InvalidInputError(
      'zone',
      `an IANA name such as 'Europe/Berlin' is needed, or 'local', not ${JSON.stringify(zone)}`,
      { cause: error },
    )
  }
}
