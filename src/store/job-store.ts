import type { Job, JobState } from '../model/job.ts'
import type { Owner } from '../model/owner.ts'
import type { JobSettingValues } from '../model/settings.ts'
import type { Check } from './schedule-store.ts'

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
   * Cancels a job that waits; asks the worker to stop one that runs.
   *
   * @returns the job's state afterwards; null when there is no such job
   */
  cancel(id: string, check?: Check<Pick<Job, 'task' | 'state'>>): Promise<JobState | null>
  /**
   * Lets a failed or cancelled job run again, from its first attempt.
   *
   * @returns the job's state before; only `failed` and `cancelled` ones are changed; null when there is no such job
   * @throws ConflictError when another job of its schedule is not final
   */
  retry(id: string, check?: Check<Pick<Job, 'task'>>): Promise<JobState | null>
  /** How many jobs of this owner are not final; counted up to `most`. */
  countOpen(most: number): Promise<number>
}
