/** Future slots are reported unless the timer explains them. */
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { plannedInFuture, slotInFuture } from '../../src/model/future-slots.ts'
import { plan } from '../../src/model/plan.ts'
import type { Plannable } from '../../src/model/planning.ts'
import { applied, at, inserted, schedule } from './plannable.ts'
import { runs } from '../support/runs.ts'

const NOW = new Date('2026-03-01T09:30Z')
const HOUR = 3_600_000

describe('a slot in the future is reported', () => {
  test.each<[string, Partial<Plannable> & { timer: string }, string]>([
    [
      'a last slot, and the next run after it',
      { timer: 'hourly', lastSlot: new Date('2098-01-01T01:00Z'), nextRunAt: new Date('2098-01-01T02:00Z') },
      '2098-01-01T02:00Z',
    ],
    [
      'a last slot that is more than a minute ahead',
      { timer: 'daily', lastSlot: new Date('2026-03-01T09:31:00.001Z'), nextRunAt: new Date('2026-03-02') },
      '2026-03-01T09:31:00.001Z',
    ],
    ['only a next run', { timer: 'hourly', nextRunAt: new Date('2026-03-01T11:00Z') }, '2026-03-01T11:00Z'],
    [
      'a next run after a finish',
      { timer: 'every 5min after finish', nextRunAt: new Date('2026-03-01T09:36:00.001Z') },
      '2026-03-01T09:36:00.001Z',
    ],
    [
      'the last slot of a schedule that is done but has runs left',
      {
        timer: 'hourly',
        idle: 'done',
        maxRuns: 2,
        successes: 1,
        ends: new Date('2026-03-02'),
        lastSlot: new Date('2098-01-01'),
      },
      '2098-01-01T00:00Z',
    ],
    [
      'a next run of a yearly timer',
      { timer: 'yearly', nextRunAt: new Date('2028-01-01') },
      '2028-01-01T00:00Z',
    ],
    [
      'the first run of an `every` timer whose schedule was created in the future',
      {
        timer: 'every 1h',
        createdAt: new Date('2098-01-01T00:10Z'),
        nextRunAt: new Date('2098-01-01T01:10Z'),
      },
      '2098-01-01T01:10Z',
    ],
    [
      'a next run with jitter',
      { timer: 'hourly', jitter: HOUR, nextRunAt: new Date('2026-03-01T12:30Z') },
      '2026-03-01T12:30Z',
    ],
  ])('%s', (_, given, expected) => {
    expect(plannedInFuture(schedule(given), NOW)).toEqual(new Date(expected))
  })
})

