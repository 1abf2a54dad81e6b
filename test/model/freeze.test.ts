import { describe, expect, test } from 'vitest'
import { isFrozenBy } from '../../src/model/freeze.ts'
import { plan } from '../../src/model/plan.ts'
import type { Plannable } from '../../src/model/planning.ts'
import { applied, at, edited, schedule, shown } from './plannable.ts'

const until = (text: string) => new Date(`2026-03-01T${text}Z`)
/** The state during a freeze that started at 08:30. */
const frozen = (now: string, end: string) => ({ ...at(`2026-03-01T${now}Z`), freezes: [time('08:30', end)] })
const time = (from: string, end: string) => ({ from: until(from), until: until(end) })
const hourly = schedule({
  timer: 'hourly',
  nextRunAt: new Date('2026-03-01T09:00Z'),
  lastSlot: new Date('2026-03-01T08:00Z'),
})
/** The row after a freeze that has held it since its next run was due. */
function held(row: Plannable, end: string): Plannable {
  const now = row.nextRunAt ?? new Date()
  const planned = plan(row, { ...at(now), freezes: [time('00:00', end)] })
  if (planned === null) throw new Error('expected a plan')
  return { ...row, ...applied(row, planned) }
}

describe('during a freeze', () => {
  test('a due slot is held: nothing is decided until the freeze ends', () => {
    expect(plan(hourly, frozen('09:00', '12:00'))).toEqual({
      runs: [],
      skips: [],
      replaces: false,
      yields: false,
      nextRunAt: hourly.nextRunAt,
      isByHand: false,
      idle: null,
      lastSlot: hourly.lastSlot,
      lastError: null,
      frozenUntil: until('12:00'),
    })
  })

  test('a schedule that is not due does not change, and an edit is planned as usual', () => {
    expect(plan(hourly, frozen('08:59:59.999', '12:00'))).toBeNull()
    const changed = edited(hourly, 'daily')
    expect(plan(changed, frozen('09:30', '12:00'))).toMatchObject({
      runs: [],
      nextRunAt: new Date('2026-03-02T00:00Z'),
      frozenUntil: null,
    })
  })

  test('a manual run also waits', () => {
    const byHand = { ...hourly, nextRunAt: new Date('2000-01-01T00:00Z') }
    const planned = plan(byHand, frozen('08:30', '12:00'))
    expect(planned).toMatchObject({
      runs: [],
      nextRunAt: until('08:30'),
      isByHand: true,
      frozenUntil: until('12:00'),
    })
  })
})

test('a slot at the end of a freeze is not frozen, and one at its start is', () => {
  const slots = { ...at('2026-03-01T11:10Z'), freezes: [time('09:00', '11:00')] }
  expect(shown(plan(hourly, slots))).toMatchObject({
    runs: ['2026-03-01 11:00'],
    skips: ['2 frozen to 2026-03-01 10:00'],
  })
})

describe('after a manual run during a freeze', () => {
  const passed = (freeze: [string, string], nextRun: string, lastSlot: string, now: string) =>
    shown(
      plan(
        { ...hourly, overlap: 'allow', nextRunAt: until(nextRun), lastSlot: until(lastSlot) },
        { ...at(`2026-03-01T${now}Z`), freezes: [time(...freeze)] },
      ),
    )

  test('if all slots became due during the freeze, none is made up', () => {
    expect(passed(['08:30', '12:15'], '09:00', '10:30', '12:15')).toMatchObject({
      runs: [],
      skips: ['2 frozen to 2026-03-01 12:00'],
      next: '2026-03-01 13:00',
    })
    expect(passed(['08:30', '09:45'], '09:00', '09:30', '09:45')).toMatchObject({
      runs: [],
      skips: [],
      next: '2026-03-01 10:00',
    })
  })

  test.each([
    ['a one-off', '2026-03-01 09:00'],
    ['a timer that counts from the end of a run', 'every 1h after finish'],
  ])('%s still runs', (_, timer) => {
    const row = schedule({ timer, nextRunAt: until('09:00'), lastSlot: until('10:30') })
    const circumstances = { ...at('2026-03-01T12:15Z'), freezes: [time('08:30', '12:00')] }
    expect(shown(plan(row, circumstances))).toMatchObject({ runs: ['2026-03-01 12:15'] })
  })

  test.each([
    ['before', ['09:30', '12:15'], ['09:00', '10:30', '12:15']],
    ['after', ['08:30', '09:45'], ['09:00', '12:30', '12:40']],
  ] as const)(
    'slots that were missed %s the freeze are made up by one run',
    (_, [from, end], [nextRun, lastSlot, now]) => {
      expect(passed([from, end], nextRun, lastSlot, now)).toMatchObject({ runs: [expect.any(String)] })
    },
  )
})

describe('when a freeze has ended', () => {
  test('a manual run starts, and the timer continues from now', () => {
    const byHand = { ...hourly, nextRunAt: new Date('2026-03-01T08:30Z') }
    expect(shown(plan(held(byHand, '12:15'), at('2026-03-01T12:15Z')))).toEqual({
      runs: ['2026-03-01 08:30'],
      skips: [],
      next: '2026-03-01 13:00',
    })
  })

  test('a timer that counts from the end of a run continues after its span', () => {
    const after = schedule({
      timer: 'every 1h after finish',
      nextRunAt: new Date('2026-03-01T09:00Z'),
      lastSlot: new Date('2026-03-01T08:00Z'),
    })
    expect(shown(plan(held(after, '12:00'), at('2026-03-01T12:00Z')))).toEqual({
      runs: [],
      skips: ['1 frozen to 2026-03-01 09:00'],
      next: '2026-03-01 13:00',
    })
  })
})

test.each([
  [{}, true],
  [{ scheduleId: 's' }, true],
  [{ scheduleId: 't' }, false],
  [{ task: 'mail', group: 'a' }, true],
  [{ task: 'mail', group: 'b' }, false],
  [{ task: 'other' }, false],
])('a freeze of %o applies: %s', (of, applies) => {
  const freeze = { scheduleId: null, task: null, group: null }
  const to = { scheduleId: 's', task: 'mail', group: 'a' }
  expect(isFrozenBy({ ...freeze, ...of }, to)).toBe(applies)
})
