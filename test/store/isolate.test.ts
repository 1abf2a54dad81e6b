/** Batches in which some rows cannot be written: rejected rows and rows with lock timeouts. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { StoreUnavailableError } from '../../src/errors.ts'
import { AllRefusedError } from '../../src/store/refusal.ts'
import { Isolation, type IsolationOptions, type Writing } from '../../src/store/sql/isolate.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => void vi.useRealTimers())

interface Item {
  readonly id: string
}
const items = (...ids: string[]): Item[] => ids.map((id) => ({ id }))
const ids = (found: readonly Item[]) => found.map(({ id }) => id)
const many = (count: number) => items(...Array.from({ length: count }, (_, index) => String(index)))

const isolation = (options: Partial<IsolationOptions> = {}) =>
  new Isolation({
    isLockWait: (error) => error instanceof StoreUnavailableError && error.isLockWait,
    ...options,
  })

/** A table in which some rows are locked, some are rejected, and some make a write lose the connection. */
function table() {
  const locked = new Set<string>()
  const refused = new Set<string>()
  const lost = new Set<string>()
  const written: string[] = []
  const tries: string[][] = []
  let waits = 0
  const write = (some: readonly Item[]): Promise<Item[]> => {
    tries.push(ids(some))
    if (some.some(({ id }) => lost.has(id))) return Promise.reject(new StoreUnavailableError('lost'))
    if (some.some(({ id }) => refused.has(id))) return Promise.reject(new Error('CHECK'))
    if (some.some(({ id }) => locked.has(id))) {
      waits += 1
      return Promise.reject(new StoreUnavailableError('locked', { isLockWait: true }))
    }
    written.push(...ids(some))
    return Promise.resolve([...some])
  }
  return { locked, refused, lost, written, tries, write, waits: () => waits }
}

/** Writes items and returns the outcome of each. */
async function outcome(
  of: Isolation,
  some: readonly Item[],
  write: (some: readonly Item[]) => Promise<Item[]>,
  how: Partial<Writing<Item, Item[]>> = {},
) {
  const { results, left, refused } = await of.write(some, { write, ...how })
  return {
    written: results.flatMap((result) => ids(result)),
    left: ids(left),
    refused: refused.map(({ item }) => item.id),
  }
}

