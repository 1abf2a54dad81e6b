import { CancelledError, LeaseLostError, StoppedError, firstLine } from '../errors.ts'
import { Loop } from '../loop.ts'
import { shownInput } from '../model/input.ts'
import { type ClaimedJob, fenceOf } from '../model/job.ts'
import type { AttemptEnd } from '../model/settle.ts'
import type { ExecutingStore } from '../store/executing-store.ts'
import { AttemptRunner, type AttemptRunnerOptions } from './attempt-runner.ts'
import type { Journal } from './journal.ts'
import type { JobExecutorOptions } from './options.ts'
import type { Settler } from './settler.ts'

interface RunningAttemptsOptions extends Omit<JobExecutorOptions, 'store'> {
  readonly store: Pick<ExecutingStore, 'stopRequests' | 'leaveOut'>
  readonly journal: Journal
  readonly settler: Pick<Settler, 'add'>
  /** An attempt ended. @param isLost  whether the job no longer belongs to this worker; if so, nothing is written */
  readonly onEnded: (ranMs: number, isLost: boolean) => void
}

/** The attempts that run in this process. The loop aborts attempts whose jobs were cancelled. */
export class RunningAttempts {
  readonly loop: Loop
  readonly #options: RunningAttemptsOptions
  readonly #running = new Map<string, AttemptRunner>()
  readonly #attemptOptions: AttemptRunnerOptions
  /** Attempts that have ended although their handlers continue. */
  readonly #abandoned = new Set<AttemptRunner>()
  #started = 0
  #ended = 0
  readonly #whenFinished: (() => void)[] = []
  /** Whether the last check for cancellations found no attempt; if so, the loop sleeps until one starts. */
  #isIdle = true

  constructor(options: RunningAttemptsOptions) {
    this.#options = options
    this.#attemptOptions = {
      ...options,
      onAbandoned: (attempt) => {
        this.#abandoned.add(attempt)
        void this.#finish(attempt, null)
      },
    }
    this.loop = new Loop({
      name: 'stop requests',
      pass: () => this.#abortCancelled(),
      onError: options.onError,
    })
  }

  count(): number {
    return this.#running.size
  }

  countOf(task: string): number {
    let count = 0
    for (const { job } of this.#running.values()) if (job.task === task) count += 1
    return count
  }

  startedCount(): number {
    return this.#started
  }

  all(): AttemptRunner[] {
    return [...this.#running.values()]
  }

  get(jobId: string): AttemptRunner | undefined {
    return this.#running.get(jobId)
  }

  abandonedTasks(): string[] {
    return [...this.#abandoned].map(({ job }) => job.task)
  }

  /** A job that cannot be started is released, so that it neither blocks other jobs nor stays `running`. */
  start(job: ClaimedJob): void {
    try {
      this.#start(job)
    } catch (error) {
      const { store, settler, onUnstartable } = this.#options
      store.leaveOut(job)
      onUnstartable(job.id, error)
      settler.add({ fence: fenceOf(job), end: { kind: 'released' }, policy: job.policy })
    }
  }

  leaseLost(workerId: string): void {
    for (const attempt of this.#running.values()) {
      if (attempt.job.worker === workerId)
        attempt.abort(
          new LeaseLostError(`The worker ${workerId} was considered dead; another worker runs the job`),
        )
    }
  }

  /** Releases all attempts: their jobs go back to the queue, unless another worker has already taken them over. */
  cutOff(): void {
    for (const attempt of this.#running.values())
      attempt.release(
        new LeaseLostError(
          `The worker ${attempt.job.worker} has no connection to the database; another worker may run the job`,
        ),
      )
  }

  stop(): void {
    for (const attempt of this.#running.values())
      attempt.release(new StoppedError('The worker is stopping; the job goes back to the queue'))
  }

  async finished(): Promise<void> {
    if (this.#ended < this.#started) await new Promise<void>((resolve) => this.#whenFinished.push(resolve))
  }

  /** @throws when the job cannot be started */
  #start(job: ClaimedJob): void {
    const { handlers, onStarted } = this.#options
    const handled = handlers.get(job.task)
    if (handled === undefined)
      throw new RangeError(
        `The job ${shownInput(job.id)} of the task ${shownInput(job.task)} was claimed, but this worker has no handler for the task; the job goes back to the queue`,
      )
    // If an attempt of this job is still running here, this worker did not notice that it had lost the job.
    this.#running
      .get(job.id)
      ?.abort(new LeaseLostError(`The job ${job.id} was taken from this worker and is on its next attempt`))
    const attempt = new AttemptRunner(job, handled, this.#attemptOptions)
    // If every start triggered a check, a busy worker would spend a third as much time on checks as on claims.
    if (this.#isIdle) this.loop.wake()
    this.#isIdle = false
    this.#running.set(job.id, attempt)
    this.#started += 1
    onStarted(job)
    void this.#run(attempt)
  }

  async #run(attempt: AttemptRunner): Promise<void> {
    const end = await attempt.run()
    if (!this.#abandoned.delete(attempt)) void this.#finish(attempt, end)
  }

  async #finish(attempt: AttemptRunner, own: AttemptEnd | null): Promise<void> {
    const { journal, settler, store, onEnded, onUnstartable } = this.#options
    const { job } = attempt
    const end = attempt.end(own)
    const mismatch = attempt.mismatch()
    if (mismatch !== null) {
      store.leaveOut(job)
      onUnstartable(job.id, mismatch)
    }
    const isRetryable = end?.kind === 'timeout' || (end?.kind === 'error' && !end.permanent)
    // Separates the log lines of this attempt from those of the next one.
    const { retries } = job.policy
    if (isRetryable && (retries === 'unlimited' || job.attempt <= retries))
      attempt.log.write('warn', `Attempt ${job.attempt} failed: ${firstLine(end.error)}`)
    // The log lines of a job are stored before it becomes final, unless they cannot be written.
    if (journal.hasUnwritten(job.id)) await journal.written(job.id)
    if (this.#running.get(job.id) === attempt) this.#running.delete(job.id)
    this.#ended += 1
    if (end !== null) settler.add({ fence: fenceOf(job), job, end, policy: job.policy })
    onEnded(performance.now() - attempt.beganAt, end === null)
    if (this.#ended === this.#started) for (const resolve of this.#whenFinished.splice(0)) resolve()
  }

  async #abortCancelled(): Promise<number> {
    const { pollIntervalMs, store } = this.#options
    this.#isIdle = this.#running.size === 0
    if (this.#isIdle) return Infinity
    for (const fence of await store.stopRequests(this.all().map(({ job }) => fenceOf(job)))) {
      const attempt = this.#running.get(fence.id)
      // The response may be about an earlier claim of the job, whose attempt has ended in the meantime.
      if (attempt?.job.claim === fence.claim) attempt.abort(new CancelledError('The job was cancelled'))
    }
    return pollIntervalMs
  }
}
