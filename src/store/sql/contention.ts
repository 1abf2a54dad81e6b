import { SetAside } from '../../model/set-aside.ts'

/** How many items of a call may wait, one after the other, after the wait of the whole batch. */
const MOST_WAITS = 2
const BACK_OFF = { firstMs: 1000, longestMs: 30_000, most: 1000, now: () => performance.now() }

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
  /** Whether the error says that a statement waited for a lock in vain. */
  readonly isOf: (error: unknown) => boolean
  readonly #waited = new SetAside(BACK_OFF)

  constructor(isLockWait: (error: unknown) => boolean) {
    this.isOf = isLockWait
  }

  /** The items that waited in vain, until their back-off ends. */
  ids(): string[] {
    return this.#waited.ids()
  }

  /**
   * Does the work on all items, and if that waits in vain, on some of them one by one. An item that waits is left alone
   * during its back-off.
   *
   * @param hasWaited  the work on all items has already waited
   * @throws other errors, unless a part of the work is done
   */
  async run<Item extends { readonly id: string }, Result>(
    items: readonly Item[],
    work: (some: readonly Item[]) => Promise<Result>,
    { hasWaited = false } = {},
  ): Promise<Outcome<Item, Result>> {
    const results: Result[] = []
    const waited = items.filter(({ id }) => this.#waited.has(id))
    const again = items.filter(({ id }) => this.#waited.isKnown(id) && !this.#waited.has(id))
    const others = items.filter(({ id }) => !this.#waited.isKnown(id))
    /** @returns whether it is known which item waited */
    const waitedFor = (some: readonly Item[]): boolean => {
      const [item] = some
      if (some.length !== 1 || item === undefined) return false
      this.#waited.add(item.id, null)
      waited.push(item)
      return true
    }
    const tryAll = async (some: readonly Item[]): Promise<boolean> => {
      try {
        results.push(await work(some))
        for (const { id } of some) this.#waited.forget(id)
        return true
      } catch (error) {
        if (!this.isOf(error)) throw error
        return waitedFor(some)
      }
    }
    const isDone = others.length === 0 || (hasWaited ? waitedFor(others) : await tryAll(others))
    const untried = [...(isDone ? [] : others), ...again]
    const most = waited.length + MOST_WAITS
    for (let item = untried[0]; item !== undefined && waited.length < most; item = untried[0]) {
      try {
        await tryAll([item])
      } catch (error) {
        if (results.length === 0) throw error
        break
      }
      untried.shift()
    }
    return { results, left: [...untried, ...waited] }
  }
}
