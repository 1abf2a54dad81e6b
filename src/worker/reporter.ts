import type { Emitter } from '../events.ts'
import type { Logger } from '../logger.ts'
import { type ClaimedJob, type Job, withoutClaim } from '../model/job.ts'
import { type FinalState, isFinal, type SkipReason } from '../model/states.ts'
import type { Redaction } from '../model/redaction.ts'
import type { UnsettledAttempt, SettledAttempt, Settled } from '../store/executing-store.ts'
import type { OnSetAside } from '../store/refusal.ts'
import type { Submission } from '../store/scheduling-store.ts'

/** A schedule was planned, and its jobs were submitted. */
export interface SubmittedEvent {
  readonly scheduleId: string
  readonly task: string
  readonly timer: string
  /** The submitted jobs, oldest slot first. `missed` is the number of missed earlier slots that the run replaces. */
  readonly runs: readonly { readonly jobId: string; readonly slot: Date; readonly missed: number }[]
  /** Slots that did not become runs. `slot` is the newest of `count` slots with the same reason. */
  readonly skips: readonly { readonly slot: Date; readonly reason: SkipReason; readonly count: number }[]
  /** The next slot; null if there is none. */
  readonly nextRunAt: Date | null
}

/** An attempt ended, and the job is final or waits for its next attempt. */
export interface SettledEvent {
  readonly jobId: string
  readonly task: string
  readonly scheduleId: string | null
  /** Present if the schedule that created the job was deleted, even if another one has the same id now. */
  readonly scheduleDeleted?: true
  /** The number of the attempt, starting at 1. */
  readonly attempt: number
  /** The resulting state of the job. */
  readonly state: FinalState | 'waiting'
  /** The time in milliseconds until the next attempt, or null if the job is not waiting. */
  readonly retryInMs: number | null
  /** Whether the worker returned the job to the queue, such as when it stops; if so, this attempt does not count. */
  readonly released: boolean
  /** Whether the handler asked to run again later; if so, this attempt does not count. */
  readonly snoozed: boolean
  readonly error: string | null
  /** The return value of the handler, as read back from JSON; null unless the attempt succeeded. */
  readonly result: unknown
  /** By the database's clock. */
  readonly startedAt: Date
  readonly endedAt: Date
}

/** The events of this process. Values that `redact` names are hidden in args and results. */
export interface KalendsEvents {
  submitted: SubmittedEvent
  /** An attempt of a job started in this process. */
  started: Job
  settled: SettledEvent
  /** Another worker was found to be dead. This worker or another one takes over its work. */
  workerLost: { readonly worker: string }
  /**
   * Other workers considered this worker dead, for example after a long stall. This worker continues under a new id.
   */
  leaseLost: { readonly worker: string }
  /** An operation failed. It will be retried, unless log lines or progress were dropped. */
  error: { readonly where: string; readonly error: unknown }
}

/** Maximum number of tasks and paths that are reported, because paths may contain keys of the data. */
const MAX_CONVERTED = 1000

export type Reporter = ReturnType<typeof reporterOf>

