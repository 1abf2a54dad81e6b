import { Loop } from '../loop.ts'
import { Halving, isOfARow } from '../model/halves.ts'
import type { Fence } from '../model/job.ts'
import type { ExecutingStore, NewLogLine } from '../store/executing-store.ts'
import { LineQueue } from './line-queue.ts'

/** Lines and progress are collected for this long before they are written. */
const GATHER_MS = 200
const LINES_AT_ONCE = 500
/**
 * The outcome of an attempt waits this long for its lines and its progress. Once none could be written for as long, no
 * outcome waits until a write succeeds.
 */
export const OUTCOME_WAIT_MS = 1000

/** Lines and progress that are not in the database yet. */
export interface UnwrittenLog {
  readonly lines: number
  /** How many jobs have progress that waits. */
  readonly progress: number
  /** For how long nothing could be written; 0: the last write succeeded. */
  readonly ms: number
  /** Lines that were dropped because too many waited. */
  readonly dropped: number
}

/**
 * Writes the log lines and the progress of running jobs, in the background and in small batches. Neither waits for the
 * other: a lock on the table of lines does not delay progress.
 */
export class Journal {
  readonly loop: Loop
  readonly #store: Pick<ExecutingStore, 'appendLogs' | 'saveProgress'>
  readonly #onError: (error: unknown) => void
  readonly #lines: LineQueue
  /** Never gives up on a batch: each line that the database refuses is dropped at once. */
  readonly #halving = new Halving(Infinity)
  readonly #progress = new Map<string, { fence: Fence; json: string }>()
  readonly #lineWriter = new Writer(() => this.#writeLines())
  readonly #progressWriter = new Writer(() => this.#writeProgress())
  /** Called after each write. */
  readonly #onWritten = new Set<() => void>()

