import { SetAside } from '../../model/set-aside.ts'

/** How many items of a call may wait, one after the other, after the wait of the whole batch. */
const MOST_WAITS = 2
const FIRST_BACK_OFF_MS = 1000
const LONGEST_BACK_OFF_MS = 60_000
const MOST_ITEMS = 1000

interface ContentionOptions {
  /** Whether the error says that a statement waited for a lock in vain. */
  readonly isLockWait: (error: unknown) => boolean
  readonly longestBackOffMs?: number
}

interface HowToRun<Item> {
  /** The work on all items has already waited; default: it has not been tried. */
  readonly hasWaited?: boolean
  /**
   * The work on this item alone failed in another way. If this does not throw, the work on the others continues.
   * Default: if a part of the work is done, the rest is left; otherwise the error is thrown.
   */
  readonly failed?: (item: Item, error: unknown) => void
}

interface Outcome<Item, Result> {
  readonly results: Result[]
  /** What was not done: first the items that were not tried, so that each gets a turn. */
  readonly left: Item[]
}

/**
 * Work on rows of which some cannot be written because of locks that no statement can skip: a range of an index, an
 * entry of an index, or a row that another transaction inserts. A statement waits for such a lock until its timeout.
 */
export class Contention {
  readonly isOf: (error: unknown) => boolean
  readonly #waited: SetAside

  constructor({ isLockWait, longestBackOffMs = LONGEST_BACK_OFF_MS }: ContentionOptions) {
    this.isOf = isLockWait
    this.#waited = new SetAside({
      firstMs: FIRST_BACK_OFF_MS,
      longestMs: longestBackOffMs,
      most: MOST_ITEMS,
      now: () => performance.now(),
    })
  }

  /** The items that waited in vain, until their back-off ends. */
  ids(): string[] {
    return this.#waited.ids()
  }

  /** The work on these items succeeded. */
  forget(items: readonly { readonly id: string }[]): void {
    for (const { id } of items) this.#waited.forget(id)
  }

  /**
   * Does the work on all items, except those that waited the last time, and if that waits in vain, on some of them
   * one by one. An item that waits is left alone during its back-off.
   */
  async run<Item extends { readonly id: string }, Result>(
    items: readonly Item[],
    work: (some: readonly Item[]) => Promise<Result>,
    { hasWaited = false, failed }: HowToRun<Item> = {},
  ): Promise<Outcome<Item, Result>> {
    const results: Result[] = []
    const waited = items.filter(({ id }) => this.#waited.has(id))
    const again = items.filter(({ id }) => this.#waited.isKnown(id) && !this.#waited.has(id))
    const others = items.filter(({ id }) => !this.#waited.isKnown(id))
    const most = waited.length + MOST_WAITS
    /** @returns false: the work on these items waited in vain */
    const attempt = async (some: readonly Item[]): Promise<boolean> => {
      try {
        results.push(await work(some))
        this.forget(some)
        return true
      } catch (error) {
        if (this.isOf(error)) return false
        throw error
      }
    }
    const waitedFor = (item: Item): void => {
      this.#waited.add(item.id, null)
      waited.push(item)
    }
    const isTogether = others.length > 0 && !hasWaited && (await attempt(others))
    // Those that have waited before are the most likely reason.
    const alone = isTogether ? again : [...again, ...others]
    const [only] = alone
    if (only !== undefined && alone.length === 1 && !isTogether && (hasWaited || others.length === 1)) {
      waitedFor(only)
      return { results, left: waited }
    }
    while (waited.length < most) {
      const [item] = alone
      if (item === undefined) break
      try {
        if (!(await attempt([item]))) waitedFor(item)
      } catch (error) {
        if (failed !== undefined) failed(item, error)
        else if (results.length === 0) throw error
        else break
      }
      alone.shift()
    }
    return { results, left: [...alone, ...waited] }
  }
}
