import { StoreUnavailableError } from '../errors.ts'
import type { LOG_COLUMNS, Values } from '../model/columns.ts'
import type { ClaimedJob, Fence } from '../model/job.ts'
import { EVERY_TASK, type RunPolicy } from '../model/task.ts'
import type { AttemptEnd, JobOutcome } from '../model/settle.ts'
import type { OnRefused, Refusal } from './refusal.ts'

/** A callback of the application threw; its writes on the connection were rolled back. */
export class CallbackError extends Error {
  override readonly name = 'CallbackError'
}

/** A callback took too long. Anything that it still does with its connection fails. */
export class CallbackTooSlowError extends StoreUnavailableError {}

/**
 * A callback ended its connection's transaction: it ran a COMMIT, a ROLLBACK or a statement that commits implicitly,
 * such as DDL, or it ignored a deadlock. Earlier writes may have been committed.
 */
export class TransactionEndedError extends StoreUnavailableError {}

/** Receives the names of settings that a callback left changed on its connection. The changes have been undone. */
export type OnLeftBehind = (names: readonly string[]) => void

export interface PartialWrite<Item> {
  /** Entries to write again: other transactions had locked them, or an error prevented the write. */
  readonly left: readonly Item[]
  /** Rejected by the database. */
  readonly refused: readonly Refusal<Item>[]
}

export type NewLogLine = Values<typeof LOG_COLUMNS>

/** The progress of a running job. It is written only if the worker still holds the job. */
export interface JobProgress {
  readonly fence: Fence
  /** JSON text */
  readonly json: string
}

/** An attempt that has ended. Its outcome is written only if the worker still holds the job. */
export interface UnsettledAttempt {
  readonly fence: Fence
  /** The job as it was claimed, if this process knows it. */
  readonly job?: ClaimedJob
  readonly end: AttemptEnd
  readonly policy: RunPolicy
}

/** The name in `claim_task` under which jobs of an external queue are claimed. No task can have such a name. */
export const claimedAs = (queue: string): string => ` ${queue}`

/** Whether a name that a worker registered is the name of a task. */
export const isTask = (registered: string): boolean =>
  registered !== EVERY_TASK && !registered.startsWith(' ')

export interface HandOverQueue {
  readonly name: string
  /** Whether the queue reports the outcome of a job; otherwise, the hand-over finishes the job. */
  readonly reports: boolean
  /** The queue must report the outcome within this time after the hand-over, unless the job sets its own `timeout`. */
  readonly timeoutMs: number
  readonly deadlineMs: number
}

export interface SettledAttempt {
  readonly id: string
  readonly task: string
  readonly scheduleId: string | null
  /** Present if the schedule that created the job was deleted, so that the outcome does not count for a schedule. */
  readonly scheduleDeleted?: true
  readonly attempt: number
  readonly outcome: JobOutcome
  /** The start and end of the attempt, by the database's clock. */
  readonly startedAt: Date
  readonly endedAt: Date
  /** The blocked job that became waiting, or null if there is none. */
  readonly promoted: string | null
}

/**
 * The result of `settle`. Jobs that were returned to the queue before they started are left out, unless they are locked
 * or rejected.
 */
export interface Settled {
  readonly settled: readonly SettledAttempt[]
  /** Jobs that their worker no longer holds, so nothing was written for them. */
  readonly lost: readonly Fence[]
  /** The attempts that must be settled later, because another transaction has locked the row of the job or schedule. */
  readonly locked: readonly UnsettledAttempt[]
  /** Attempts that the database rejects, even without their results and error texts. */
  readonly refused: readonly Refusal<UnsettledAttempt>[]
}

export interface ClaimOptions {
  /** Maximum number of jobs to claim for each task that has a limit. */
  readonly taskLimits?: ReadonlyMap<string, number>
  readonly onRefused?: OnRefused
  /**
   * How many more jobs to claim, to start later. They must have retries left, because a crash of the worker costs them
   * an attempt.
   */
  readonly ahead?: number
  /** The task that had the last turn in each group. */
  readonly lastTasks?: ReadonlyMap<string, string>
  /** Where to continue. The claim updates it to the position at which the next claim may continue. */
  readonly cursor?: ClaimCursor
}

/** A group, a task and a rank, and the id of their most recently claimed job. */
export interface PlacedTurn {
  readonly in_group: string
  readonly claim_task: string
  readonly claim_rank: number
  readonly behind: string
}