describe('rejected rows', () => {
  it.each([0, 200, 511])('one row of 512, at index %s, costs 2·log2(n) further tries [L51]', async (bad) => {
    const { refused, tries, write } = table()
    refused.add(String(bad))
    const rows = many(512)
    expect(await outcome(isolation(), rows, write)).toEqual({
      written: ids(rows).filter((id) => id !== String(bad)),
      left: [],
      refused: [String(bad)],
    })
    expect(tries).toHaveLength(1 + 2 * 9)
  })

  it('several rejected rows cost only further tries, and all other rows are written', async () => {
    const { refused, write } = table()
    for (const id of ['3', '4', '300']) refused.add(id)
    const end = await outcome(isolation(), many(512), write)
    expect(end.refused).toEqual(['3', '4', '300'])
    expect(end.written).toHaveLength(509)
  })

  it('are retried in another way, if there is one', async () => {
    const { refused, write } = table()
    refused.add('1')
    const alone = vi.fn((item: Item) => Promise.resolve([item]))
    const end = await outcome(isolation(), many(4), write, { alone })
    expect(end).toEqual({ written: ['0', '1', '2', '3'], left: [], refused: [] })
    expect(alone).toHaveBeenCalledExactlyOnceWith({ id: '1' }, expect.objectContaining({ message: 'CHECK' }))
  })

  it('come last the next time, one by one, until they are written', async () => {
    const { refused, tries, write } = table()
    const of = isolation()
    refused.add('1')
    await outcome(of, many(4), write)
    tries.length = 0
    expect((await outcome(of, many(4), write)).refused).toEqual(['1'])
    expect(tries).toEqual([['0', '2', '3'], ['1']])
    refused.clear()
    await outcome(of, many(4), write)
    tries.length = 0
    await outcome(of, many(4), write)
    expect(tries).toEqual([['0', '1', '2', '3']])
  })

  it('are left out for ten seconds, then twice as long each time, up to five minutes', async () => {
    const { refused, write } = table()
    const of = isolation()
    refused.add('a')
    for (const ms of [10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000]) {
      await outcome(of, items('a'), write)
      vi.advanceTimersByTime(ms - 1)
      expect([of.leftOut(), of.refused()]).toMatchObject([[{ id: 'a' }], [{ id: 'a' }]])
      vi.advanceTimersByTime(1)
      expect([of.leftOut(), of.refused()]).toEqual([[], []])
    }
    refused.clear()
    await outcome(of, items('a'), write)
    refused.add('a')
    await outcome(of, items('a'), write)
    vi.advanceTimersByTime(10_000)
    expect(of.leftOut()).toEqual([])
  })

  it('are blamed only after several more tries if no other row is accepted', async () => {
    const { refused, tries, write } = table()
    const of = isolation()
    const rows = many(300)
    for (const { id } of rows) refused.add(id)
    for (const tried of [3, 12, 48, 192]) {
      tries.length = 0
      const writing = outcome(of, rows, write)
      await expect(writing).rejects.toThrow(
        `The database rejected all ${tried} rows that were tried; all 300 rows of the batch will be retried: CHECK`,
      )
      await expect(writing).rejects.toMatchObject({
        name: 'AllRefusedError',
        cause: expect.objectContaining({ message: 'CHECK' }),
      })
      expect(of.leftOut()).toEqual([])
      // Successful writes of other rows in the meantime do not reset the number of tries.
      await outcome(of, items('good'), write)
    }
    expect((await outcome(of, rows, write)).refused).toEqual(ids(rows))
    // A batch of bad rows that follows within a minute is blamed at once.
    const batch = (name: string) => {
      const some = items(...ids(rows).map((id) => `${name} ${id}`))
      for (const { id } of some) refused.add(id)
      return some
    }
    const others = batch('other')
    expect((await outcome(of, others, write)).refused).toEqual(ids(others))
    vi.advanceTimersByTime(60_000)
    await expect(outcome(of, batch('later'), write)).rejects.toThrow('rejected all 3 rows')
  })

  it('are blamed at once if their errors differ', async () => {
    const rows = many(16)
    const end = await outcome(isolation(), rows, ([first]) => Promise.reject(new Error(first?.id)))
    expect(end.refused).toEqual(ids(rows))
  })

  it('are blamed if they are few and there are no other rows', async () => {
    const { refused, write } = table()
    for (const id of ['0', '1', '2']) refused.add(id)
    expect((await outcome(isolation(), many(3), write)).refused).toEqual(['0', '1', '2'])
  })

  it('are always blamed if the operation requests it', async () => {
    const rows = many(64)
    const end = await outcome(isolation({ few: Infinity }), rows, () => Promise.reject(new Error('CHECK')))
    expect(end.refused).toEqual(ids(rows))
  })

  it('are not blamed if none of the other rows was written', async () => {
    const { refused, write } = table()
    const rows = many(512)
    for (const { id } of rows.slice(1)) refused.add(id)
    // The first row is locked by another transaction.
    const none = (some: readonly Item[]) => write(some).then(() => [])
    const writing = outcome(isolation(), rows, none, { wrote: ({ length }) => length > 0 })
    await expect(writing).rejects.toThrow(AllRefusedError)
  })

  it('are not blamed if the server becomes unavailable before it has accepted anything', async () => {
    const { refused, lost, write } = table()
    const of = isolation()
    refused.add('0')
    lost.add('1')
    // The whole batch and its first half are also rejected.
    const first = (some: readonly Item[]) =>
      some.length > 1 ? Promise.reject(new Error('CHECK')) : write(some)
    await expect(outcome(of, many(4), first)).rejects.toThrow('lost')
    expect(of.leftOut()).toEqual([])
  })

  it('if more than 5,000 rows are left out, the row that failed longest ago is forgotten', async () => {
    const of = isolation()
    for (const { id } of many(5001)) of.leaveOut({ id })
    expect(of.leftOut()).toHaveLength(5000)
    expect(of.leftOut()[0]).toMatchObject({ id: '1' })
  })
})

