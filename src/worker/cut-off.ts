import { deadAfterMs } from './dead-workers.ts'

/** The response to a heartbeat that a stall of this process delayed is awaited for this long. */
const RESPONSE_MS = 1000

interface CutOffOptions {
  readonly beatMs: number
  readonly monotonicNow: () => number
  readonly onCutOff: () => void
}

/**
 * Notices that this worker is cut off from the database: from now on, others may evict it, and it would not learn of it.
 * A timer, because the heartbeat may be waiting for a response.
 */
export class CutOff {
  readonly #options: CutOffOptions
  #timer: NodeJS.Timeout | undefined
  /** When the first heartbeat since the last response was sent; null: none was. */
  #sentAt: number | null = null

  constructor(options: CutOffOptions) {
    this.#options = options
  }

  /** A heartbeat is being sent. */
  sending(): void {
    this.#sentAt ??= this.#options.monotonicNow()
  }

  /** @param sentAt  when the heartbeat was sent, because others may have seen it since then */
  answered(sentAt: number): void {
    const { beatMs, monotonicNow } = this.#options
    this.#sentAt = null
    this.#restart(sentAt + deadAfterMs(beatMs) - monotonicNow(), () => this.#due())
  }

  stop(): void {
    clearTimeout(this.#timer)
  }

  /**
   * If this process stalled, no heartbeat was sent in time. The one that is sent now tells whether others evicted this
   * worker. Otherwise a handler that stalls the only worker would be released, and run again without end.
   */
  #due(): void {
    const { monotonicNow, onCutOff } = this.#options
    const now = monotonicNow()
    const waitMs = (this.#sentAt ?? now) + RESPONSE_MS - now
    if (waitMs > 0) this.#restart(waitMs, onCutOff)
    else onCutOff()
  }

  #restart(ms: number, then: () => void): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(then, ms).unref()
  }
}
