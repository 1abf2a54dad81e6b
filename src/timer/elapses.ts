/** The times at which something elapses. */
export interface Elapses {
  /** The first elapse strictly after `after`; null when there is none. */
  next(after: Date): Date | null
  /** The last elapse at or before `at`; null when there is none. */
  previous(at: Date): Date | null
}

/** Without a schedule, its slots are anchored to 1970; see `elapsesWithin` for those of a schedule. */
export interface Timer extends Elapses {
  readonly kind: 'calendar' | 'cron' | 'every' | 'after-finish'
  /** The normal form. */
  readonly text: string
  /** The zone whose clock it follows. */
  readonly zone: string
  /** For `every …`: the span in milliseconds; otherwise null. */
  readonly spanMs: number | null
  /**
   * Its elapses for one schedule.
   *
   * @param anchor  the start of the slots of `every`: when the schedule was created
   */
  elapses(anchor: Date): Elapses
}

/** What each kind of timer defines. */
export type TimerSpec = Omit<Timer, keyof Elapses>
