export interface Retention {
  /** Final jobs that ended more than this many milliseconds ago are removed. */
  readonly ageMs: number
  /** The number of the newest final jobs that are kept for each schedule. */
  readonly perSchedule: number
}

export interface RetentionStore {
  /**
   * Removes up to `limit` final jobs with their logs and attempts, and done schedules that should be deleted.
   *
   * @returns how many jobs were removed; fewer than `limit` when nothing is left to remove
   */
  prune(retention: Retention, limit: number): Promise<number>
}
