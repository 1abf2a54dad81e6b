import { Loop } from '../loop.ts'
import { Halving, isOfARow } from '../model/halves.ts'
import type { Fence } from '../model/job.ts'
import type { ExecutingStore, NewLogLine } from '../store/executing-store.ts'

/** Lines and progress are collected for this long before they are written. */
const GATHER_MS = 200
const LINES_AT_ONCE = 500

/** Writes the log lines and the progress of running jobs, in the background and in small batches. */
export class Journal {
  readonly loop: Loop
  readonly #store: ExecutingStore
  readonly #onError: (error: unknown, loop: string) => void
  #lines: NewLogLine[] = []
  /** Never gives up on a batch: each line that the database refuses is dropped at once. */
  readonly #halving = new Halving(Infinity)
  readonly #progress = new Map<string, { fence: Fence; json: string }>()
  /** Flushes run one after the other, so that after a flush, everything logged before it is written. */
  #lastFlush: Promise<void> = Promise.resolve()

  constructor(store: ExecutingStore, onError: (error: unknown, loop: string) => void) {
    this.#store = store
    this.#onError = onError
    this.loop = new Loop({ name: 'journal', pass: () => this.#pass(), onError })
  }

  log(line: NewLogLine): void {
    this.#lines.push(line)
    this.loop.wake()
  }

  progress(fence: Fence, json: string): void {
    this.#progress.set(fence.id, { fence, json })
    this.loop.wake()
  }

  /** Writes what was collected. If a write fails, the rest is left for the next flush. */
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

  /** A line that the database refuses is reported and dropped, and never affects the others. */
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

  /** @param lines  consecutive lines of the queue */
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
