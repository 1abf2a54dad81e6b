import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { Plan, PlannedSkip } from '../../src/model/planning.ts'
import { Pace } from '../../src/scheduler/pace.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => void vi.useRealTimers())

const planWith = (...skips: readonly PlannedSkip['reason'][]): Plan => ({
  runs: [],
  skips: skips.map((reason) => ({ slot: new Date(0), reason, count: 3, error: null })),
  replaces: false,
  yields: false,
  frozenUntil: null,
  nextRunAt: null,
  isByHand: false,
  idle: null,
  lastSlot: null,
  lastError: null,
})
const MISSED = planWith('missed')

function submit(pace: Pace, id: string, plan: Plan, times = 1): void {
  for (let time = 0; time < times; time += 1) pace.submitted({ id, plan })
}

it('a schedule that misses slots in five consecutive submissions cannot keep up', () => {
  const pace = new Pace()
  submit(pace, 'a', MISSED, 4)
  submit(pace, 'b', planWith('overlap', 'missed'), 5)
  submit(pace, 'c', planWith('overlap'), 9)
  expect(pace.behind()).toEqual(['b'])
  submit(pace, 'a', MISSED)
  expect(pace.behind()).toEqual(['b', 'a'])
})

it('a schedule keeps up again after a submission without missed slots, or after a minute without submissions', () => {
  const pace = new Pace()
  submit(pace, 'a', MISSED, 7)
  submit(pace, 'b', MISSED, 7)
  submit(pace, 'a', planWith())
  expect(pace.behind()).toEqual(['b'])
  submit(pace, 'a', MISSED)
  expect(pace.behind()).toEqual(['b'])
  vi.advanceTimersByTime(60_001)
  expect(pace.behind()).toEqual([])
})

it('only the last thousand schedules that missed slots are remembered', () => {
  const pace = new Pace()
  for (const id of ['x', 'y']) submit(pace, id, MISSED, 5)
  for (let index = 0; index < 999; index += 1) submit(pace, `${index}`, MISSED)
  expect(pace.behind()).toEqual(['y'])
})
