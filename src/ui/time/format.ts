/** Instants and durations as people read them. */
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

export const MINUTE_MS = 60_000
export const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS

/** The user's time zone. */
export const myZone = Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC'

const formats = new Map<string, Intl.DateTimeFormat>()

function format(zone: string): Intl.DateTimeFormat {
  let known = formats.get(zone)
  if (known === undefined) {
    known = new Intl.DateTimeFormat('en-GB', {
      timeZone: zone,
      hourCycle: 'h23',
      weekday: 'short',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
      timeZoneName: 'longOffset',
    })
    formats.set(zone, known)
  }
  return known
}

export interface Wall {
  readonly weekday: string
  /** `2026-03-27` */
  readonly date: string
  /** `09:00:00` */
  readonly time: string
  /** `+01:00`, `UTC` */
  readonly offset: string
}

/** What a clock in a zone shows. An unknown zone is shown as UTC. */
export function wall(at: Date, zone: string): Wall {
  let parts: Intl.DateTimeFormatPart[]
  try {
    parts = format(zone).formatToParts(at)
  } catch {
    parts = format('UTC').formatToParts(at)
  }
  const of = (type: Intl.DateTimeFormatPartTypes) => parts.find((part) => part.type === type)?.value ?? ''
  return {
    weekday: of('weekday'),
    date: `${of('year')}-${of('month')}-${of('day')}`,
    time: `${of('hour')}:${of('minute')}:${of('second')}`,
    offset: of('timeZoneName')
      .replace(/^GMT(\+00:00)?$/u, 'UTC')
      .replace('GMT', '')
      .replace('-', '−'),
  }
}

/** `Fri 2026-03-27 09:00:00 +01:00` */
export function exact(at: Date, zone: string): string {
  const { weekday, date, time, offset } = wall(at, zone)
  return `${weekday} ${date} ${time} ${offset}`
}

/** `in 3 min`, `2 h ago`, `now` */
export function relative(at: Date, now: Date): string {
  const ms = at.getTime() - now.getTime()
  if (Math.abs(ms) < 1000) return 'now'
  const size = roughly(Math.abs(ms))
  return ms > 0 ? `in ${size}` : `${size} ago`
}

/** One unit, two where the second one matters: `45 s`, `12 min`, `3 h 20 min`, `5 d`. */
function roughly(ms: number): string {
  if (ms < MINUTE) return `${Math.floor(ms / 1000)} s`
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min`
  if (ms < 10 * HOUR) return joined(Math.floor(ms / HOUR), 'h', Math.floor((ms % HOUR) / MINUTE), 'min')
  if (ms < 2 * DAY) return `${Math.floor(ms / HOUR)} h`
  if (ms < 60 * DAY) return `${Math.floor(ms / DAY)} d`
  if (ms < 730 * DAY) return `${Math.floor(ms / (30.44 * DAY))} months`
  return `${Math.floor(ms / (365.25 * DAY))} years`
}

/** `320 ms`, `4.2 s`, `3 min 20 s`, `2 h 5 min` */
export function duration(ms: number): string {
  if (ms < 0) return '0 ms'
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`
  if (ms < MINUTE) return `${Math.round(ms / 1000)} s`
  if (ms < HOUR) return joined(Math.floor(ms / MINUTE), 'min', Math.floor((ms % MINUTE) / 1000), 's')
  if (ms < DAY) return joined(Math.floor(ms / HOUR), 'h', Math.floor((ms % HOUR) / MINUTE), 'min')
  return joined(Math.floor(ms / DAY), 'd', Math.floor((ms % DAY) / HOUR), 'h')
}

/** As timers write it: `10min`, `1h 30min`; what a form shows and takes. */
export function span(ms: number): string {
  if (ms === 0) return '0'
  const units: readonly [string, number][] = [
    ['d', DAY],
    ['h', HOUR],
    ['min', MINUTE],
    ['s', 1000],
    ['ms', 1],
  ]
  let rest = ms
  return units
    .flatMap(([unit, size]) => {
      const count = Math.floor(rest / size)
      rest -= count * size
      return count === 0 ? [] : [`${count}${unit}`]
    })
    .join(' ')
}

export function count(value: number): string {
  return value.toLocaleString('en-US').replaceAll(',', ' ')
}

function joined(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`
}

/** What a clock in a zone shows as `2026-03-27T09:00`, as an instant; in a repeated hour the first. */
export function instantOf(typed: string, zone: string): Date | null {
  const asUtc = Date.parse(`${typed}Z`)
  if (Number.isNaN(asUtc)) return null
  const shift = (at: number) => {
    const { date, time } = wall(new Date(at), zone)
    return Date.parse(`${date}T${time}Z`) - at
  }
  // Twice: the first guess may lie on the other side of a change of the clock.
  const near = asUtc - shift(asUtc)
  return new Date(asUtc - shift(near))
}

/** The other way round, for an input. */
export function typedAt(at: Date, zone: string): string {
  const { date, time } = wall(at, zone)
  return `${date}T${time.slice(0, 5)}`
}

/** The zone that a timer names; UTC when it names none. */
export function zoneOf(timer: string): string {
  const last = timer.trim().split(/\s+/u).at(-1) ?? ''
  if (!/^[A-Z][\w+-]*(?:\/[\w+-]+)+$/u.test(last)) return 'UTC'
  try {
    format(last)
    return last
  } catch {
    return 'UTC'
  }
}
