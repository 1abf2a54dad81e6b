import type { NewLogLine } from '../store/executing-store.ts'

export const MAX_WAITING_BYTES = 64 * 1024 * 1024
/** The memory that a line takes without its message, in bytes. */
const LINE_BYTES = 256
/** Maximum memory that a string takes per character, in bytes; only strings in Latin-1 take less. */
const CHARACTER_BYTES = 2

/**
 * Log lines that wait to be written, in order, within a limited amount of memory. While the queue is full, further
 * lines are dropped, so the log of a long outage is complete up to some point in time.
 */
export class LineQueue {
  readonly #onDropped: (error: Error) => void
  /** `since` is the time at which a line was added, by performance.now(). */
  #lines: (NewLogLine & { readonly since: number })[] = []
  #bytes = 0
  #dropped = 0
  readonly #linesOfJobs = new Map<string, number>()

  /** @param onDropped  called when the first line is dropped, and again, with the total, when the queue is empty */
  constructor(onDropped: (error: Error) => void) {
    this.#onDropped = onDropped
  }

  get length(): number {
    return this.#lines.length
  }

  /** The number of lines dropped since the queue was last empty. */
  get dropped(): number {
    return this.#dropped
  }

  /** The time at which the oldest waiting line was added, by performance.now(), or Infinity if there is none. */
  get since(): number {
    return this.#lines[0]?.since ?? Infinity
  }

  hasLinesOf(jobId: string): boolean {
    return this.#linesOfJobs.has(jobId)
  }

  add(line: NewLogLine): void {
    if (this.#bytes >= MAX_WAITING_BYTES) {
      this.#dropped += 1
      if (this.#dropped === 1) this.#onDropped(tooManyLines(this.#lines.length))
      return
    }
    this.#lines.push({ ...line, since: performance.now() })
    this.#count(line, 1)
  }

  first(count: number): readonly NewLogLine[] {
    return this.#lines.slice(0, count)
  }

  removeFirst(count: number): void {
    for (const line of this.#lines.splice(0, count)) this.#count(line, -1)
    if (this.#lines.length > 0 || this.#dropped === 0) return
    const dropped = this.#dropped
    this.#dropped = 0
    this.#onDropped(
      new Error(`The waiting log lines have been written; ${dropped} further lines were dropped`),
    )
  }

  #count({ jobId, message }: NewLogLine, by: 1 | -1): void {
    this.#bytes += by * (LINE_BYTES + CHARACTER_BYTES * message.length)
    const lines = (this.#linesOfJobs.get(jobId) ?? 0) + by
    if (lines > 0) this.#linesOfJobs.set(jobId, lines)
    else this.#linesOfJobs.delete(jobId)
  }
}

function tooManyLines(waiting: number): Error {
  return new Error(
    `${waiting} log lines are waiting to be written; until they have been, further lines are dropped: the database does not respond, or another transaction has locked the table job_log`,
  )
}