/** Logs what a worker does, and emits it as events. Functions named `on…` are options of the worker's parts. */
export function reporterOf(logger: Logger, events: Emitter<KalendsEvents>, redaction: Redaction) {
  /** The tasks and paths that were reported. */
  const converted = new Set<string>()
  return {
    leaseLost(worker: string): void {
      logger.warn({ worker }, 'Other workers considered this worker dead; it continues under a new id')
      events.emit('leaseLost', () => ({ worker }))
    },

    cutOff(worker: string): void {
      logger.warn(
        { worker },
        'No heartbeat has succeeded for three fifths of the lease, so other workers may take over: the signals of all handlers are aborted',
      )
    },

    onDead(worker: string): void {
      logger.warn({ worker }, 'A worker is dead; its work is being taken over')
      events.emit('workerLost', () => ({ worker }))
    },

    onTwin(worker: string): void {
      logger.warn(
        { worker },
        `This process also runs the worker '${worker}', which started earlier: stop one of them. After a hot reload, the earlier one is left over: see docs/guides/bundling.md`,
      )
    },

    onRepaired(text: string): void {
      logger.warn({}, `Repaired: ${text}`)
    },

    submitted(submission: Submission): void {
      const { id: scheduleId, task, timer, plan, jobs } = submission
      for (const { slot, reason, count, wasAway } of plan.skips) {
        // Missed slots are normal if the slots are closer together than the scheduler's passes.
        const level = reason !== 'missed' || wasAway === true ? 'warn' : 'debug'
        logger[level]({ scheduleId, task, slot, reason, count }, 'Slots skipped')
      }
      if (plan.idle === 'invalid') {
        logger.error({ scheduleId, task, error: plan.lastError }, 'Invalid timer; edit it to continue')
      }
      if (jobs.length > 0) {
        logger.debug({ scheduleId, task, jobIds: jobs, nextRunAt: plan.nextRunAt }, 'Submitted')
      }
      events.emit('submitted', () => ({
        scheduleId,
        task,
        timer,
        runs: plan.runs.map(({ slot, missed }, index) => ({ jobId: jobs[index] ?? '', slot, missed })),
        skips: plan.skips.map(({ slot, reason, count }) => ({ slot, reason, count })),
        nextRunAt: plan.nextRunAt,
      }))
    },

    onSetAside(message: string, { kind, id, error }: Parameters<OnSetAside>[1]): void {
      logger.error({ id, err: error }, message)
      events.emit('error', () => ({ where: `${kind} ${id}`, error }))
    },

    onUnsubmittable(scheduleId: string, error: unknown): void {
      logger.error({ scheduleId, err: error }, `The schedule '${scheduleId}' could not be submitted`)
      events.emit('error', () => ({ where: `schedule ${scheduleId}`, error }))
    },

    onStarted(job: ClaimedJob): void {
      logger.debug({ jobId: job.id, task: job.task, attempt: job.attempt }, 'Job started')
      events.emit('started', () => ({
        ...withoutClaim(job),
        args: redaction.redacted('args', job.args),
      }))
    },

    onUnstartable(jobId: string, error: unknown): void {
      logger.error(
        { jobId, err: error },
        `The job '${jobId}' could not be started or handed over; it will be retried`,
      )
      events.emit('error', () => ({ where: `job ${jobId}`, error }))
    },

    onLeftBehind(names: readonly string[]): void {
      logger.warn(
        { names },
        `submit of the external queue changed its connection: ${names.join(', ')}. Kalends has undone this; remove the statement from submit, or restore the value there`,
      )
    },

    settled(result: Settled): void {
      for (const settled of result.settled) {
        const { id: jobId, task, scheduleId, attempt, outcome } = settled
        const fields = { jobId, task, scheduleId, attempt, state: outcome.state, error: outcome.error }
        if (outcome.error === null) logger.debug(fields, 'Job ended')
        else logger.warn(fields, isFinal(outcome.state) ? 'Job ended' : 'Attempt failed')
        events.emit('settled', () => settledEvent(settled, redaction))
      }
      for (const { id: jobId, worker, claim } of result.lost) {
        logger.warn(
          { jobId, worker, claim },
          'The outcome of an attempt was not written: the job now belongs to another worker',
        )
      }
    },

    /** The job stays `running` under its worker, so that it remains visible and no worker repeats it. */
    onRejected({ fence: { id: jobId, worker, claim } }: UnsettledAttempt, error: unknown): void {
      const text = `The database rejected the outcome of the job '${jobId}', which stays running. Repair the row of the job or its schedule: the outcome is written within five minutes, or when the worker stops`
      logger.error({ jobId, worker, claim, err: error }, text)
      events.emit('error', () => ({ where: 'settler', error: new Error(text, { cause: error }) }))
    },

    onConverted(task: string, path: string, what: string): void {
      const key = JSON.stringify([task, path])
      if (converted.has(key) || converted.size >= MAX_CONVERTED) return
      converted.add(key)
      logger.warn(
        { task, path },
        `${path} of the task '${task}' is stored as JSON, and reads back differently: ${what}. Return the value in the form in which it is read`,
      )
    },

    onDropped(error: Error): void {
      logger.error({ err: error }, error.message)
      events.emit('error', () => ({ where: 'journal', error }))
    },

    onError(error: unknown, where: string): void {
      logger.error({ err: error, where }, `The ${where} failed; it will be retried`)
      events.emit('error', () => ({ where, error }))
    },
  }
}

function settledEvent(settled: SettledAttempt, redaction: Redaction): SettledEvent {
  const { id: jobId, outcome, promoted: _, ...attempt } = settled
  const { state, error } = outcome
  const isWaiting = outcome.state === 'waiting'
  const json = isWaiting ? null : outcome.result
  return {
    jobId,
    ...attempt,
    state,
    error,
    retryInMs: isWaiting ? outcome.delayMs : null,
    released: isWaiting && outcome.why === 'released',
    snoozed: isWaiting && outcome.why === 'snoozed',
    result: json === null ? null : redaction.redacted('result', JSON.parse(json), outcome.secrets),
  }
}