export interface ClaimCursor {
  /**
   * The next claim continues each of these turns after its last claimed job. Only a claim without turns sees new
   * freezes, and new jobs that come before the last claimed one. Empty if the last claim found fewer jobs than its
   * limit, or if other groups and tasks are waiting for a turn.
   */
  turns: readonly PlacedTurn[]
  /** Whether the last claim left out jobs because they have no retries left. */
  hasLeftOut: boolean
}

export interface ExecutingStore {
  /** Makes waiting jobs claimable if their time has come. @returns how many became claimable */
  promoteDue(limit: number): Promise<number>

  /**
   * Claims jobs for this worker. Groups take turns. Within a group, the task whose first job has the highest priority
   * comes first, and tasks of equal priority take turns. Within a turn, jobs with a higher priority come first, then
   * older jobs. Each claim is a new attempt and increments the claim number.
   *
   * @param tasks  the tasks that this worker handles, each with the policy for jobs that do not set their own
   * @param limit  maximum number of jobs that start now, which does not include those claimed `ahead`
   * @param afterGroup  the group that had the previous turn
   */
  claim(
    worker: string,
    tasks: ReadonlyMap<string, RunPolicy>,
    limit: number,
    afterGroup: string,
    options?: ClaimOptions,
  ): Promise<ClaimedJob[]>

  /** Makes claims skip a job that this worker cannot start, until the job's back-off ends. */
  leaveOut(job: ClaimedJob): void

  /**
   * Claims jobs of an external queue and lets `submit` insert them there, all in one transaction. If `submit` throws,
   * the batch is retried in halves, and refused jobs are left out until their back-off ends.
   *
   * @param submit  receives the connection of the open transaction, and a signal that is aborted at the deadline. It
   *   may be called again with the same jobs
   * @returns the jobs that were handed over
   * @throws AllRefusedError, CallbackTooSlowError, TransactionEndedError
   */
  handOver(
    worker: string,
    queue: HandOverQueue,
    limit: number,
    afterGroup: string,
    submit: (jobs: readonly ClaimedJob[], connection: object, signal: AbortSignal) => Promise<void>,
    onRefused?: OnRefused,
    onLeftBehind?: OnLeftBehind,
  ): Promise<ClaimedJob[]>

  /**
   * Sends the jobs of these tasks to this external queue from now on, including waiting jobs that have no queue yet.
   * Tasks that registered workers no longer name for this queue go back to Kalends.
   *
   * @param tasks  their names, or `EVERY_TASK`
   * @returns the tasks that a registered worker sends to another queue, where they stay
   */
  route(
    worker: string,
    queue: string,
    tasks: readonly string[],
  ): Promise<readonly { readonly task: string; readonly queue: string }[]>

  /**
   * Delays the next hand-over of refused jobs, for longer with each refusal. The reason and the time of the next
   * hand-over are stored in the jobs' rows.
   */
  postpone(refused: readonly { readonly id: string; readonly error: string }[]): Promise<void>

  /** Those of the given claims that are committed and whose jobs are in the external queue. */
  handedOver(worker: string, claims: readonly Fence[]): Promise<Fence[]>

  /**
   * Writes the outcomes of attempts whose jobs are still held by their worker. If the database rejects a result, the
   * attempt fails permanently; if it rejects an error text, the outcome is written with a different text.
   *
   * @param areOrphans  whether the attempts are orphans; `orphans` then leaves out refused attempts until their
   *   back-off ends
   * @throws AllRefusedError when every outcome that was tried was refused for the same reason
   */
  settle(attempts: readonly UnsettledAttempt[], areOrphans?: boolean): Promise<Settled>

  /** Those of the given attempts whose jobs were asked to stop. */
  stopRequests(attempts: readonly Fence[]): Promise<readonly Fence[]>

  saveProgress(progress: readonly JobProgress[]): Promise<PartialWrite<JobProgress>>

  /** Stores lines in order, so any lines that could not be written are the last ones. */
  appendLogs(lines: readonly NewLogLine[]): Promise<PartialWrite<NewLogLine>>

  /** Replaces messages in the log of a job, wherever they occur. @param replacements  new messages by old message */
  replaceLogs(jobId: string, replacements: ReadonlyMap<string, string>): Promise<void>

  /** This worker's running jobs, as attempts to be settled as released. */
  held(worker: string): Promise<UnsettledAttempt[]>

  /** Running jobs whose worker is no longer registered, and jobs whose external queue did not report in time. */
  orphans(limit: number): Promise<UnsettledAttempt[]>
}
