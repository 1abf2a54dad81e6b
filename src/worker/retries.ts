import type { Settled } from '../store/executing-store.ts'

const MAX = 1000

export interface Retry {
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
    for (const { scheduleId, scheduleDeleted, attempt, outcome, endedAt } of settled) {
      if (scheduleId === null || scheduleDeleted === true) continue
      this.#retries.delete(scheduleId)
      if (outcome.state !== 'waiting' || outcome.why !== 'failed' || this.#retries.size >= MAX) continue
      const at = new Date(endedAt.getTime() + outcome.delayMs)
      this.#retries.set(scheduleId, { scheduleId, attempt, at })
    }
  }

  waiting(now: Date): Retry[] {
    return [...this.#retries.values()].filter(({ at }) => at > now)
  }
}
