export interface Retention {
  /** Final jobs that ended more than this many milliseconds ago are removed. */
  readonly ageMs: number
  /** How many of the newest final jobs of each schedule are kept. */
  readonly perSchedule: number
}

export interface RetentionStore {
  /**
   * Removes one batch of final jobs with their logs and attempts, and the done schedules that are to be deleted.
   *
   * @param limit  maximum number of jobs to remove
   * @returns how many jobs were removed; fewer than `limit` when nothing is left to remove
   */
  prune(retention: Retention, limit: number): Promise<number>
}
