import { afterEach, describe, expect, test, vi } from 'vitest'
import { CalendarEvent } from '../../src/calendar/index.ts'
import { plan, planEdit, planUnsubmittable, withRuns } from '../../src/model/plan.ts'
import { NO_OPEN_JOBS } from '../../src/model/planning.ts'
import { applied, at, edited, inserted, schedule, shown } from './plannable.ts'

afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

const hourly = schedule({
  timer: 'hourly',
  nextRunAt: new Date('2026-03-01T09:00Z'),
  lastSlot: new Date('2026-03-01T08:00Z'),
})

describe('a schedule that is due', () => {
  test('a schedule is due at its exact millisecond, not a millisecond earlier [S1, L5]', () => {
    expect(shown(plan(hourly, at('2026-03-01T08:59:59.999Z')))).toBe('not due')
    expect(shown(plan(hourly, at('2026-03-01T09:00:00.000Z')))).toMatchObject({ runs: ['2026-03-01 09:00'] })
  })

  test('planning uses the given clock, never the clock of this machine [L22]', () => {
    vi.useFakeTimers({ now: new Date('2031-07-31T23:59Z') })
    const monthly = schedule({ timer: 'monthly', nextRunAt: new Date('2026-03-01T00:00Z') })
    expect(shown(plan(monthly, at('2026-03-01T00:00:01Z')))).toMatchObject({
      runs: ['2026-03-01 00:00'],
      next: '2026-04-01 00:00',
    })
  })

  test('a slot is never used twice, even if nextrun is not later than the last slot [L8]', () => {
    const back = schedule({ ...hourly, lastSlot: new Date('2026-03-01T09:01Z') })
    const planned = plan(back, at('2026-03-01T09:00Z'))
    expect(planned?.runs.map(({ slot }) => slot.toISOString())).toEqual(['2026-03-01T09:01:00.001Z'])
    expect(planned?.nextRunAt).toEqual(new Date('2026-03-01T10:00Z'))
    const same = schedule({ ...hourly, lastSlot: hourly.nextRunAt })
    expect(plan(same, at('2026-03-01T09:00Z'))?.runs).toMatchObject([
      { slot: new Date('2026-03-01T09:00:00.001Z') },
    ])
  })
})

describe('missed slots', () => {
  test('a slot counts as missed only when it is late by more than the lease plus the poll interval', () => {
    const never = { ...hourly, catchUp: 0 }
    expect(shown(plan(never, at('2026-03-01T09:01:01.000Z')))).toMatchObject({ runs: ['2026-03-01 09:00'] })
    expect(shown(plan(never, at('2026-03-01T09:01:01.001Z')))).toMatchObject({
      runs: [],
      skips: ['1 missed to 2026-03-01 09:00'],
    })
  })

  test('slots that are missed only because they are more frequent than polls are not attributed to downtime', () => {
    const wasAway = (now: string) => plan(hourly, at(now))?.skips[0]?.wasAway
    expect(wasAway('2026-03-01T10:01:01Z')).toBe(true)
    const sinceNine = { ...at('2026-03-01T10:00Z'), missedAfterMs: 3_600_000 }
    expect(plan(hourly, sinceNine)?.skips[0]?.wasAway).toBe(false)
    const everySecond = schedule({ timer: '*:*:*', nextRunAt: new Date('2026-03-01T09:00Z') })
    expect(plan(everySecond, at('2026-03-01T09:00:02Z'))?.skips).toMatchObject([{ count: 2, wasAway: false }])
    expect(plan(everySecond, at('2026-03-01T09:02:02Z'))?.skips).toMatchObject([{ wasAway: true }])
  })

  test('after a weekend of downtime, the missed slots do not all run [L10]', () => {
    const minutely = schedule({ timer: 'minutely', nextRunAt: new Date('2026-02-27T18:00Z') })
    const planned = plan(minutely, at('2026-03-02T08:00Z'))
    expect(planned?.runs).toHaveLength(1)
    expect(planned?.skips[0]?.count).toBe(62 * 60)
  })

  test('a one-off whose time passes between its creation and its first planning still runs, unless it is done or edited', () => {
    const once = inserted({ timer: '2026-03-01 09:00', createdAt: new Date('2026-03-01T08:59:55Z') })
    const now = at('2026-03-01T09:00:20Z')
    const first = plan(once, now)
    expect(shown(first)).toMatchObject({ runs: [], next: '2026-03-01 09:00' })
    if (first === null) throw new Error('expected a plan')
    expect(shown(plan(applied(once, first), now))).toMatchObject({ runs: ['2026-03-01 09:00'], next: 'done' })
    for (const other of [
      { ...once, createdAt: new Date('2026-03-01T09:00:05Z') },
      { ...once, plannedDefinition: 'enabled 2026-03-02 09:00' },
      { ...once, lastSlot: new Date('2026-03-01T09:00Z') },
      {
        ...once,
        timer: 'minutely',
        ends: new Date('2026-03-01T09:00:10Z'),
        createdAt: new Date('2026-02-01'),
      },
    ])
      expect(shown(plan(other, now))).toMatchObject({ runs: [], next: 'done' })
  })

  test('long downtime is cheap for an every-second timer, because counting stops at 10,000', () => {
    const everySecond = schedule({ timer: '*:*:*', nextRunAt: new Date('2016-01-01T00:00Z') })
    const next = vi.spyOn(CalendarEvent.prototype, 'next')
    const previous = vi.spyOn(CalendarEvent.prototype, 'previous')
    const planned = plan(everySecond, at('2026-03-01T00:00:00.500Z'))
    expect(shown(planned)).toEqual({
      runs: ['2026-03-01 00:00 after 10000'],
      skips: ['10000 missed to 2026-02-28 23:59:59'],
      next: '2026-03-01 00:00:01',
    })
    expect(next.mock.calls.length).toBeLessThan(10_020)
    expect(previous.mock.calls.length).toBeLessThan(20)
  })
})

