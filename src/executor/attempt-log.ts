import type { ClaimedJob } from '../model/job.ts'
import type { Redaction } from '../model/redaction.ts'
import type { Secrets } from '../model/secrets.ts'
import type { LogLevel } from '../model/states.ts'
import type { JobLogger } from './handler.ts'
import type { Journal } from './journal.ts'

/** Longer lines are cut, so that 500 of them fit in one statement. */
const MAX_LINE_BYTES = 16_384
/** Maximum log size of one attempt. While the database is unavailable, the whole log is kept in memory. */
const MAX_LINES = 10_000
const MAX_BYTES = 4 * 1024 * 1024

/** Redacts secrets, cuts long lines and limits how much a handler can log. */
export class AttemptLog {
  readonly #job: ClaimedJob
  readonly #journal: Journal
  /** The secrets of the args, and of the progress and result so far. */
  readonly secrets: Secrets
  readonly #now: () => Date
  #lines = 0
  #bytes = 0
  #isFull = false
  /** The logged messages; null if later progress and the result cannot contain secrets. */
  readonly #logged: Set<string> | null

  constructor(job: ClaimedJob, journal: Journal, redaction: Redaction, now: () => Date) {
    this.#job = job
    this.#journal = journal
    this.secrets = redaction.secretsOf(job)
    this.#logged = redaction.hides('result') || redaction.hides('progress') ? new Set() : null
    this.#now = now
  }

  logger(): JobLogger {
    return {
      debug: (message) => this.#logOfHandler('debug', message),
      info: (message) => this.#logOfHandler('info', message),
      warn: (message) => this.#logOfHandler('warn', message),
      error: (message) => this.#logOfHandler('error', message),
    }
  }

  /** The line does not count against the handler's limit. @returns the length of the line in bytes */
  write(level: LogLevel, message: string): number {
    // oxlint-disable-next-line typescript/no-unnecessary-type-conversion -- handlers in JavaScript log any value
    const text = this.secrets.storable(String(message), MAX_LINE_BYTES)
    this.#logged?.add(text)
    this.#journal.log({ jobId: this.#job.id, at: this.#now(), level, message: text })
    return Buffer.byteLength(text)
  }

  /** Redacts secrets that became known only after they were logged, unless there are too many to search for. */
  hideLogged(): void {
    if (this.#logged === null || !this.secrets.areKnown()) return
    const replacements = new Map<string, string>()
    for (const message of this.#logged) {
      const shown = this.secrets.storable(message, MAX_LINE_BYTES)
      if (shown !== message) replacements.set(message, shown)
    }
    this.#journal.replace(this.#job.id, replacements)
  }

  #logOfHandler(level: LogLevel, message: string): void {
    if (this.#isFull) return
    this.#isFull = this.#lines >= MAX_LINES || this.#bytes >= MAX_BYTES
    if (this.#isFull) {
      const limits = `${MAX_LINES} lines or ${MAX_BYTES / 1024 / 1024} MB`
      this.write(
        'warn',
        `Further lines of attempt ${this.#job.attempt} are dropped: it has reached the limit of ${limits}`,
      )
      return
    }
    this.#lines += 1
    this.#bytes += this.write(level, message)
  }
}
