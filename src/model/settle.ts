/** Decides what happens to a job and its schedule when an attempt has ended. Pure: the store writes the outcome. */
import { timer } from '../timer/index.ts'
import { elapsesOf, isEdited } from './plan.ts'
import type { Plannable } from './planning.ts'
import type { Secrets } from './secrets.ts'
import type { StoredSchedule } from './schedule.ts'
import type { FinalState } from './states.ts'
import type { RunPolicy } from './task.ts'

interface Spread {
  /** The factor for the delay before the next attempt; default 1. */
  readonly delayFactor?: number
}

/** Spreads the retries of a burst of failures. @param random  from 0 to 1 @returns a factor from 0.9 to 1.1 */
export function spreadFactor(random: number): number {
  return 0.9 + random * 0.2
}

export type AttemptEnd =
  | {
      readonly kind: 'success'
      readonly result: string | null
      /** The attempt's secrets, which are hidden in events. */
      readonly secrets?: Secrets | undefined
    }
  | ({ readonly kind: 'error'; readonly error: string; readonly permanent: boolean } & Spread)
  | ({ readonly kind: 'timeout'; readonly error: string } & Spread)
  /** Another worker took over the job. The attempt counts as failed; if a retry remains, it can start immediately. */
  | { readonly kind: 'lost'; readonly error: string }
  | { readonly kind: 'cancelled'; readonly error: string | null }
  /** The external queue did not report the job's outcome in time. */
  | { readonly kind: 'unreported'; readonly error: string }
  /** The worker returned the job to the queue, for example when stopping; the attempt does not count. */
  | { readonly kind: 'released' }
  /** The job was claimed ahead and returned to the queue before it started, so there was no attempt. */
  | { readonly kind: 'unstarted' }
  /** The handler asked to run again later; the attempt does not count. */
  | { readonly kind: 'snoozed'; readonly delayMs: number }

/** The state of a job after an attempt: it is final, or waits for its next attempt. */
export type JobOutcome = {
  readonly secrets?: Secrets | undefined
} & (
  | {
      readonly state: FinalState
      readonly reason: string | null
      readonly error: string | null
      readonly result: string | null
    }
  /** `delayMs`: the delay before the next claim. The attempt counts only if it failed. */
  | {
      readonly state: 'waiting'
      readonly delayMs: number
      readonly why: 'failed' | 'released' | 'unstarted' | 'snoozed'
      readonly error: string | null
    }
)

export interface LockedJob {
  /** The number of the attempt that ended, starting at 1. */
  readonly attempt: number
  readonly stopRequested: boolean
  /** Why the job must not run again, or null if it may. */
  readonly noRetry: string | null
  /** Whether a person requested the run or its retry, and so waits for it. */
  readonly isManual: boolean
  /** The timer of the job's schedule, or null if there is none. */
  readonly timer: string | null
  /** Whether a retry gives way to another job that it blocks. */
  readonly yields: boolean
}

export function outcomeOf(
  { end, policy }: { readonly end: AttemptEnd; readonly policy: RunPolicy },
  job: LockedJob,
): JobOutcome {
  switch (end.kind) {
    case 'success':
      return { state: 'success', reason: null, error: null, result: end.result, secrets: end.secrets }
    case 'cancelled':
      return { state: 'cancelled', reason: null, error: end.error, result: null }
    case 'released':
    case 'unstarted':
    case 'snoozed':
      if (job.stopRequested) return { state: 'cancelled', reason: null, error: null, result: null }
      if (job.noRetry !== null) return paused(job.noRetry)
      return {
        state: 'waiting',
        delayMs: end.kind === 'snoozed' ? end.delayMs : 0,
        why: end.kind,
        error: null,
      }
    case 'unreported':
      return { state: 'failed', reason: 'unreported', error: end.error, result: null }
    case 'lost':
    case 'timeout':
    case 'error':
      return outcomeOfFailure(end, policy, job)
    default:
      return end satisfies never
  }
}

