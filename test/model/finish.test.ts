import { describe, expect, test } from 'vitest'
import type { Plannable } from '../../src/model/planning.ts'
import { finish, spanOfTimer } from '../../src/model/settle.ts'
import { schedule } from './plannable.ts'

const NOW = new Date('2026-03-01T09:07Z')

/** A running schedule whose next run counts from the end of the current run. */
const afterFinish = schedule({ timer: 'every 5min after finish', idle: 'awaiting-finish' })
/** A schedule with a fixed next run. */
const hourly = schedule({ timer: 'hourly', nextRunAt: new Date('2026-03-01T10:00Z') })

describe('after a run ends', () => {
  test('a timer that counts from the finish is planned from now', () => {
    expect(finish(afterFinish, false, 0, NOW)).toEqual({
      nextRunAt: new Date('2026-03-01T09:12Z'),
      idle: null,
    })
  })

  test('the timer also counts from the end of a failed run', () => {
    expect(finish(afterFinish, true, 0, NOW)).toEqual({
      nextRunAt: new Date('2026-03-01T09:12Z'),
      idle: null,
    })
  })

  test('the schedule waits for the last of its unfinished jobs', () => {
    expect(finish(afterFinish, false, 1, NOW)).toBeNull()
  })

  test('the schedule is done if its next run would be after `ends`', () => {
    const ending = { ...afterFinish, ends: new Date('2026-03-01T09:11Z') }
    expect(finish(ending, false, 0, NOW)).toEqual({ nextRunAt: null, idle: 'done' })
  })

  test('a calendar timer continues as planned', () => {
    expect(finish(hourly, false, 0, NOW)).toBeNull()
    expect(finish(hourly, true, 0, NOW)).toBeNull()
  })
})

describe('on_exhausted stop', () => {
  const stopping = { ...hourly, onExhausted: 'stop' as const }

  test('makes the schedule dead only after a run that failed permanently [R2]', () => {
    expect(finish(stopping, true, 0, NOW)).toEqual({ nextRunAt: null, idle: 'dead' })
    expect(finish(stopping, false, 0, NOW)).toBeNull()
  })

  test('makes the schedule dead even while it has other open jobs', () => {
    expect(finish(stopping, true, 2, NOW)).toEqual({ nextRunAt: null, idle: 'dead' })
  })

  test('makes the schedule dead even after its last slot, and even if max_runs is reached', () => {
    const done = { ...stopping, idle: 'done' as const, nextRunAt: null, plannedRun: null }
    expect(finish(done, true, 0, NOW)).toEqual({ nextRunAt: null, idle: 'dead' })
    expect(finish({ ...stopping, maxRuns: 1, successes: 1 }, true, 0, NOW)).toEqual({
      nextRunAt: null,
      idle: 'dead',
    })
  })
})

describe('max_runs', () => {
  test('marks the schedule as done when the limit is reached, even if jobs are open', () => {
    expect(finish({ ...hourly, maxRuns: 3, successes: 3 }, false, 1, NOW)).toEqual({
      nextRunAt: null,
      idle: 'done',
    })
    expect(finish({ ...afterFinish, maxRuns: 1, successes: 1 }, false, 0, NOW)).toEqual({
      nextRunAt: null,
      idle: 'done',
    })
  })

  test('lets the schedule continue until the limit is reached', () => {
    expect(finish({ ...hourly, maxRuns: 3, successes: 2 }, false, 0, NOW)).toBeNull()
    expect(finish({ ...afterFinish, maxRuns: 2, successes: 1 }, false, 0, NOW)).toMatchObject({ idle: null })
  })
})

describe('the end of a run does not change a schedule that', () => {
  const failing = { ...afterFinish, onExhausted: 'stop' as const, maxRuns: 1, successes: 1 }
  test.each<[string, Partial<Plannable>]>([
    ['is paused', { enabled: false }],
    ['is dead', { idle: 'dead' }],
    ['has an invalid timer', { idle: 'invalid', timer: 'hurly' }],
    ['is retired', { idle: 'retired' }],
    ['was edited, and has not been planned since', { definition: 'enabled every 7min after finish' }],
    ['has a nextrun set manually', { nextRunAt: new Date('2026-03-01T12:00Z') }],
    ['was never planned', { plannedDefinition: null }],
  ])('%s', (_, changes) => {
    expect(finish({ ...failing, ...changes }, true, 0, NOW)).toBeNull()
  })

  test('is already done', () => {
    const done = { ...hourly, idle: 'done' as const, nextRunAt: null, plannedRun: null }
    expect(finish(done, true, 0, NOW)).toBeNull()
    expect(finish({ ...done, maxRuns: 1, successes: 1 }, false, 0, NOW)).toBeNull()
  })
})

describe('the span of a timer, which is the default delay before the first retry', () => {
  test.each([
    ['every 5min', 300_000],
    ['every 5min after finish', 300_000],
    ['hourly', null],
    ['hurly', null],
  ])('the span of %s is %s ms', (text, spanMs) => {
    expect(spanOfTimer(text)).toBe(spanMs)
  })
})
