import type { Job } from '../model/job.ts'
import type { Task } from '../model/task.ts'

/** Writes lines to the job's log. The lines can be read while the job runs. */
export interface JobLogger {
  /** Logs details for troubleshooting. */
  debug(message: string): void
  /** Logs what the run is doing. */
  info(message: string): void
  /** Logs something unexpected; the run continues. */
  warn(message: string): void
  /** Logs a failure. To fail the attempt, throw an error instead. */
  error(message: string): void
}

/** The context of one attempt, which a handler receives. */
export interface HandlerContext<Args = unknown> {
  readonly args: Args
  /** The scheduled time of the run; null for a job without a schedule. */
  readonly slot: Date | null
  /** The number of earlier slots that were missed and will not be made up. */
  readonly missed: number
  /** The number of the attempt, starting at 1. */
  readonly attempt: number
  /** The job as it was when it was claimed. */
  readonly job: Job
  /**
   * Aborted on timeout, on cancellation, when the lease is lost, or at the end of the grace period. Its `reason` is the
   * matching error.
   */
  readonly signal: AbortSignal
  readonly log: JobLogger
  /** Stores the progress of the run: any JSON value, such as `0.4` or `{ done: 40, of: 100 }`. */
  readonly progress: (value: unknown) => void
  /**
   * Ends the attempt, and runs the job again after this delay: milliseconds or a time span, at most ten years. This is
   * neither a failure nor a retry. Ends the handler by throwing a SnoozedError.
   */
  readonly snooze: (span: string | number) => never
}

/** Runs the jobs of a task. The return value is stored as the result of the job, in JSON. */
export type Handler<Args = unknown, Result = unknown> = (
  context: HandlerContext<Args>,
) => Result | Promise<Result>

/** Wraps each attempt of a job, for example for tracing. Must call `run` once and return its result. */
export type Middleware = (job: Job, run: () => Promise<unknown>) => Promise<unknown>

export interface HandledTask {
  readonly task: Task
  readonly handler: Handler
}
