/**
 * Detects stalls of the event loop. Possible causes are a handler that blocks it, a suspended machine, a debugger and
 * SIGSTOP. Stalls matter because no heartbeat is sent during them.
 */

const TICK_MS = 250
/** Shorter stalls occur on every busy machine. */
const NOTICED_MS = 1000

export interface Stall {
  readonly ms: number
  /** When the process continued. */
  readonly until: Date
  readonly agoMs: number
}

export class EventLoopStall {
  #timer: NodeJS.Timeout | null = null
  #lastTick = 0
  #last: (Pick<Stall, 'ms' | 'until'> & { readonly mono: number }) | null = null

  start(): void {
    this.#lastTick = performance.now()
    this.#timer = setInterval(() => this.#tick(), TICK_MS).unref()
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#timer = null
  }

  last(): Stall | null {
    // This call may run before the first tick after a stall.
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
