/** The rules that the store calls, under its locks, when attempts of jobs have ended. Pure. */
import { finish, spanOfTimer } from './finish.ts'
import { type AttemptEnd, settle, type JobOutcome } from './settle.ts'
import type { RunPolicy } from './task.ts'

/** A locked job whose attempt has ended. */
export interface LockedJob {
  /** The number of the attempt that ended, from 1. */
  readonly attempt: number
  /** Someone asked for the job to be cancelled. */
  readonly stopRequested: boolean
  /** Of its schedule; null: it has none. */
  readonly timer: string | null
}

export interface EndRules {
  /** What becomes of the job. */
  readonly ofJob: (
    end: { readonly end: AttemptEnd; readonly policy: RunPolicy },
    job: LockedJob,
  ) => JobOutcome
  /** What becomes of its schedule; null: it stays as it is. */
  readonly ofSchedule: typeof finish
}

export const END_RULES: EndRules = {
  ofJob: ({ end, policy }, { attempt, stopRequested, timer }) =>
    settle(end, attempt, policy, stopRequested, timer === null ? null : spanOfTimer(timer)),
  ofSchedule: finish,
}
