import type { EndRules } from '../model/end-rules.ts'
import type { Job, JobState } from '../model/job.ts'
import type { JobToRetry } from '../model/manual-runs.ts'
import type { Owner } from '../model/owner.ts'
import type { JobSettingValues } from '../model/settings.ts'

export interface NewJob extends JobSettingValues {
  readonly id: string
  /** JSON text. */
  readonly args: string
  readonly runAt: Date | null
}

/**
 * The application's own transaction: a drizzle transaction, a connection of mysql2 (promises or callbacks) or of a
 * SQLite driver (better-sqlite3, libsql, node:sqlite) on which it was started, or a function that runs a statement in it.
 */
export type Transaction =
  | ((sql: string, params: readonly unknown[]) => Promise<unknown>)
  | { readonly promise: () => { readonly query: (sql: string) => Promise<unknown> } }
  | { readonly query: (sql: string) => Promise<unknown> }
  | { readonly execute: (sql: string) => Promise<unknown> }
  | { readonly run: (sql: string) => unknown }
  | { readonly exec: (sql: string) => unknown }

/** What people and code do with jobs. */
export interface JobStore {
  /** The same, reaching only the rows of an owner, under the names that this owner has for them. */
  ownedBy(owner: Owner): JobStore
  /**
   * All of them or none.
   *
   * @param jobs  with ids as they are stored
   * @param transaction  the application's own, which then decides whether they are submitted
   * @throws ConflictError when an id is in use
   */
  submit(jobs: readonly NewJob[], transaction?: Transaction): Promise<void>
  get(id: string): Promise<Job | null>
  /** @returns the ids among these that this owner has a job for */
  existing(ids: readonly string[]): Promise<string[]>
  /**
   * Cancels a job, or asks its worker to stop it.
   *
   * @param decide  receives the locked job; null: it stays as it is. If it throws, nothing is written.
   * @returns the job's state afterwards; null when there is no such job
   */
  cancel(
    id: string,
    decide: (job: Pick<Job, 'task' | 'state'>) => 'cancel' | 'request stop' | null,
    ofSchedule: EndRules['ofSchedule'],
  ): Promise<JobState | null>
  /**
   * Lets a final job run again, from its first attempt.
   *
   * @param decide  receives the locked job; `exclusive`: no other job of its schedule may run beside it. If it throws,
   *   nothing is written.
   * @returns false when there is no such job
   */
  retry(id: string, decide: (job: JobToRetry) => { readonly exclusive: boolean }): Promise<boolean>
  /** How many jobs of this owner are not final; counted up to `most`. */
  countOpen(most: number): Promise<number>
}
