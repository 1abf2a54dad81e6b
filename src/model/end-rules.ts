/** The rules that the store calls while it holds the locks, after attempts have ended. Pure. */
import { finish, spanOfTimer } from './finish.ts'
import { type AttemptEnd, settle, type JobOutcome } from './settle.ts'
import type { RunPolicy } from './task.ts'

/** A locked job whose attempt has ended. */
export interface LockedJob {
  /** The number of the attempt that ended, starting at 1. */
  readonly attempt: number
  /** Whether someone asked to cancel the job. */
  readonly stopRequested: boolean
  /** The timer of the job's schedule, or null if there is none. */
  readonly timer: string | null
  /** Whether a retry gives way to another job that it blocks. */
  readonly yields: boolean
}

export interface EndRules {
  /** Decides the outcome of the job. */
  readonly ofJob: (
    end: { readonly end: AttemptEnd; readonly policy: RunPolicy },
    job: LockedJob,
  ) => JobOutcome
  /** Decides how the job's schedule changes, or null for no change. */
  readonly ofSchedule: typeof finish
}

export const END_RULES: EndRules = {
  ofJob: ({ end, policy }, { attempt, stopRequested, timer, yields }) =>
    settle(end, attempt, policy, stopRequested, timer === null ? null : spanOfTimer(timer), yields),
  ofSchedule: finish,
}
