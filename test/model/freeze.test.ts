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

test('if several freezes apply, a slot is held until the last one ends', () => {
  const now = at('2026-03-01T09:00Z')
  const freezes = [time('08:00', '12:00'), time('08:30', '14:00'), time('09:00', '10:00')]
  expect(plan(hourly, { ...now, freezes })).toMatchObject({ frozenUntil: until('14:00') })
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
  test('slots during the freeze are skipped as frozen, and later slots are decided as usual', () => {
    const row = held(hourly, '12:00')
    expect(shown(plan(row, at('2026-03-01T12:00Z')))).toEqual({
      runs: ['2026-03-01 12:00'],
      skips: ['3 frozen to 2026-03-01 11:00'],
      next: '2026-03-01 13:00',
    })
    expect(shown(plan(row, at('2026-03-01T12:00:00.001Z')))).toMatchObject({ runs: ['2026-03-01 12:00'] })
  })

  test('a freeze is not downtime: its slots are not made up [R15]', () => {
    expect(shown(plan(held({ ...hourly, catchUp: 5 }, '11:30'), at('2026-03-01T11:30Z')))).toEqual({
      runs: [],
      skips: ['3 frozen to 2026-03-01 11:00'],
      next: '2026-03-01 12:00',
    })
  })

  test('slots during later downtime count as missed', () => {
    expect(shown(plan(held(hourly, '10:30'), at('2026-03-01T13:30Z')))).toEqual({
      runs: ['2026-03-01 13:00 after 2'],
      skips: ['2 frozen to 2026-03-01 10:00', '2 missed to 2026-03-01 12:00'],
      next: '2026-03-01 14:00',
    })
  })

  test('if a job is unfinished, later slots are skipped with their own reason', () => {
    const row = held(hourly, '10:30')
    expect(shown(plan(row, at('2026-03-01T11:00Z', { waiting: 1 })))).toMatchObject({
      runs: [],
      skips: ['2 frozen to 2026-03-01 10:00', '1 overlap to 2026-03-01 11:00'],
    })
  })

  test('a one-off runs late', () => {
    const once = schedule({ timer: '2026-03-01 09:00', nextRunAt: new Date('2026-03-01T09:00Z') })
    expect(shown(plan(held(once, '12:00'), at('2026-03-01T12:00Z')))).toEqual({
      runs: ['2026-03-01 09:00'],
      skips: [],
      next: 'done',
    })
  })

  test('the last slot of a timer is skipped if the timer has had earlier slots', () => {
    const ending = { ...hourly, ends: new Date('2026-03-01T09:30Z') }
    expect(shown(plan(held(ending, '12:00'), at('2026-03-01T12:00Z')))).toEqual({
      runs: [],
      skips: ['1 frozen to 2026-03-01 09:00'],
      next: 'done',
    })
  })

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

  test('another freeze continues to hold the schedule, and the slots during both freezes become one skip', () => {
    const row = held(hourly, '10:30')
    const again = plan(row, frozen('10:30', '12:00'))
    expect(again).toMatchObject({ runs: [], skips: [], frozenUntil: until('12:00') })
    if (again === null) throw new Error('expected a plan')
    const next = { ...row, ...applied(row, again) }
    expect(shown(plan(next, at('2026-03-01T12:30Z')))).toMatchObject({
      skips: ['3 frozen to 2026-03-01 11:00'],
      runs: ['2026-03-01 12:00'],
    })
  })

  test('many slots are counted', () => {
    const often = schedule({ timer: 'minutely', nextRunAt: new Date('2026-03-01T09:00Z') })
    expect(shown(plan(held(often, '12:00'), at('2026-03-01T12:00Z')))).toMatchObject({
      skips: ['180 frozen to 2026-03-01 11:59'],
      runs: ['2026-03-01 12:00'],
    })
  })
})

describe('without a worker during the freeze', () => {
  const after = (now: string, ...freezes: ReturnType<typeof time>[]) => ({
    ...at(`2026-03-01T${now}Z`),
    freezes,
  })

  test('slots during the freeze are skipped and not made up later', () => {
    expect(shown(plan({ ...hourly, catchUp: 10 }, after('12:10', time('08:30', '11:30'))))).toEqual({
      runs: ['2026-03-01 12:00'],
      skips: ['3 frozen to 2026-03-01 11:00'],
      next: '2026-03-01 13:00',
    })
    expect(shown(plan(hourly, after('11:40', time('08:30', '11:30'))))).toEqual({
      runs: [],
      skips: ['3 frozen to 2026-03-01 11:00'],
      next: '2026-03-01 12:00',
    })
  })

  test('the newest slot that was missed before the freeze is made up', () => {
    expect(shown(plan(hourly, after('13:40', time('10:30', '13:30'))))).toEqual({
      runs: ['2026-03-01 10:00 after 1'],
      skips: ['1 missed to 2026-03-01 09:00', '3 frozen to 2026-03-01 13:00'],
      next: '2026-03-01 14:00',
    })
  })

  test('catch_up counts the newest slots before and after the freeze together', () => {
    expect(shown(plan({ ...hourly, catchUp: 2 }, after('14:10', time('10:30', '13:30'))))).toEqual({
      runs: ['2026-03-01 10:00 after 1', '2026-03-01 14:00 blocked'],
      skips: ['1 missed to 2026-03-01 09:00', '3 frozen to 2026-03-01 13:00'],
      next: '2026-03-01 15:00',
    })
    expect(shown(plan(hourly, after('15:10', time('10:30', '13:30'))))).toEqual({
      runs: ['2026-03-01 15:00 after 3'],
      skips: ['2 missed to 2026-03-01 10:00', '3 frozen to 2026-03-01 13:00', '1 missed to 2026-03-01 14:00'],
      next: '2026-03-01 16:00',
    })
  })

  test('catch_up 0 makes up no slots', () => {
    const none = { ...hourly, catchUp: 0 }
    expect(shown(plan(none, after('13:40', time('10:30', '13:30'))))).toEqual({
      runs: [],
      skips: ['2 missed to 2026-03-01 10:00', '3 frozen to 2026-03-01 13:00'],
      next: '2026-03-01 14:00',
    })
    expect(shown(plan(none, after('14:00', time('10:30', '13:30'))))).toMatchObject({
      runs: ['2026-03-01 14:00 after 2'],
    })
  })

  test('several freezes can overlap', () => {
    const freezes = [time('10:30', '12:00'), time('08:30', '09:30'), time('11:30', '12:30')]
    expect(shown(plan({ ...hourly, catchUp: 10 }, after('13:10', ...freezes)))).toEqual({
      runs: ['2026-03-01 10:00', '2026-03-01 13:00 blocked'],
      skips: ['1 frozen to 2026-03-01 09:00', '1 frozen to 2026-03-01 11:00', '1 frozen to 2026-03-01 12:00'],
      next: '2026-03-01 14:00',
    })
  })

  test('a freeze that ends before the next run or begins after the current time has no effect', () => {
    for (const other of [time('07:00', '08:30'), time('23:00', '23:30')])
      expect(plan(hourly, after('09:10', other))).toEqual(plan(hourly, at('2026-03-01T09:10Z')))
  })

  test('a missed one-off still runs, even though it is late', () => {
    const once = schedule({ timer: '2026-03-01 09:00', nextRunAt: new Date('2026-03-01T09:00Z') })
    expect(shown(plan(once, after('12:00', time('10:00', '11:00'))))).toMatchObject({
      runs: ['2026-03-01 09:00'],
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
