/** How many jobs a worker claims ahead, and what happens to those that do not start. */
import { beforeEach, expect, it, onTestFinished, vi } from 'vitest'
import { ClaimedAhead } from '../../src/executor/claimed-ahead.ts'
import { claimed } from './claimed.ts'

let given: string[] = []
let ahead = new ClaimedAhead(() => {})

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  given = []
  ahead = new ClaimedAhead(({ id }) => void given.push(id))
})

const jobs = (count: number, name = 'j') =>
  Array.from({ length: count }, (_, index) => claimed(`${name}${index}`))

/** Ends short runs, and begins the next period. */
function ran(count: number): void {
  for (let run = 0; run < count; run += 1) ahead.ended(1)
  vi.advanceTimersByTime(20)
}

it('as many jobs are wanted as short runs ended in this period or the previous one, whichever had more', () => {
  expect(ahead.wanted()).toBe(0)
  ran(10)
  expect(ahead.wanted()).toBe(10)
  ahead.ended(20)
  expect(ahead.wanted()).toBe(10)
  for (let run = 0; run < 12; run += 1) ahead.ended(19)
  expect(ahead.wanted()).toBe(12)
  vi.advanceTimersByTime(20)
  expect(ahead.wanted()).toBe(12)
  vi.advanceTimersByTime(20)
  expect(ahead.wanted()).toBe(0)
})

it('at most 500 jobs are wanted', () => {
  ran(501)
  expect(ahead.wanted()).toBe(500)
})

it('runs that ended two periods ago do not count', () => {
  ran(10)
  vi.advanceTimersByTime(20)
  expect(ahead.wanted()).toBe(0)
})

it('no more jobs are wanted while more than half of the maximum are waiting', () => {
  ran(10)
  ahead.add(jobs(5))
  expect(ahead.wanted()).toBe(5)
  ahead.add(jobs(1, 'k'))
  expect(ahead.wanted()).toBe(0)
  ahead.next()
  expect(ahead.wanted()).toBe(5)
})

it('no jobs are wanted for a second after a claim has left out jobs', () => {
  ahead.pause()
  vi.advanceTimersByTime(980)
  // The period ends exactly a second after the claim.
  ran(10)
  expect(ahead.wanted()).toBe(10)
  ahead.pause()
  ran(10)
  expect(ahead.wanted()).toBe(0)
})

it('jobs that have not started within 100 ms are given back, oldest first', () => {
  ahead.add(jobs(2))
  vi.advanceTimersByTime(60)
  ahead.add(jobs(1, 'k'))
  expect(ahead.next()?.id).toBe('j0')
  vi.advanceTimersByTime(39)
  expect(given).toEqual([])
  vi.advanceTimersByTime(1)
  expect(given).toEqual(['j1'])
  vi.advanceTimersByTime(60)
  expect(given).toEqual(['j1', 'k0'])
  expect(ahead.size).toBe(0)
  expect(vi.getTimerCount()).toBe(0)
})

it('one timer is enough', () => {
  ahead.add(jobs(2))
  ahead.add(jobs(1, 'k'))
  expect(vi.getTimerCount()).toBe(1)
  vi.advanceTimersToNextTimer()
  expect(given).toEqual(['j0', 'j1', 'k0'])
  expect(vi.getTimerCount()).toBe(0)
})
