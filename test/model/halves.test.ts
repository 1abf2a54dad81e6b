import { expect, it } from 'vitest'
import { StoreUnavailableError } from '../../src/errors.ts'
import { AllRefusedError, Halving, isOfARow } from '../../src/model/halves.ts'

const items = Array.from({ length: 512 }, (_, index) => index)
const refusal = () => new Error('a bad row')

async function run(
  isBad: (item: number) => boolean,
  { halving = new Halving(), error = refusal }: { halving?: Halving; error?: (item: number) => Error } = {},
) {
  let tries = 0
  const failed: number[] = []
  const results = await halving
    .run<number, readonly number[]>(items, {
      work: async (some) => {
        tries += 1
        const bad = some.find(isBad)
        if (bad !== undefined) throw error(bad)
        return some
      },
      refused: (item) => {
        failed.push(item)
        return []
      },
      isOfAnItem: () => true,
    })
    .catch((thrown: unknown) => String(thrown))
  return { tries, failed, done: typeof results === 'string' ? results : results.flat() }
}

it('items without errors take one attempt', async () => {
  expect(await run(() => false)).toEqual({ tries: 1, failed: [], done: items })
})

it.each([0, 200, 511])(
  'one bad item of 512, the one at %s, costs 2·log2(n) further attempts',
  async (bad) => {
    expect(await run((item) => item === bad)).toEqual({
      tries: 1 + 2 * 9,
      failed: [bad],
      done: items.filter((item) => item !== bad),
    })
  },
)

it('several bad items cost the others only further attempts', async () => {
  const bad = [3, 4, 300]
  const { failed, done } = await run((item) => bad.includes(item))
  expect(failed).toEqual(bad)
  expect(done).toEqual(items.filter((item) => !bad.includes(item)))
})

it('an error that belongs to no item ends the work at once', async () => {
  let tries = 0
  const away = new Error('the database is away')
  const work = new Halving().run(items, {
    work: () => {
      tries += 1
      return Promise.reject(away)
    },
    refused: () => expect.fail('no item is at fault'),
    isOfAnItem: () => false,
  })
  await expect(work).rejects.toBe(away)
  expect(tries).toBe(1)
})

it('if nothing is accepted, it stops after a few attempts, and blames no item', async () => {
  const { tries, failed, done } = await run(() => true)
  expect(done).toBe(
    'AllRefusedError: The database refused all 3 rows that were tried, of 512; all will be retried: a bad row',
  )
  expect(failed).toEqual([])
  expect(tries).toBeLessThanOrEqual(Math.log2(512) + 5)
})

it('items behind many bad ones are done after a few rounds', async () => {
  const halving = new Halving()
  const isBad = (item: number) => item < 300
  let rounds = 0
  for (;;) {
    rounds += 1
    const { failed, done } = await run(isBad, { halving })
    if (typeof done === 'string') continue
    expect(failed).toEqual(items.filter(isBad))
    expect(done).toEqual(items.filter((item) => !isBad(item)))
    break
  }
  expect(rounds).toBe(5)
})

it('a batch of only bad items ends, and the next starts with a few attempts', async () => {
  const halving = new Halving()
  let rounds = 1
  while (typeof (await run(() => true, { halving })).done === 'string') rounds += 1
  expect(rounds).toBe(5)
  expect((await run(() => true, { halving })).tries).toBeLessThanOrEqual(Math.log2(512) + 5)
})

it('items with different reasons keep their own reasons', async () => {
  const { failed } = await run(() => true, { error: (item) => new Error(`bad: ${item}`) })
  expect(failed).toEqual(items)
})

it('a few bad items without any others are blamed', async () => {
  const failed: number[] = []
  await new Halving().run([1, 2, 3], {
    work: () => Promise.reject(refusal()),
    refused: (item) => void failed.push(item),
    isOfAnItem: () => true,
  })
  expect(failed).toEqual([1, 2, 3])
})

it('an item that succeeds at the second attempt is not rejected', async () => {
  const results = await new Halving().run<number, readonly number[]>(items, {
    work: () => Promise.reject(refusal()),
    alone: (item) => Promise.resolve([item]),
    refused: () => expect.fail('no item is refused'),
    isOfAnItem: () => true,
  })
  expect(results.flat()).toEqual(items)
})

it('a result that wrote nothing does not prove that the server accepts anything', async () => {
  const work = new Halving().run<number, readonly number[]>(items, {
    // The first is locked by somebody else.
    work: (some) => (some.length === 1 && some[0] === 0 ? Promise.resolve([]) : Promise.reject(refusal())),
    wrote: (written) => written.length > 0,
    refused: () => expect.fail('no item is at fault'),
    isOfAnItem: () => true,
  })
  await expect(work).rejects.toThrow(AllRefusedError)
})

it('after a reset, a batch has all its attempts again', async () => {
  const halving = new Halving()
  const all = () => run(() => true, { halving })
  const { tries } = await all()
  expect((await all()).tries).toBeGreaterThan(tries)
  halving.reset()
  expect((await all()).tries).toBe(tries)
})

it('without a limit on attempts, each bad item is found', async () => {
  expect((await run(() => true, { halving: new Halving(Infinity) })).failed).toEqual(items)
})

it('no items are no try', async () => {
  const nothing = await new Halving().run([], {
    work: () => expect.fail('there is nothing to do'),
    refused: () => expect.fail('there is nothing to refuse'),
    isOfAnItem: () => true,
  })
  expect(nothing).toEqual([])
})

it('the error of a batch that was given up has the first refusal as its cause', async () => {
  const first = refusal()
  const work = new Halving().run(items, {
    work: (some) => Promise.reject(some.length === 1 && some[0] === 0 ? first : refusal()),
    refused: () => expect.fail('no item is at fault'),
    isOfAnItem: () => true,
  })
  await expect(work).rejects.toThrow(expect.objectContaining({ name: 'AllRefusedError', cause: first }))
})

it('an error is about a row, unless the database is unavailable', () => {
  expect(isOfARow(refusal())).toBe(true)
  expect(isOfARow(new StoreUnavailableError('gone'))).toBe(false)
})
