import type { Job, JobState } from '../model/job.ts'
import type { RetryBackoff } from '../model/task.ts'
import type { LogLine } from './executing-store.ts'
import type { Page } from './schedule-store.ts'

export interface NewJob {
  readonly id: string
  readonly task: string
  readonly group: string
  /** JSON text. */
  readonly args: string
  readonly subject: string | null
  readonly submitter: string | null
  readonly priority: number
  readonly runAt: Date | null
  readonly timeoutMs: number | null
  readonly maxRetries: number | null
  readonly retryDelayMs: number | null
  readonly retryBackoff: RetryBackoff | null
}

export interface JobFilter {
  readonly state?: JobState | undefined
  readonly task?: string | undefined
  readonly scheduleId?: string | undefined
  readonly limit: number
  readonly offset: number
}

/** What people and code do to jobs. */
export interface JobStore {
  /** @throws ConflictError when an id is in use */
  submit(jobs: readonly NewJob[]): Promise<void>
  get(id: string): Promise<Job | null>
  /** Newest first. */
  list(filter: JobFilter): Promise<Page<Job>>
  /**
   * Cancels a job that waits; asks the worker to stop one that runs.
   *
   * @returns the job's state afterwards; null when there is no such job
   */
  cancel(id: string): Promise<JobState | null>
  logs(id: string): Promise<LogLine[]>
}