  constructor(
    store: Pick<ExecutingStore, 'appendLogs' | 'saveProgress'>,
    onError: (error: unknown, loop: string) => void,
  ) {
    this.#store = store
    this.#onError = (error) => onError(error, 'journal')
    this.#lines = new LineQueue((waiting) => this.#onError(tooManyLines(waiting)))
    this.loop = new Loop({ name: 'journal', pass: () => this.#pass(), onError })
  }

  log(line: NewLogLine): void {
    this.#lines.add(line)
    this.loop.wake()
  }

  progress(fence: Fence, json: string): void {
    this.#progress.set(fence.id, { fence, json })
    this.loop.wake()
  }

  /** Writes what was collected before the call. If a write fails, the rest is left for the next flush. */
  async flush(): Promise<void> {
    const results = await Promise.allSettled([this.#lineWriter.write(), this.#progressWriter.write()])
    for (const result of results) if (result.status === 'rejected') throw result.reason
  }

  /**
   * Writes the lines and the progress of a job, and waits for a short time until they are written. If they are not, the
   * loop writes them later.
   */
  async written(jobId: string): Promise<void> {
    const writers = this.#writersOf(jobId)
    if (writers.length === 0 || writers.some((writer) => writer.failingMs() >= OUTCOME_WAIT_MS)) return
    // If the write fails, the loop repeats it and reports the error.
    for (const writer of writers) writer.write().catch(() => undefined)
    await new Promise<void>((resolve) => {
      const end = () => {
        clearTimeout(timer)
        this.#onWritten.delete(check)
        resolve()
      }
      const check = () => {
        if (this.#writersOf(jobId).length === 0) end()
      }
      const timer = setTimeout(end, OUTCOME_WAIT_MS)
      this.#onWritten.add(check)
    })
  }

  unwritten(): UnwrittenLog {
    return {
      lines: this.#lines.length,
      progress: this.#progress.size,
      ms: Math.max(this.#lineWriter.failingMs(), this.#progressWriter.failingMs()),
      dropped: this.#lines.dropped,
    }
  }

  /** Stops the loop and writes the rest, for at most `limitMs`. */
  async stop(limitMs: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    const timeout = new Promise<void>((resolve) => (timer = setTimeout(resolve, limitMs)))
    const rest = this.loop.stop().then(() => this.flush())
    await Promise.race([rest.catch(this.#onError), timeout])
    clearTimeout(timer)
    if (this.#lines.length > 0) this.#onError(new Error(`${this.#lines.length} log lines were not written`))
  }

  /** Those that still have something of this job to write. */
  #writersOf(jobId: string): Writer[] {
    return [
      ...(this.#lines.hasLinesOf(jobId) ? [this.#lineWriter] : []),
      ...(this.#progress.has(jobId) ? [this.#progressWriter] : []),
    ]
  }

  async #writeLines(): Promise<void> {
    // Lines that are added meanwhile are left for the next write, so that each one ends.
    for (let left = this.#lines.length; left > 0; left -= LINES_AT_ONCE)
      await this.#append(this.#lines.first(Math.min(left, LINES_AT_ONCE)))
  }

  /** A line that the database refuses is reported and dropped, and never affects the others. */
  async #append(lines: readonly NewLogLine[]): Promise<void> {
    const done = (some: readonly NewLogLine[]) => {
      this.#lines.remove(some)
      this.#wrote(this.#lineWriter)
    }
    await this.#halving.run(lines, {
      work: async (some) => {
        await this.#store.appendLogs(some)
        done(some)
      },
      refused: (line, error) => {
        done([line])
        this.#onError(error)
      },
      isOfAnItem: isOfARow,
    })
  }

  async #writeProgress(): Promise<void> {
    // Of jobs that are added meanwhile, too, the progress is left for the next write.
    const entries = [...this.#progress]
    for (const [id, entry] of entries) {
      try {
        await this.#store.saveProgress(entry.fence, entry.json)
      } catch (error) {
        if (!isOfARow(error)) {
          this.#postpone(id)
          throw error
        }
        this.#onError(error)
      }
      if (this.#progress.get(id) === entry) this.#progress.delete(id)
      this.#wrote(this.#progressWriter)
    }
  }

  /** If the row of this job is locked, the next write begins with the progress of others. */
  #postpone(id: string): void {
    const entry = this.#progress.get(id)
    this.#progress.delete(id)
    if (entry !== undefined) this.#progress.set(id, entry)
  }

  #wrote(writer: Writer): void {
    writer.succeeded()
    for (const check of this.#onWritten) check()
  }

  async #pass(): Promise<number> {
    if (this.#lines.length === 0 && this.#progress.size === 0) return Infinity
    await new Promise((resolve) => setTimeout(resolve, GATHER_MS))
    await this.flush()
    return this.#lines.length > 0 ? 0 : Infinity
  }
}

/** Runs writes one after the other. Calls during a write share the next one. */
class Writer {
  readonly #work: () => Promise<void>
  #last: Promise<void> = Promise.resolve()
  #next: Promise<void> | null = null
  /** When the first write after the last success began, by performance.now(); null: there was none. */
  #since: number | null = null

  constructor(work: () => Promise<void>) {
    this.#work = work
  }

  write(): Promise<void> {
    if (this.#next !== null) return this.#next
    const next = this.#last.then(() => this.#run())
    this.#next = next
    this.#last = next.catch(() => undefined)
    return next
  }

  async #run(): Promise<void> {
    this.#next = null
    this.#since ??= performance.now()
    await this.#work()
    this.#since = null
  }

  /** A part of the work was done. */
  succeeded(): void {
    this.#since = performance.now()
  }

  /** For how long nothing could be written; 0: the last write succeeded. */
  failingMs(): number {
    return this.#since === null ? 0 : performance.now() - this.#since
  }
}

function tooManyLines(waiting: number): Error {
  return new Error(
    `${waiting} log lines wait to be written, so further ones are dropped until these are written: the database does not respond, or another transaction has locked the table job_log`,
  )
}
