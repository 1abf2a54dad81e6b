import type { StoredOutcome } from './states.ts'
import type { AttemptEnd, JobOutcome } from './settle.ts'

/**
 * How an attempt ended. `released` means that the worker returned the job to the queue, for example when stopping.
 * `snoozed` means that the handler asked to run again later. `lost` means that the worker died, or that the external
 * queue did not report the outcome in time.
 *
 * @useDeclaredType
 */
export type AttemptOutcome = 'success' | StoredOutcome

/** One attempt of a job. */
export interface Attempt {
  /** Starts at 1. Two attempts share a number if the first was released or snoozed, or the job was retried manually. */
  readonly attempt: number
  readonly worker: string | null
  readonly startedAt: Date
  /** null while it is running. */
  readonly endedAt: Date | null
  /** null while it is running. */
  readonly outcome: AttemptOutcome | null
  readonly error: string | null
}

/**
 * The stored outcome of an attempt, or null if it succeeded or never started. The last attempt of a cancelled job
 * counts as cancelled even if it failed, so neither a counter nor `last_error` includes it.
 */
export function storedEnd(
  end: AttemptEnd,
  { state }: Pick<JobOutcome, 'state'>,
): { readonly outcome: StoredOutcome; readonly error: string | null } | null {
  if (end.kind === 'unstarted' || end.kind === 'success') return null
  const error = 'error' in end ? end.error : null
  if (state === 'cancelled') return { outcome: 'cancelled', error }
  if (end.kind === 'error') return { outcome: 'failed', error }
  return { outcome: end.kind === 'unreported' ? 'lost' : end.kind, error }
}
