/**
 * Parses the text in `periodic_task.timer`, so that its elapses can be computed.
 *
 * - a calendar event of systemd.time(7): `Mon..Fri 09:00 Europe/Berlin`; without a zone, it is in UTC for every reader
 *   of the row. A full date is a one-off
 * - `cron 0 9 * * mon-fri Europe/Berlin`: crontab syntax, a union of calendar events; `cron!` accepts only POSIX
 * - `every 5min`: at instants counted from the schedule's creation, so they neither drift nor shift when a process
 *   restarts
 * - `every 5min after finish`: counted from the end of the previous run
 */
import { calendar } from '../calendar/index.ts'
import { findZone, localZone, NO_LOCAL_ZONE } from '../calendar/zone-names.ts'
import { InvalidInputError } from '../errors.ts'
import { cron } from './cron.ts'
import type { Elapses, Timer, TimerSpec } from './elapses.ts'
import { afterFinish, every } from './every.ts'

/** Caches parsed timers by their text, because each pass needs the same timers. */
const parsed = new Map<string, Timer>()
const MAX_PARSED = 2000

/**
 * @throws CalendarSyntaxError with column, token and hint
 * @throws CronSyntaxError naming the field and, if there is one, the equivalent calendar event
 * @throws InvalidTimeSpanError
 */
export function timer(text: string): Timer {
  const known = parsed.get(text)
  if (known !== undefined) return known
  const made = withElapses(parse(text))
  if (parsed.size >= MAX_PARSED) parsed.clear()
  parsed.set(text, made)
  return made
}

/** How a schedule restricts and shifts its timer. */
export interface Bounds {
  /** The creation time of the schedule. */
  readonly anchor: Date
  /** Added to every elapse, in milliseconds. */
  readonly shiftMs: number
  /** There is no elapse before this time. */
  readonly starts: Date | null
  /** There is no elapse after this time. */
  readonly ends: Date | null
}

/**
 * The elapses of a timer for one schedule: none before `starts`, none after `ends`, all shifted by the same time.
 *
 * `after finish` is not shifted, because runs already finish at different times. If its elapse would be before
 * `starts`, it is moved to `starts`.
 */
export function elapsesWithin(of: Timer, { anchor, shiftMs, starts, ends }: Bounds): Elapses {
  const base = of.elapses(anchor)
  const inTime = (date: Date | null) => (date !== null && ends !== null && date > ends ? null : date)
  if (of.kind === 'after-finish') {
    return {
      next(after) {
        const found = base.next(after)
        return inTime(found !== null && starts !== null && found < starts ? starts : found)
      },
      previous: () => null,
    }
  }
  if (shiftMs === 0 && starts === null && ends === null) return base
  const shifted = (date: Date | null) => date && new Date(date.getTime() + shiftMs)
  return {
    next(after) {
      const from = starts !== null && after < starts ? starts.getTime() - 1 : after.getTime()
      return inTime(shifted(base.next(new Date(from - shiftMs))))
    },
    previous(at) {
      const to = ends !== null && at > ends ? ends : at
      const found = shifted(base.previous(new Date(to.getTime() - shiftMs)))
      return found !== null && starts !== null && found < starts ? null : found
    },
  }
}

/**
 * Adds a zone to a timer that names none, so that the text has the same meaning for every reader.
 *
 * @param zone  an IANA zone name, or 'local' for the zone of this process
 * @throws InvalidInputError when the zone is unknown, and the errors of `timer`
 */
export function withZone(text: string, zone: string): string {
  const name = checkedZone(zone)
  const { kind } = timer(text)
  if (name === 'UTC' || (kind !== 'calendar' && kind !== 'cron')) return text
  const zoned = `${text} ${name}`
  // Text that already names a zone, or is an instant (`@…`), does not accept another zone.
  try {
    return timer(zoned).zone === name ? zoned : text
  } catch {
    return text
  }
}

/**
 * @param zone  an IANA zone name, or 'local' for the zone of this process
 * @returns the name of the zone
 * @throws InvalidInputError when the zone is unknown
 */
export function checkedZone(zone: string): string {
  if (zone === 'local') {
    const local = localZone()
    if (local === undefined) throw new InvalidInputError('zone', `is 'local', but ${NO_LOCAL_ZONE}`)
    return local
  }
  if (findZone(zone) !== undefined) return zone
  throw new InvalidInputError(
    'zone',
    `must be an IANA name such as 'Europe/Berlin', or 'local', got ${typeof zone === 'string' ? JSON.stringify(zone) : `a value of type ${typeof zone}`}`,
  )
}

function withElapses(made: TimerSpec): Timer {
  const elapses = made.elapses(new Date(0))
  return { ...made, next: (after) => elapses.next(after), previous: (at) => elapses.previous(at) }
}

function parse(text: string): TimerSpec {
  const prefix = prefixOf(text)
  const rest = text.slice(prefix.length)
  const kind = prefix.trim().toLowerCase()
  if (kind === 'cron' || kind === 'cron!') return cron(rest, kind)
  if (kind === 'every') {
    const span = spanAfterFinish(rest)
    return span === null ? every(rest) : afterFinish(span)
  }
  const event = calendar(text)
  return { kind: 'calendar', text: String(event), zone: event.zone, spanMs: null, elapses: () => event }
}

/** The prefix `cron`, `cron!` or `every` of a timer, as written; empty for a calendar event. */
export function prefixOf(text: string): string {
  return /^\s*(?:every|cron!?)(?:\s+|$)/iu.exec(text)?.[0] ?? ''
}

/** The span of `<span> after finish`; null when the timer has another form. */
function spanAfterFinish(text: string): string | null {
  const words = Array.from(text.matchAll(/\S+/gu))
  const [after, finish] = words.slice(-2)
  return after?.[0] === 'after' && finish?.[0] === 'finish' ? text.slice(0, after.index) : null
}