function outcomeOfFailure(
  end: Extract<AttemptEnd, { kind: 'lost' | 'timeout' | 'error' }>,
  policy: RunPolicy,
  { attempt, stopRequested, noRetry, isManual, timer: text, yields }: LockedJob,
): JobOutcome {
  const { error } = end
  if (stopRequested) return { state: 'cancelled', reason: null, error, result: null }
  if (end.kind === 'error' && end.permanent)
    return { state: 'failed', reason: 'permanent', error, result: null }
  if (policy.retries !== 'unlimited' && attempt > policy.retries)
    return { state: 'failed', reason: end.kind === 'lost' ? 'lost' : 'exhausted', error, result: null }
  if (noRetry !== null) return paused(noRetry, error)
  if (yields) return { state: 'failed', reason: 'yielded', error, result: null }
  const delayMs =
    end.kind === 'lost'
      ? 0
      : retryDelayOf(
          attempt,
          policy,
          text === null ? null : defaultDelay(text, isManual && attempt <= SOON),
        ) * (end.delayFactor ?? 1)
  return { state: 'waiting', delayMs: Math.round(delayMs), why: 'failed', error }
}

function paused(noRetry: string, error?: string): JobOutcome {
  const texts = error === undefined ? [noRetry] : [error, noRetry]
  return { state: 'cancelled', reason: 'paused', error: texts.join('\n'), result: null }
}

/** The number of retries after a manual run or retry that do not wait for a long span, because a person waits. */
const SOON = 2

function defaultDelay(timer: string, isSoon: boolean): number | null {
  const spanMs = spanOfTimer(timer)
  return isSoon && spanMs !== null ? Math.min(spanMs, DEFAULT_DELAY_MS) : spanMs
}

/** The span of an `every` timer: the default retry delay if neither the schedule nor its task sets one. */
export function spanOfTimer(text: string): number | null {
  try {
    return timer(text).spanMs
  } catch {
    return null
  }
}

const DEFAULT_DELAY_MS = 60_000
/** Maximum delay, as a multiple of the first delay. */
const LARGEST_FACTOR = 10

/** The delay before the n-th retry. exponential: delay × 2^(n−1), at most ten times the delay. fixed: the delay. */
export function retryDelayOf(
  retry: number,
  policy: Pick<RunPolicy, 'retryDelay' | 'retryBackoff'>,
  spanMs: number | null = null,
): number {
  const delayMs = policy.retryDelay ?? spanMs ?? DEFAULT_DELAY_MS
  if (policy.retryBackoff === 'fixed') return delayMs
  return delayMs * Math.min(2 ** (retry - 1), LARGEST_FACTOR)
}

/** What to store if the database rejects the result or the error text. @param reason  why the database rejects it */
export function withoutTexts(end: AttemptEnd, reason: string): AttemptEnd {
  if ('error' in end) return { ...end, error: `The error of the run could not be stored: ${reason}` }
  if (end.kind !== 'success' || end.result === null) return end
  return { kind: 'error', error: `The result of the run could not be stored: ${reason}`, permanent: true }
}

/**
 * @param schedule  with its counters after the runs that have just ended
 * @param failed  whether one of these runs failed permanently
 * @param open  how many jobs of the schedule are not final after these runs
 * @param now  by the database's clock
 * @returns null if the plan does not change
 */
export function finish(
  schedule: Plannable,
  failed: boolean,
  open: number,
  now: Date,
): Pick<StoredSchedule, 'nextRunAt' | 'idle'> | null {
  const { idle } = schedule
  // An edited schedule is planned from now in any case; a paused, dead, invalid or retired schedule stays that way.
  if (isEdited(schedule) || !schedule.enabled) return null
  if (idle === 'dead' || idle === 'invalid' || idle === 'retired') return null
  // This also applies after the last slot, because `dead` takes precedence over `done`.
  if (failed && schedule.onExhausted === 'stop') return { nextRunAt: null, idle: 'dead' }
  if (idle === 'done') return null
  if (schedule.maxRuns !== null && schedule.successes >= schedule.maxRuns)
    return { nextRunAt: null, idle: 'done' }
  if (idle !== 'awaiting-finish' || open > 0) return null
  try {
    const nextRunAt = elapsesOf(schedule, now).next(now)
    return { nextRunAt, idle: nextRunAt === null ? 'done' : null }
  } catch {
    // A worker that can read the timer plans the schedule.
    return { nextRunAt: null, idle: null }
  }
}
