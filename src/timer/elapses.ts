/** What every kind of timer is. */

/** When something goes off. */
export interface Elapses {
  /** The first elapse strictly later than `after`; null when nothing is to come. */
  next(after: Date): Date | null
  /** The last elapse at or before `at`; null when there is none. */
  previous(at: Date): Date | null
}

/** By itself its slots are anchored to 1970; see `elapsesWithin` for those of a schedule. */
export interface Timer extends Elapses {
  readonly kind: 'calendar' | 'cron' | 'every' | 'after finish'
  /** The normal form. */
  readonly text: string
  /** The zone whose clock it follows. */
  readonly zone: string
  /** Of `every …`: the span in milliseconds; else null. */
  readonly spanMs: number | null
  /**
   * Its elapses for one schedule.
   *
   * @param anchor  where the slots of `every` begin: the creation of the schedule
   */
  elapses(anchor: Date): Elapses
}

/** What each kind of timer makes of its text. */
export type TimerSpec = Omit<Timer, keyof Elapses>