describe('yields', () => {
  const row = { ...hourly, yields: true }
  const retrying = { waiting: 1, retrying: 1 }

  test.each(['skip', 'queue-one'] as const)('with %s, a waiting retry yields', (overlap) => {
    const planned = plan({ ...row, overlap }, at('2026-03-01T09:00Z', retrying))
    expect(planned).toMatchObject({
      runs: [{ state: 'waiting', missed: 0 }],
      skips: [],
      yields: true,
      replaces: false,
    })
  })

  test.each([
    ['without `yields`', { ...row, yields: false }, retrying],
    ['a running job', row, { running: 1 }],
    ['a job that waits for its first attempt', row, { waiting: 1 }],
    ['a retry and a running job', row, { ...retrying, running: 1 }],
    ['a retry and another waiting job', row, { waiting: 2, retrying: 1 }],
    ['a blocked job with no job ahead of it', row, { blocked: 1 }],
  ])('%s: nothing yields', (_, schedule, open) => {
    expect(plan(schedule, at('2026-03-01T09:00Z', open))).toMatchObject({ runs: [], yields: false })
  })

  test('without open jobs, nothing yields', () => {
    expect(plan(row, at('2026-03-01T09:00Z'))).toMatchObject({ runs: [{ state: 'waiting' }], yields: false })
  })

  test.each(['replace', 'allow'] as const)('`yields` has no effect with %s', (overlap) => {
    const circumstances = at('2026-03-01T09:00Z', retrying)
    expect(plan({ ...row, overlap }, circumstances)).toEqual(plan({ ...hourly, overlap }, circumstances))
  })

  test('a retry yields to a job that is blocked behind it', () => {
    const open = { ...retrying, blocked: 1 }
    const queued = plan({ ...row, overlap: 'queue-one' }, at('2026-03-01T09:00Z', open))
    expect(queued).toMatchObject({ runs: [{ state: 'blocked' }], skips: [], yields: true })
    const skipped = plan(row, at('2026-03-01T09:00Z', open))
    expect(skipped).toMatchObject({ runs: [], skips: [{ reason: 'overlap' }], yields: true })
  })

  test('nothing yields to a slot that is skipped because of max_runs or cannot be submitted', () => {
    const used = { ...row, maxRuns: 1, successes: 1 }
    expect(plan(used, at('2026-03-01T09:00Z', retrying))).toMatchObject({ runs: [], yields: false })
    const planned = plan(row, at('2026-03-01T09:00Z', retrying))
    if (planned === null) throw new Error('expected a plan')
    expect(planUnsubmittable(planned, 'no')).toMatchObject({ runs: [], yields: false })
  })
})

