import { deadAfterMs } from './dead-workers.ts'

/**
 * The worker waits at least this long for the response to the first unanswered heartbeat. A heartbeat waits up to two
 * seconds for a lock on the worker's row, so this is longer.
 */
const RESPONSE_MS = 2500
/** A worker whose row is locked repeats its heartbeat, so the next response arrives within this time. */
const NEXT_RESPONSE_MS = 4000

interface CutOffOptions {
  readonly beatMs: number
  readonly monotonicNow: () => number
  readonly onCutOff: () => void
}

/**
 * Detects that this worker is cut off from the database: other workers may then evict it without its knowledge. Uses a
 * timer, because the heartbeat itself may be waiting for a response.
 */
export class CutOff {
  readonly #options: CutOffOptions
  #timer: NodeJS.Timeout | undefined
  /** The time at which the last written heartbeat was sent. */
  #writtenAt = 0
  /** The time at which the first heartbeat since the last response was sent, or null if there was none. */
  #sentAt: number | null = null

  constructor(options: CutOffOptions) {
    this.#options = options
  }

  sending(): void {
    this.#sentAt ??= this.#options.monotonicNow()
  }

  /** @param sentAt  when the heartbeat was sent; other workers may have seen it since then */
  written(sentAt: number): void {
    this.#writtenAt = sentAt
    this.#answered(0)
  }

  /** A heartbeat waited for another transaction's lock. No worker can evict this one before that transaction ends. */
  locked(): void {
    this.#answered(NEXT_RESPONSE_MS)
  }

  stop(): void {
    clearTimeout(this.#timer)
  }

  /**
   * If this process stalled, no heartbeat was sent in time. The response to the next heartbeat shows whether other
   * workers have evicted this worker, so wait for it. Without this wait, a single worker would endlessly release and
   * rerun a job that stalls the process.
   */
  #due(): void {
    const { monotonicNow, onCutOff } = this.#options
    const now = monotonicNow()
    const waitMs = (this.#sentAt ?? now) + RESPONSE_MS - now
    if (waitMs > 0) this.#restart(waitMs, onCutOff)
    else onCutOff()
  }

  #answered(leastMs: number): void {
    const { beatMs, monotonicNow } = this.#options
    this.#sentAt = null
    const leftMs = this.#writtenAt + deadAfterMs(beatMs) - monotonicNow()
    this.#restart(Math.max(leastMs, leftMs), () => this.#due())
  }

  #restart(ms: number, then: () => void): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(then, ms).unref()
  }
}
