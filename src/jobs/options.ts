import type { JobSettingOptions } from '../model/settings.ts'
import type { ArgsOption, Task } from '../model/task.ts'
import type { TransactionOption } from '../store/job-store.ts'

/** When and how a directly submitted job runs. Its task sets the defaults. Times are milliseconds or time spans. */
export interface JobOptions extends JobSettingOptions {
  /**
   * 1 to 254 ASCII characters without a slash (fewer in a scope, because its prefix counts), but not a UUIDv8; default:
   * a new UUID.
   */
  readonly id?: string | undefined
  /** The job does not start before this time; default: as soon as possible. */
  readonly runAt?: Date | undefined
  /** Like `runAt`, but relative to now: milliseconds or a time span. */
  readonly delay?: number | string | undefined
}

/** Options for submitting one job. */
export type SubmitOptions = JobOptions & TransactionOption

/** A job; the task determines the types of its args and result. */
export type JobInput<Input, Result = unknown> = JobOptions & {
  readonly task: Task<Input, unknown, Result>
} & ArgsOption<Input>

/** The same as `JobInput`, without types for the args. */
export type AnyJobInput = JobOptions & { readonly task: Task | string; readonly args?: unknown }

/** The args are optional if the task accepts an empty object. */
// oxlint-disable-next-line typescript/no-empty-object-type -- tests whether {} is a valid Input
export type SubmitArguments<Input> = {} extends Input
  ? [args?: Input, options?: SubmitOptions]
  : [args: Input, options?: SubmitOptions]