describe('overlap replace, when the new job cannot be written', () => {
  const planned = plan({ ...hourly, overlap: 'replace' }, at('2026-03-01T09:00Z', { running: 1 }))
  if (planned === null) throw new Error('expected a plan')

  test('if the reason is permanent, the running job is not asked to stop', () => {
    expect(planned.replaces).toBe(true)
    expect(planUnsubmittable(planned, 'Check constraint is violated')).toMatchObject({
      runs: [],
      replaces: false,
    })
  })

  test('if the slot already has a job, the running job is not asked to stop', () => {
    expect(withRuns(planned, [])).toMatchObject({ runs: [], replaces: false })
  })
})

describe('max_runs', () => {
  const row = { ...hourly, maxRuns: 3, overlap: 'allow' as const }

  test('marks the schedule as done when the limit is reached, even with a manual nextrun; when the limit is raised, the schedule continues from now', () => {
    const done = { ...row, successes: 3, idle: 'done' as const, nextRunAt: null, plannedRun: null }
    expect(plan(done, at('2026-03-01T09:00Z'))).toBeNull()
    expect(
      shown(plan({ ...done, nextRunAt: new Date('2026-03-01T00:00Z') }, at('2026-03-01T09:30Z'))),
    ).toEqual({
      runs: [],
      skips: ['1 max-runs to 2026-03-01 09:30'],
      next: 'done',
    })
    expect(
      shown(plan({ ...done, maxRuns: 4, definition: 'enabled hourly 4' }, at('2026-03-01T09:30Z'))),
    ).toEqual({ runs: [], skips: [], next: '2026-03-01 10:00' })
    expect(
      shown(plan({ ...done, jitter: 5, definition: 'enabled hourly 5' }, at('2026-03-01T09:30Z'))),
    ).toMatchObject({ next: 'done' })
  })
})

describe('every … after finish', () => {
  const row = schedule({ timer: 'every 5min after finish', nextRunAt: new Date('2026-03-01T09:00Z') })

  test('a slot counts as missed only if it is late by more than the lease plus the poll interval', () => {
    const never = { ...row, catchUp: 0 }
    for (const late of ['2026-03-01T09:00:00.001Z', '2026-03-01T09:01:01.000Z'])
      expect(shown(plan(never, at(late)))).toEqual({
        runs: ['2026-03-01 09:00'],
        skips: [],
        next: 'awaiting-finish',
      })
    expect(shown(plan(never, at('2026-03-01T09:01:01.001Z')))).toMatchObject({
      runs: [],
      skips: ['1 missed to 2026-03-01 09:00'],
    })
  })

  test('a timer that is edited while a job runs still counts from the end of the job', () => {
    const running = { ...row, idle: 'awaiting-finish' as const, nextRunAt: null, plannedRun: null }
    expect(shown(plan(edited(running, 'every 7min after finish'), at('2026-03-01T09:01Z', true)))).toEqual({
      runs: [],
      skips: [],
      next: 'awaiting-finish',
    })
    expect(shown(plan(edited(running, 'hourly'), at('2026-03-01T09:01Z', true)))).toMatchObject({
      next: '2026-03-01 10:00',
    })
    expect(shown(plan(edited(running, 'every 7min after finish'), at('2026-03-01T09:01Z')))).toMatchObject({
      next: '2026-03-01 09:08',
    })
  })

  test('with another running job, the timer waits for both', () => {
    const planned = plan({ ...row, overlap: 'allow' }, at('2026-03-01T09:00Z', { running: 1 }))
    expect(shown(planned)).toEqual({ runs: ['2026-03-01 09:00'], skips: [], next: 'awaiting-finish' })
  })

  test('without a run from this plan, the timer waits for the running job', () => {
    const planned = plan(row, at('2026-03-01T09:00Z', { running: 1 }))
    expect(planned).toMatchObject({ runs: [], idle: 'awaiting-finish' })
    expect(planned && withRuns(planned, [])).toEqual(planned)
  })

  test('with a run from this plan, the timer waits for the end of that run', () => {
    const planned = plan({ ...row, catchUp: 3 }, at('2026-03-01T09:00Z'))
    expect(planned && withRuns(planned, planned.runs)).toEqual(planned)
  })

  test('if the job cannot be written, the schedule does not wait for it to end', () => {
    const planned = plan(row, at('2026-03-01T09:00Z'))
    if (planned === null) throw new Error('expected a plan')
    const unsubmittable = planUnsubmittable(planned, 'why')
    expect(unsubmittable).toMatchObject({ runs: [], idle: null, nextRunAt: null })
    expect(shown(plan(applied(row, unsubmittable), at('2026-03-01T09:00Z')))).toMatchObject({
      next: '2026-03-01 09:05',
    })
  })
})

