import { expect, test } from 'vitest'
import { jitterShiftMs } from '../../src/model/jitter.ts'

const shifts = Array.from({ length: 1000 }, (_, n) => jitterShiftMs(`schedule ${n}`, 60_000))

test('the shift of a schedule is always the same, even in other processes [T9]', () => {
  expect(jitterShiftMs('report', 60_000)).toBe(56093)
  expect(jitterShiftMs('report', 60_000)).toBe(jitterShiftMs('report', 60_000))
})

test('the shift is at least 0 and less than the jitter, or 0 without jitter', () => {
  expect(Math.min(...shifts)).toBeGreaterThanOrEqual(0)
  expect(Math.max(...shifts)).toBeLessThan(60_000)
  expect(jitterShiftMs('report', 1)).toBe(0)
  expect(jitterShiftMs('report', 0)).toBe(0)
})

test('a thousand schedules with the same timer are spread over the whole span of the jitter', () => {
  for (let from = 0; from < 60_000; from += 6000) {
    const share = shifts.filter((ms) => ms >= from && ms < from + 6000).length
    expect(share, `from ${from} ms`).toBeGreaterThan(60)
  }
})
