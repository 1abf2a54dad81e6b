import {
  CancelledError,
  errorText,
  InvalidInputError,
  isA,
  LeaseLostError,
  messageOf,
  PermanentError,
  SnoozedError,
  type StoppedError,
  AttemptTimeoutError,
} from '../errors.ts'
import { type ClaimedJob, fenceOf } from '../model/job.ts'
import type { AttemptEnd } from '../model/settle.ts'
import { spanOption } from '../model/input.ts'
import { LONGEST_DELAY_MS } from '../model/settings.ts'
import { checkResult, jsonText, readArgs } from '../model/task.ts'
import { AttemptLog } from './attempt-log.ts'
import type { HandledTask, HandlerContext } from './handler.ts'
import type { Journal } from './journal.ts'
import type { AttemptOptions } from './options.ts'

/** How long a handler may continue after its signal was aborted. Then its attempt ends without it. */
export const ABANDON_MS = 5000
/** After so many claims of a job that did not count, an attempt of a worker that is cut off counts. */
const MOST_RELEASES = 10

/** Runs one attempt of a job in this process. */
export class AttemptRunner {
  readonly job: ClaimedJob
  readonly log: AttemptLog
  /** How the attempt ended; null if the job no longer belongs to this worker, so that nothing may be written. */
  readonly end: Promise<AttemptEnd | null>
  readonly #handled: HandledTask
  readonly #journal: Journal
  readonly #options: AttemptOptions
  readonly #controller = new AbortController()
  #isReleased = false
  #isOver = false
  /** How long the job waits if its handler has ended by `snooze`. */
  #snoozedMs: number | null = null
  #abandoned: Promise<unknown> | null = null

  constructor(job: ClaimedJob, handled: HandledTask, journal: Journal, options: AttemptOptions) {
    this.job = job
    this.log = new AttemptLog(job, journal, options.redaction.secretsOf({ args: job.args }), options.now)
    this.#handled = handled
    this.#journal = journal
    this.#options = options
    this.end = this.#run()
  }

  /** If the attempt ended without its handler: settles when the handler ends, if ever. Otherwise null. */
  abandonedHandler(): Promise<unknown> | null {
    return this.#abandoned
  }

  /** Aborts the handler's signal. Only the first reason counts. */
  abort(reason: CancelledError | LeaseLostError | AttemptTimeoutError): void {
    this.#controller.abort(reason)
  }

  /** The same; the job goes back to the queue if this worker still holds it, and the attempt does not count. */
  release(reason: LeaseLostError | StoppedError): void {
    this.#isReleased ||= !this.#controller.signal.aborted
    this.#controller.abort(reason)
  }

