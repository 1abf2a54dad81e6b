import type { Elapses } from './elapses.ts'

export function union(events: readonly Elapses[]): Elapses {
  return {
    next: (after) => sorted(events.map((event) => event.next(after))).at(0) ?? null,
    previous: (at) => sorted(events.map((event) => event.previous(at))).at(-1) ?? null,
  }
}

function sorted(found: readonly (Date | null)[]): Date[] {
  return found.filter((date) => date !== null).toSorted((one, other) => one.getTime() - other.getTime())
}
