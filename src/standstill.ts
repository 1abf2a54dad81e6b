/**
 * Notices when this process stood still: a handler that computes without a break, a machine that sleeps, a
 * debugger, SIGSTOP. Nobody can tell of it while it lasts; afterwards one must, for the heartbeat stood still too.
 */

const TICK_MS = 250
/** Less happens on every busy machine. */
const NOTICED_MS = 1000

export interface Stood {
  readonly ms: number
  /** When it went on. */
  readonly until: Date
  /** How long ago that was, by a clock that nobody sets. */
  readonly agoMs: number
}

export class Standstill {
  #timer: NodeJS.Timeout | null = null
  #lastTick = 0
  #last: (Pick<Stood, 'ms' | 'until'> & { readonly mono: number }) | null = null

  start(): void {
    this.#lastTick = performance.now()
    this.#timer = setInterval(() => this.#tick(), TICK_MS).unref()
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#timer = null
  }

  /** The last time that it stood still for more than a second. */
  last(): Stood | null {
    // Whoever asks may be the first to get a turn after it.
    if (this.#timer !== null) this.#tick()
    if (this.#last === null) return null
    const { ms, until, mono } = this.#last
    return { ms, until, agoMs: performance.now() - mono }
  }

  #tick(): void {
    const now = performance.now()
    const ms = Math.round(now - this.#lastTick - TICK_MS)
    this.#lastTick = now
    if (ms >= NOTICED_MS) this.#last = { ms, until: new Date(), mono: now }
  }
}
