import { nextElapse, nextOfBoth, previousElapse, previousOfBoth } from './elapse.ts'
import { format } from './format.ts'
import type { CalendarSpec } from './spec.ts'
import { parse } from './syntax.ts'
import { WallClock } from './wallclock.ts'
import type { Zone } from './zone.ts'
import { findZone, localZone, NO_LOCAL_ZONE } from './zone-names.ts'

/**
 * How to handle a time that the clock shows twice when it is set back: with `'first'`, the event elapses only the
 * first time (as in systemd); with `'both'`, it elapses both times.
 */
export type Fold = 'first' | 'both'

/** Options for `calendar`. */
export interface CalendarOptions {
  /**
   * The zone for an event that names none: an IANA name (case-sensitive), or `'local'` for the zone of this process.
   * Default `'UTC'`.
   */
  readonly zone?: string | undefined
  /** Default `'first'`. */
  readonly fold?: Fold | undefined
}

/**
 * Parses a calendar event of systemd.time(7), such as `Mon..Fri 9:00 Europe/Berlin`.
 *
 * @throws CalendarSyntaxError when the text is not a calendar event
 * @throws TypeError when the text is not a string or an option has the wrong type
 * @throws RangeError when the zone or fold option is unknown
 */
export function calendar(text: string, options?: CalendarOptions): CalendarEvent {
  return new CalendarEvent(text, options)
}

/**
 * A calendar event: the clock times at which something should happen, and the zone of the clock. Immutable.
 *
 * It elapses at every instant at which the zone's clock shows a time that matches its weekdays, date and time, from
 * 1970 to 2199 in the zone's local time. It does not elapse at a time that the clock skips when it is set forward. For
 * a time that the clock shows twice, see the fold option.
 */
export class CalendarEvent {
  readonly #spec: CalendarSpec
  readonly #suffix: Zone | undefined
  readonly #zone: Zone
  readonly #fold: Fold
  #times: WallClock | undefined

  /** Does the same as calendar(). */
  constructor(text: string, options: CalendarOptions = {}) {
    if (typeof text !== 'string') throw new TypeError(`A calendar event must be a string, got ${shown(text)}`)
    const { zone = 'UTC', fold = 'first' } = options
    if (fold !== 'first' && fold !== 'both') {
      throw new RangeError(`Option fold must be 'first' or 'both', got ${shown(fold)}`)
    }
    const fallback = zoneOption(zone)
    const event = parse(text)
    this.#spec = event.spec
    this.#suffix = event.zone
    this.#zone = event.zone ?? fallback
    this.#fold = fold
  }

  /** The zone in effect: the event's own, else the one from the options, else `'UTC'`. */
  get zone(): string {
    return this.#zone.name
  }

  /**
   * The first elapse after an instant. An elapse between two milliseconds is rounded up, so the result is never before
   * the elapse.
   *
   * @param after  the result is strictly later
   * @returns null when the event does not elapse again
   * @throws TypeError, RangeError when `after` is not a valid Date
   */
  next(after: Date): Date | null {
    const micros = this.#next(1000 * millisOf(after, 'after'))
    return micros === null ? null : new Date(Math.ceil(micros / 1000))
  }

  /**
   * The last elapse at or before an instant, rounded as in next().
   *
   * With fold `'first'`, the result is one of the times that repeated calls to next() return. If `at` itself is the
   * second occurrence of a matching time, the result is `at`, because next() may have returned it.
   *
   * @returns null when the event has not elapsed by then
   * @throws TypeError, RangeError when `at` is not a valid Date
   */
  previous(at: Date): Date | null {
    const micros = this.#previous(1000 * millisOf(at, 'at'))
    return micros === null ? null : new Date(Math.ceil(micros / 1000))
  }

  /**
   * The first elapse after an instant, without rounding.
   *
   * @param after  microseconds since 1970-01-01T00:00Z, an integer
   * @returns microseconds since 1970-01-01T00:00Z; null when the event does not elapse again
   * @throws TypeError, RangeError when `after` is not a safe integer
   */
  nextMicros(after: number): number | null {
    return this.#next(checkedMicros(after, 'after'))
  }

  /**
   * The last elapse at or before an instant, without rounding.
   *
   * @param at  microseconds since 1970-01-01T00:00Z, an integer
   * @returns microseconds since 1970-01-01T00:00Z; null when the event has not elapsed by then
   * @throws TypeError, RangeError when `at` is not a safe integer
   */
  previousMicros(at: number): number | null {
    return this.#previous(checkedMicros(at, 'at'))
  }

  /** The normal form, byte for byte as `systemd-analyze calendar` prints it. */
  toString(): string {
    return format(this.#spec, this.#suffix?.name ?? null)
  }

  #next(after: number): number | null {
    this.#times ??= new WallClock(this.#spec)
    return (this.#fold === 'first' ? nextElapse : nextOfBoth)(this.#times, this.#zone, after)
  }

  #previous(at: number): number | null {
    this.#times ??= new WallClock(this.#spec)
    return (this.#fold === 'first' ? previousElapse : previousOfBoth)(this.#times, this.#zone, at)
  }
}

function zoneOption(name: string): Zone {
  if (typeof name !== 'string') throw new TypeError(`Option zone must be a string, got ${shown(name)}`)
  const given = name === 'local' ? localZone() : name
  if (given === undefined) throw new RangeError(`Option zone is 'local', but ${NO_LOCAL_ZONE}`)
  const zone = findZone(given)
  if (zone !== undefined) return zone
  throw new RangeError(
    `Option zone must be an IANA time zone (case-sensitive) or 'local', got ${shown(name)}`,
  )
}

function millisOf(date: Date, parameter: string): number {
  if (!(date instanceof Date))
    throw new TypeError(`Parameter ${parameter} must be a Date, got ${shown(date)}`)
  const millis = date.getTime()
  if (Number.isNaN(millis)) throw new RangeError(`Parameter ${parameter} is an invalid Date`)
  return millis
}

function checkedMicros(micros: number, parameter: string): number {
  // Adding 0 turns -0 into 0.
  if (Number.isSafeInteger(micros)) return micros + 0
  const Kind = typeof micros === 'number' ? RangeError : TypeError
  throw new Kind(`Parameter ${parameter} must be a safe integer, in microseconds, got ${shown(micros)}`)
}

function shown(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : String(value)
}
