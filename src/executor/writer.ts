import { Loop } from '../loop.ts'
import { within } from './within.ts'

/** Entries collected during this time are written together. */
const GATHER_MS = 200
/**
 * Maximum time that the outcome of an attempt waits for the attempt's log and progress. Once no write has succeeded for
 * this long, outcomes do not wait.
 */
export const OUTCOME_WAIT_MS = 1000

export interface WriterOptions {
  readonly name: string
  /** Writes everything that was collected before the call. */
  readonly write: () => Promise<void>
  readonly isEmpty: () => boolean
  readonly onError: (error: unknown, loop: string) => void
}

/** Writes collected entries in its own loop. All calls during a write share the next write. */
export class Writer {
  readonly loop: Loop
  readonly #options: WriterOptions
  #last: Promise<void> = Promise.resolve()
  #next: Promise<void> | null = null
  /**
   * The start of the first write since the last complete one, or the time at which a part of a write last succeeded.
   * Null after a complete write. By performance.now().
   */
  #since: number | null = null
  /** For each call that waits: its condition, and the function that ends the wait. */
  readonly #waiting = new Map<() => boolean, () => void>()

  constructor(options: WriterOptions) {
    this.#options = options
    this.loop = new Loop({ name: options.name, pass: () => this.#pass(), onError: options.onError })
  }

  isEmpty(): boolean {
    return this.#options.isEmpty()
  }

  write(): Promise<void> {
    if (this.#next !== null) return this.#next
    const next = this.#last.then(() => this.#run())
    this.#next = next
    this.#last = next.catch(() => undefined)
    return next
  }

  /** Called when a part of a write has succeeded. */
  succeeded(): void {
    this.#since = performance.now()
    for (const [isDone, end] of this.#waiting) if (isDone()) end()
  }

  /** Starts a write and waits briefly for `isDone`; does neither if no write has succeeded for some time. */
  async untilDone(isDone: () => boolean): Promise<void> {
    if (isDone() || (this.#since !== null && performance.now() - this.#since >= OUTCOME_WAIT_MS)) return
    // If the write fails, the loop repeats it and reports the error.
    this.write().catch(() => undefined)
    const done = new Promise<void>((resolve) => this.#waiting.set(isDone, resolve))
    await within(OUTCOME_WAIT_MS, done)
    this.#waiting.delete(isDone)
  }

  async #run(): Promise<void> {
    this.#next = null
    this.#since ??= performance.now()
    await this.#options.write()
    this.#since = null
  }

  async #pass(): Promise<number> {
    if (this.isEmpty()) return Infinity
    await new Promise((resolve) => setTimeout(resolve, GATHER_MS))
    await this.write()
    return this.isEmpty() ? Infinity : 0
  }
}
