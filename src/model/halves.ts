/** Isolates bad items of a batch, so that they cost the other items only a few repetitions. */

import { isA, messageOf, StoreUnavailableError } from '../errors.ts'

/**
 * If this many items are rejected one by one for the same reason, and none was accepted before, the server may be at
 * fault rather than the items.
 */
const FEW = 3
/** The factor by which more items are tried each time, so that a few passes identify a batch of only bad items. */
const MORE = 4

export interface Halves<Item, Result> {
  readonly work: (items: readonly Item[]) => Promise<Result>
  /** A second try for an item that failed on its own; default: none. */
  readonly alone?: (item: Item, error: unknown) => Promise<Result>
  /** Whether something was accepted; default: always. Rows that others have locked or already taken prove nothing. */
  readonly wrote?: (result: Result) => boolean
  /** Handles an item that was rejected. */
  readonly refused: (item: Item, error: unknown) => Promise<Result> | Result
  /** Whether the error is about an item; other errors are thrown. */
  readonly isOfAnItem: (error: unknown) => boolean
}

/**
 * Does the work on all items at once. If that fails, it tries each half, and so on: one bad item among n costs about
 * 2·log2(n) tries instead of n.
 *
 * If nothing is accepted, it gives up after a few tries without rejecting any item, and the caller backs off and tries
 * again. Each time it tries more items, so that a batch of only bad items is resolved eventually.
 */
export class Halving {
  readonly #few: number
  #mostTried: number

  /** @param few  how many rejected items, with none accepted, make it give up; Infinity: never */
  constructor(few = FEW) {
    this.#few = few
    this.#mostTried = few
  }

  /** Forgets earlier give-ups, after work that succeeded without halving. */
  reset(): void {
    this.#mostTried = this.#few
  }

  /**
   * @throws errors that are not about an item; AllRefusedError when the first items were all rejected for the same
   *   reason
   */
  async run<Item, Result>(
    items: readonly Item[],
    { work, alone, wrote = () => true, refused, isOfAnItem }: Halves<Item, Result>,
  ): Promise<Result[]> {
    const results: Result[] = []
    let isAccepted = false
    const refusals: { readonly item: Item; readonly error: unknown }[] = []
    const parts = items.length === 0 ? [] : [items]
    const attempt = async (one: () => Promise<Result>): Promise<{ readonly error: unknown } | null> => {
      try {
        const result = await one()
        results.push(result)
        isAccepted ||= wrote(result)
        return null
      } catch (error) {
        if (isOfAnItem(error)) return { error }
        throw error
      }
    }
    for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
      const some = part
      const failure = await attempt(() => work(some))
      if (failure === null) continue
      const [item] = some
      if (some.length > 1 || item === undefined) {
        const middle = Math.ceil(some.length / 2)
        parts.push(some.slice(middle), some.slice(0, middle))
        continue
      }
      const refusal = alone === undefined ? failure : await attempt(() => alone(item, failure.error))
      if (refusal !== null) refusals.push({ item, error: refusal.error })
      if (!isAccepted && parts.length > 0 && refusals.length >= this.#mostTried)
        this.#giveUp(
          refusals.map(({ error }) => error),
          items.length,
        )
    }
    this.reset()
    for (const { item, error } of refusals) results.push(await refused(item, error))
    return results
  }

  #giveUp(errors: readonly unknown[], of: number): void {
    const [reason, ...others] = new Set(errors.map(messageOf))
    if (others.length > 0) return
    this.#mostTried *= MORE
    throw new AllRefusedError(
      `The database refused all ${errors.length} rows that were tried, of ${of}; all will be retried: ${reason}`,
      { cause: errors[0] },
    )
  }
}

/** Every item that was tried was rejected for the same reason, so the server may be at fault. No item is set aside. */
export class AllRefusedError extends Error {
  override readonly name = 'AllRefusedError'
}

/** Whether the error is about the written rows, and not about the connection. */
export function isOfARow(error: unknown): boolean {
  return !isA(error, StoreUnavailableError)
}
