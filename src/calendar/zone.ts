import { DAY, FIRST_YEAR, LAST_YEAR, SECOND } from './spec.ts'

/**
 * A period in which a zone's offset does not change. All values are microseconds.
 *
 * Two neighbouring stretches may have the same offset, because they are also split at the end of each year (UTC).
 */
export interface Stretch {
  /** The first instant. */
  readonly start: number
  /** The first instant after the stretch. */
  readonly end: number
  /** The wall clock minus UTC. */
  readonly offset: number
  /** The wall clock at `start`. */
  readonly wallStart: number
  /** The wall clock at `end`, using this offset. */
  readonly wallEnd: number
  /** Wall-clock times before this one were already shown in an earlier stretch. */
  readonly newFrom: number
}

/** No zone is further from UTC than this, and no clock was ever set back by more. */
export const MAX_OFFSET = DAY

// A margin of one year, because the wall-clock years 1970 and 2199 extend into the neighbouring years of UTC.
const EARLIEST_YEAR = FIRST_YEAR - 1
const LATEST_YEAR = LAST_YEAR + 1

// The shortest time between two changes that cancel each other out is 167 hours (America/Recife 2000).
const PROBE_SECONDS = 5 * 86_400

/**
 * The clock changes of a zone, found by asking Intl for offsets, one year at a time, when they are first needed.
 *
 * Instants outside 1969 to 2200 are treated as if they were in the nearest of these years.
 */
export class Zone {
  readonly name: string
  readonly #clock: Intl.DateTimeFormat
  readonly #years: (readonly Stretch[])[] = []
  #latest: Stretch

  /** @throws RangeError when the Intl of this Node.js version does not know the zone */
  constructor(name: string) {
    this.name = name
    this.#clock = new Intl.DateTimeFormat('en-US', {
      timeZone: name,
      calendar: 'gregory',
      numberingSystem: 'latn',
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    })
    this.#latest = name === 'UTC' ? ALWAYS : NEVER
  }

  at(instant: number): Stretch {
    // Searches usually stay within one stretch, and UTC has only one.
    if (instant < this.#latest.start || instant >= this.#latest.end) this.#latest = this.#find(instant)
    return this.#latest
  }

  after(stretch: Stretch): Stretch {
    return this.at(stretch.end)
  }

  before(stretch: Stretch): Stretch {
    return this.at(stretch.start - 1)
  }

  /** The first stretch, not before `earliest`, that shows `wall`, or a later time if `wall` is in a gap. */
  reaching(wall: number, earliest?: Stretch): Stretch {
    let stretch = this.at(wall - MAX_OFFSET)
    if (earliest !== undefined && stretch.start < earliest.start) stretch = earliest
    while (stretch.wallEnd <= wall) stretch = this.after(stretch)
    return stretch
  }

  /** The last stretch that shows `wall`, or an earlier time if `wall` is in a gap. */
  leaving(wall: number): Stretch {
    let stretch = this.at(wall + MAX_OFFSET)
    while (stretch.wallStart > wall) stretch = this.before(stretch)
    return stretch
  }

  #find(instant: number): Stretch {
    const within = Math.max(yearStart(EARLIEST_YEAR), Math.min(instant / 1000, yearStart(LATEST_YEAR)))
    const number = new Date(Math.floor(within)).getUTCFullYear()
    const year = (this.#years[number] ??= this.#year(number))
    return year.find(({ end }) => instant < end) ?? lastOf(year)
  }

  #year(year: number): readonly Stretch[] {
    const from = yearStart(year) / 1000
    const to = yearStart(year + 1) / 1000
    // The margin covers times that the clock has already shown when the year starts.
    const changes = this.#changes(from - (2 * MAX_OFFSET) / SECOND, to)
    const found: Stretch[] = []
    let shown = -Infinity
    for (const [number, change] of changes.entries()) {
      const end = changes[number + 1]?.second ?? to
      const offset = change.offset * SECOND
      if (end > from) found.push(stretch(Math.max(change.second, from) * SECOND, end * SECOND, offset, shown))
      shown = Math.max(shown, end * SECOND + offset)
    }
    return found
  }

  /** The offset at `from`, and each change before `to`. */
  #changes(from: number, to: number): readonly Change[] {
    let low = { second: from, offset: this.#offset(from) }
    const changes: Change[] = [low]
    while (low.second < to - 1) {
      const probe = Math.min(low.second + PROBE_SECONDS, to - 1)
      const offset = this.#offset(probe)
      low = { second: probe, offset }
      let last = lastOf(changes)
      while (last.offset !== offset) {
        last = this.#nextChange(last.offset, Math.max(last.second, probe - PROBE_SECONDS), probe)
        changes.push(last)
      }
    }
    return changes
  }

  /** The first change between two seconds. `low` has the given offset, `high` has a different one. */
  #nextChange(offset: number, low: number, high: number): Change {
    let changed = { second: high, offset: this.#offset(high) }
    while (changed.second - low > 1) {
      const middle = Math.floor((low + changed.second) / 2)
      const there = this.#offset(middle)
      if (there === offset) low = middle
      else changed = { second: middle, offset: there }
    }
    return changed
  }

  /** The wall clock minus UTC, in seconds. */
  #offset(second: number): number {
    const shown = this.#clock.format(second * 1000).match(/\d+/g)
    const [month = 0, day = 0, year = 0, hour = 0, minute = 0, inMinute = 0] = shown?.map(Number) ?? []
    return Date.UTC(year, month - 1, day, hour, minute, inMinute) / 1000 - second
  }
}

interface Change {
  readonly second: number
  readonly offset: number
}

// This bound is finite, so it excludes Infinity, which stands for no time.
const ALWAYS = stretch(-Number.MAX_VALUE, Number.MAX_VALUE, 0, -Number.MAX_VALUE)
const NEVER = stretch(0, 0, 0, 0)

function stretch(start: number, end: number, offset: number, newFrom: number): Stretch {
  return { start, end, offset, wallStart: start + offset, wallEnd: end + offset, newFrom }
}

function yearStart(year: number): number {
  return Date.UTC(year, 0, 1)
}

function lastOf<T>(items: readonly T[]): T {
  const last = items.at(-1)
  if (last === undefined) throw new Error('a list that cannot be empty is empty')
  return last
}
