/**
 * Durations and relative times as text. The result of `spanText` is exact and can be used in a timer or a setting;
 * those of `durationText` and `relativeTime` are rounded down, for people to read.
 */

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const MONTH = 30.4375 * DAY
const YEAR = 365.25 * DAY

/** The units of spans, largest first. Months and years are not used, because their lengths vary. */
const UNITS: readonly (readonly [milliseconds: number, unit: string, word: string])[] = [
  [7 * DAY, 'w', 'week'],
  [DAY, 'd', 'day'],
  [HOUR, 'h', 'hour'],
  [MINUTE, 'min', 'minute'],
  [SECOND, 's', 'second'],
  [1, 'ms', 'millisecond'],
]

/** A number with its noun: `1 job`, `2 jobs`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}

/** A span such as `1h 30min`, which `timeSpan` reads as the same number of milliseconds. */
export function spanText(milliseconds: number): string {
  return parts(milliseconds)
    .map(([count, unit]) => `${count}${unit}`)
    .join(' ')
}

/** A span such as `1 hour 30 minutes`. */
export function spanWords(milliseconds: number): string {
  return parts(milliseconds)
    .map(([count, , word]) => counted(count, word))
    .join(' ')
}

function parts(milliseconds: number): (readonly [count: number, unit: string, word: string])[] {
  const found: (readonly [count: number, unit: string, word: string])[] = []
  let rest = milliseconds
  for (const [length, unit, word] of UNITS) {
    // Weeks are used only for whole weeks: `10d`, not `1w 3d`.
    if (unit === 'w' && rest % length !== 0) continue
    const count = Math.floor(rest / length)
    if (count > 0) found.push([count, unit, word])
    rest -= count * length
  }
  return found.length === 0 ? [[0, 's', 'second']] : found
}

const IN_MINUTES = [MINUTE, 'min', SECOND, 's'] as const
const IN_HOURS = [HOUR, 'h', MINUTE, 'min'] as const
const IN_DAYS = [DAY, 'd', HOUR, 'h'] as const

/** A duration in at most two units: `320 ms`, `4.2 s`, `3 min 20 s`, `2 h 5 min`, `12 d`. Never negative. */
export function durationText(milliseconds: number): string {
  const length = Math.max(0, milliseconds)
  if (length < SECOND) return `${Math.floor(length)} ms`
  if (length < 10 * SECOND) return `${Math.floor(length / 100) / 10} s`
  if (length < MINUTE) return `${Math.floor(length / SECOND)} s`
  const [unit, name, next, nextName] = length < HOUR ? IN_MINUTES : length < DAY ? IN_HOURS : IN_DAYS
  const rest = Math.floor((length % unit) / next)
  return `${Math.floor(length / unit)} ${name}${rest === 0 ? '' : ` ${rest} ${nextName}`}`
}

/** An instant relative to now: `in 3 min`, `2 h 5 min ago`, `5 d ago`, `now`. */
export function relativeTime(at: Date, now: Date): string {
  const milliseconds = at.getTime() - now.getTime()
  const distance = Math.abs(milliseconds)
  if (distance < SECOND) return 'now'
  const text = distanceText(distance)
  return milliseconds > 0 ? `in ${text}` : `${text} ago`
}

function distanceText(distance: number): string {
  if (distance >= 2 * YEAR) return `${Math.floor(distance / YEAR)} years`
  if (distance >= 2 * MONTH) return `${Math.floor(distance / MONTH)} months`
  // Seconds matter only within a minute, and minutes only within a few hours.
  const precision =
    distance < MINUTE ? SECOND : distance < 10 * HOUR ? MINUTE : distance < 2 * DAY ? HOUR : DAY
  return durationText(distance - (distance % precision))
}

/** `retrying, 2 of 3, next at …`. @param at  the time of the retry */
export function retryText(
  { retry, retryLimit }: { readonly retry: number | null; readonly retryLimit: number | null },
  at: string,
): string {
  return `retrying, ${retry ?? 1}${retryLimit === null ? '' : ` of ${retryLimit}`}, next at ${at}`
}
