import { Loop, type LoopHealth } from '../loop.ts'
import { Halving, isOfARow } from '../model/halves.ts'
import type { Fence } from '../model/job.ts'
import type { ExecutingStore, NewLogLine } from '../store/executing-store.ts'

/** Lines and progress are gathered for this long before they are written. */
const GATHER_MS = 200
const LINES_AT_ONCE = 500

/** Writes the log lines and the progress of running jobs, in the background and in small batches. */
export class Journal {
  readonly #store: ExecutingStore
  readonly #loop: Loop
  readonly #onError: (error: unknown, loop: string) => void
  #lines: NewLogLine[] = []
  /** A line is no reason to keep others back: each that is refused is dropped at once. */
  readonly #halving = new Halving(Infinity)
  readonly #progress = new Map<string, { fence: Fence; json: string }>()
  /** Flushes take turns: whoever waits for one must find everything written that came before. */
  #lastFlush: Promise<void> = Promise.resolve()

  constructor(store: ExecutingStore, onError: (error: unknown, loop: string) => void) {
    this.#store = store
    this.#onError = onError
    this.#loop = new Loop({ name: 'journal', pass: () => this.#pass(), onError })
  }

  start(): void {
    this.#loop.start()
  }

  stop(): Promise<void> {
    return this.#loop.stop()
  }

  health(): LoopHealth {
    return this.#loop.health()
  }

  log(line: NewLogLine): void {
    this.#lines.push(line)
    this.#loop.wake()
  }

  progress(fence: Fence, json: string): void {
    this.#progress.set(fence.id, { fence, json })
    this.#loop.wake()
  }

  /** Writes what is gathered. What cannot be written stays, and comes with the next flush. */
  flush(): Promise<void> {
    const turn = this.#lastFlush.then(() => this.#flush())
    this.#lastFlush = turn.catch(() => undefined)
    return turn
  }

  async #flush(): Promise<void> {
    while (this.#lines.length > 0) {
      await this.#append(this.#lines.slice(0, LINES_AT_ONCE))
    }
    for (const [id, entry] of this.#progress) {
      await this.#store.saveProgress(entry.fence, entry.json).catch((error: unknown) => {
        if (!isOfARow(error)) throw error
        this.#onError(error, 'journal')
      })
      if (this.#progress.get(id) === entry) this.#progress.delete(id)
    }
  }

  /** One that the database refuses must not keep the others: it is reported and dropped. */
  async #append(lines: readonly NewLogLine[]): Promise<void> {
    await this.#halving.run(lines, {
      work: async (some) => {
        await this.#store.appendLogs(some)
        this.#forget(some)
      },
      refused: (line, error) => {
        this.#forget([line])
        this.#onError(error, 'journal')
      },
      isOfAnItem: isOfARow,
    })
  }

  /** @param lines  as they lie there, one after the other */
  #forget(lines: readonly NewLogLine[]): void {
    const [first] = lines
    if (first !== undefined) this.#lines.splice(this.#lines.indexOf(first), lines.length)
  }

  async #pass(): Promise<number> {
    if (this.#lines.length === 0 && this.#progress.size === 0) return Infinity
    await new Promise((resolve) => setTimeout(resolve, GATHER_MS))
    await this.flush()
    return this.#lines.length > 0 ? 0 : Infinity
  }
}