  async #run(): Promise<AttemptEnd | null> {
    const { timeout: timeoutMs } = this.job.policy
    const timeout = setTimeout(
      () => this.abort(new AttemptTimeoutError(`The run took longer than its timeout of ${timeoutMs} ms`)),
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
    this.#isOver = true
    if (first === 'abandoned') this.#abandoned = finished
    clearTimeout(timeout)
    clearTimeout(abandonTimer)
    // Once the signal is aborted, its reason is the outcome: a handler that returns early because of it has not done
    // its work.
    if (this.#isReleased) return releasedEnd(this.job, signal.reason)
    if (signal.aborted) return attemptEnd(signal.reason, first === 'abandoned', this.#options.delayFactor())
    return first === 'abandoned' ? null : first
  }

  async #handle(): Promise<AttemptEnd> {
    const { job } = this
    const { worker, middleware } = this.#options
    let args: unknown
    try {
      // Asynchronous even without a schema: the attempt must be registered before the handler's first line runs.
      args = await readArgs(this.#handled.task, job.argsText)
    } catch (error) {
      // Args that do not match the schema now will not match in the next attempt either.
      return { kind: 'error', error: this.#errorText(error), permanent: isA(error, InvalidInputError) }
    }
    // Another handler may have blocked this process for longer than the lease, or the response to the claim was late:
    // another worker may run the job by now. If none does, the job is released, and the attempt does not count.
    if (worker() !== job.worker) return { kind: 'released' }
    const call: { running?: Promise<unknown> } = {}
    const run = () => (call.running ??= this.#callHandler(args))
    try {
      const result = await (middleware === null ? run() : middleware(job, run))
      if (this.#snoozedMs !== null) return { kind: 'snoozed', delayMs: this.#snoozedMs }
      if (call.running === undefined)
        throw new TypeError('The option `middleware` has not called the function that runs the handler')
      return { kind: 'success', result: this.#resultText(result) }
    } catch (error) {
      // Also if `middleware` has wrapped the error.
      if (this.#snoozedMs !== null) return { kind: 'snoozed', delayMs: this.#snoozedMs }
      const permanent = isA(error, PermanentError)
      return {
        kind: 'error',
        error: this.#errorText(error),
        permanent,
        delayFactor: this.#options.delayFactor(),
      }
    } finally {
      // Even if `middleware` did not wait for the handler, the attempt ends when the handler has ended.
      await call.running?.catch(() => undefined)
    }
  }

  async #callHandler(args: unknown): Promise<unknown> {
    const { signal } = this.#controller
    let result: unknown
    try {
      result = await this.#handled.handler(this.#context(args))
    } catch (error) {
      if (isA(error, SnoozedError)) this.#snoozedMs = error.delay
      throw error
    }
    // Checked before the result, so that `middleware` sees how the attempt ended.
    signal.throwIfAborted()
    await this.#checkResult(result)
    this.#resultText(result)
    return result
  }

  #context(args: unknown): HandlerContext {
    const { job, log } = this
    const { slot, missed, attempt } = job
    return {
      args,
      slot,
      missed,
      attempt,
      job,
      signal: this.#controller.signal,
      log: log.logger(),
      progress: (value) => this.#progress(value),
      snooze: (span) => {
        throw new SnoozedError(spanOption('snooze', span, 0, { least: 0, most: LONGEST_DELAY_MS }))
      },
    }
  }

  /** If a result does not match the schema of the task, a retry would not help. */
  async #checkResult(result: unknown): Promise<void> {
    try {
      await checkResult(this.#handled.task, result)
    } catch (error) {
      throw new PermanentError(messageOf(error), { cause: error })
    }
  }

  /** A result that cannot be stored now cannot be stored in the next attempt either. */
  #resultText(result: unknown): string | null {
    if (result === undefined) return null
    try {
      return this.#jsonText('result', result)
    } catch (error) {
      throw new PermanentError(messageOf(error), { cause: error })
    }
  }

  #jsonText(field: 'result' | 'progress', value: unknown): string {
    return jsonText(field, value, { limit: this.#options.argsLimit, loneSurrogates: 'replace' })
  }

  #progress(value: unknown): void {
    const json = this.#jsonText('progress', value)
    if (!this.#isOver) this.#journal.progress(fenceOf(this.job), json)
  }

  #errorText(error: unknown): string {
    return this.log.shown(errorText(error), this.#options.argsLimit)
  }
}

/** An attempt of a job that was released too often counts, because its handler may be what cuts its workers off. */
function releasedEnd({ releases }: ClaimedJob, reason: unknown): AttemptEnd {
  const isTooOften = isA(reason, LeaseLostError) && releases >= MOST_RELEASES
  return isTooOften ? { kind: 'lost', error: messageOf(reason) } : { kind: 'released' }
}

function attemptEnd(reason: unknown, isAbandoned: boolean, delayFactor: number): AttemptEnd | null {
  const note = isAbandoned
    ? `; the handler did not end within ${ABANDON_MS} ms after its signal fired and was abandoned`
    : ''
  if (reason instanceof LeaseLostError) return null
  if (reason instanceof CancelledError) return { kind: 'cancelled', error: `${reason.message}${note}` }
  return {
    kind: 'timeout',
    delayFactor,
    error: `${reason instanceof Error ? `${reason.name}: ${reason.message}` : String(reason)}${note}`,
  }
}
