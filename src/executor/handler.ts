import type { Job } from '../model/job.ts'
import type { Task } from '../model/task.ts'

/** Writes lines to the job's log, where they can be read while it runs. */
export interface JobLogger {
  /** Of interest only when something is looked for. */
  debug(message: string): void
  /** What a run did. */
  info(message: string): void
  /** Something is not as it should be, and the run goes on. */
  warn(message: string): void
  /** Something failed. It does not end the attempt: for that, throw. */
  error(message: string): void
}

/** What a handler gets for one attempt. */
export interface HandlerContext<Args = unknown> {
  readonly args: Args
  /** The elapse that the run stands for; null for a job that came from no schedule. */
  readonly slot: Date | null
  /** Slots before this one that were missed and are not made up. */
  readonly missed: number
  /** The number of the attempt, from 1. */
  readonly attempt: number
  /** The job as it was when it was claimed. */
  readonly job: Job
  /** Fires on timeout, cancel, lost lease and the end of the grace period; `reason` is the matching error. */
  readonly signal: AbortSignal
  readonly log: JobLogger
  /** Stores how far the run is: any JSON value, such as `0.4` or `{ done: 40, of: 100 }`. */
  readonly progress: (value: unknown) => void
}

/** Runs the jobs of a task. What it returns is stored as the job's result, as JSON. */
export type Handler<Args = unknown, Result = unknown> = (
  context: HandlerContext<Args>,
) => Result | Promise<Result>

/**
 * Wraps each attempt of a job, for tracing and the like: calls `run` once and returns what that returns.
 */
export type Around = (job: Job, run: () => Promise<unknown>) => Promise<unknown>

/** A task with the function that runs its jobs here. */
export interface HandledTask {
  readonly task: Task
  readonly handler: Handler
}
