import type { Settled } from '../store/executing-store.ts'

const MAX = 1000

export interface Retry {
  readonly jobId: string
  readonly scheduleId: string
  /** The number of the attempt that failed, starting at 1. */
  readonly attempt: number
  /** By the database's clock. */
  readonly at: Date
}

/** The schedules with a job that failed in this worker and will be retried. Any worker may run the retry. */
export class Retries {
  readonly #retries = new Map<string, Retry>()

  settled({ settled }: Pick<Settled, 'settled'>): void {
    for (const { id: jobId, scheduleId, scheduleDeleted, attempt, outcome, endedAt } of settled) {
      if (scheduleId === null) continue
      const isOfDeleted = scheduleDeleted === true
      if (!isOfDeleted || this.#retries.get(scheduleId)?.jobId === jobId) this.#retries.delete(scheduleId)
      if (isOfDeleted || outcome.state !== 'waiting' || outcome.why !== 'failed') continue
      if (this.#retries.size >= MAX) this.#dropPast(endedAt)
      if (this.#retries.size >= MAX) continue
      const at = new Date(endedAt.getTime() + outcome.delayMs)
      this.#retries.set(scheduleId, { jobId, scheduleId, attempt, at })
    }
  }

  /** Schedules that were deleted, and retries that other workers ran, are not settled here. */
  #dropPast(now: Date): void {
    for (const { scheduleId, at } of this.#retries.values()) if (at <= now) this.#retries.delete(scheduleId)
  }

  waiting(now: Date): Retry[] {
    return [...this.#retries.values()].filter(({ at }) => at > now)
  }
}
