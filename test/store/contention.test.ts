/** Rows that wait for locks which no statement can skip, among others that do not. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { StoreUnavailableError } from '../../src/errors.ts'
import { Halving } from '../../src/model/halves.ts'
import { SetAside } from '../../src/model/set-aside.ts'
import { Contention } from '../../src/store/sql/contention.ts'
import { isolated } from '../../src/store/sql/isolated.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => void vi.useRealTimers())

interface Item {
  readonly id: string
}
const items = (...ids: string[]): Item[] => ids.map((id) => ({ id }))
const ids = (found: readonly Item[]) => found.map(({ id }) => id)

/** A table in which some rows are locked, some are refused, and some lose the connection. */
function table() {
  const locked = new Set<string>()
  const refused = new Set<string>()
  const lost = new Set<string>()
  const written: string[] = []
  let waits = 0
  const write = (some: readonly Item[]): Promise<Item[]> => {
    if (some.some(({ id }) => lost.has(id))) return Promise.reject(new StoreUnavailableError('lost'))
    if (some.some(({ id }) => refused.has(id))) return Promise.reject(new Error('CHECK'))
    if (some.some(({ id }) => locked.has(id))) {
      waits += 1
      return Promise.reject(new StoreUnavailableError('locked', { isLockWait: true }))
    }
    written.push(...ids(some))
    return Promise.resolve([...some])
  }
  return { locked, refused, lost, written, write, waits: () => waits }
}

const contended = () =>
  new Contention({ isLockWait: (error) => error instanceof StoreUnavailableError && error.isLockWait })

function isolation() {
  const setAside = new SetAside({
    firstMs: 10_000,
    longestMs: 10_000,
    most: 10,
    now: () => performance.now(),
  })
  const how = { halving: new Halving(), contention: contended() }
  /** As a claim does: it finds what is neither written nor set aside nor in its back-off. */
  const pass = (of: ReturnType<typeof table>, all: readonly Item[]) =>
    isolated<Item, Item>(how, setAside, {
      together: (report) => {
        const except = [...setAside.ids(), ...how.contention.ids(), ...of.written]
        const found = all.filter(({ id }) => !except.includes(id))
        report(found)
        return of.write(found)
      },
      some: of.write,
    })
  return { setAside, pass, ...how }
}

it('an item that waited is left alone for twice as long each time, and for a second again after a success', async () => {
  const { locked, write } = table()
  const contention = contended()
  const isLeftAlone = async () => {
    const before = ids((await contention.run(items('a'), write)).left)
    return before.length > 0
  }
  locked.add('a')
  for (const ms of [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]) {
    await isLeftAlone()
    vi.advanceTimersByTime(ms - 1)
    expect(contention.ids()).toEqual(['a'])
    vi.advanceTimersByTime(1)
    expect(contention.ids()).toEqual([])
  }
  locked.delete('a')
  expect(await isLeftAlone()).toBe(false)
  locked.add('a')
  await isLeftAlone()
  vi.advanceTimersByTime(1000)
  expect(contention.ids()).toEqual([])
})

it('also if it is written in a batch that finds its rows itself', async () => {
  const of = table()
  const { pass, contention } = isolation()
  of.locked.add('a')
  await pass(of, items('a', 'b'))
  vi.advanceTimersByTime(1000)
  of.locked.clear()
  expect(ids(await pass(of, items('a')))).toEqual(['a'])
  of.locked.add('a')
  of.written.length = 0
  await pass(of, items('a'))
  vi.advanceTimersByTime(1000)
  expect(contention.ids()).toEqual([])
})

it('after its back-off, an item that waits again delays the others once, and is not confused with them', async () => {
  const of = table()
  const { pass } = isolation()
  of.locked.add('a')
  expect(ids(await pass(of, items('a', 'b')))).toEqual(['b'])
  expect(of.waits()).toBe(2)
  vi.advanceTimersByTime(1000)
  expect(ids(await pass(of, items('a', 'c')))).toEqual(['c'])
  expect(of.waits()).toBe(4)
  vi.advanceTimersByTime(2000)
  expect(await pass(of, items('a'))).toEqual([])
  expect(of.waits()).toBe(5)
})

it.each([
  ['bad', 'a', 'free'],
  ['free', 'bad', 'a'],
  ['a', 'bad', 'free'],
])('a refused item and a locked one keep no other from being written: %s, %s, %s', async (...order) => {
  const of = table()
  const { pass, setAside, contention } = isolation()
  of.refused.add('bad')
  of.locked.add('a')
  for (let passes = 0; passes < 3; passes += 1) await pass(of, items(...order)).catch(() => {})
  expect(of.written).toEqual(['free'])
  expect([setAside.ids(), contention.ids()]).toEqual([['bad'], ['a']])
})

it('a connection that is lost after a part was written is reported, because nobody knows what was written', async () => {
  const of = table()
  const { pass } = isolation()
  of.locked.add('a')
  of.lost.add('c')
  const once = { ...of, write: vi.fn(of.write) }
  once.write.mockRejectedValueOnce(new StoreUnavailableError('locked', { isLockWait: true }))
  await expect(pass(once, items('a', 'b', 'c'))).rejects.toThrow('lost')
  expect(of.written).toEqual(['b'])
})

it('what is known to be written is kept if the caller can tell what is left', async () => {
  const of = table()
  of.locked.add('a')
  const write = vi.fn(of.write)
  write.mockRejectedValueOnce(new StoreUnavailableError('locked', { isLockWait: true }))
  of.lost.add('c')
  const { results, left } = await contended().run(items('a', 'b', 'c', 'd'), write)
  expect([results.flatMap(ids), ids(left)]).toEqual([['b'], ['c', 'd', 'a']])
})