describe('edits', () => {
  test('a pause is not downtime [S7]', () => {
    const paused = { ...hourly, enabled: false, definition: 'disabled hourly' }
    const planned = plan(paused, at('2026-03-01T09:30Z'))
    expect(planned).toMatchObject({ runs: [], skips: [], nextRunAt: null, idle: null })
    if (planned === null) return
    const still = applied(paused, planned)
    expect(plan(still, at('2026-03-07'))).toBeNull()
    expect(
      shown(plan({ ...still, enabled: true, definition: 'enabled hourly' }, at('2026-03-08T09:30Z'))),
    ).toEqual({
      runs: [],
      skips: [],
      next: '2026-03-08 10:00',
    })
  })

  test('after the clock is set back, an edit never repeats a decided slot', () => {
    const ahead = { ...edited(hourly, '*:0/30'), lastSlot: new Date('2026-03-01T12:00Z') }
    expect(shown(plan(ahead, at('2026-03-01T09:10Z')))).toMatchObject({ runs: [], next: '2026-03-01 12:30' })
  })

  test('nextrun NULL means plan now, not never [L44]', () => {
    expect(shown(plan({ ...hourly, nextRunAt: null }, at('2026-03-01T09:30Z')))).toMatchObject({
      next: '2026-03-01 10:00',
    })
    expect(shown(plan(schedule({ timer: 'hourly' }), at('2026-03-01T09:30Z')))).toMatchObject({
      next: '2026-03-01 10:00',
    })
  })

  test('an edit clears idle [L6]', () => {
    const done = schedule({
      timer: '2026-03-01 09:00',
      idle: 'done',
      lastSlot: new Date('2026-03-01T09:00Z'),
    })
    expect(plan(done, at('2026-03-02'))).toBeNull()
    expect(plan(edited(done, 'daily'), at('2026-03-02T09:00Z'))).toMatchObject({
      idle: null,
      nextRunAt: new Date('2026-03-03'),
    })
  })
})

