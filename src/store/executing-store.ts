import type { ClaimedJob, Fence, FinalState } from '../model/job.ts'
import type { SetAside } from '../model/set-aside.ts'
import type { RunPolicy } from '../model/task.ts'
import type { Ending, Settlement } from '../model/settle.ts'

/** A line that a handler has logged. */
export interface NewLogLine {
  readonly jobId: string
  readonly at: Date
  readonly level: LogLevel
  readonly message: string
}

/** Of a line in a job's log. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

/** The end of an attempt, to be written if the job is still its worker's. */
export interface Attempt {
  readonly fence: Fence
  readonly ending: Ending
  readonly policy: RunPolicy
}

/** An attempt that has ended, and what became of its job. */
export interface Settled {
  readonly id: string
  readonly task: string
  readonly scheduleId: string | null
  readonly attempt: number
  readonly settlement: Settlement
  /** When the attempt began and ended, by the database's clock. */
  readonly started: Date
  readonly ended: Date
  /** The blocked job whose turn has come, if there was one. */
  readonly promoted: string | null
}

export interface SettleResult {
  readonly settled: readonly Settled[]
  /** Not this worker's any more: nothing was written. */
  readonly lost: readonly Fence[]
  /** Somebody else holds the schedule's row: to be settled again. */
  readonly locked: readonly Attempt[]
}

export type Outcome = FinalState | 'retry' | 'released'

/** What the executor needs of the database. */
export interface ExecutingStore {
  /**
   * Makes waiting jobs claimable whose time has come.
   *
   * @param setAside  jobs to leave alone; those that cannot be written are added
   * @returns how many
   */
  promoteDue(limit: number, setAside?: SetAside): Promise<number>

  /**
   * Claims jobs for this worker: groups and tasks take turns, and within one the larger priority goes first,
   * then the older job. Each claim is a new attempt,
   * and increments the number of the claim.
   *
   * @param tasks  the tasks that this worker handles, with the policy that holds where the job has none
   * @param afterGroup  the group that had its turn last
   * @param taskLimits  for some tasks, the most of their jobs to claim
   * @param setAside  jobs to leave alone; those that cannot be written are added
   */
  claim(
    worker: string,
    tasks: ReadonlyMap<string, RunPolicy>,
    limit: number,
    afterGroup: string,
    taskLimits?: ReadonlyMap<string, number>,
    setAside?: SetAside,
  ): Promise<ClaimedJob[]>

  /** Writes the ends of attempts; only of those that still are their worker's. */
  settle(attempts: readonly Attempt[]): Promise<SettleResult>

  /** The runs of this worker that are asked to stop. */
  stopRequests(worker: string): Promise<readonly Fence[]>

  /** @param progress  JSON text */
  saveProgress(fence: Fence, progress: string): Promise<void>

  appendLogs(lines: readonly NewLogLine[]): Promise<void>

  /** The running jobs of this worker, as attempts that are given back. */
  held(worker: string): Promise<Attempt[]>

  /** Running jobs whose worker is not registered any more. @param except  jobs to leave alone */
  orphans(limit: number, except?: readonly string[]): Promise<Attempt[]>
}
