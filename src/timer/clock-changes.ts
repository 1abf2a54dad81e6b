import { calendar } from '../calendar/index.ts'
import type { Zone } from '../calendar/zone.ts'
import { findZone } from '../calendar/zone-names.ts'
import { cronEvents } from './cron.ts'
import { type Elapses, type Timer, union } from './elapses.ts'
import { two } from './words-values.ts'

export interface ClockChange {
  readonly at: Date
  /** Positive: set forward. */
  readonly shiftMs: number
  /** The local time that the clock has reached when it is changed, stored as if it were UTC. */
  readonly wall: Date
}

const HORIZON_MS = 400 * 86_400_000
/** Maximum number of skipped or repeated times that are counted. */
const MAX_COUNTED = 100

export function clockChanges(zone: string, after: Date): ClockChange[] {
  if (zone === 'UTC') return []
  const clock = zoneOf(zone)
  const end = (after.getTime() + HORIZON_MS) * 1000
  const changes: ClockChange[] = []
  let before = clock.at(after.getTime() * 1000)
  for (let next = clock.after(before); next !== before && next.start < end; next = clock.after(before)) {
    if (next.offset !== before.offset)
      changes.push({
        at: new Date(next.start / 1000),
        shiftMs: (next.offset - before.offset) / 1000,
        wall: new Date(before.wallEnd / 1000),
      })
    before = next
  }
  return changes
}

/**
 * Describes the effect of a clock change on a timer; null if the change has no noticeable effect.
 *
 * Comparing the timer with the same timer in a zone without clock changes shows which of its times are skipped or
 * repeated.
 *
 * @param after  a calendar event that does not elapse after this time gets no warning about repeated times
 */
export function clockWarning(of: Timer, { at, shiftMs, wall }: ClockChange, after: Date): string | null {
  if (of.kind !== 'calendar' && of.kind !== 'cron') return null
  const times = unchangedTimes(of)
  const shifted = new Date(wall.getTime() + shiftMs)
  const [from, to] = shiftMs > 0 ? [wall, shifted] : [shifted, wall]
  const affected = between(times, from, to)
  const [first] = affected
  const last = affected.at(-1)
  if (first === undefined || last === undefined) return null
  // If the clock is set back at midnight, that midnight is shown as 24:00 of the previous day.
  const shown =
    shiftMs < 0 && wall.getUTCHours() + wall.getUTCMinutes() === 0 ? '24:00' : clockText(wall, from)
  const change = `from ${shown} to ${clockText(shifted, from)}`
  const set = `The clock of ${of.zone} is set ${shiftMs > 0 ? 'forward' : 'back'} on ${dayText(from)} ${change}`
  if (shiftMs > 0) {
    return goesOn(of, times, at, first)
      ? null
      : `${set}: the timer does not elapse ${named(affected, 'or')} that day.`
  }
  const later = times.next(last)
  const rest = later === null ? Infinity : later.getTime() - last.getTime()
  // Whether the last time before the change and the first one after it are at least as far apart as usual.
  const regular = first.getTime() - shiftMs - last.getTime() >= rest
  if (of.kind === 'cron') return regular ? null : `${set}: the timer elapses ${named(affected)} both times.`
  if (of.next(after) === null) return null
  return `${set}: the timer elapses ${named(affected)} only the first time.`
}

/** Whether the elapses around a skipped time are no further apart than without the clock change. */
function goesOn(of: Timer, times: Elapses, at: Date, skipped: Date): boolean {
  const last = of.previous(new Date(at.getTime() - 1))
  const next = of.next(new Date(at.getTime() - 1))
  const before = times.previous(new Date(skipped.getTime() - 1))
  if (last === null || next === null || before === null) return false
  return next.getTime() - last.getTime() <= skipped.getTime() - before.getTime()
}

/** The local times of a timer, as if its zone had no clock changes; stored as if they were UTC. */
function unchangedTimes(of: Timer): Elapses {
  if (of.kind === 'cron') return union(cronEvents(of).map((text) => calendar(text)))
  const suffix = ` ${of.zone}`
  return calendar(of.text.endsWith(suffix) ? of.text.slice(0, -suffix.length) : of.text)
}

/** The times from `from` up to, but not including, `to`; at most one hundred. */
function between(times: Elapses, from: Date, to: Date): Date[] {
  const found: Date[] = []
  let time = times.next(new Date(from.getTime() - 1))
  while (time !== null && time < to && found.length < MAX_COUNTED) {
    found.push(time)
    time = times.next(time)
  }
  return found
}

/** `at 02:30`, `at 02:00 and 02:30`, or `at its 60 times from 02:00 to 02:59`. */
function named(times: readonly Date[], conjunction = 'and'): string {
  const shown = times.map((time) => clockText(time, times[0] ?? time))
  if (shown.length < 3) return `at ${shown.join(` ${conjunction} `)}`
  if (shown.length >= MAX_COUNTED) return `at its many times from ${shown[0]} onwards`
  return `at its ${shown.length} times from ${shown[0]} to ${shown.at(-1)}`
}

/** `02:30`; with seconds and the day only if needed. */
function clockText(wall: Date, onDay: Date): string {
  const text = wall.toISOString()
  const day = text.slice(0, 10) === onDay.toISOString().slice(0, 10) ? '' : ` of ${dayText(wall)}`
  return `${text.slice(11, text.slice(17, 23) === '00.000' ? 16 : 19)}${day}`
}

function dayText(wall: Date): string {
  const weekday = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'][wall.getUTCDay()]
  return `${weekday} ${wall.toISOString().slice(0, 10)}`
}

/** `Fri 2026-03-27 09:00:00 +01:00` */
export function localText(at: Date, zone: string): string {
  const offset = zoneOf(zone).at(at.getTime() * 1000).offset / 1000
  const local = new Date(at.getTime() + offset)
  const minutes = Math.abs(Math.round(offset / 60_000))
  const shown = `${offset < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`
  return `${dayText(local)} ${local.toISOString().slice(11, 19)} ${shown}`
}

/** @throws RangeError when the zone is unknown */
function zoneOf(name: string): Zone {
  const zone = findZone(name)
  if (zone === undefined) throw new RangeError(`Unknown time zone ${JSON.stringify(name)}`)
  return zone
}
