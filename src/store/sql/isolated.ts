import { type Halving, isOfARow } from '../../model/halves.ts'
import type { SetAside } from '../../model/set-aside.ts'
import type { Contention } from './contention.ts'

/** What an operation remembers of the rows that it could not write. */
export interface Isolation {
  readonly halving: Halving
  readonly contention: Contention
}

/**
 * Writes rows together. If the database rejects one of them, it retries in halves until it has found the rejected ones;
 * if one of them waits for a lock in vain, one by one.
 *
 * @param setAside  rejected rows are added
 * @throws errors that are not about a row: it is not known what was written
 */
export async function isolated<Item extends { readonly id: string }, Written>(
  { halving, contention }: Isolation,
  setAside: SetAside | undefined,
  {
    together,
    some,
  }: {
    /** Finds rows, reports them, and writes them. */
    readonly together: (report: (found: readonly Item[]) => void) => Promise<Written[]>
    /** Writes those rows that have not changed since they were found. */
    readonly some: (items: readonly Item[]) => Promise<Written[]>
  },
): Promise<Written[]> {
  let found: readonly Item[] = []
  const failed = ({ id }: Item, error: unknown) => {
    if (!isOfARow(error)) throw error
    setAside?.add(id, error)
  }
  try {
    const written = await together((items) => {
      found = items
    })
    if (written.length > 0) halving.reset()
    contention.forget(found)
    return written
  } catch (error) {
    if (found.length === 0) throw error
    if (contention.isOf(error)) {
      const { results } = await contention.run(found, some, { hasWaited: true, failed })
      return results.flat()
    }
    if (!isOfARow(error)) throw error
    const written = await halving.run<Item, Written[]>(found, {
      work: async (items) => (await contention.run(items, some, { failed })).results.flat(),
      wrote: ({ length }) => length > 0,
      refused: ({ id }, refusal) => {
        setAside?.add(id, refusal)
        return []
      },
      isOfAnItem: isOfARow,
    })
    return written.flat()
  }
}
