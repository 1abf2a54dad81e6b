/** Up to this far ahead, an instant counts as normal: clock synchronisation can set the clock back by seconds. */
const TOLERANCE_MS = 60_000

/** Whether the database's clock was ahead when it wrote this instant. @param now  by the database's clock */
export function isAhead(at: Date, now: Date): boolean {
  return at.getTime() - now.getTime() > TOLERANCE_MS
}

export function latestNotAhead(now: Date): Date {
  return new Date(now.getTime() + TOLERANCE_MS)
}
