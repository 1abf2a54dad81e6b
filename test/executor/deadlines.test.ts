import { beforeEach, expect, it, onTestFinished, vi } from 'vitest'
import { Deadlines } from '../../src/executor/deadlines.ts'

const DAY_MS = 86_400_000

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
})

/** The items whose deadlines were reached, and the times. */
function collecting() {
  const reached: [item: string, ms: number][] = []
  const began = performance.now()
  const deadlines = new Deadlines<string>((item) => reached.push([item, performance.now() - began]))
  return { deadlines, reached }
}

it('a thousand items share one timer, and each reaches its own deadline', () => {
  const { deadlines, reached } = collecting()
  // The deadlines are out of order, because 7 and 1000 have no common factor.
  const times = Array.from({ length: 1000 }, (_, index) => ((index * 7) % 1000) + 1)
  for (const ms of times) deadlines.set(`${ms}`, ms)
  expect(vi.getTimerCount()).toBe(1)
  vi.advanceTimersByTime(1000)
  expect(reached).toEqual(times.toSorted((one, other) => one - other).map((ms) => [`${ms}`, ms]))
  expect(vi.getTimerCount()).toBe(0)
})

it('the deadline of a deleted item is never reached, and without items there is no timer', () => {
  const { deadlines, reached } = collecting()
  deadlines.set('first', 10)
  deadlines.set('second', 20)
  deadlines.delete('first')
  vi.advanceTimersByTime(15)
  expect(reached).toEqual([])
  deadlines.delete('second')
  expect(vi.getTimerCount()).toBe(0)
  deadlines.set('third', 10)
  vi.advanceTimersByTime(100)
  expect(reached).toEqual([['third', 25]])
})

it('only the last deadline of an item counts, even if it is set when the previous one is reached', () => {
  const reached: number[] = []
  const began = performance.now()
  const deadlines = new Deadlines<string>((item) => {
    reached.push(performance.now() - began)
    if (reached.length < 3) deadlines.set(item, 5)
  })
  deadlines.set('later', 100)
  deadlines.set('item', 10)
  deadlines.set('item', 30)
  vi.advanceTimersByTime(50)
  expect(reached).toEqual([30, 35, 40])
  vi.advanceTimersByTime(50)
  expect(reached).toEqual([30, 35, 40, 100])
})

it.each([24.9, 100])('a deadline in %d days is not reached early', (days) => {
  const { deadlines, reached } = collecting()
  deadlines.set('far', days * DAY_MS)
  vi.advanceTimersByTime(days * DAY_MS - 1)
  expect(reached).toEqual([])
  vi.advanceTimersByTime(1)
  expect(reached).toEqual([['far', days * DAY_MS]])
})

it('deadlines that pass while the process is busy are reached together', () => {
  const { deadlines, reached } = collecting()
  for (const ms of [30, 10, 20, 5000]) deadlines.set(`${ms}`, ms)
  const later = performance.now() + 100
  vi.spyOn(performance, 'now').mockReturnValue(later)
  onTestFinished(() => void vi.restoreAllMocks())
  vi.advanceTimersByTime(10)
  expect(reached.map(([item]) => item)).toEqual(['30', '10', '20'])
})
