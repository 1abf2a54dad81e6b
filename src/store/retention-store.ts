export interface Retention {
  /** Final jobs that ended longer ago go, in milliseconds. */
  readonly ageMs: number
  /** Of each schedule the newest final jobs that stay, however old or busy the others are. */
  readonly perSchedule: number
}

export interface RetentionStore {
  /**
   * Removes one batch of final jobs with their logs, and the done schedules that are to be deleted.
   *
   * @param limit  most jobs to remove
   * @returns how many jobs were removed; fewer than `limit` when nothing is left to do
   */
  prune(retention: Retention, limit: number): Promise<number>
}
