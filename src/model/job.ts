import type { JobSettingValues } from './settings.ts'
import type { RunPolicy } from './task.ts'

/** Non-final while waiting, blocked or running. A retry is waiting with attempt > 0. */
export type JobState = 'waiting' | 'blocked' | 'running' | FinalState
/** How a job ended. skipped: the slot became no run. */
export type FinalState = 'success' | 'failed' | 'cancelled' | 'skipped'

export const OPEN_STATES = ['waiting', 'blocked', 'running'] as const satisfies readonly JobState[]
export const FINAL_STATES = [
  'success',
  'failed',
  'cancelled',
  'skipped',
] as const satisfies readonly FinalState[]

export function isFinal(state: JobState): state is FinalState {
  return state !== 'waiting' && state !== 'blocked' && state !== 'running'
}

/** Why a slot became no run. */
export type SkipReason = 'overlap' | 'missed' | 'max runs' | 'unsubmittable'

declare const RESULT: unique symbol

/** The id of a job whose handler returns a `Result`. At run time it is a string. */
export type JobId<Result = unknown> = string & { readonly [RESULT]?: Result }

/** A value as it comes back from JSON: a Date as a text, without what JSON does not have. */
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
  /** The schedule that it came from; null when it was submitted by itself. */
  readonly scheduleId: string | null
  /** The elapse that the run stands for. */
  readonly slot: Date | null
  /** Slots that were missed before this one and are not made up; of a skip: the slots that it stands for. */
  readonly missed: number
  /** The number of the run within its schedule, from 1: it only grows, also past runs that were cancelled. */
  readonly run: number | null
  readonly args: unknown
  readonly state: JobState
  readonly reason: string | null
  readonly worker: string | null
  /** The number of the attempt, from 1; 0 before the first. */
  readonly attempt: number
  readonly submitted: Date
  /** Not before this time; null: at once. */
  readonly runAt: Date | null
  readonly started: Date | null
  readonly finished: Date | null
  readonly progress: unknown
  /** What its handler returned, once it has succeeded. */
  readonly result: Result | null
  readonly error: string | null
  readonly stopRequested: Date | null
}

/** A job that this worker has claimed: what it needs to run and to settle it. */
export interface ClaimedJob extends Job {
  readonly worker: string
  readonly started: Date
  /** The number of the claim, which only grows: an attempt that does not count has one too. */
  readonly claim: number
  /** JSON text, as stored. */
  readonly argsText: string
  /** The policy in force: the job's own, else the task's. */
  readonly policy: RunPolicy
}

/** What a write about a run must still find: the job is running under this worker, in this claim. */
export interface Fence {
  readonly id: string
  readonly worker: string
  readonly claim: number
}

export function fenceOf({ id, worker, claim }: Fence): Fence {
  return { id, worker, claim }
}

/** The same text for equal fences. */
export function fenceText({ id, worker, claim }: Fence): string {
  return `${id}/${claim}/${worker}`
}
