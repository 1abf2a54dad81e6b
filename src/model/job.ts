import type { CLAIM_COLUMNS, JOB_COLUMNS, OCCURRENCE_COLUMNS, Values } from './columns.ts'
import type { JobSettingValues } from './settings.ts'
import type { RunPolicy } from './task.ts'

/** By default, a job without a `timeout` fails if its external queue does not report the outcome within this time. */
export const DEFAULT_REPORT_MS = 86_400_000

declare const RESULT: unique symbol

/** The id of a job whose handler returns a `Result`. At run time, it is a string. */
export type JobId<Result = unknown> = string & { readonly [RESULT]?: Result }

/** A value as read back from JSON: a Date becomes a string, and values that JSON cannot express are missing. */
export type Stored<Value> = unknown extends Value
  ? unknown
  : Value extends { toJSON(): infer Text }
    ? Text
    : Value extends object
      ? { [Key in keyof Value]: Stored<Value[Key]> }
      : Value

/** One run: a row of `job`. */
export interface Job<Result = unknown>
  extends JobSettingValues,
    Values<typeof OCCURRENCE_COLUMNS>,
    Omit<Values<typeof JOB_COLUMNS>, 'result'> {
  readonly id: string
  readonly args: unknown
  /** The return value of the handler; null unless the job succeeded. */
  readonly result: Result | null
  /** Present if the schedule that created the job was deleted, even if another one has the same id now. */
  readonly scheduleDeleted?: true
}

export interface ClaimedJob
  extends Job,
    Omit<Values<typeof CLAIM_COLUMNS>, 'scheduleUid' | 'exclusive' | 'noRetry'> {
  readonly worker: string
  readonly startedAt: Date
  /** JSON text, as stored. */
  readonly argsText: string
  /** The policy in effect: the job's own, else the task's. */
  readonly policy: RunPolicy
}

export function withoutClaim(claimed: ClaimedJob): Job {
  const { claim: _, releases: __, argsText: ___, policy: ____, ...job } = claimed
  return job
}

/** The condition for each write to a running job: it is still running, on this worker and in this claim. */
export type Fence = Pick<ClaimedJob, 'id' | 'worker' | 'claim'>

export function fenceOf({ id, worker, claim }: Fence): Fence {
  return { id, worker, claim }
}

/** Equal fences have the same text. */
export function fenceText({ id, worker, claim }: Fence): string {
  return `${id}/${claim}/${worker}`
}
