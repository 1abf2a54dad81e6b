import { Loop, type LoopHealth } from '../loop.ts'
import type { Fence } from '../model/job.ts'
import type { ExecutingStore, LogLine } from '../store/executing-store.ts'

/** Lines and progress are gathered for this long before they are written. */
const GATHER_MS = 200
const LINES_AT_ONCE = 500

/** Writes the log lines and the progress of running jobs, in the background and in small batches. */
export class Journal {
  readonly #store: ExecutingStore
  readonly #loop: Loop
  #lines: LogLine[] = []
  readonly #progress = new Map<string, { fence: Fence; json: string }>()

  constructor(store: ExecutingStore, onError: (error: unknown, loop: string) => void) {
    this.#store = store
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

  log(line: LogLine): void {
    this.#lines.push(line)
    this.#loop.wake()
  }

  progress(fence: Fence, json: string): void {
    this.#progress.set(fence.id, { fence, json })
    this.#loop.wake()
  }

  /** Writes what is gathered. What cannot be written stays, and comes with the next flush. */
  async flush(): Promise<void> {
    while (this.#lines.length > 0) {
      const lines = this.#lines.splice(0, LINES_AT_ONCE)
      try {
        await this.#store.appendLogs(lines)
      } catch (error) {
        this.#lines.unshift(...lines)
        throw error
      }
    }
    for (const [id, { fence, json }] of this.#progress) {
      this.#progress.delete(id)
      await this.#store.saveProgress(fence, json)
    }
  }

  async #pass(): Promise<number> {
    if (this.#lines.length === 0 && this.#progress.size === 0) return Infinity
    await new Promise((resolve) => setTimeout(resolve, GATHER_MS))
    await this.flush()
    return this.#lines.length > 0 ? 0 : Infinity
  }
}
