/**
 * A loop repeats a pass, and sleeps in between for the time that the pass returned. It never ends on its own: a pass
 * that throws is reported, counted, and retried with back-off.
 */

import { AsyncLocalStorage } from 'node:async_hooks'

/**
 * Runs a function in the asynchronous context in which this module was loaded. Otherwise, loops, handlers and event
 * listeners would run in the context of whoever called `start`: with a lazy start, every log line of a job would name
 * the tenant of the first request.
 */
const outside = AsyncLocalStorage.snapshot()

const BACKOFF_MS = { shortest: 200, longest: 15_000 }
/** No loop needs to sleep longer than this, which is well below the 31-bit limit of setTimeout. */
const LONGEST_SLEEP_MS = 3_600_000

/** The health of one of a worker's loops. */
export interface LoopHealth {
  readonly name: string
  /** When the last good pass ended; null before the first. */
  readonly lastGoodPassAt: Date | null
  /** When the current pass started; null between passes. */
  readonly busySince: Date | null
  /** How long the current pass has been running, measured with a monotonic clock; null between passes. */
  readonly busyMs: number | null
  /** When the next pass is scheduled; null during a pass, and while the loop sleeps until it is woken. */
  readonly nextPassAt: Date | null
  /** How late the next pass is, or 0 if it is on time. */
  readonly lateMs: number
  /** Errors since the last good pass. */
  readonly consecutiveErrors: number
  /** The most recent error since the last good pass; null if there is none. */
  readonly lastError: string | null
  readonly lastErrorAt: Date | null
}

export interface LoopOptions {
  readonly name: string
  /** Runs one pass. @returns milliseconds to sleep, or Infinity to sleep until woken */
  readonly pass: () => Promise<number>
  readonly longestBackOffMs?: number | undefined
  readonly onError: (error: unknown, loop: string) => void
}

type Passes = Pick<LoopHealth, 'lastGoodPassAt' | 'consecutiveErrors' | 'lastError' | 'lastErrorAt'>

const NO_ERRORS = { consecutiveErrors: 0, lastError: null, lastErrorAt: null }

export class Loop {
  readonly #options: LoopOptions
  #running: Promise<void> | null = null
  #stopping = false
  /** Remembers a wake-up that arrives during a pass. */
  #woken = false
  #endSleep: (() => void) | null = null
  /** The start of the current pass, by the system clock and by performance.now(), or null between passes. */
  #busy: { readonly since: Date; readonly from: number } | null = null
  /** When the sleep ends, by performance.now(); null during a pass, and while the loop sleeps until it is woken. */
  #due: number | null = null
  /** Whether the last pass failed because it waited too long for a lock; if so, the next pass starts soon. */
  #hasWaited = false
  #passes: Passes = { lastGoodPassAt: null, ...NO_ERRORS }

  constructor(options: LoopOptions) {
    this.#options = options
  }

  start(): void {
    if (this.#running !== null) return
    this.#stopping = false
    this.#running = outside(() => this.#run())
  }

  /** Starts the next pass now, or as soon as the current one has ended. Does not shorten a back-off. */
  wake(): void {
    this.#woken = true
    this.#endSleep?.()
  }

  async stop(): Promise<void> {
    this.#stopping = true
    this.#endSleep?.()
    await this.#running
    this.#running = null
  }

  health(): LoopHealth {
    const now = performance.now()
    return {
      name: this.#options.name,
      ...this.#passes,
      busySince: this.#busy?.since ?? null,
      busyMs: this.#busy && Math.round(now - this.#busy.from),
      nextPassAt: this.#due === null ? null : new Date(Date.now() + this.#due - now),
      lateMs: this.#due === null ? 0 : Math.max(0, Math.round(now - this.#due)),
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

  /** @returns milliseconds to sleep; null if the pass failed */
  async #supervisedPass(): Promise<number | null> {
    try {
      this.#busy = { since: new Date(), from: performance.now() }
      const delayMs = await this.#options.pass()
      this.#busy = null
      this.#passes = { lastGoodPassAt: new Date(), ...NO_ERRORS }
      return delayMs
    } catch (error) {
      this.#busy = null
      this.#passes = {
        ...this.#passes,
        consecutiveErrors: this.#passes.consecutiveErrors + 1,
        lastError: error instanceof Error ? error.message : String(error),
        lastErrorAt: new Date(),
      }
      this.#hasWaited = error instanceof Error && 'isLockWait' in error && error.isLockWait === true
      this.#report(error)
      return null
    }
  }

  /** Ignores errors that the error handler throws, so that they cannot end the loop. */
  #report(error: unknown): void {
    try {
      this.#options.onError(error, this.#options.name)
    } catch {
      // There is nowhere left to report this.
    }
  }

  /** Wake-ups do not shorten a back-off; otherwise a busy worker would hammer a database that is down. */
  async #backOff(): Promise<void> {
    const longest = this.#hasWaited
      ? BACKOFF_MS.shortest
      : Math.min(
          this.#options.longestBackOffMs ?? BACKOFF_MS.longest,
          BACKOFF_MS.shortest * 2 ** Math.min(this.#passes.consecutiveErrors - 1, 10),
        )
    const until = performance.now() + longest / 2 + (Math.random() * longest) / 2
    while (!this.#stopping && performance.now() < until) {
      this.#woken = false
      await this.#sleep(until - performance.now())
    }
  }

  /** Sleeps for at least one turn of the event loop, because a pass may not have awaited anything. */
  #sleep(delayMs: number): Promise<void> {
    if (delayMs <= 0 || this.#woken || this.#stopping) return new Promise((resolve) => setImmediate(resolve))
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
