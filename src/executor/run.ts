import {
  CancelledError,
  errorText,
  InvalidInputError,
  isA,
  LeaseLostError,
  messageOf,
  PermanentError,
  StoppedError,
  TimeoutError,
} from '../errors.ts'
import { type ClaimedJob, fenceOf } from '../model/job.ts'
import type { Redaction, Secrets } from '../model/redaction.ts'
import type { Ending } from '../model/settle.ts'
import { checkResult, jsonText, readArgs } from '../model/task.ts'
import type { LogLevel } from '../store/executing-store.ts'
import type { Around, HandledTask, JobLogger } from './handler.ts'
import type { Journal } from './journal.ts'

/** A handler whose signal has fired gets this long to end; then its run is settled without it. */
export const ABANDON_MS = 5000

/** Longer lines are cut: 500 of them still fit into one statement. */
const MOST_LINE_BYTES = 16_384
/** Of an attempt; what comes after is left out. While the database is away, all of it is in memory. */
const MOST_LINES = 10_000
const MOST_LOG_BYTES = 4 * 1024 * 1024

/** One attempt of a job in this process. */
export class Run {
  readonly job: ClaimedJob
  /** How it ended; null when the job is not this worker's any more, so that nothing may be written. */
  readonly ending: Promise<Ending | null>
  readonly #handled: HandledTask
  readonly #journal: Journal
  readonly #around: Around
  readonly #now: () => Date
  readonly #worker: () => string | null
  readonly #limit: number
  readonly #secrets: Secrets
  readonly #controller = new AbortController()
  #over = false
  /** Of the handler's log. */
  #lines = 0
  #logBytes = 0
  #isLogFull = false
  #left: Promise<unknown> | null = null

  constructor(
    job: ClaimedJob,
    handled: HandledTask,
    journal: Journal,
    options: {
      readonly around: Around | null
      readonly now: () => Date
      readonly redaction: Redaction
      readonly worker: () => string | null
      /** Most bytes of the result, of progress and of the text of an error. */
      readonly argsLimit: number
    },
  ) {
    this.#secrets = options.redaction.secretsOf({ args: job.args })
    this.#worker = options.worker
    this.#limit = options.argsLimit
    this.#around = options.around ?? ((_, run) => run())
    this.#now = options.now
    this.job = job
    this.#handled = handled
    this.#journal = journal
    this.ending = this.#run()
  }

  /** Of a run that was ended without its handler: ends when the handler does, if ever; else null. */
  leftHandler(): Promise<unknown> | null {
    return this.#left
  }

  /** Fires the handler's signal. The first reason stays. */
  abort(reason: CancelledError | LeaseLostError | StoppedError | TimeoutError): void {
    this.#controller.abort(reason)
  }

