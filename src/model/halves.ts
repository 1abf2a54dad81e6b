/** Keeps one bad item of a batch from costing the others more than a few repetitions. */

import { isA, messageOf, StoreUnavailableError } from '../errors.ts'

/** So many items, refused one by one for the same reason before any was accepted: the server may be at fault, not they. */
const FEW = 3
/** The factor by which more items are tried each time: a whole batch of bad ones is known after a few passes. */
const MORE = 4

export interface Halves<Item, Result> {
  readonly work: (items: readonly Item[]) => Promise<Result>
  /** A second try of an item that failed by itself; default: none. */
  readonly alone?: (item: Item, error: unknown) => Promise<Result>
  /** Whether something was accepted; default: always. What others have locked, or taken already, is no proof of it. */
  readonly wrote?: (result: Result) => boolean
  /** What is done about an item that is refused. */
  readonly refused: (item: Item, error: unknown) => Promise<Result> | Result
  /** false: the error says nothing about the items, and is thrown. */
  readonly isOfAnItem: (error: unknown) => boolean
}

/**
 * Does the work on all items at once; where that fails, on each half, and so on: one bad item among n costs about
 * 2·log2(n) tries, not n.
 *
 * Where nothing is accepted, it gives up after a few tries, and no item counts as refused: the caller backs off and
 * comes again. Each time more items are tried, so that a batch in which every item is bad comes to an end as well.
 */
export class Halving {
  readonly #few: number
  #mostTried: number

  /** @param few  so many refused items with none accepted make it give up; Infinity: it never does */
  constructor(few = FEW) {
    this.#few = few
    this.#mostTried = few
  }

  /** Work went well without it: what it gave up before is over. */
  reset(): void {
    this.#mostTried = this.#few
  }

  /** @throws what is of no item; AllRefusedError when the first items were all refused for the same reason */
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
      `The database refused each of ${errors.length} rows that were tried, of ${of}; all are tried again: ${reason}`,
      { cause: errors[0] },
    )
  }
}

/** Every item that was tried was refused for the same reason, so that the server may be at fault: none is set aside. */
export class AllRefusedError extends Error {
  override readonly name = 'AllRefusedError'
}

/** The error is about what is written, and not about the way to the database. */
export function isOfARow(error: unknown): boolean {
  return !isA(error, StoreUnavailableError)
}
