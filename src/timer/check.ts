import { calendar, CalendarSyntaxError } from '../calendar/index.ts'
import { InvalidInputError } from '../errors.ts'
import { whole } from './builders.ts'
import { clockChanges, clockWarning, localText } from './clock-changes.ts'
import { cronEvents } from './cron.ts'
import { CronSyntaxError, InvalidTimeSpanError, isInvalidTimer } from './error.ts'
import type { Timer } from './elapses.ts'
import { prefixOf, timer, withZone } from './timer.ts'
import { inWords } from './words.ts'

/** The reason why a string is not a timer. */
export interface TimerError {
  readonly code: 'KALENDS_CALENDAR_SYNTAX' | 'KALENDS_CRON_SYNTAX' | 'KALENDS_INVALID_TIME_SPAN'
  readonly message: string
  /** Starts at 1; null if unknown. */
  readonly column: number | null
  readonly token: string | null
  /** What to write instead. */
  readonly hint: string | null
}

/** An elapse, in UTC and in the local time of the timer's zone. */
export interface CheckedElapse {
  readonly at: Date
  /** The elapse in the local time of the timer's zone, with the offset: `Fri 2026-03-27 09:00:00 +01:00`. */
  readonly local: string
}

/** The result of `checkTimer`: the error, or the meaning of the timer. */
export type TimerCheck =
  | { readonly valid: false; readonly error: TimerError }
  | {
      readonly valid: true
      readonly kind: Timer['kind']
      /** The normal form. */
      readonly text: string
      readonly zone: string
      readonly description: string
      readonly elapses: readonly CheckedElapse[]
      readonly warnings: readonly string[]
      /** For cron: the calendar events that elapse at the same times; otherwise empty. */
      readonly events: readonly string[]
    }

/** Options for `checkTimer`. */
export interface CheckOptions {
  /** Added to a timer that names no zone; default UTC. */
  readonly zone?: string | undefined
  /** Elapses are listed after this time; default: now. */
  readonly after?: Date | undefined
  /** The number of elapses to list; default 5. */
  readonly limit?: number | undefined
  /** The time from which the slots of `every` are counted; default `after`. */
  readonly anchor?: Date | undefined
}

/** Returns the error or the meaning of a timer. @throws InvalidInputError only when an option is invalid */
export function checkTimer(text: string, options: CheckOptions = {}): TimerCheck {
  const { after = new Date(), limit = 5, anchor = after } = options
  checkOptions(after, limit, anchor)
  let checked: Timer
  try {
    checked = timer(options.zone === undefined ? text : withZone(text, options.zone))
  } catch (error) {
    return { valid: false, error: errorOf(text, error) }
  }
  const event = checked.elapses(anchor)
  const first = event.next(after)
  const elapses: CheckedElapse[] = []
  for (let at = first; at !== null && elapses.length < limit; at = event.next(at)) {
    elapses.push({ at, local: localText(at, checked.zone) })
  }
  const { kind, zone } = checked
  const warnings =
    first === null
      ? ['It never elapses again.']
      : clockChanges(zone, after).flatMap((change) => clockWarning(checked, change, after) ?? [])
  const events = kind === 'cron' ? eventsOf(checked) : []
  return {
    valid: true,
    kind,
    text: checked.text,
    zone,
    description: inWords(checked),
    elapses,
    warnings,
    events,
  }
}

function eventsOf(cron: Timer): string[] {
  const suffix = cron.zone === 'UTC' ? '' : ` ${cron.zone}`
  return cronEvents(cron).map((event) => String(calendar(`${event}${suffix}`)))
}

function checkOptions(after: Date, limit: number, anchor: Date): void {
  whole('limit', limit, 0, 1000)
  for (const [field, date] of Object.entries({ after, anchor })) {
    if (Number.isNaN(date.getTime()))
      throw new InvalidInputError(field, 'must be a valid Date, got Invalid Date')
  }
}

/** @throws the given error, if it is not about the text */
function errorOf(text: string, error: unknown): TimerError {
  if (!isInvalidTimer(error)) throw error
  const { code, message, column, token } = error
  const hint = error instanceof CalendarSyntaxError ? hintOf(error) : error.hint
  return { code, message, column: column === null ? null : prefixOf(text).length + column, token, hint }
}

/**
 * What to write instead. For text that looks like cron, this is the text with `cron` before it or, if that is rejected
 * too, the fix for that error or its description.
 */
function hintOf({ text, message, hint }: CalendarSyntaxError): string | null {
  if (!message.includes(': this looks like cron')) return hint ?? everyHint(text)
  try {
    return `write ${timer(`cron ${text}`).text}`
  } catch (error) {
    return error instanceof CronSyntaxError ? (error.hint ?? error.problem) : (hint ?? null)
  }
}

/** `5min` alone probably means `every 5min`. */
function everyHint(text: string): string | null {
  try {
    return /[a-z]/iu.test(text) ? `write ${timer(`every ${text}`).text}` : null
  } catch (error) {
    if (error instanceof InvalidTimeSpanError) return null
    throw error
  }
}
