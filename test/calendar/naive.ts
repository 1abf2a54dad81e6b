import type { Fold } from '../../src/calendar/index.ts'

/**
 * A slow search for elapses: it checks every minute of a window, reads the local time from Intl, and compares it with
 * plain sets. It shares no code with src/calendar, so the two are unlikely to have the same bug.
 *
 * Instants are milliseconds since the epoch; a local time is stored as the instant with that time in UTC.
 */
export interface NaiveEvent {
  readonly text: string
  readonly zone: string
  /** null for any. Sunday is 0. */
  readonly weekdays: ReadonlySet<number> | null
  readonly years: ReadonlySet<number> | null
  readonly months: ReadonlySet<number> | null
  readonly days: ReadonlySet<number> | null
  /** Whether `days` count from the end of the month; 1 is then the last day. */
  readonly daysFromEnd: boolean
  readonly hours: ReadonlySet<number> | null
  readonly minutes: ReadonlySet<number> | null
  readonly seconds: ReadonlySet<number>
}

export interface Minute {
  readonly instant: number
  readonly wall: number
}

const MINUTE = 60_000

/** The local time in a zone at each minute from `from` (inclusive) to `to` (exclusive). */
export function minutesShown(zone: string, from: number, to: number): readonly Minute[] {
  const clock = new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    dateStyle: 'short',
    timeStyle: 'medium',
    hourCycle: 'h23',
  })
  const minutes: Minute[] = []
  for (let instant = from; instant < to; instant += MINUTE) {
    const shown = /^(\d\d)\/(\d\d)\/(\d{4}), (\d\d:\d\d:\d\d)$/.exec(clock.format(instant))
    if (shown === null) throw new Error(`cannot read the clock: ${clock.format(instant)}`)
    const [, day, month, year, time] = shown
    minutes.push({ instant, wall: Date.parse(`${year}-${month}-${day}T${time}Z`) })
  }
  return minutes
}

export function dayMatches(event: NaiveEvent, wall: number): boolean {
  const date = new Date(wall)
  const day = date.getUTCDate()
  const length = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate()
  return (
    (event.weekdays?.has(date.getUTCDay()) ?? true) &&
    (event.years?.has(date.getUTCFullYear()) ?? true) &&
    (event.months?.has(date.getUTCMonth() + 1) ?? true) &&
    (event.days?.has(event.daysFromEnd ? length + 1 - day : day) ?? true)
  )
}

/** All occurrences of all matching times in the given minutes, in order. */
export function showings(event: NaiveEvent, minutes: readonly Minute[]): Minute[] {
  return minutes
    .filter(({ wall }) => {
      const date = new Date(wall)
      return (
        (event.hours?.has(date.getUTCHours()) ?? true) &&
        (event.minutes?.has(date.getUTCMinutes()) ?? true) &&
        dayMatches(event, wall)
      )
    })
    .flatMap(({ instant, wall }) =>
      [...event.seconds]
        .toSorted((a, b) => a - b)
        .map((second) => ({ instant: instant + second * 1000, wall: wall + second * 1000 })),
    )
}

/** The elapses of a chain that starts before the minutes; a repeated time elapses once, or twice with fold 'both'. */
export function chain(event: NaiveEvent, minutes: readonly Minute[], fold: Fold): number[] {
  const all = showings(event, minutes)
  const seen = new Set<number>()
  return all
    .filter(({ wall }) => {
      const repeated = seen.has(wall)
      seen.add(wall)
      return fold === 'both' || !repeated
    })
    .map(({ instant }) => instant)
}

/** The resolution of calendar events, in milliseconds. */
const MICROSECOND = 0.001

/**
 * The first elapse after the instant `after`, exactly as the rule defines it: the matching times in `minutes` are taken
 * in local order, starting one microsecond after the local time of `after`. The first that occurs after `after` wins.
 */
export function nextOfFirst(
  event: NaiveEvent,
  minutes: readonly Minute[],
  after: number,
): number | undefined {
  const minute = minutes.findLast(({ instant }) => instant <= after)
  if (minute === undefined) throw new Error('after is before the minutes')
  const shownThen = minute.wall + (after - minute.instant) + MICROSECOND
  return showings(event, minutes)
    .filter(({ wall, instant }) => wall >= shownThen && instant > after)
    .toSorted((a, b) => a.wall - b.wall || a.instant - b.instant)
    .at(0)?.instant
}
