import type { ClaimedJob } from '../model/job.ts'
import type { Redaction } from '../model/redaction.ts'
import type { UnsettledAttempt, ExecutingStore, OnLeftBehind, Settled } from '../store/executing-store.ts'
import type { HandledTask, Middleware } from './handler.ts'

export interface AttemptOptions {
  readonly middleware: Middleware | null
  readonly now: () => Date
  /** See `spreadFactor`. */
  readonly delayFactor: () => number
  readonly redaction: Redaction
  /** Whether another live worker runs jobs of the task. */
  readonly othersHandle: (task: string) => boolean
  /** A result or progress of the task was stored as JSON, which does not give back the same value at this path. */
  readonly onConverted: (task: string, path: string, what: string) => void
  /** The id of this worker; null while it must not take on jobs. */
  readonly worker: () => string | null
  /** Maximum size of a result, of progress and of an error text, in bytes. */
  readonly argsLimit: number
}

export interface JobExecutorOptions extends AttemptOptions {
  readonly store: ExecutingStore
  readonly handlers: ReadonlyMap<string, HandledTask>
  readonly concurrency: number
  /** The interval at which to check whether a running job was cancelled, in milliseconds. */
  readonly pollIntervalMs: number
  readonly onStarted: (job: ClaimedJob) => void
  readonly onSettled: (result: Settled) => void
  /** The database rejects the outcome of this attempt; the write is retried later. */
  readonly onRejected: (attempt: UnsettledAttempt, error: unknown) => void
  /** The job cannot be started; it is retried after its back-off. */
  readonly onUnstartable: (jobId: string, error: unknown) => void
  /** Log lines or progress were dropped and will not be written. */
  readonly onDropped: (error: Error) => void
  /** A callback changed settings of its connection; the changes have been undone. */
  readonly onLeftBehind: OnLeftBehind
  readonly onError: (error: unknown, loop: string) => void
}
