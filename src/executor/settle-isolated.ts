import { messageOf, StoreUnavailableError } from '../errors.ts'
import { byHalves } from '../model/halves.ts'
import type { Ending } from '../model/settle.ts'
import type { Attempt, ExecutingStore, SettleResult } from '../store/executing-store.ts'

/** An end that the database rejects is tried again after this time: what rejects it may have been repaired. */
export const REJECTED_RETRY_MS = 300_000

/**
 * Writes ends so that one that the database rejects keeps no other from being written: a batch that is rejected is
 * halved until the one is found.
 *
 * @param onRejected  is told of each end that cannot be written, not even without its texts
 * @throws StoreUnavailableError
 */
export async function settleIsolated(
  store: Pick<ExecutingStore, 'settle'>,
  attempts: readonly Attempt[],
  onRejected: (attempt: Attempt, error: unknown) => void,
): Promise<SettleResult> {
  const results = await byHalves(
    attempts,
    (some) => store.settle(some),
    (attempt, error) => settleWithoutTexts(store, attempt, error, onRejected),
    (error) => !(error instanceof StoreUnavailableError),
  )
  return {
    settled: results.flatMap((result) => result.settled),
    lost: results.flatMap((result) => result.lost),
    locked: results.flatMap((result) => result.locked),
  }
}

/** Its own result or error may be what the database rejects. */
async function settleWithoutTexts(
  store: Pick<ExecutingStore, 'settle'>,
  attempt: Attempt,
  rejection: unknown,
  onRejected: (attempt: Attempt, error: unknown) => void,
): Promise<SettleResult> {
  try {
    return await store.settle([{ ...attempt, ending: withoutTexts(attempt.ending, rejection) }])
  } catch (error) {
    if (error instanceof StoreUnavailableError) throw error
    onRejected(attempt, rejection)
    return { settled: [], lost: [], locked: [] }
  }
}

function withoutTexts(ending: Ending, rejection: unknown): Ending {
  const reason = messageOf(rejection)
  switch (ending.kind) {
    case 'success':
      return ending.result === null
        ? ending
        : { kind: 'error', error: `The result of the run could not be stored: ${reason}`, permanent: true }
    case 'error':
    case 'lost':
    case 'cancelled':
      return { ...ending, error: `The error of the run could not be stored: ${reason}` }
    case 'released':
      return ending
    default:
      return ending satisfies never
  }
}