it('an unusable row is left out for a second, then longer each time, even though it can be written', async () => {
  const { write } = table()
  const of = isolation()
  for (const ms of [1000, 2000, 4000]) {
    await outcome(of, items('a'), write)
    of.leaveOut({ id: 'a', group_: 'g' })
    vi.advanceTimersByTime(ms - 1)
    expect([of.leftOut(), of.refused()]).toMatchObject([[{ id: 'a', group_: 'g' }], [{ id: 'a' }]])
    vi.advanceTimersByTime(1)
    expect(of.leftOut()).toEqual([])
  }
})

it('without rows, nothing is tried', async () => {
  const end = await outcome(isolation(), [], () => expect.fail('there is nothing to do'))
  expect(end).toEqual({ written: [], left: [], refused: [] })
})

it('an error that is not caused by a row ends the operation', async () => {
  const { lost, tries, write } = table()
  lost.add('0')
  await expect(outcome(isolation(), many(8), write)).rejects.toThrow('lost')
  expect(tries).toHaveLength(1)
})

it('an error that is not caused by a row also ends an operation whose rows were all rejected before', async () => {
  const { refused, lost, write } = table()
  const of = isolation()
  refused.add('a')
  expect(await outcome(of, items('a', 'b'), write)).toMatchObject({ written: ['b'], refused: ['a'] })
  lost.add('a')
  await expect(outcome(of, items('a'), write)).rejects.toThrow('lost')
  expect(await outcome(of, items('c', 'a'), write)).toEqual({ written: ['c'], left: ['a'], refused: [] })
})

describe('rows with lock timeouts', () => {
  it('do not prevent other rows from being written, even if a new row is also locked', async () => {
    const { locked, written, write } = table()
    const of = isolation()
    const old = ['a', 'b', 'c', 'd', 'e', 'f']
    for (const id of [...old, 'new']) locked.add(id)
    for (let pass = 0; pass < 3; pass += 1) await outcome(of, items(...old), write)
    vi.advanceTimersByTime(60_000)
    await outcome(of, items(...old, 'new', 'good'), write)
    expect(written).toEqual(['good'])
  })

  it('are left out for twice as long each time, and for one second again after a success', async () => {
    const { locked, write } = table()
    const of = isolation()
    const isLeft = async () => (await outcome(of, items('a'), write)).left.length > 0
    locked.add('a')
    for (const ms of [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]) {
      expect(await isLeft()).toBe(true)
      vi.advanceTimersByTime(ms - 1)
      expect(of.leftOut()).toEqual([expect.objectContaining({ id: 'a' })])
      expect(of.refused()).toEqual([])
      vi.advanceTimersByTime(1)
      expect(of.leftOut()).toEqual([])
    }
    locked.delete('a')
    expect(await isLeft()).toBe(false)
    locked.add('a')
    await isLeft()
    vi.advanceTimersByTime(1000)
    expect(of.leftOut()).toEqual([])
  })

  it('are not tried while they are left out, and are then tried one by one', async () => {
    const { locked, tries, write } = table()
    const of = isolation()
    locked.add('a')
    await outcome(of, items('a', 'b'), write)
    tries.length = 0
    expect(await outcome(of, items('a', 'c'), write)).toEqual({ written: ['c'], left: ['a'], refused: [] })
    vi.advanceTimersByTime(1000)
    await outcome(of, items('a', 'd'), write)
    expect(tries).toEqual([['c'], ['d'], ['a']])
  })

  it('cost each call at most three waits, and untried rows come first the next time', async () => {
    const { locked, written, waits, write } = table()
    const of = isolation()
    for (const id of ['b', 'c', 'd']) locked.add(id)
    const first = await outcome(of, items('a', 'b', 'c', 'd', 'e'), write)
    expect(waits()).toBe(3)
    expect(first).toEqual({ written: ['a'], left: ['d', 'e', 'b', 'c'], refused: [] })
    await outcome(of, items(...first.left), write)
    expect(written).toEqual(['a', 'e'])
  })

  it('the writes before a lost connection are kept, and the remaining rows are left for the next call', async () => {
    const { locked, lost, write } = table()
    locked.add('a')
    lost.add('c')
    const once = vi.fn(write)
    once.mockRejectedValueOnce(new StoreUnavailableError('locked', { isLockWait: true }))
    const end = await outcome(isolation(), items('a', 'b', 'c', 'd'), once)
    expect(end).toEqual({ written: ['b'], left: ['c', 'd', 'a'], refused: [] })
  })
})

