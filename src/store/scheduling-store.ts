import type { ClaimedJob } from '../model/job.ts'
import type { FrozenTime, OpenJobs, Plan, Plannable } from '../model/planning.ts'
import type { RunPolicy } from '../model/task.ts'
import type { OnRefused, Refusal } from './refusal.ts'

/** The state of the database at one instant, read in a single statement. */
export interface Look {
  /** The database's clock. */
  readonly now: Date
  /** The time at which the earliest schedule is due, or null if no schedule will become due. */
  readonly wakeAt: Date | null
  /** The time at which the earliest waiting job becomes claimable, or null if no job waits for a time. */
  readonly dueAt: Date | null
  /** Whether a job of one of the given tasks can be claimed. */
  readonly claimable: boolean
  /** A value that changes when freezes are added or deleted, and in most cases when they are changed. */
  readonly freezes: string
}

/** A lease on a schedule: "being submitted by this worker". */
export interface Mark {
  readonly id: string
  readonly marked: Date
  /** The time at which the schedule was due, as stored. */
  readonly wakeAt?: string
}

export interface Submission {
  readonly id: string
  readonly task: string
  readonly timer: string
  readonly plan: Plan
  /** The ids of the inserted jobs, in the order of `plan.runs`. */
  readonly jobs: readonly string[]
}

export interface StartLimits {
  readonly limit: number
  /** The tasks that the worker handles, each with the policy for jobs that do not set their own policy. */
  readonly tasks: ReadonlyMap<string, RunPolicy>
  /** For each task with its own concurrency limit, the maximum number of its jobs to start. */
  readonly taskLimits: ReadonlyMap<string, number>
}

export interface SubmitResult {
  readonly submissions: readonly Submission[]
  /** The submitted jobs that this worker has already started. */
  readonly started: readonly ClaimedJob[]
  /** Schedules that are still marked, because other transactions have locked rows that they need; submit them again. */
  readonly locked: readonly Mark[]
  /** Schedules that are not planned yet, because other schedules filled the transaction; submit them next. */
  readonly left: readonly Mark[]
  /** Schedules that cannot be planned, or that the database rejects. They keep their marks as a back-off. */
  readonly refused: readonly Refusal<Mark>[]
}

/**
 * The pure planner's decision about a locked row. Null if the schedule is not due.
 *
 * @param freezes  the freezes that apply to the schedule and end after its next run
 * @throws UnreadableTimerError; the schedule is then left to other workers for a while
 */
export type Decide = (
  schedule: Plannable,
  now: Date,
  open: OpenJobs,
  freezes: readonly FrozenTime[],
) => Plan | null

/** Finding the rows that workers left behind reads an index range; checking everything reads whole tables. */
export type SweepExtent = 'left by workers' | 'everything'

export interface Swept {
  /** Descriptions of the repairs, for the log. */
  readonly repaired: readonly string[]
  /** Whether there are orphans, including those that `ExecutingStore.orphans` leaves out. */
  readonly orphans: boolean
}

/** Schedules that are active or done, and whose next run or last slot is in the future. */
export interface FurthestSchedules {
  readonly schedules: readonly Plannable[]
  /** The database's clock; meaningless if there are no such schedules. */
  readonly now: Date
}

export interface SchedulingStore {
  /**
   * Maximum number of schedules per transaction; lower on clusters, where servers commit at the same time. On SQLite,
   * it depends on how long recent transactions took, because they block the event loop.
   */
  mostAtOnce(): number
  /** Whether two transactions can submit different schedules without waiting for each other. */
  readonly submitsInParallel: boolean

  /** Reads in one statement everything that a worker waits for. @param tasks  the tasks that the worker handles */
  look(tasks: readonly string[]): Promise<Look>

  /**
   * Marks the earliest due schedules for this worker, so that no other worker plans them in the meantime. The mark is a
   * lease: when it ends, the schedule is due again for every worker.
   *
   * @param behind  the marks of an earlier call; the search continues after them
   * @returns empty when nothing is due, or when other workers have marked all due schedules
   */
  markDue(
    worker: string,
    limit: number,
    leaseMs: number,
    behind?: readonly Mark[],
    onRefused?: OnRefused,
  ): Promise<Mark[]>

  /**
   * Plans and submits marked schedules in one transaction: it commits the jobs, the next run and the end of the mark
   * together. Schedules whose marks this worker no longer holds are left out. If some schedules have many slots or
   * jobs, the remaining schedules are left for another transaction.
   *
   * @param startLimits  if the jobs are within these limits, they start in the same transaction, without a claim; if
   *   there are more, none starts, because the queue decides the order. By default, no job starts
   */
  submit(
    worker: string,
    marks: readonly Mark[],
    decide: Decide,
    startLimits?: StartLimits | null,
  ): Promise<SubmitResult>

  /** Ends the marks of this worker's earlier incarnations and of unregistered workers. @returns how many */
  clearStaleMarks(worker: string, leaseMs: number): Promise<number>

  /**
   * Ends stale marks and reports whether there are orphans; with `everything`, also repairs rows after manual edits and
   * crashes. If there is nothing to do, this takes one statement.
   */
  sweep(worker: string, leaseMs: number, extent: SweepExtent): Promise<Swept>

  /** Reads up to `most` schedules with a `last_slot` in the future, and up to `most` with the latest `nextrun`. */
  furthest(most: number): Promise<FurthestSchedules>
}
