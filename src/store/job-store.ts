import type { SettledAttempt } from './executing-store.ts'
import type { Job } from '../model/job.ts'
import type { JobToRetry } from '../model/manual-runs.ts'
import type { Owner } from '../model/owner.ts'
import type { JobSettingValues } from '../model/settings.ts'

export interface NewJob extends JobSettingValues {
  readonly id: string
  /** JSON text. */
  readonly args: string
  readonly runAt: Date | null
  /** An alternative to `runAt`: milliseconds from now, by the database's clock. */
  readonly delayMs: number | null
}

/**
 * The application's own transaction: a drizzle transaction; a connection of mysql2 (promises or callbacks) or of a
 * SQLite driver (better-sqlite3, libsql, node:sqlite) on which the transaction was started; or a function that runs a
 * statement in it and returns the driver's result.
 */
export type Transaction =
  | ((sql: string, params: readonly unknown[]) => Promise<unknown>)
  | { readonly promise: () => { readonly query: (sql: string) => Promise<unknown> } }
  | { readonly query: (sql: string) => Promise<unknown> }
  | { readonly execute: (sql: string) => Promise<unknown> }
  | { readonly run: (sql: string) => unknown }
  | { readonly exec: (sql: string) => unknown }

/** Writes in the application's own transaction. */
export interface TransactionOption {
  /** The writes of the call are stored only if this transaction commits. */
  readonly tx?: Transaction | undefined
}

/** How a run in an external queue ended. */
export interface FinishedRun {
  readonly state: 'success' | 'failed' | 'cancelled'
  readonly error: string | null
  /** JSON text */
  readonly result: string | null
}

/** The operations that also work in a transaction of the application. */
export interface SubmittingStore {
  /**
   * Submits all of the jobs or none.
   *
   * @param jobs  with ids as they are stored
   * @throws ConflictError when an id is in use
   */
  submit(jobs: readonly NewJob[]): Promise<void>
  /** @returns the ids for which this owner has a job */
  existing(ids: readonly string[]): Promise<string[]>
  /** The number of this owner's jobs that are not final, counted up to `most`. */
  countOpen(most: number): Promise<number>
}

/** Each `decide` receives the locked job. If it returns null, the job is unchanged; if it throws, nothing is stored. */
export interface JobStore extends SubmittingStore {
  /** The same store, limited to the rows of an owner. Ids are in the form that this owner uses. */
  ownedBy(owner: Owner): JobStore
  /**
   * Submits in a transaction of the application.
   *
   * @throws InvalidInputError when the transaction cannot run statements
   */
  in(transaction: Transaction): SubmittingStore
  get(id: string): Promise<Job | null>
  /** Cancels a job, or asks its worker to stop it. @returns the job afterwards; null when it does not exist */
  cancel(
    id: string,
    decide: (job: Pick<Job, 'task' | 'state'>) => 'cancel' | 'request stop' | null,
  ): Promise<Job | null>
  /**
   * Finishes a job of an external queue.
   *
   * @param times  of the run, as the queue knows them; a null start means the time of the hand-over, and a null finish
   *   means now
   * @returns the job afterwards, and its outcome if this call wrote it; null when the job does not exist
   */
  finish(
    id: string,
    decide: (job: Pick<Job, 'state' | 'queue'>) => FinishedRun | null,
    times: { readonly startedAt: Date | null; readonly finishedAt: Date | null },
  ): Promise<{ readonly job: Job; readonly settled: SettledAttempt | null } | null>
  /**
   * Runs a final job again from its first attempt; returns the same as `cancel`. `exclusive` means that no other job of
   * its schedule may run at the same time.
   */
  retry(id: string, decide: (job: JobToRetry) => { readonly exclusive: boolean }): Promise<Job | null>
}
