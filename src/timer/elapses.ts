/** The times at which something elapses. */
export interface Elapses {
  /** The first elapse strictly after `after`; null when there is none. */
  next(after: Date): Date | null
  /** The last elapse at or before `at`; null when there is none. */
  previous(at: Date): Date | null
}

/** Without a schedule, the slots of `every` are counted from 1970; see `elapsesWithin` for the slots of a schedule. */
export interface Timer extends Elapses {
  readonly kind: 'calendar' | 'cron' | 'every' | 'after-finish'
  /** The normal form. */
  readonly text: string
  /** The zone whose clock the timer follows. */
  readonly zone: string
  /** The span in milliseconds for `every …`, otherwise null. */
  readonly spanMs: number | null
  /** The elapses for one schedule. @param anchor  its creation time, from which the slots of `every` are counted */
  elapses(anchor: Date): Elapses
}

/** The parts that each kind of timer defines. */
export type TimerSpec = Omit<Timer, keyof Elapses>

export function union(events: readonly Elapses[]): Elapses {
  return {
    next: (after) => sorted(events.map((event) => event.next(after))).at(0) ?? null,
    previous: (at) => sorted(events.map((event) => event.previous(at))).at(-1) ?? null,
  }
}

function sorted(found: readonly (Date | null)[]): Date[] {
  return found.filter((date) => date !== null).toSorted((one, other) => one.getTime() - other.getTime())
}
