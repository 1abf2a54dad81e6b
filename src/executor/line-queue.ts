import type { NewLogLine } from '../store/executing-store.ts'

/** The most memory of waiting lines, in bytes, at one byte for each character. */
export const MOST_WAITING_BYTES = 64 * 1024 * 1024
/** What a line takes beside its message. */
const LINE_BYTES = 256

/**
 * Log lines that wait to be written, in order, and within a limited amount of memory: while it is full, further lines
 * are dropped, so that what is logged during a long outage is complete up to a time.
 */
export class LineQueue {
  readonly #onFull: (waiting: number) => void
  #lines: NewLogLine[] = []
  #bytes = 0
  #dropped = 0
  readonly #linesOfJobs = new Map<string, number>()

  /** @param onFull  called when the first line is dropped, and again only after the queue was empty */
  constructor(onFull: (waiting: number) => void) {
    this.#onFull = onFull
  }

  get length(): number {
    return this.#lines.length
  }

  /** How many lines were dropped since the queue was empty. */
  get dropped(): number {
    return this.#dropped
  }

  hasLinesOf(jobId: string): boolean {
    return this.#linesOfJobs.has(jobId)
  }

  add(line: NewLogLine): void {
    if (this.#bytes >= MOST_WAITING_BYTES) {
      this.#dropped += 1
      if (this.#dropped === 1) this.#onFull(this.#lines.length)
      return
    }
    this.#lines.push(line)
    this.#count(line, 1)
  }

  first(count: number): readonly NewLogLine[] {
    return this.#lines.slice(0, count)
  }

  /** @param lines  consecutive lines of the queue */
  remove(lines: readonly NewLogLine[]): void {
    const [first] = lines
    if (first === undefined) return
    this.#lines.splice(this.#lines.indexOf(first), lines.length)
    for (const line of lines) this.#count(line, -1)
    if (this.#lines.length === 0) this.#dropped = 0
  }

  #count({ jobId, message }: NewLogLine, by: 1 | -1): void {
    this.#bytes += by * (LINE_BYTES + message.length)
    const lines = (this.#linesOfJobs.get(jobId) ?? 0) + by
    if (lines > 0) this.#linesOfJobs.set(jobId, lines)
    else this.#linesOfJobs.delete(jobId)
  }
}
