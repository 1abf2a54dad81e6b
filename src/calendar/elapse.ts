import { DAY } from './spec.ts'
import type { WallClock } from './wallclock.ts'
import { MAX_OFFSET, type Stretch, type Zone } from './zone.ts'

const LATEST_INSTANT = Date.UTC(2200, 0, 1) * 1000 + MAX_OFFSET
const EARLIEST_INSTANT = -MAX_OFFSET

/**
 * The first elapse after an instant, found as in systemd: by visiting the matching wall-clock times in clock order.
 * Times that fall in a gap of the clock are skipped. If the clock shows a time twice, the first occurrence counts, or
 * the second if the first is not after `after`.
 *
 * @param after  microseconds since the epoch
 * @returns microseconds since the epoch; null if there is none before the year 2200 in local time
 */
export function nextElapse(times: WallClock, zone: Zone, after: number): number | null {
  if (after >= LATEST_INSTANT) return null
  const from = Math.max(after + 1, EARLIEST_INSTANT)
  const here = zone.at(from)
  let wall = times.atOrAfter(from + here.offset)
  if (wall < here.wallEnd) return wall - here.offset
  while (wall !== Infinity) {
    const stretch = zone.reaching(wall, zone.after(here))
    if (wall >= stretch.wallStart) return wall - stretch.offset
    wall = times.atOrAfter(stretch.wallStart)
  }
  return null
}

/**
 * The last elapse at or before an instant, among those that repeated calls to nextElapse return. If `at` is itself the
 * second occurrence of a matching time, the result is `at`, because nextElapse may return it too.
 */
export function previousElapse(times: WallClock, zone: Zone, at: number): number | null {
  if (at < EARLIEST_INSTANT) return null
  const until = Math.min(at, LATEST_INSTANT)
  const here = zone.at(until)
  const shown = until + here.offset
  let wall = times.atOrBefore(shown)
  if (wall === shown) return until
  // The clock was set back, so everything it has shown since then is a repetition.
  if (shown < here.newFrom) wall = times.atOrBefore(here.newFrom - 1)
  else if (wall >= here.wallStart && wall >= here.newFrom) return wall - here.offset
  while (wall !== -Infinity) {
    const stretch = zone.reaching(wall)
    if (wall >= stretch.wallStart) return wall - stretch.offset
    wall = times.atOrBefore(stretch.newFrom - 1)
  }
  return null
}

/** Like nextElapse, but a matching time elapses each time the clock shows it. */
export function nextOfBoth(times: WallClock, zone: Zone, after: number): number | null {
  if (after >= LATEST_INSTANT) return null
  const from = Math.max(after + 1, EARLIEST_INSTANT)
  let stretch = zone.at(from)
  let cursor = from + stretch.offset
  for (;;) {
    const wall = times.atOrAfter(cursor)
    if (wall >= stretch.wallStart && wall < stretch.wallEnd) return wall - stretch.offset
    if (stretch.wallEnd - cursor > DAY) {
      // The end of the stretch is so far away that the cursor cannot have passed times that will be repeated.
      if (wall === Infinity) return null
      stretch = zone.reaching(wall, zone.after(stretch))
      cursor = Math.max(wall, stretch.wallStart)
    } else {
      const next = zone.after(stretch)
      cursor = isSetBack(stretch, next) ? next.wallStart : Math.max(cursor, next.wallStart)
      stretch = next
    }
  }
}

/** Like previousElapse, but a matching time elapses each time the clock shows it. */
export function previousOfBoth(times: WallClock, zone: Zone, at: number): number | null {
  if (at < EARLIEST_INSTANT) return null
  const until = Math.min(at, LATEST_INSTANT)
  let stretch = zone.at(until)
  let cursor = until + stretch.offset
  for (;;) {
    const wall = times.atOrBefore(cursor)
    if (wall >= stretch.wallStart && wall < stretch.wallEnd) return wall - stretch.offset
    if (cursor - stretch.wallStart > DAY) {
      if (wall === -Infinity) return null
      stretch = zone.leaving(wall)
      cursor = Math.min(wall, stretch.wallEnd - 1)
    } else {
      const earlier = zone.before(stretch)
      cursor = isSetBack(earlier, stretch) ? earlier.wallEnd - 1 : Math.min(cursor, earlier.wallEnd - 1)
      stretch = earlier
    }
  }
}

function isSetBack(earlier: Stretch, later: Stretch): boolean {
  return later.wallStart < earlier.wallEnd
}
