import type { Emitter } from '../events.ts'
import type { Logger } from '../logger.ts'
import { type ClaimedJob, isFinal } from '../model/job.ts'
import type { Redaction } from '../model/redaction.ts'
import type { EndedAttempt, SettledAttempt, SettleResult } from '../store/executing-store.ts'
import type { Submission } from '../store/scheduling-store.ts'

/** What happened in this process. */
export interface KalendsEvents {
  /** A schedule was planned and its jobs submitted. */
  submitted: Submission
  /** An attempt of a job started in this process. */
  started: ClaimedJob
  /** An attempt ended: the job is final, or waits for its next attempt. */
  settled: SettledAttempt
  /** Another worker was found dead. This or another worker takes over its work. */
  workerLost: { readonly worker: string }
  /** Other workers considered this worker dead, for example after a long stall. It continues under a new id. */
  leaseLost: { readonly worker: string }
  /** An operation failed and will be retried. */
  error: { readonly where: string; readonly error: unknown }
}

/** Logs what a worker does, and emits it as events. */
export class Reporter {
  readonly #logger: Logger
  readonly #events: Emitter<KalendsEvents>
  readonly #redaction: Redaction

  constructor(logger: Logger, events: Emitter<KalendsEvents>, redaction: Redaction) {
    this.#logger = logger
    this.#events = events
    this.#redaction = redaction
  }

  leaseLost(worker: string): void {
    this.#logger.warn({ worker }, 'Other workers took this worker for dead; it continues under a new id')
    this.#events.emit('leaseLost', { worker })
  }

  cutOff(worker: string): void {
    this.#logger.warn(
      { worker },
      'No heartbeat has succeeded for three fifths of the lease, so other workers may take over: the signals of all handlers fire',
    )
  }

  workerLost(worker: string): void {
    this.#logger.warn({ worker }, 'A worker is dead; what it held is taken over')
    this.#events.emit('workerLost', { worker })
  }

  healed(text: string): void {
    this.#logger.warn({}, `Repaired: ${text}`)
  }

  submitted(submission: Submission): void {
    const { id: schedule, task, plan } = submission
    for (const { slot, reason, count } of plan.skips) {
      this.#logger.warn({ schedule, task, slot, reason, count }, 'Slots skipped')
    }
    if (plan.idle === 'invalid') {
      this.#logger.error({ schedule, task, error: plan.lastError }, 'Invalid timer; edit it to continue')
    }
    if (submission.jobs.length > 0) {
      this.#logger.debug({ schedule, task, jobs: submission.jobs, nextRunAt: plan.nextRunAt }, 'Submitted')
    }
    this.#events.emit('submitted', submission)
  }

  notSubmitted(schedule: string, error: unknown): void {
    this.#logger.error({ schedule, err: error }, `The schedule '${schedule}' could not be submitted`)
    this.#events.emit('error', { where: `schedule ${schedule}`, error })
  }

  started(job: ClaimedJob): void {
    this.#logger.debug({ job: job.id, task: job.task, attempt: job.attempt }, 'Job started')
    this.#events.emit('started', withoutSecrets(job, this.#redaction))
  }

  notStarted(job: string, error: unknown): void {
    this.#logger.error(
      { job, err: error },
      `The job '${job}' could not be made claimable, claimed or started; it will be retried`,
    )
    this.#events.emit('error', { where: `job ${job}`, error })
  }

  settled(result: SettleResult): void {
    for (const settled of result.settled) {
      const { id: job, task, scheduleId: schedule, attempt, outcome } = settled
      const fields = { job, task, schedule, attempt, state: outcome.state, error: outcome.error }
      if (outcome.error === null) this.#logger.debug(fields, 'Job ended')
      else this.#logger.warn(fields, isFinal(outcome.state) ? 'Job ended' : 'Attempt failed')
      this.#events.emit('settled', settled)
    }
    for (const { id: job, worker, claim } of result.lost) {
      this.#logger.warn(
        { job, worker, claim },
        'The end of an attempt was not written: the job belongs to another worker by now',
      )
    }
  }

  /** The job stays `running` under its worker, so that it remains visible and no worker repeats it. */
  rejected({ fence: { id: job, worker, claim } }: EndedAttempt, error: unknown): void {
    const text = `The database rejected the end of the job '${job}', which stays running. Repair the row of the job or its schedule: the end is written within five minutes, or when the worker stops`
    this.#logger.error({ job, worker, claim, err: error }, text)
    this.#events.emit('error', { where: 'settler', error: new Error(text, { cause: error }) })
  }

  /** Log lines or progress will not be written. */
  dropped(error: Error): void {
    this.#logger.error({ err: error }, error.message)
    this.#events.emit('error', { where: 'journal', error })
  }

  failed(where: string, error: unknown): void {
    this.#logger.error({ err: error, where }, `The ${where} failed; it will be retried`)
    this.#events.emit('error', { where, error })
  }
}

/** Events are also published on diagnostics channels, where other tools record them. */
function withoutSecrets(job: ClaimedJob, redaction: Redaction): ClaimedJob {
  if (!redaction.hides('args')) return job
  const args = redaction.redacted('args', job.args)
  return { ...job, args, argsText: JSON.stringify(args) }
}
