import { expect, it } from 'vitest'
import { SetAside } from '../../src/model/set-aside.ts'

const ERROR = new Error('it cannot be written')

function scene(most = 10) {
  const clock = { now: 0 }
  const added: string[] = []
  const rows = new SetAside({
    firstMs: 100,
    longestMs: 500,
    most,
    now: () => clock.now,
    onAdded: (id, error) => {
      expect(error).toBe(ERROR)
      added.push(id)
    },
  })
  return { clock, added, rows }
}

it('a row is skipped for its back-off, which doubles up to the longest', () => {
  const { clock, added, rows } = scene()
  for (const backOff of [100, 200, 400, 500, 500]) {
    rows.add('a', ERROR)
    clock.now += backOff - 1
    expect([rows.has('a'), rows.ids()]).toEqual([true, ['a']])
    clock.now += 1
    expect([rows.has('a'), rows.ids()]).toEqual([false, []])
  }
  expect(added).toHaveLength(5)
})

it('a forgotten row starts with the shortest back-off', () => {
  const { clock, rows } = scene()
  rows.add('a', ERROR)
  rows.add('a', ERROR)
  rows.forget('a')
  expect(rows.has('a')).toBe(false)
  rows.add('a', ERROR)
  clock.now += 100
  expect(rows.has('a')).toBe(false)
})

it('beyond the limit, the row that has waited longest is forgotten', () => {
  const { rows } = scene(2)
  for (const id of ['a', 'b', 'a', 'c']) rows.add(id, ERROR)
  expect(rows.ids()).toEqual(['a', 'c'])
})

it('nobody needs to be told', () => {
  const rows = new SetAside({ firstMs: 100, longestMs: 500, most: 1, now: () => 0 })
  rows.add('a', ERROR)
  expect(rows.ids()).toEqual(['a'])
})
