import { expect, it } from 'vitest'
import { byHalves } from '../../src/model/halves.ts'

const items = Array.from({ length: 512 }, (_, index) => index)

async function run(bad: readonly number[]) {
  let tries = 0
  const failed: number[] = []
  const results = await byHalves<number, readonly number[]>(
    items,
    async (some) => {
      tries += 1
      if (some.some((item) => bad.includes(item))) throw new Error('a bad row')
      return some
    },
    (item) => {
      failed.push(item)
      return []
    },
    () => true,
  )
  return { tries, failed, done: results.flat() }
}

it('items that all can be done are one try', async () => {
  expect(await run([])).toEqual({ tries: 1, failed: [], done: items })
})

it.each([0, 200, 511])('one bad item of 512, the one at %s, costs 2·log2(n) tries more', async (bad) => {
  expect(await run([bad])).toEqual({
    tries: 1 + 2 * 9,
    failed: [bad],
    done: items.filter((item) => item !== bad),
  })
})

it('several bad items cost the others nothing but tries', async () => {
  const bad = [3, 4, 300]
  const { failed, done } = await run(bad)
  expect(failed).toEqual(bad)
  expect(done).toEqual(items.filter((item) => !bad.includes(item)))
})

it('an error that is of no item ends the work at once', async () => {
  let tries = 0
  const away = new Error('the database is away')
  const work = byHalves(
    items,
    () => {
      tries += 1
      return Promise.reject(away)
    },
    () => expect.fail('no item is at fault'),
    () => false,
  )
  await expect(work).rejects.toBe(away)
  expect(tries).toBe(1)
})
