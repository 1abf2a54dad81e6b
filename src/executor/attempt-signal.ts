import type { AttemptTimeoutError, CancelledError, LeaseLostError, StoppedError } from '../errors.ts'

export type AbortReason = CancelledError | LeaseLostError | StoppedError | AttemptTimeoutError

/** The signal of a handler. Only the first reason counts. */
export class AttemptSignal {
  #reason: AbortReason | null = null
  #isReleased = false
  /** Created when the handler asks for its signal. */
  #controller: AbortController | null = null

  get reason(): AbortReason | null {
    return this.#reason
  }

  /** Whether the job goes back to the queue, and the attempt does not count. */
  get isReleased(): boolean {
    return this.#isReleased
  }

  /** @returns whether this is the first reason */
  abort(reason: AbortReason, isReleased: boolean): boolean {
    if (this.#reason !== null) return false
    this.#reason = reason
    this.#isReleased = isReleased
    this.#controller?.abort(reason)
    return true
  }

  get(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController()
      if (this.#reason !== null) this.#controller.abort(this.#reason)
    }
    return this.#controller.signal
  }
}
