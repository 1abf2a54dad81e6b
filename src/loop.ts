/**
 * A supervised loop: it calls its pass again and again, sleeps in between for as long as the pass asks
 * for, and does not die. A pass that throws is reported, counted, and tried again with back-off.
 */

/** Shortest and longest back-off after errors, in milliseconds. */
const BACKOFF_MS = { shortest: 200, longest: 15_000 }
/** setTimeout takes 31 bits; nothing here sleeps for longer than this anyway. */
const LONGEST_SLEEP_MS = 3_600_000

/** How a loop of a worker is. */
export interface LoopHealth {
  readonly name: string
  /** When the last pass ended well; null before the first. */
  readonly lastGoodPass: Date | null
  /** When the pass that is under way began; null between passes. */
  readonly busySince: Date | null
  /** For how long it goes on, by a clock that nobody sets; null between passes. */
  readonly busyMs: number | null
  /** When the next pass begins by itself; null: during a pass, and when it sleeps until it is woken. */
  readonly nextPass: Date | null
  /** How long ago the next pass should have begun; 0: it is not late. */
  readonly lateMs: number
  /** Errors since the last good pass. */
  readonly consecutiveErrors: number
  /** The last error since the last good pass. */
  readonly lastError: string | null
  readonly lastErrorAt: Date | null
}

/** An instant, and the same by a clock that nobody sets. */
interface Moment {
  readonly at: Date
  readonly mono: number
}

export interface LoopOptions {
  readonly name: string
  /** Does one round of work. @returns milliseconds to sleep; Infinity: until woken */
  readonly pass: () => Promise<number>
  /** The longest back-off after errors; default 15 s. */
  readonly longestBackOffMs?: number | undefined
  readonly onError: (error: unknown, loop: string) => void
}

export class Loop {
  readonly name: string
  readonly #pass: () => Promise<number>
  readonly #longestBackOffMs: number
  readonly #onError: (error: unknown, loop: string) => void
  #running: Promise<void> | null = null
  #stopping = false
  /** A wake-up that came while a pass was running must not be lost. */
  #woken = false
  #endSleep: (() => void) | null = null
  #lastGoodPass: Date | null = null
  #busy: Moment | null = null
  /** When its sleep is to end, by performance.now(); null: until it is woken. */
  #due: number | null = null
  #consecutiveErrors = 0
  #lastError: string | null = null
  #lastErrorAt: Date | null = null

  constructor(options: LoopOptions) {
    this.name = options.name
    this.#pass = options.pass
    this.#longestBackOffMs = options.longestBackOffMs ?? BACKOFF_MS.longest
    this.#onError = options.onError
  }

  start(): void {
    if (this.#running !== null) return
    this.#stopping = false
    this.#running = this.#run()
  }

  /** Starts the next pass now, or as soon as the current one has ended. */
  wake(): void {
    this.#woken = true
    this.#endSleep?.()
  }

  /** Lets the current pass complete and ends. */
  async stop(): Promise<void> {
    this.#stopping = true
    this.#endSleep?.()
    await this.#running
    this.#running = null
  }

  health(): LoopHealth {
    const now = performance.now()
    return {
      name: this.name,
      lastGoodPass: this.#lastGoodPass,
      busySince: this.#busy?.at ?? null,
      busyMs: this.#busy && Math.round(now - this.#busy.mono),
      nextPass: this.#due === null ? null : new Date(Date.now() + this.#due - now),
      lateMs: this.#due === null ? 0 : Math.max(0, Math.round(now - this.#due)),
      consecutiveErrors: this.#consecutiveErrors,
      lastError: this.#lastError,
      lastErrorAt: this.#lastErrorAt,
    }
  }

  async #run(): Promise<void> {
    while (!this.#stopping) {
      this.#woken = false
      const delayMs = await this.#supervisedPass()
      if (delayMs === null) await this.#backOff()
      else await this.#sleep(delayMs)
    }
  }

  /** @returns milliseconds to sleep; null when the pass failed */
  async #supervisedPass(): Promise<number | null> {
    try {
      this.#busy = { at: new Date(), mono: performance.now() }
      const delayMs = await this.#pass()
      this.#busy = null
      this.#lastGoodPass = new Date()
      this.#consecutiveErrors = 0
      this.#lastError = null
      this.#lastErrorAt = null
      return delayMs
    } catch (error) {
      this.#busy = null
      this.#consecutiveErrors += 1
      this.#lastError = error instanceof Error ? error.message : String(error)
      this.#lastErrorAt = new Date()
      this.#report(error)
      return null
    }
  }

  /** Who is told of an error must not become one. */
  #report(error: unknown): void {
    try {
      this.#onError(error, this.name)
    } catch {
      // There is nobody left to tell.
    }
  }

  /** Wake-ups do not shorten a back-off, or a busy worker would hammer a database that is down. */
  async #backOff(): Promise<void> {
    const longest = Math.min(
      this.#longestBackOffMs,
      BACKOFF_MS.shortest * 2 ** Math.min(this.#consecutiveErrors - 1, 10),
    )
    const until = performance.now() + longest / 2 + (Math.random() * longest) / 2
    while (!this.#stopping && performance.now() < until) {
      this.#woken = false
      await this.#sleep(until - performance.now())
    }
  }

  #sleep(delayMs: number): Promise<void> {
    if (delayMs <= 0 || this.#woken || this.#stopping) return Promise.resolve()
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer)
        this.#endSleep = null
        this.#due = null
        resolve()
      }
      const sleepMs = Math.min(Math.ceil(delayMs), LONGEST_SLEEP_MS)
      const timer = setTimeout(end, sleepMs)
      this.#due = delayMs === Infinity ? null : performance.now() + sleepMs
      this.#endSleep = end
    })
  }
}