describe('nothing is reported for', () => {
  test.each<[string, Partial<Plannable> & { timer: string }]>([
    [
      'a timer that starts later',
      { timer: 'hourly', starts: new Date('2098-01-01'), nextRunAt: new Date('2098-01-01') },
    ],
    ['a new schedule', { timer: 'hourly' }],
    ['a yearly timer', { timer: 'yearly', nextRunAt: new Date('2027-01-01') }],
    [
      'an `after finish` timer whose run finished while the clock was a minute ahead',
      { timer: 'every 5min after finish', nextRunAt: new Date('2026-03-01T09:36Z') },
    ],
    [
      'an `after finish` timer whose end time has passed',
      {
        timer: 'every 5min after finish',
        ends: new Date('2026-03-01T09:00Z'),
        nextRunAt: new Date('2098-01-01'),
      },
    ],
    ['a schedule that is done before its first run', { timer: '2020-01-01', idle: 'done' }],
    [
      'a schedule that is done after its maximum number of runs',
      { timer: 'hourly', idle: 'done', maxRuns: 2, successes: 2, lastSlot: new Date('2098-01-01') },
    ],
    [
      'a schedule that is done and whose timer is invalid',
      { timer: 'sometimes', idle: 'done', lastSlot: new Date('2098-01-01') },
    ],
    ['a one-off', { timer: '2098-01-01', nextRunAt: new Date('2098-01-01') }],
    [
      'an `after finish` timer with a start time',
      { timer: 'every 1h after finish', starts: new Date('2098-01-01'), nextRunAt: new Date('2098-01-01') },
    ],
    [
      'a clock that was set back by a minute',
      { timer: '*:0/1', nextRunAt: new Date('2026-03-01T09:31Z'), lastSlot: new Date('2026-03-01T09:31Z') },
    ],
    [
      'a nextrun that was just set manually',
      { timer: 'hourly', nextRunAt: new Date('2098-01-01'), plannedRun: null },
    ],
    [
      'a nextrun that was set manually and kept',
      { timer: 'hourly', nextRunAt: new Date('2098-01-01'), isByHand: true },
    ],
    ['an invalid timer', { timer: 'sometimes', nextRunAt: new Date('2098-01-01') }],
    // 02:30 occurs twice that night; the timer elapses only the first time.
    [
      'the repeated hour of a clock change',
      { timer: '02:30 Europe/Berlin', nextRunAt: new Date('2024-10-28T01:30Z') },
    ],
  ])('%s', (_, given) => {
    for (const now of given.timer.startsWith('02:30')
      ? ['2024-10-27T00:45Z', '2024-10-27T01:10Z', '2024-10-27T01:40Z']
      : [NOW])
      expect(plannedInFuture(schedule(given), new Date(now))).toBeNull()
  })
})

const TIMERS = [
  'minutely',
  '*:0/15:0,30 America/Sao_Paulo',
  'hourly Europe/Berlin',
  '02:30 Europe/Berlin',
  '00:00 America/Sao_Paulo',
  '*-*~1 02:15 Europe/Berlin',
  'cron 0,30 1-3 * * 1-5 Europe/Berlin',
  'every 7min',
  'every 13h',
  'yearly',
]
const instant = fc
  .tuple(
    fc.constantFrom('2024-10-27T00:00Z', '2024-03-31T00:00Z', '2018-02-18T01:00Z', '2018-11-04T02:00Z'),
    fc.integer({ min: -3 * HOUR, max: 3 * HOUR }),
  )
  .map(([change, offset]) => new Date(Date.parse(change) + offset))
const planned = fc
  .record({
    timer: fc.constantFrom(...TIMERS),
    jitter: fc.constantFrom(0, 0, 5 * 60_000),
    starts: fc.option(instant),
    lastSlot: fc.constant(null),
    created: instant,
    now: instant,
  })
  .filter(({ created, now }) => created <= now)
  .map(({ now, ...given }) => {
    const row = inserted(given)
    const first = plan(row, at(now))
    if (first === null) throw new Error('expected a plan')
    return { row: applied(row, first), now }
  })

describe('for any timer', () => {
  test('a planned row is never reported while the clock runs normally or is set back by up to a minute [S14]', () => {
    fc.assert(
      fc.property(planned, fc.integer({ min: -60_000, max: 4 * HOUR }), ({ row, now }, passed) => {
        const later = new Date(now.getTime() + passed)
        const next = passed < 0 ? null : plan(row, at(later))
        expect(plannedInFuture(next === null ? row : applied(row, next), later)).toBeNull()
      }),
      runs(2000),
    )
  })

  test('a row planned while the clock was a year ahead is reported until it is planned again [S14]', () => {
    fc.assert(
      fc.property(planned, ({ row, now }) => {
        fc.pre(row.nextRunAt !== null && row.timer !== 'yearly')
        const before = new Date(now.getTime() - 366 * 24 * HOUR)
        const early = { ...row, starts: null }
        expect(slotInFuture(early, before)).toEqual(row.nextRunAt)
        const again = plan({ ...early, nextRunAt: null }, at(before))
        if (again === null) throw new Error('expected a plan')
        expect(plannedInFuture(applied(early, again), before)).toBeNull()
      }),
      runs(500),
    )
  })
})
