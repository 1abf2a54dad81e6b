import {
  CancelledError,
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
import { checkResult, readArgs } from '../model/task.ts'
import { AttemptLog } from './attempt-log.ts'
import { AttemptValues } from './attempt-values.ts'
import type { HandledTask, HandlerContext, Middleware } from './handler.ts'
import type { Journal } from './journal.ts'
import type { AttemptOptions } from './options.ts'

/** How long a handler may continue after its signal was aborted. After that, the attempt ends without the handler. */
export const ABANDON_MS = 5000
/** Once a job has been released this many times in a row, an attempt counts even if its worker was cut off. */
const MAX_RELEASES = 10
/** How often a job whose args do not match the schema of its task is left to other workers, before it fails. */
const MAX_PASSED_ON = 3

type AbortReason = CancelledError | LeaseLostError | StoppedError | AttemptTimeoutError

export interface AttemptRunnerOptions extends AttemptOptions {
  readonly journal: Journal
  /** Called if the handler is still running `ABANDON_MS` after its signal was aborted. */
  readonly onAbandoned: (attempt: AttemptRunner) => void
}

export class AttemptRunner {
  readonly job: ClaimedJob
  readonly log: AttemptLog
  /** By performance.now(). */
  readonly beganAt = performance.now()
  readonly #handled: HandledTask
  readonly #options: AttemptRunnerOptions
  readonly #values: AttemptValues
  /** Why the signal was aborted, and whether by `release`. */
  #aborted: { readonly reason: AbortReason; readonly isReleased: boolean } | null = null
  /** Created when the handler asks for its signal. */
  #controller: AbortController | null = null
  /** Aborts the signal after the timeout; after an abort, abandons the handler once `ABANDON_MS` have passed. */
  #timer: NodeJS.Timeout | undefined
  #isOver = false
  #isHeldBack = false
  #mismatch: InvalidInputError | null = null
  #snoozedMs: number | null = null

  constructor(job: ClaimedJob, handled: HandledTask, options: AttemptRunnerOptions) {
    this.job = job
    this.#handled = handled
    this.#options = options
    this.log = new AttemptLog(job, options.journal, options.redaction, options.now)
    this.#values = new AttemptValues(job, this.log, options)
  }

  /**
   * Why the job is left to other workers, or null if it is not: its args do not match the schema here, but may match an
   * older or newer one, as during a deployment.
   */
  mismatch(): InvalidInputError | null {
    return this.#mismatch
  }

  /** Only the first reason counts. */
  abort(reason: AbortReason): void {
    this.#abort(reason, false)
  }

  /**
   * Like `abort`, but if this worker still holds the job, the job goes back to the queue. The attempt does not count
   * unless leases were lost too often.
   */
  release(reason: LeaseLostError | StoppedError): void {
    this.#abort(reason, true)
  }

  #abort(reason: AbortReason, isReleased: boolean): void {
    if (this.#aborted !== null) return
    this.#aborted = { reason, isReleased }
    this.#controller?.abort(reason)
    if (!this.#isOver) this.#setTimer(ABANDON_MS, () => this.#options.onAbandoned(this))
  }

  #setTimer(ms: number, then: () => void): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(then, ms)
  }

  /**
   * @param own  how the handler ended, or null if it is still running and is abandoned
   * @returns null if the job no longer belongs to this worker; nothing may then be written
   */
  end(own: AttemptEnd | null): AttemptEnd | null {
    this.#isOver = true
    clearTimeout(this.#timer)
    if (this.#aborted === null) return own
    // A handler that returns early because its signal was aborted did not finish its work.
    const { reason, isReleased } = this.#aborted
    if (isReleased) return releasedEnd(this.job, reason)
    return abortedEnd(reason, own === null, this.#options.delayFactor())
  }

  /** Resolves when the handler has finished. The handler starts after the caller has registered the attempt. */
  async run(): Promise<AttemptEnd> {
    const { job } = this
    const { middleware, othersHandle } = this.#options
    const { task } = this.#handled
    const { timeout } = job.policy
    this.#setTimer(timeout, () =>
      this.abort(new AttemptTimeoutError(`The run took longer than its timeout of ${timeout} ms`)),
    )
    let args: unknown
    try {
      args = await (task.schema === null ? JSON.parse(job.argsText) : readArgs(task, job.argsText))
    } catch (error) {
      const isMismatch = isA(error, InvalidInputError)
      if (isMismatch && job.releases < MAX_PASSED_ON && othersHandle(job.task)) {
        this.#mismatch = this.#values.shownMismatch(error)
        return { kind: 'released' }
      }
      // Args that do not match the schema now will not match on the next attempt either.
      return { kind: 'error', error: this.#values.errorText(error), permanent: isMismatch }
    }
    if (!this.#mayStart()) return { kind: 'released' }
    try {
      const result = await (middleware === null ? this.#call(args) : this.#callWithin(middleware, args))
      if (this.#isHeldBack) return { kind: 'released' }
      // The snooze applies even if `middleware` caught the error and returned.
      if (this.#snoozedMs !== null) return { kind: 'snoozed', delayMs: this.#snoozedMs }
      return { kind: 'success', result: this.#values.storedResult(result), secrets: this.log.secrets }
    } catch (error) {
      if (this.#isHeldBack) return { kind: 'released' }
      // The snooze applies even if `middleware` wrapped the error.
      if (this.#snoozedMs !== null) return { kind: 'snoozed', delayMs: this.#snoozedMs }
      const permanent = isA(error, PermanentError)
      return {
        kind: 'error',
        error: this.#values.errorText(error),
        permanent,
        delayFactor: this.#options.delayFactor(),
      }
    } finally {
      this.log.hideLogged()
    }
  }

  /**
   * Another handler may have blocked this process for longer than the lease, or the response to the claim may have been
   * late, so another worker may be running the job by now. If not, the job is released, and the attempt does not count.
   */
  #mayStart(): boolean {
    return this.#aborted === null && this.#options.worker() === this.job.worker
  }

  async #callWithin(middleware: Middleware, args: unknown): Promise<unknown> {
    let running: Promise<unknown> | undefined
    // The result is checked here as well, so that `middleware` sees how the attempt ended.
    const run = () =>
      (running ??= this.#call(args).then((result) => {
        this.#values.resultText(result)
        return result
      }))
    try {
      const result = await middleware(this.job, run)
      if (running === undefined)
        throw new TypeError('The option `middleware` did not call the function that runs the handler')
      return result
    } finally {
      // Even if `middleware` did not wait for the handler, the attempt ends only when the handler does.
      await running?.catch(() => undefined)
    }
  }

  async #call(args: unknown): Promise<unknown> {
    const { job } = this
    const { task, handler } = this.#handled
    // Checked again because `middleware` may have taken some time.
    this.#isHeldBack = !this.#mayStart()
    if (this.#isHeldBack)
      throw (
        this.#aborted?.reason ??
        new LeaseLostError(
          `The worker ${job.worker} sent no heartbeat in time; another worker may run the job`,
        )
      )
    let result: unknown
    try {
      result = await handler(this.#context(args))
    } catch (error) {
      if (isA(error, SnoozedError)) this.#snoozedMs = error.delay
      throw error
    }
    // The signal is checked even if the handler returned, so that `middleware` sees how the attempt ended.
    if (this.#aborted !== null) throw this.#aborted.reason
    if (task.resultSchema !== null) await this.#checkResult(result)
    return result
  }

  #context(args: unknown): HandlerContext {
    const { job, log } = this
    const { slot, missed, attempt } = job
    const signal = () => this.#signal()
    return {
      args,
      slot,
      missed,
      attempt,
      job,
      get signal() {
        return signal()
      },
      log: log.logger(),
      progress: (value) => {
        const json = this.#values.progressText(value)
        if (!this.#isOver) this.#options.journal.progress(fenceOf(job), json)
      },
      snooze,
    }
  }

  #signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController()
      if (this.#aborted !== null) this.#controller.abort(this.#aborted.reason)
    }
    return this.#controller.signal
  }

  /** If a result does not match the schema of the task, a retry would not help. */
  async #checkResult(result: unknown): Promise<void> {
    // Registers the secrets of the result, because the error may quote them.
    if (this.#options.redaction.hides('result')) this.#values.resultText(result)
    try {
      await checkResult(this.#handled.task, result)
    } catch (error) {
      throw new PermanentError(messageOf(error), { cause: error })
    }
  }
}

function snooze(span: string | number): never {
  throw new SnoozedError(spanOption('snooze', span, 0, { least: 0, most: LONGEST_DELAY_MS }))
}

/** After too many releases, an attempt counts, because its handler may be what makes workers lose their leases. */
function releasedEnd({ releases }: ClaimedJob, reason: AbortReason): AttemptEnd {
  const isTooOften = reason instanceof LeaseLostError && releases >= MAX_RELEASES
  return isTooOften ? { kind: 'lost', error: reason.message } : { kind: 'released' }
}

function abortedEnd(reason: AbortReason, isAbandoned: boolean, delayFactor: number): AttemptEnd | null {
  const note = isAbandoned
    ? `; the handler did not finish within ${ABANDON_MS} ms after its signal was aborted, and was abandoned`
    : ''
  if (reason instanceof LeaseLostError) return null
  if (reason instanceof CancelledError) return { kind: 'cancelled', error: `${reason.message}${note}` }
  return { kind: 'timeout', delayFactor, error: `${reason.name}: ${reason.message}${note}` }
}
