import { counted } from '../duration.ts'
import { isA, StoreUnavailableError } from '../errors.ts'
import type { Loop } from '../loop.ts'
import type { Fence } from '../model/job.ts'
import type { ExecutingStore, JobProgress, NewLogLine } from '../store/executing-store.ts'
import { LineQueue } from './line-queue.ts'
import type { JobExecutorOptions } from './options.ts'
import { within } from './within.ts'
import { Writer } from './writer.ts'

const LINES_AT_ONCE = 500
const PROGRESS_AT_ONCE = 100
/** While the worker is stopping, a failed write is repeated after this delay. */
const RETRY_MS = 200

interface WaitingProgress extends JobProgress {
  /** When the progress of this job began to wait, by performance.now(). */
  since: number
}

interface JournalOptions extends Pick<JobExecutorOptions, 'onDropped' | 'onError'> {
  readonly store: Pick<ExecutingStore, 'appendLogs' | 'replaceLogs' | 'saveProgress'>
}

/**
 * Writes the log lines and the progress of running jobs independently, so a lock on the table of log lines does not
 * delay progress.
 */
export class Journal {
  readonly #store: JournalOptions['store']
  readonly #onDropped: JournalOptions['onDropped']
  readonly #lines: LineQueue
  readonly #progress = new Map<string, WaitingProgress>()
  /** The messages to replace in the log of each job, once the job's lines are written. */
  readonly #replaced = new Map<string, ReadonlyMap<string, string>>()
  readonly #lineWriter: Writer
  readonly #progressWriter: Writer
  #isOver = false

