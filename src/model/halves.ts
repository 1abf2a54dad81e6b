/** Keeps one bad item of a batch from costing the others more than a few repetitions. */

/**
 * Does the work on all items at once; where that fails, on each half, and so on: one bad item among n costs about
 * 2·log2(n) tries, not n.
 *
 * @param alone  what is done about an item that fails by itself
 * @param isOfAnItem  false: the error says nothing about the items, and is thrown
 */
export async function byHalves<Item, Result>(
  items: readonly Item[],
  work: (items: readonly Item[]) => Promise<Result>,
  alone: (item: Item, error: unknown) => Promise<Result> | Result,
  isOfAnItem: (error: unknown) => boolean,
): Promise<Result[]> {
  const [first] = items
  if (first === undefined) return []
  try {
    return [await work(items)]
  } catch (error) {
    if (!isOfAnItem(error)) throw error
    if (items.length === 1) return [await alone(first, error)]
    const middle = Math.ceil(items.length / 2)
    return [
      ...(await byHalves(items.slice(0, middle), work, alone, isOfAnItem)),
      ...(await byHalves(items.slice(middle), work, alone, isOfAnItem)),
    ]
  }
}