describe('after the clock was ahead', () => {
  const ahead = schedule({
    timer: 'hourly',
    nextRunAt: new Date('2098-01-01T02:00Z'),
    lastSlot: new Date('2098-01-01T01:00Z'),
  })
  const now = '2026-03-01T09:30Z'

  test('a schedule continues from now when it is resumed or nextrun is NULL', () => {
    const continued = { runs: [], skips: [], next: '2026-03-01 10:00' }
    const planned = plan({ ...ahead, nextRunAt: null }, at(now))
    expect(shown(planned)).toEqual(continued)
    expect(planned?.lastSlot).toEqual(new Date('2026-03-01T09:00Z'))

    const paused = { ...ahead, enabled: false, definition: 'disabled hourly' }
    const pausing = plan(paused, at(now))
    if (pausing === null) throw new Error('expected a plan')
    const resumed = { ...applied(paused, pausing), enabled: true, definition: 'enabled hourly' }
    expect(plan(resumed, at(now))).toEqual(planned)
  })

  test('a manually set nextrun is used, and the timer continues from there', () => {
    expect(shown(plan({ ...ahead, nextRunAt: new Date('2000-01-01') }, at(now)))).toEqual({
      runs: ['2026-03-01 09:30'],
      skips: [],
      next: '2026-03-01 10:00',
    })
    const tomorrow = { ...ahead, nextRunAt: new Date('2026-03-02T09:30Z') }
    const planned = plan(tomorrow, at(now))
    if (planned === null) throw new Error('expected a plan')
    expect(shown(plan(applied(tomorrow, planned), at('2026-03-02T09:30Z')))).toEqual({
      runs: ['2026-03-02 09:30'],
      skips: [],
      next: '2026-03-02 10:00',
    })
  })

  test('the last slot never becomes NULL: it becomes the current time if the timer has no earlier slot', () => {
    for (const timer of ['2026-03-05 09:00', 'every 5min after finish', 'every 36500d'])
      expect(plan(edited({ ...ahead, nextRunAt: null }, timer), at(now))?.lastSlot).toEqual(new Date(now))
    const starting = { ...ahead, nextRunAt: null, starts: new Date('2026-04-01') }
    expect(plan(starting, at(now))).toMatchObject({ lastSlot: new Date(now), nextRunAt: starting.starts })
  })

  test('setting the clock back by up to a minute repeats no slot', () => {
    const lastSlot = new Date('2026-03-01T10:00Z')
    for (const [now, next] of [
      ['2026-03-01T09:59Z', '2026-03-01 11:00'],
      ['2026-03-01T09:58:59.999Z', '2026-03-01 10:00'],
    ] as const)
      expect(shown(plan({ ...hourly, lastSlot, nextRunAt: null }, at(now)))).toMatchObject({ next })
  })

  test('due and later slots run, even if a manual run got its slot while the clock was ahead', () => {
    const byHand = schedule({ ...hourly, lastSlot: new Date('2026-03-04T09:17Z') })
    const planned = plan(byHand, at('2026-03-01T09:00:00.300Z'))
    expect(shown(planned)).toEqual({ runs: ['2026-03-01 09:00'], skips: [], next: '2026-03-01 10:00' })
    expect(planned?.lastSlot).toEqual(new Date('2026-03-01T09:00Z'))
  })

  test('a schedule created while the clock was ahead loses no slot of its `every` timer near its creation time', () => {
    for (const [span, between] of [
      ['10s', 10_000],
      ['1h', 3_600_000],
      ['7h', 25_200_000],
    ] as const) {
      const created = new Date('2026-03-02T00:10Z')
      let row = inserted({ timer: `every ${span}`, createdAt: created })
      let previous = 0
      for (let now = new Date('2026-03-01T23:59:59Z'); now.getTime() - created.getTime() < 3 * between; ) {
        const planned = plan(row, at(now))
        if (planned === null) throw new Error('expected a plan')
        for (const { slot } of planned.runs) {
          if (previous > 0) expect(slot.getTime() - previous).toBe(between)
          previous = slot.getTime()
        }
        row = applied(row, planned)
        now = row.nextRunAt ?? now
      }
      expect(previous).toBeGreaterThan(created.getTime())
    }
  })

  test('a manual nextrun does not move the first slot of an `every` timer', () => {
    const createdAt = new Date('2026-03-01T09:00Z')
    const row = inserted({ timer: 'every 1min', jitter: 60_000, createdAt, nextRunAt: createdAt })
    const planned = plan(row, at('2026-03-01T09:00:00.001Z'))
    expect(planned?.runs).toHaveLength(1)
    // The shift of the schedule's jitter is 56.093 s.
    expect(planned?.nextRunAt).toEqual(new Date('2026-03-01T09:01:56.093Z'))
  })

  test('an `every` timer whose schedule was created while the clock was ahead keeps its slots', () => {
    const created = new Date('2098-01-01T00:10Z')
    const every = schedule({
      timer: 'every 1h',
      createdAt: created,
      nextRunAt: new Date('2098-01-01T01:10Z'),
    })
    const planned = plan({ ...every, nextRunAt: null }, at(now))
    expect(shown(planned)).toEqual({ runs: [], skips: [], next: '2026-03-01 10:10' })
    if (planned === null) return
    expect(shown(plan(applied(every, planned), at('2026-03-01T13:30Z')))).toEqual({
      runs: ['2026-03-01 13:10 after 3'],
      skips: ['3 missed to 2026-03-01 12:10'],
      next: '2026-03-01 14:10',
    })
  })
})

