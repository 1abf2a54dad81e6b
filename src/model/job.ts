import type { JobSettingValues } from './settings.ts'
import type { RunPolicy } from './task.ts'

/** Maximum number of characters in the name of an external queue. */
export const QUEUE_LIMIT = 190
/** A job of an external queue without a `timeout` fails if its outcome is not reported within this time. */
export const DEFAULT_REPORT_MS = 86_400_000

/**
 * waiting, blocked, running and external are not final. A retry is waiting with attempt > 0. external: the job was
 * handed over to an external queue, whose report finishes it.
 */
export type JobState = 'waiting' | 'blocked' | 'running' | 'external' | FinalState
/** How a job ended. skipped: the slot did not become a run. */
export type FinalState = 'success' | 'failed' | 'cancelled' | 'skipped'

export const OPEN_STATES = [
  'waiting',
  'blocked',
  'running',
  'external',
] as const satisfies readonly JobState[]
export const FINAL_STATES = [
  'success',
  'failed',
  'cancelled',
  'skipped',
] as const satisfies readonly FinalState[]

export function isFinal(state: JobState): state is FinalState {
  return !OPEN_STATES.some((open) => open === state)
}

/** Why a slot did not become a run. */
export type SkipReason = 'overlap' | 'missed' | 'frozen' | 'max-runs' | 'unsubmittable'

declare const RESULT: unique symbol

/** The id of a job whose handler returns a `Result`. At run time, it is a string. */
export type JobId<Result = unknown> = string & { readonly [RESULT]?: Result }

/** A value as read back from JSON: a Date becomes text, and values that JSON cannot express are missing. */
export type Stored<Value> = unknown extends Value
  ? unknown
  : Value extends { toJSON(): infer Text }
    ? Text
    : Value extends object
      ? { [Key in keyof Value]: Stored<Value[Key]> }
      : Value

/** One run: a row of `job`. */
export interface Job<Result = unknown> extends JobSettingValues {
  readonly id: string
  /** The schedule that created the job; null when the job was submitted directly. */
  readonly scheduleId: string | null
  /** The elapse that the run is for. */
  readonly slot: Date | null
  /**
   * The number of missed slots before this one that are not made up. For a skip, the number of slots that it
   * represents.
   */
  readonly missed: number
  /** The number of the run within its schedule, starting at 1. The number only increases; cancelled runs count too. */
  readonly run: number | null
  readonly args: unknown
  readonly state: JobState
  readonly reason: string | null
  /** The external queue that the job is handed over to, or null if Kalends runs it. */
  readonly queue: string | null
  readonly worker: string | null
  /** The number of the attempt, starting at 1; 0 before the first. */
  readonly attempt: number
  readonly submittedAt: Date
  /** The job does not start before this time, or null if it starts as soon as possible. */
  readonly runAt: Date | null
  /** The time until which a freeze holds the job, although a worker could start it. Null if none does. */
  readonly frozenUntil: Date | null
  readonly startedAt: Date | null
  readonly finishedAt: Date | null
  readonly progress: unknown
  /** The return value of the handler; null unless the job succeeded. */
  readonly result: Result | null
  readonly error: string | null
  readonly stopRequestedAt: Date | null
}

/** A job that this worker has claimed, with everything needed to run and settle it. */
export interface ClaimedJob extends Job {
  readonly worker: string
  readonly startedAt: Date
  /** The number of the claim. It only increases, even for attempts that do not count. */
  readonly claim: number
  /** How many times in a row workers have returned the job to the queue. */
  readonly releases: number
  /** JSON text, as stored. */
  readonly argsText: string
  /** The policy in effect: the job's own, else the task's. */
  readonly policy: RunPolicy
}

export function withoutClaim(claimed: ClaimedJob): Job {
  const { claim: _, releases: __, argsText: ___, policy: ____, ...job } = claimed
  return job
}

/** The condition for each write about a run: the job is still running, on this worker and in this claim. */
export interface Fence {
  readonly id: string
  readonly worker: string
  readonly claim: number
}

export function fenceOf({ id, worker, claim }: Fence): Fence {
  return { id, worker, claim }
}

/** Equal fences have the same text. */
export function fenceText({ id, worker, claim }: Fence): string {
  return `${id}/${claim}/${worker}`
}
