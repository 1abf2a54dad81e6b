import type { JobSettingOptions } from '../model/settings.ts'
import type { ArgsOption, Task } from '../model/task.ts'
import type { Transaction } from '../store/job-store.ts'

/** When and how a job of its own runs; what is left out is as its task says. Times are milliseconds or time spans. */
export interface JobOptions extends JobSettingOptions {
  /** Up to 190 characters of the application's choosing, without a slash and no UUIDv8; default a new UUID. */
  readonly id?: string | undefined
  /** Not before this time; default at once. */
  readonly runAt?: Date | undefined
}

/** Whose transaction it is. */
export interface TransactionOption {
  /**
   * The application's own transaction, which then decides whether the job is submitted: a drizzle transaction, a
   * connection of mysql2 or of a SQLite driver on which it was begun, or a function that runs a statement in it.
   */
  readonly tx?: Transaction | undefined
}

/** How one job is submitted. */
export type SubmitOptions = JobOptions & TransactionOption

/** One of many jobs: its args are typed by its task. */
export type JobInput<Input> = JobOptions & { readonly task: Task<Input, unknown> } & ArgsOption<Input>

/** The same where the types say nothing about the args. */
export type AnyJobInput = JobOptions & { readonly task: Task | string; readonly args?: unknown }

/** The args may be left out where the task takes an empty object. */
// oxlint-disable-next-line typescript/no-empty-object-type -- asks whether {} would do
export type SubmitArguments<Input> = {} extends Input
  ? [args?: Input, options?: SubmitOptions]
  : [args: Input, options?: SubmitOptions]
