import { messageOf } from '../errors.ts'
import { END_RULES } from '../model/end-rules.ts'
import { type Halving, isOfARow } from '../model/halves.ts'
import type { AttemptEnd } from '../model/settle.ts'
import type { EndedAttempt, ExecutingStore, SettleResult } from '../store/executing-store.ts'

/** An end that the database rejects is retried after this time: the cause may have been repaired. */
export const REJECTED_RETRY_MS = 300_000

/**
 * Writes ends in a batch. If the database rejects the batch, it is halved until the rejected end is found, so that one
 * rejected end never affects the others.
 *
 * @param onRejected  called for each end that cannot be written, even without its result and error text
 * @throws StoreUnavailableError; AllRefusedError when every end that was tried is rejected
 */
export async function settleIsolated(
  store: Pick<ExecutingStore, 'settle'>,
  ends: readonly EndedAttempt[],
  halving: Halving,
  onRejected: (end: EndedAttempt, error: unknown) => void,
): Promise<SettleResult> {
  const results = await halving.run<EndedAttempt, SettleResult>(ends, {
    work: (some) => store.settle(some, END_RULES),
    // The database may reject the result or the error text.
    alone: (end, error) => store.settle([{ ...end, end: withoutTexts(end.end, error) }], END_RULES),
    wrote: ({ settled }) => settled.length > 0,
    refused: (end, error) => {
      onRejected(end, error)
      return { settled: [], lost: [], locked: [] }
    },
    isOfAnItem: isOfARow,
  })
  return {
    settled: results.flatMap((result) => result.settled),
    lost: results.flatMap((result) => result.lost),
    locked: results.flatMap((result) => result.locked),
  }
}

function withoutTexts(end: AttemptEnd, rejection: unknown): AttemptEnd {
  const reason = messageOf(rejection)
  switch (end.kind) {
    case 'success':
      return end.result === null
        ? end
        : { kind: 'error', error: `The result of the run could not be stored: ${reason}`, permanent: true }
    case 'error':
    case 'timeout':
    case 'lost':
    case 'cancelled':
    case 'unreported':
      return { ...end, error: `The error of the run could not be stored: ${reason}` }
    case 'released':
    case 'unstarted':
    case 'snoozed':
      return end
    default:
      return end satisfies never
  }
}