  constructor({ store, onError, onDropped }: JournalOptions) {
    this.#store = store
    this.#onDropped = (error) => {
      if (!this.#isOver) onDropped(error)
    }
    this.#lines = new LineQueue(this.#onDropped)
    const report = (error: unknown, loop: string) => {
      if (!this.#isOver) onError(error, loop)
    }
    this.#lineWriter = new Writer({
      name: 'journal',
      write: () => this.#writeLines(),
      isEmpty: () => this.#lines.length + this.#replaced.size === 0,
      onError: report,
    })
    this.#progressWriter = new Writer({
      name: 'progress',
      write: () => this.#writeProgress(),
      isEmpty: () => this.#progress.size === 0,
      onError: report,
    })
  }

  loops(): Loop[] {
    return [this.#lineWriter.loop, this.#progressWriter.loop]
  }

  log(line: NewLogLine): void {
    this.#lines.add(line)
    this.#lineWriter.loop.wake()
  }

  replace(jobId: string, replacements: ReadonlyMap<string, string>): void {
    if (replacements.size === 0) return
    this.#replaced.set(jobId, new Map([...(this.#replaced.get(jobId) ?? []), ...replacements]))
    this.#lineWriter.loop.wake()
  }

  progress(fence: Fence, json: string): void {
    const since = this.#progress.get(fence.id)?.since ?? performance.now()
    this.#progress.set(fence.id, { fence, json, since })
    this.#progressWriter.loop.wake()
  }

  /** Writes everything that was collected before the call. For tests that use their own clock and run no loops. */
  async flush(): Promise<void> {
    await Promise.all([this.#lineWriter.write(), this.#progressWriter.write()])
  }

  hasUnwritten(jobId: string): boolean {
    return this.#hasLinesOf(jobId) || this.#progress.has(jobId)
  }

  /**
   * Starts writing the lines and the progress of a job, and waits briefly for them to be written. If that takes longer,
   * the loops write them later. Does not wait for lines at the end of a long backlog.
   */
  async written(jobId: string): Promise<void> {
    const isNext =
      this.#replaced.has(jobId) || this.#lines.first(LINES_AT_ONCE).some((line) => line.jobId === jobId)
    await Promise.all([
      this.#lineWriter.untilDone(() => !isNext || !this.#hasLinesOf(jobId)),
      this.#progressWriter.untilDone(() => !this.#progress.has(jobId)),
    ])
  }

  unwritten() {
    const since = Math.min(this.#lines.since, ...[...this.#progress.values()].map((entry) => entry.since))
    return {
      lines: this.#lines.length,
      progress: this.#progress.size,
      ms: since === Infinity ? 0 : performance.now() - since,
      dropped: this.#lines.dropped,
    }
  }

  /** Stops the loops, then writes the rest for at most `limitMs`, and reports lines that could not be written. */
  async stop(limitMs: number): Promise<void> {
    let cause: unknown
    const finish = async (writer: Writer) => {
      await writer.loop.stop()
      while (!this.#isOver && !writer.isEmpty()) {
        await writer.write().catch((error: unknown) => (cause = error))
        if (!writer.isEmpty()) await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
      }
    }
    await within(limitMs, Promise.all([finish(this.#lineWriter), finish(this.#progressWriter)]))
    const replaced = [...this.#replaced.values()].reduce((sum, { size }) => sum + size, 0)
    const lost = this.#lines.length + replaced + this.#lines.dropped
    const lines = counted(lost, 'log line')
    if (lost > 0) this.#onDropped(new Error(`The worker stopped before it could write ${lines}`, { cause }))
    this.#isOver = true
  }

  #hasLinesOf(jobId: string): boolean {
    return this.#lines.hasLinesOf(jobId) || this.#replaced.has(jobId)
  }

  async #writeLines(): Promise<void> {
    await this.#appendLines()
    for (const [jobId, replacements] of this.#replaced) {
      if (this.#lines.hasLinesOf(jobId)) continue
      try {
        await this.#store.replaceLogs(jobId, replacements)
      } catch (error) {
        if (isA(error, StoreUnavailableError)) throw error
        this.#onDropped(
          new Error(
            `Secrets remain in the log of the job '${jobId}', because the database rejected their redaction`,
            {
              cause: error,
            },
          ),
        )
      }
      if (this.#replaced.get(jobId) === replacements) this.#replaced.delete(jobId)
      this.#lineWriter.succeeded()
    }
  }

  async #appendLines(): Promise<void> {
    // Lines that are added in the meantime are left for the next write, so each write comes to an end.
    for (let count = this.#lines.length; count > 0; count -= LINES_AT_ONCE) {
      const lines = this.#lines.first(Math.min(count, LINES_AT_ONCE))
      const { left, refused } = await this.#store.appendLogs(lines)
      this.#lines.removeFirst(lines.length - left.length)
      this.#drop(
        'log line',
        refused.map(({ item: { jobId: id }, error }) => ({ id, error })),
      )
      this.#lineWriter.succeeded()
      if (left.length > 0) return
    }
  }

  /** Progress that is added meanwhile waits for the next write. */
  async #writeProgress(): Promise<void> {
    const entries = [...this.#progress.values()]
    for (let from = 0; from < entries.length; from += PROGRESS_AT_ONCE) {
      const some = entries.slice(from, from + PROGRESS_AT_ONCE)
      const { left, refused } = await this.#store.saveProgress(some)
      const isLeft = new Set<JobProgress>(left)
      for (const entry of some) if (!isLeft.has(entry)) this.#remove(entry)
      this.#drop(
        'progress report',
        refused.map(({ item: { fence }, error }) => ({ id: fence.id, error })),
      )
      this.#progressWriter.succeeded()
    }
  }

  #remove(entry: WaitingProgress): void {
    const last = this.#progress.get(entry.fence.id)
    if (last === entry) this.#progress.delete(entry.fence.id)
    // The progress was replaced during the write.
    else if (last !== undefined) last.since = performance.now()
  }

  /** One report, however many entries were rejected. */
  #drop(what: string, refused: readonly { readonly id: string; readonly error: unknown }[]): void {
    const [first] = refused
    if (first === undefined) return
    const jobs = new Set(refused.map(({ id }) => id)).size - 1
    const others = jobs === 0 ? '' : ` and ${counted(jobs, 'other job')}`
    this.#onDropped(
      new Error(
        `Dropped ${counted(refused.length, what)} of the job '${first.id}'${others}, because the database rejected the write`,
        { cause: first.error },
      ),
    )
  }
}