describe('after the zone data changed', () => {
  /** A schedule planned with zone data that is an hour off: in summer, for 06:00Z or 08:00Z instead of 07:00Z. */
  const daily = (nextRunAt: string, lastSlot: string, timer = '09:00 Europe/Berlin') =>
    schedule({ timer, nextRunAt: new Date(nextRunAt), lastSlot: new Date(lastSlot) })
  const summer = '2026-07-02'

  test('a nextrun that is an hour early causes one run, on time [S14]', () => {
    const early = daily(`${summer}T06:00Z`, '2026-07-01T06:00Z')
    const planned = plan(early, at(`${summer}T06:00Z`))
    expect(shown(planned)).toEqual({ runs: [], skips: [], next: '2026-07-02 07:00' })
    expect(planned?.lastSlot).toEqual(early.lastSlot)
    if (planned === null) return
    expect(shown(plan(applied(early, planned), at(`${summer}T07:00Z`)))).toEqual({
      runs: ['2026-07-02 07:00'],
      skips: [],
      next: '2026-07-03 07:00',
    })
  })

  test('a nextrun that is an hour late causes a run when it is due, for the slot of that day [S14]', () => {
    const late = daily(`${summer}T08:00Z`, '2026-07-01T08:00Z')
    expect(plan(late, at(`${summer}T07:00Z`))).toBeNull()
    expect(shown(plan(late, at(`${summer}T08:00Z`)))).toEqual({
      runs: ['2026-07-02 07:00'],
      skips: [],
      next: '2026-07-03 07:00',
    })
    expect(shown(plan({ ...late, catchUp: 0 }, at(`${summer}T08:00Z`)))).toEqual({
      runs: [],
      skips: ['1 missed to 2026-07-02 07:00'],
      next: '2026-07-03 07:00',
    })
  })

  test('a nextrun before the first slot of the timer is moved to that slot [S14]', () => {
    const early = schedule({
      timer: 'daily',
      starts: new Date('2026-03-01T00:00Z'),
      nextRunAt: new Date('2026-02-28T23:00Z'),
    })
    expect(shown(plan(early, at('2026-02-28T23:00Z')))).toEqual({
      runs: [],
      skips: [],
      next: '2026-03-01 00:00',
    })
  })

  test('a nextrun halfway between two slots is moved to the later one [S14]', () => {
    const noon = daily('2026-03-02T12:00Z', '2026-03-01T00:00Z', 'daily')
    expect(shown(plan(noon, at('2026-03-02T12:00Z')))).toMatchObject({ runs: [], next: '2026-03-03 00:00' })
  })

  test('after an absence, each slot either runs or is counted, exactly once', () => {
    for (const [nextRunAt, lastSlot] of [
      ['2026-07-02T06:00Z', '2026-07-01T06:00Z'],
      ['2026-07-02T08:00Z', '2026-07-01T08:00Z'],
    ] as const)
      expect(shown(plan(daily(nextRunAt, lastSlot), at('2026-07-05T12:00Z')))).toEqual({
        runs: ['2026-07-05 07:00 after 3'],
        skips: ['3 missed to 2026-07-04 07:00'],
        next: '2026-07-06 07:00',
      })
  })

  test('a decided slot is not decided again', () => {
    const row = daily('2026-07-02T06:20Z', '2026-07-02T06:10Z', '*:0/30')
    expect(shown(plan(row, at('2026-07-02T06:20Z')))).toEqual({
      runs: [],
      skips: [],
      next: '2026-07-02 06:30',
    })
    const between = daily('2026-07-02T06:10Z', '2026-07-02T06:05Z', '*:0/30')
    expect(shown(plan(between, at('2026-07-02T06:10Z')))).toMatchObject({
      runs: [],
      next: '2026-07-02 06:30',
    })
  })

  test('a one-off whose instant has moved still runs, late', () => {
    const once = schedule({
      timer: '2026-07-02 09:00 Europe/Berlin',
      nextRunAt: new Date('2026-07-02T08:00Z'),
    })
    expect(shown(plan(once, at('2026-07-02T08:00Z')))).toEqual({
      runs: ['2026-07-02 07:00'],
      skips: [],
      next: 'done',
    })
    const decided = { ...once, lastSlot: new Date('2026-07-02T07:30Z') }
    expect(shown(plan(decided, at('2026-07-02T08:00Z')))).toEqual({ runs: [], skips: [], next: 'done' })
  })

  test('a one-off that is edited after its time but before its run still runs, for the same slot', () => {
    const once = schedule({ timer: '2026-03-01 09:00', nextRunAt: new Date('2026-03-01T09:00Z') })
    const renamed = { ...once, definition: 'another task' }
    expect(plan(renamed, at('2026-03-01T09:30Z'))).toMatchObject({ nextRunAt: once.nextRunAt, idle: null })
    const moved = edited(once, '2026-03-01 08:00')
    expect(plan(moved, at('2026-03-01T09:30Z'))).toMatchObject({ nextRunAt: null, idle: 'done' })
  })

  test('a nextrun that was set manually or counts from the end of a run is not an elapse, but causes a run', () => {
    const nextRunAt = new Date('2026-07-02T06:17Z')
    for (const row of [
      schedule({ timer: '09:00 Europe/Berlin', nextRunAt, isByHand: true }),
      schedule({ timer: 'every 5min after finish', nextRunAt }),
    ])
      expect(shown(plan(row, at(nextRunAt)))).toMatchObject({ runs: ['2026-07-02 06:17'] })
  })
})

