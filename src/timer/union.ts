import type { Elapses } from './elapses.ts'

/** Elapses whenever any of the events does. */
export function union(events: readonly Elapses[]): Elapses {
  const [only, ...others] = events
  if (only !== undefined && others.length === 0) return only
  return {
    next: (after) =>
      pick(
        Math.min,
        events.map((event) => event.next(after)),
      ),
    previous: (at) =>
      pick(
        Math.max,
        events.map((event) => event.previous(at)),
      ),
  }
}

function pick(choose: (...times: number[]) => number, found: readonly (Date | null)[]): Date | null {
  const times = found.filter((date) => date !== null).map((date) => date.getTime())
  return times.length === 0 ? null : new Date(choose(...times))
}
