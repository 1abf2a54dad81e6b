import { CancelledError } from '../errors.ts'
import { Loop } from '../loop.ts'
import type { ExecutingStore } from '../store/executing-store.ts'
import type { RunningAttempts } from './running-attempts.ts'

export interface StopRequestsOptions {
  readonly store: Pick<ExecutingStore, 'stopRequests'>
  /** How often to check, in milliseconds. */
  readonly wakeUpMs: number
  readonly onError: (error: unknown, loop: string) => void
}

/** Aborts running attempts whose jobs were cancelled. */
export class StopRequests {
  readonly loop: Loop
  readonly #options: StopRequestsOptions
  readonly #attempts: RunningAttempts
  /** By performance.now(). */
  #lastCheck = Number.NEGATIVE_INFINITY

  constructor(options: StopRequestsOptions, attempts: RunningAttempts) {
    this.#options = options
    this.#attempts = attempts
    this.loop = new Loop({ name: 'stop requests', pass: () => this.#pass(), onError: options.onError })
  }

  async #pass(): Promise<number> {
    const { wakeUpMs, store } = this.#options
    if (this.#attempts.count() === 0) return Infinity
    // Each job that starts wakes this loop. With one check per wake-up, a busy worker spent a third as much time on
    // these checks as on claims.
    const leftMs = this.#lastCheck + wakeUpMs - performance.now()
    if (leftMs > 0) return leftMs
    this.#lastCheck = performance.now()
    // The ids that the attempts were claimed under: this worker may have another id by now, or none.
    for (const id of new Set(this.#attempts.all().map(({ job }) => job.worker))) {
      for (const fence of await store.stopRequests(id)) {
        const attempt = this.#attempts.get(fence.id)
        // The response may be about an earlier claim of the job, which has ended by now.
        if (attempt?.job.claim === fence.claim) attempt.abort(new CancelledError('The job was cancelled'))
      }
    }
    return wakeUpMs
  }
}