const byHand = (nextRunAt: string) => ({ ...hourly, nextRunAt: new Date(nextRunAt) })

describe('a nextrun set manually', () => {
  test('a nextrun in the future is used once, and then the timer applies', () => {
    const row = byHand('2026-03-01T11:45Z')
    const planned = plan(row, at('2026-03-01T08:20Z'))
    expect(shown(planned)).toEqual({ runs: [], skips: [], next: '2026-03-01 11:45' })
    if (planned === null) return
    expect(plan(applied(row, planned), at('2026-03-01T11:00Z'))).toBeNull()
    expect(shown(plan(applied(row, planned), at('2026-03-01T11:45Z')))).toEqual({
      runs: ['2026-03-01 11:45'],
      skips: [],
      next: '2026-03-01 12:00',
    })
  })

  test('a nextrun equal to the last slot means now and is not ignored as a duplicate [L44]', () => {
    expect(shown(plan(byHand('2026-03-01T08:00Z'), at('2026-03-01T08:20Z')))).toMatchObject({
      runs: ['2026-03-01 08:20'],
    })
  })

  test('a run at the exact millisecond of the last slot gets the next millisecond as its slot', () => {
    const planned = plan(byHand('2026-03-01T07:00Z'), at('2026-03-01T08:00Z'))
    expect(planned?.runs[0]?.slot).toEqual(new Date('2026-03-01T08:00:00.001Z'))
  })

  test('a manual nextrun is also used on a new row', () => {
    const row = inserted({ timer: 'hourly', nextRunAt: new Date('2026-03-01T07:00Z') })
    expect(shown(plan(row, at('2026-03-01T08:20Z')))).toMatchObject({ runs: ['2026-03-01 08:20'] })
  })

  test('setting nextrun does not run a paused schedule', () => {
    const row = { ...byHand('2026-03-01T00:00Z'), enabled: false }
    expect(plan(row, at('2026-03-01T08:20Z'))).toMatchObject({ runs: [], nextRunAt: null })
  })
})

describe('a timer that cannot be planned', () => {
  test('a schedule with an unreadable timer stays invalid until it is edited, keeps the error and affects nothing else [S8, L17]', () => {
    const row = edited(hourly, 'hurly')
    const planned = plan(row, at('2026-03-01T09:00Z'))
    expect(planned).toMatchObject({ runs: [], skips: [], nextRunAt: null, idle: 'invalid' })
    expect(planned?.lastError).toContain('did you mean hourly?')
    if (planned === null) return
    const invalid = applied(row, planned)
    expect(plan(invalid, at('2026-03-02'))).toBeNull()
    expect(plan(edited(invalid, 'hourly'), at('2026-03-01T09:30Z'))).toMatchObject({
      idle: null,
      lastError: null,
      nextRunAt: new Date('2026-03-01T10:00Z'),
    })
  })

  test('neither an invalid schedule nor an edit replaces a job', () => {
    for (const timer of ['hurly', 'daily'])
      expect(
        plan(edited({ ...hourly, overlap: 'replace' }, timer), at('2026-03-01T09:00Z', true)),
      ).toMatchObject({
        runs: [],
        replaces: false,
      })
  })

  test('an edit keeps the error of the last run', () => {
    const failed = { ...edited(hourly, 'daily'), lastError: 'no such host' }
    expect(plan(failed, at('2026-03-01T09:00Z'))?.lastError).toBe('no such host')
  })
})

test('jobs that can never be written become one skip, and the reason is stored', () => {
  const planned = plan({ ...hourly, catchUp: 2 }, at('2026-03-01T13:30Z'))
  if (planned === null) throw new Error('expected a plan')
  const unsubmittable = planUnsubmittable(planned, 'Check constraint is violated')
  expect(shown(unsubmittable)).toEqual({
    runs: [],
    skips: ['3 missed to 2026-03-01 11:00', '2 unsubmittable to 2026-03-01 13:00'],
    next: '2026-03-01 14:00',
  })
  expect(unsubmittable.lastError).toBe('Check constraint is violated')
  const nothing = { ...planned, runs: [] }
  expect(planUnsubmittable(nothing, 'why')).toEqual({ ...nothing, lastError: 'why' })
})