describe('rows that the operation selects itself', () => {
  /** An operation that, like a claim, finds rows that are neither written nor left out. */
  function finding() {
    const of = table()
    const found = isolation()
    const refused: string[] = []
    const pass = (all: readonly Item[], write = of.write) =>
      found.find<Item, Item>({
        together: (report) => {
          const except = [...ids(found.leftOut()), ...of.written]
          const some = all.filter(({ id }) => !except.includes(id))
          report(some)
          return write(some)
        },
        some: write,
        onRefused: (id) => void refused.push(id),
      })
    return { ...of, isolation: found, pass, reported: refused }
  }

  it('start with the shortest back-off again once they have been written', async () => {
    const { locked, written, pass, isolation: of } = finding()
    locked.add('a')
    await pass(items('a', 'b'))
    vi.advanceTimersByTime(1000)
    locked.clear()
    expect(ids(await pass(items('a')))).toEqual(['a'])
    locked.add('a')
    written.length = 0
    await pass(items('a'))
    vi.advanceTimersByTime(1000)
    expect(of.leftOut()).toEqual([])
  })

  it('rows that time out again after their back-off hold up the other rows once and are not confused with them', async () => {
    const { locked, waits, pass } = finding()
    locked.add('a')
    expect(ids(await pass(items('a', 'b')))).toEqual(['b'])
    expect(waits()).toBe(2)
    vi.advanceTimersByTime(1000)
    expect(ids(await pass(items('a', 'c')))).toEqual(['c'])
    expect(waits()).toBe(4)
    vi.advanceTimersByTime(2000)
    expect(await pass(items('a'))).toEqual([])
    expect(waits()).toBe(5)
  })

  it('rows that are rejected again after their back-off do not count against the server and do not delay other rows', async () => {
    const { refused, written, tries, pass } = finding()
    const bad = many(20)
    for (const { id } of bad) refused.add(id)
    for (let passes = 0; passes < 3; passes += 1) await pass(bad).catch(() => {})
    vi.advanceTimersByTime(60_000)
    tries.length = 0
    expect(ids(await pass([...bad, ...items('good')]))).toEqual(['good'])
    expect(written).toEqual(['good'])
    // All rows are tried together, then the rows that were not rejected before, and then each of the others.
    expect(tries.slice(0, 2)).toEqual([[...ids(bad), 'good'], ['good']])
    expect(tries).toHaveLength(2 + bad.length)
  })

  it('a single rejected row gets a second try, because the error may be temporary', async () => {
    const { refused, reported, write, pass } = finding()
    const once = vi.fn(write)
    once.mockRejectedValueOnce(new Error('CHECK'))
    expect(ids(await pass(items('a'), once))).toEqual(['a'])
    refused.add('b')
    await pass(items('b'))
    expect(reported).toEqual(['b'])
  })

  it('are not blamed if the other rows were taken by other workers', async () => {
    const { refused, reported, write, pass } = finding()
    const rows = many(512)
    for (const { id } of rows.slice(1)) refused.add(id)
    const none = (some: readonly Item[]) => write(some).then(() => [])
    await expect(pass(rows, none)).rejects.toThrow(AllRefusedError)
    expect(reported).toEqual([])
  })

  it.each([
    ['bad', 'a', 'free'],
    ['free', 'bad', 'a'],
    ['a', 'bad', 'free'],
  ])('that are rejected or locked do not prevent other writes: %s, %s, %s', async (...order) => {
    const { refused, locked, written, pass, isolation: of, reported } = finding()
    refused.add('bad')
    locked.add('a')
    for (let passes = 0; passes < 3; passes += 1) await pass(items(...order)).catch(() => {})
    expect(written).toEqual(['free'])
    expect(reported).toEqual(['bad'])
    expect(ids(of.leftOut()).toSorted()).toEqual(['a', 'bad'])
  })

  it('a connection that is lost after a partial write is reported, because it is unknown which rows were written', async () => {
    const { locked, lost, written, write, pass } = finding()
    locked.add('a')
    lost.add('c')
    const once = vi.fn(write)
    once.mockRejectedValueOnce(new StoreUnavailableError('locked', { isLockWait: true }))
    await expect(pass(items('a', 'b', 'c'), once)).rejects.toThrow('lost')
    expect(written).toEqual(['b'])
  })
})
