/** Instants and numbers as people read them. */

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

export function count(value: number): string {
  return value.toLocaleString('en-US').replaceAll(',', ' ')
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
