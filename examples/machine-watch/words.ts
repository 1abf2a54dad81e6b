/** Formats numbers and times for display. */

export function bytes(count: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB', 'PB']
  let value = Math.abs(count)
  let unit = 0
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000
    unit += 1
  }
  const digits = value < 10 && unit > 0 ? 1 : 0
  return `${count < 0 ? '-' : ''}${value.toFixed(digits)} ${units[unit] ?? ''}`
}

export function percent(part: number, whole: number): string {
  return `${whole === 0 ? 0 : Math.round((100 * part) / whole)} %`
}

/** `12 ms`, `4 s`, `12 min`, `3 h`, `5 days` */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`
  const seconds = Math.round(ms / 1000)
  if (seconds < 120) return `${seconds} s`
  if (seconds < 2 * 3600) return `${Math.round(seconds / 60)} min`
  if (seconds < 2 * 86_400) return `${Math.round(seconds / 3600)} h`
  return `${Math.round(seconds / 86_400)} days`
}

const two = (value: number) => String(value).padStart(2, '0')

/** Local time: `07:40:10` */
export function clock(at: Date): string {
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`
}

/** `2026-11-21` */
export function day(at: Date): string {
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`
}

/** The local time, with the date unless it is the date of `now`. */
export function when(at: Date, now: Date): string {
  return day(at) === day(now) ? clock(at) : `${day(at)} ${clock(at)}`
}