describe('when the clocks change', () => {
  test('a slot in a repeated hour runs once, not again when its local time recurs [L19]', () => {
    // In Berlin, 02:00 to 02:59 occurs twice, the second time starting at 01:00 UTC.
    const minutely = schedule({
      timer: 'minutely Europe/Berlin',
      nextRunAt: new Date('2024-10-27T00:30Z'),
      catchUp: 0,
    })
    const planned = plan(minutely, at('2024-10-27T01:10:00.000Z'))
    expect(shown(planned)).toEqual({
      runs: [],
      skips: ['30 missed to 2024-10-27 00:59'],
      next: '2024-10-27 02:00',
    })
    const daily = schedule({ timer: '02:30 Europe/Berlin', nextRunAt: new Date('2024-10-27T00:30Z') })
    expect(shown(plan(daily, at('2024-10-27T01:30:00.000Z')))).toEqual({
      runs: ['2024-10-27 00:30'],
      skips: [],
      next: '2024-10-28 01:30',
    })
  })

  test('if a one-off is planned during the second occurrence of its time, only the first occurrence counts', () => {
    const once = schedule({
      timer: '2024-10-27 02:30 Europe/Berlin',
      nextRunAt: new Date('2024-10-27T00:30Z'),
      catchUp: 0,
    })
    expect(shown(plan(once, at('2024-10-27T01:30:00.000Z')))).toEqual({
      runs: [],
      skips: ['1 missed to 2024-10-27 00:30'],
      next: 'done',
    })
  })

  test('if a schedule is planned within the repeated hour, all later minutes are decided', () => {
    const row = inserted({ timer: 'minutely Europe/Berlin' })
    const planned = plan(row, at('2024-10-27T01:10:30Z'))
    if (planned === null) throw new Error('expected a plan')
    expect(shown(planned)).toMatchObject({ next: '2024-10-27 01:11' })
    expect(shown(plan(applied(row, planned), at('2024-10-27T01:15:10Z')))).toEqual({
      runs: ['2024-10-27 01:15 after 4'],
      skips: ['4 missed to 2024-10-27 01:14'],
      next: '2024-10-27 01:16',
    })
  })
})

describe('when an edit is written', () => {
  const now = new Date('2026-03-01T08:30Z')
  const early = (nextRunAt: Date | null) => planEdit({ ...hourly, nextRunAt }, now, NO_OPEN_JOBS)

  test('an unedited schedule is not planned, even if it is due', () => {
    expect(planEdit(hourly, now, NO_OPEN_JOBS)).toBeNull()
    expect(planEdit(hourly, new Date('2026-03-01T10:00Z'), NO_OPEN_JOBS)).toBeNull()
  })

  test('an edited schedule is planned from now, even if it was due', () => {
    expect(shown(planEdit(edited(hourly, 'daily'), now, NO_OPEN_JOBS))).toMatchObject({
      runs: [],
      next: '2026-03-02 00:00',
    })
    const due = new Date('2026-03-01T09:00Z')
    expect(shown(planEdit(edited(hourly, 'daily'), due, NO_OPEN_JOBS))).toMatchObject({ runs: [] })
  })

  test('open jobs count: an `after finish` timer waits for them', () => {
    const after = edited(hourly, 'every 5min after finish')
    expect(planEdit(after, now, NO_OPEN_JOBS)).toMatchObject({ idle: null })
    expect(planEdit(after, now, { ...NO_OPEN_JOBS, running: 1 })).toMatchObject({ idle: 'awaiting-finish' })
  })

  test('a schedule that was manually made due is left to the scheduler, because it runs now', () => {
    expect(early(new Date('2026-03-01T08:00Z'))).toBeNull()
    expect(early(now)).toBeNull()
  })

  test('a schedule whose nextrun is in the future or NULL is planned', () => {
    expect(early(new Date('2026-03-01T08:30:00.001Z'))).toMatchObject({ isByHand: true })
    expect(shown(early(null))).toMatchObject({ next: '2026-03-01 09:00' })
  })

  test('a paused schedule is planned even if its nextrun has passed', () => {
    const paused = { ...hourly, enabled: false, nextRunAt: new Date('2026-03-01T08:00Z') }
    expect(planEdit(paused, now, NO_OPEN_JOBS)).toMatchObject({ runs: [], nextRunAt: null })
  })
})