  async #run(): Promise<Ending | null> {
    const { timeoutMs } = this.job.policy
    const timeout = setTimeout(
      () => this.abort(new TimeoutError(`The run took longer than its timeout of ${timeoutMs} ms`)),
      timeoutMs,
    )
    const finished = this.#handle()
    const { signal } = this.#controller
    let abandonTimer: NodeJS.Timeout | undefined
    const abandoned = new Promise<'abandoned'>((resolve) => {
      signal.addEventListener('abort', () => {
        abandonTimer = setTimeout(() => resolve('abandoned'), ABANDON_MS)
      })
    })
    const first = await Promise.race([finished, abandoned])
    this.#over = true
    if (first === 'abandoned') this.#left = finished
    clearTimeout(timeout)
    clearTimeout(abandonTimer)
    // Once its signal has fired, the reason of the signal is the outcome: a handler that returns early because
    // of it has not done its work.
    if (signal.aborted) return endingOf(signal.reason, first === 'abandoned')
    return first === 'abandoned' ? null : first
  }

  async #handle(): Promise<Ending> {
    const { job } = this
    let args: unknown
    try {
      // Asynchronous also without a schema: the run must be known to everyone before the handler's first line.
      args = await readArgs(this.#handled.task, job.argsText)
    } catch (error) {
      // Arguments that do not fit today will not fit with the next attempt.
      return { kind: 'error', error: this.#errorText(error), permanent: isA(error, InvalidInputError) }
    }
    // Another handler of the same claim has held up this process for longer than the lease, or the claim's answer
    // came late: others may run the job by now. Where they do not, it goes back and the attempt does not count.
    if (this.#worker() !== job.worker) return { kind: 'released' }
    const call: { running?: Promise<unknown> } = {}
    try {
      const result = await this.#around(job, () => (call.running ??= this.#callHandler(args)))
      if (call.running === undefined)
        throw new TypeError('The option `around` has not called the function that runs the handler')
      return { kind: 'success', result: this.#resultText(result) }
    } catch (error) {
      return { kind: 'error', error: this.#errorText(error), permanent: isA(error, PermanentError) }
    } finally {
      // Also where `around` has not waited for it: the attempt ends when its handler has ended.
      await call.running?.catch(() => undefined)
    }
  }

  async #callHandler(args: unknown): Promise<unknown> {
    const { job } = this
    const { signal } = this.#controller
    const result = await this.#handled.handler({
      args,
      slot: job.slot,
      missed: job.missed,
      attempt: job.attempt,
      job,
      signal,
      log: this.#logger(),
      progress: (value) => this.#progress(value),
    })
    // Whatever it returns after that: who wraps the attempt is to learn how it ended.
    signal.throwIfAborted()
    await this.#checkResult(result)
    this.#resultText(result)
    return result
  }

  /** A handler that returns something else than its task says will do so the next time as well. */
  async #checkResult(result: unknown): Promise<void> {
    try {
      await checkResult(this.#handled.task, result)
    } catch (error) {
      throw new PermanentError(messageOf(error), { cause: error })
    }
  }

  /** A result that cannot be stored will not be storable the next time either. */
  #resultText(result: unknown): string | null {
    if (result === undefined) return null
    try {
      return this.#jsonText('result', result)
    } catch (error) {
      throw new PermanentError(messageOf(error), { cause: error })
    }
  }

  #jsonText(field: 'result' | 'progress', value: unknown): string {
    return jsonText(field, value, { limit: this.#limit, loneSurrogates: 'replace' })
  }

  #progress(value: unknown): void {
    const json = this.#jsonText('progress', value)
    if (!this.#over) this.#journal.progress(fenceOf(this.job), json)
  }

  #logger(): JobLogger {
    return {
      debug: (message) => this.#logOfHandler('debug', message),
      info: (message) => this.#logOfHandler('info', message),
      warn: (message) => this.#logOfHandler('warn', message),
      error: (message) => this.#logOfHandler('error', message),
    }
  }

  /** A line of ours in the job's log. */
  note(level: LogLevel, message: string): void {
    this.#log(level, message)
  }

  #logOfHandler(level: LogLevel, message: string): void {
    if (this.#isLogFull) return
    this.#isLogFull = this.#lines >= MOST_LINES || this.#logBytes >= MOST_LOG_BYTES
    if (this.#isLogFull) {
      const limits = `${MOST_LINES} lines or ${MOST_LOG_BYTES / 1024 / 1024} MB`
      this.note('warn', `Further lines of attempt ${this.job.attempt} are left out: it has logged ${limits}`)
      return
    }
    this.#lines += 1
    this.#logBytes += this.#log(level, message)
  }

  /** @returns its bytes */
  #log(level: LogLevel, message: string): number {
    // oxlint-disable-next-line typescript/no-unnecessary-type-conversion -- handlers in JavaScript log anything
    const text = cut(this.#shown(String(message)), MOST_LINE_BYTES)
    this.#journal.log({ jobId: this.job.id, at: this.#now(), level, message: text })
    return Buffer.byteLength(text)
  }

  #errorText(error: unknown): string {
    return cut(this.#shown(errorText(error)), this.#limit)
  }

  /** Without the secrets of the args, and as every database stores it. */
  #shown(text: string): string {
    return this.#secrets.hiddenInText(text).toWellFormed()
  }
}

/** The beginning of a text of more than so many bytes. */
function cut(text: string, limit: number): string {
  const bytes = Buffer.byteLength(text)
  if (bytes <= limit) return text
  const note = `… (cut, of ${bytes} bytes)`
  const start = Buffer.from(text).subarray(0, Math.max(0, limit - Buffer.byteLength(note)))
  // The last character may have been cut in two.
  return `${start.toString().replace(/\ufffd$/, '')}${note}`
}

function endingOf(reason: unknown, abandoned: boolean): Ending | null {
  const note = abandoned
    ? `; the handler did not heed its signal within ${ABANDON_MS} ms and was left alone`
    : ''
  if (reason instanceof LeaseLostError) return null
  if (reason instanceof StoppedError) return { kind: 'released' }
  if (reason instanceof CancelledError) return { kind: 'cancelled', error: `${reason.message}${note}` }
  return {
    kind: 'error',
    error: `${reason instanceof Error ? `${reason.name}: ${reason.message}` : String(reason)}${note}`,
    permanent: false,
  }
}
