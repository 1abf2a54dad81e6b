/** What people look at: pages and counts, held against what a plain filter over all rows says. */
import * as fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { type Job, type JobState } from '../../src/model/job.ts'
import { ANY_OWNER, type Owner } from '../../src/model/owner.ts'
import type { Schedule } from '../../src/model/schedule.ts'
import type { ScheduleStatus } from '../../src/model/settings.ts'
import { toText } from '../../src/model/instant.ts'
import type { JobConditions, PageBounds, ScheduleConditions, TimerRow } from '../../src/store/list-store.ts'
import { after, insert, insertAll, job, MINUTE, onEachStore } from './conformance.ts'
import { recording } from './recording.ts'

const START = new Date('2026-03-01T10:30:00.000Z')
const STATES = ['waiting', 'blocked', 'running', 'success', 'failed', 'cancelled', 'skipped'] as const
const bounds: PageBounds = {
  limit: 1000,
  offset: 0,
  countUpTo: 10_000,
  searchWithin: 100_000,
  searchMs: 60_000,
}
const of = <Value>(values: readonly Value[], index: number): Value => {
  const value = values[index % values.length]
  if (value === undefined) throw new Error('no values')
  return value
}
const maybe = <Value>(arbitrary: fc.Arbitrary<Value>) => fc.option(arbitrary, { nil: undefined })
const has = (whole: string | null, part: string) => (whole ?? '').toLowerCase().includes(part.toLowerCase())

onEachStore((under) => {
  beforeEach(async () => {
    const schedules = Array.from({ length: 30 }, (_, index) => ({
      id: `s${String(index).padStart(2, '0')} ${of(['Änderung', 'mail', 'x'], index)}`,
      task: of(['mail', 'clean', 'report'], index),
      timer: of(['daily', 'every 5min', '*:0/15'], index),
      group_: of(['', 'a', 'b'], Math.floor(index / 2)),
      submitter: of([null, 'ann', 'bob'], Math.floor(index / 3)),
      summary: of([null, 'Sends 100% of it', "it's_"], index),
      enabled: index % 5 === 0 ? 0 : 1,
      idle: of([null, null, 'done', 'dead', 'awaiting-finish'], index),
      declared_by: of([null, 'set'], index),
      created: toText(after(START, index)),
    }))
    const jobs = Array.from({ length: 60 }, (_, index) => {
      const state = of(STATES, index)
      const ended = ['success', 'failed', 'cancelled', 'skipped'].includes(state)
      return {
        id: `${of(['0a', '0b', 'F'], index)}${String(index).padStart(3, '0')}`,
        task: of(['mail', 'clean', 'report'], index),
        periodic_task_id: index % 2 === 0 ? `s${String(index % 8).padStart(2, '0')} x` : null,
        slot: index % 2 === 0 ? toText(after(START, index * MINUTE)) : null,
        group_: of(['', 'a', 'b'], Math.floor(index / 2)),
        submitter: of([null, 'ann', 'bob'], Math.floor(index / 3)),
        state,
        worker: state === 'running' ? 'w/1' : null,
        exclusive: 0,
        args: index % 4 === 0 ? '{"to":"Ärzte"}' : '{}',
        error: state === 'failed' ? of(['Error: no disk\n at x', 'Error: 100% full'], index) : null,
        finished: ended ? toText(after(START, index * MINUTE)) : null,
      }
    })
    await insertAll(under, 'periodic_task', schedules)
    await insertAll(under, 'job', jobs)
  })

  const everySchedule = async () => (await under.store.lists.schedules({ ...bounds, order: 'id' })).items
  const everyJob = async () => (await under.store.lists.jobs(bounds)).items

  const owner = fc.record({
    group: fc.constantFrom(null, null, 'a', 'nobody'),
    submitter: fc.constantFrom(null, null, 'ann'),
  })
  const page = fc.record({ limit: fc.integer({ min: 1, max: 20 }), offset: fc.integer({ min: 0, max: 10 }) })

  it('a page of schedules and its counts match a filter over all of them', async () => {
    const all = await everySchedule()
    expect(all).toHaveLength(30)
    const conditions = fc.record({
      status: maybe(fc.constantFrom<ScheduleStatus>('active', 'paused', 'done', 'dead', 'invalid')),
      task: maybe(fc.constantFrom('mail', 'clean', 'none')),
      group: maybe(fc.constantFrom('', 'a')),
      submitter: maybe(fc.constantFrom('ann', 'none')),
      declaredBy: maybe(fc.constant('set')),
      text: maybe(fc.constantFrom('MAIL', '100%', '_', "'", 's1', 'none')),
    })
    const holds = (wanted: ScheduleConditions) => (schedule: Schedule) =>
      (['status', 'task', 'group', 'submitter', 'declaredBy'] as const).every(
        (key) => wanted[key] === undefined || schedule[key] === wanted[key],
      ) &&
      (wanted.text === undefined ||
        [schedule.id, schedule.summary, schedule.subject, schedule.task].some((text) =>
          has(text, wanted.text ?? ''),
        ))
    await fc.assert(
      fc.asyncProperty(owner, conditions, page, async (own, wanted, { limit, offset }) => {
        const lists = under.store.lists.ownedBy(own)
        const mine = all.filter(
          ({ group, submitter }) =>
            (own.group ?? group) === group && (own.submitter ?? submitter) === submitter,
        )
        const expected = mine.filter(holds(wanted))
        const found = await lists.schedules({ ...bounds, ...wanted, limit, offset, order: 'id' })
        expect(found).toEqual({
          items: expected.slice(offset, offset + limit),
          total: expected.length,
          totalIsExact: true,
        })
        const { counts } = await lists.scheduleCounts(wanted, bounds)
        expect(Object.values(counts).reduce((sum, count) => sum + count, 0)).toBe(expected.length)
        for (const [status, count] of Object.entries(counts))
          expect(expected.filter((schedule) => schedule.status === status)).toHaveLength(count)
        const last = expected[limit - 1]
        if (last !== undefined) {
          const next = await lists.schedules({ ...bounds, ...wanted, limit, order: 'id', after: last.id })
          expect(next.items).toEqual(expected.slice(limit, 2 * limit))
        }
      }),
      { numRuns: 60 },
    )
  })

  it('a page of jobs and its counts match a filter over all of them, newest first', async () => {
    const all = await everyJob()
    expect(all.map(({ id }) => id)).toEqual(
      all
        .map(({ id }) => id)
        .toSorted()
        .toReversed(),
    )
    const conditions = fc.record({
      state: maybe(fc.constantFrom<JobState>(...STATES)),
      task: maybe(fc.constantFrom('mail', 'none')),
      schedule: maybe(fc.constantFrom('s00 x', 's02 x', 'none')),
      group: maybe(fc.constantFrom('', 'a')),
      submitter: maybe(fc.constantFrom('ann')),
      worker: maybe(fc.constantFrom('w/1', 'w/2')),
      id: maybe(fc.constantFrom('0', '0a', '0a0', 'F', '%', '_')),
      error: maybe(fc.constantFrom('DISK', '100%', 'none')),
      args: maybe(fc.constantFrom('"to"', 'none')),
      finishedFrom: maybe(fc.constant(after(START, 10 * MINUTE))),
      finishedTo: maybe(fc.constant(after(START, 30 * MINUTE))),
    })
    const holds = (wanted: JobConditions) => (one: Job) =>
      (['state', 'task', 'group', 'submitter'] as const).every(
        (key) => wanted[key] === undefined || one[key] === wanted[key],
      ) &&
      (wanted.scheduleId === undefined || one.scheduleId === wanted.scheduleId) &&
      (wanted.worker === undefined || one.worker === wanted.worker) &&
      (wanted.id === undefined || one.id.startsWith(wanted.id)) &&
      (wanted.error === undefined || has(one.error, wanted.error)) &&
      (wanted.args === undefined || has(JSON.stringify(one.args), wanted.args)) &&
      (wanted.finishedFrom === undefined ||
        (one.finishedAt !== null && one.finishedAt >= wanted.finishedFrom)) &&
      (wanted.finishedTo === undefined || (one.finishedAt !== null && one.finishedAt < wanted.finishedTo))
    await fc.assert(
      fc.asyncProperty(owner, conditions, async (own, wanted) => {
        const lists = under.store.lists.ownedBy(own)
        const expected = all
          .filter(
            ({ group, submitter }) =>
              (own.group ?? group) === group && (own.submitter ?? submitter) === submitter,
          )
          .filter(holds(wanted))
        const found = await lists.jobs({ ...bounds, ...wanted })
        expect(new Set(found.items.map(({ id }) => id))).toEqual(new Set(expected.map(({ id }) => id)))
        expect([found.total, found.totalIsExact]).toEqual([expected.length, true])
        const { counts } = await lists.jobCounts(wanted, bounds)
        expect(Object.values(counts).reduce((sum, count) => sum + count, 0)).toBe(expected.length)
      }),
      { numRuns: 60 },
    )
  })

  it('totals report when they stopped counting, and searches when they stopped scanning', async () => {
    const few = { ...bounds, countUpTo: 5, searchWithin: 10, limit: 3 }
    const { lists } = under.store
    expect(await lists.schedules({ ...few, order: 'id' })).toMatchObject({ total: 5, totalIsExact: false })
    expect(await lists.jobs({ ...few, state: 'failed', task: 'none' })).toEqual({
      items: [],
      total: 0,
      totalIsExact: true,
    })
    expect(await lists.jobs({ ...few, error: 'none' })).toEqual({ items: [], total: 0, totalIsExact: false })
    expect(await lists.jobCounts({}, few)).toMatchObject({ counts: { failed: 5 }, isExact: false })
    expect(await lists.scheduleCounts({ text: 'none' }, few)).toEqual({ counts: {}, isExact: false })
  })

  it('a search that reaches its time limit returns what it has found, and says so', async () => {
    const many = Array.from({ length: 600 }, (_, index) => index)
    const common = { task: 'many', group_: 'many' }
    await insertAll(
      under,
      'periodic_task',
      many.map((index) => ({ ...common, id: `t${index}`, timer: 'daily' })),
    )
    await insertAll(
      under,
      'job',
      many.map((index) => ({
        ...common,
        id: `j${index}`,
        state: 'failed',
        exclusive: 0,
        error: 'Error: many',
        finished: toText(after(START, index)),
      })),
    )
    const { lists } = under.store
    const day = { finishedFrom: after(START, -1), finishedTo: after(START, 60 * MINUTE) }
    const looks = async (searchMs: number) => {
      const within = { ...bounds, searchMs, limit: 1 }
      return {
        schedules: await lists.schedules({ ...within, text: 'MANY', order: 'id' }),
        byTime: await lists.jobs({ ...within, ...day, error: 'many' }),
        jobs: await lists.jobs({ ...within, error: 'many' }),
        counts: await lists.jobCounts({ error: 'many' }, within),
        failures: await lists.failures({ group: 'many' }, { ...within, limit: 1000 }),
        groups: await lists.timerGroups({ group: 'many' }, within),
        hours: await lists.finishedPerHour({ ...day, group: 'many' }, within),
      }
    }

    const whole = await looks(60_000)
    expect(whole.schedules).toMatchObject({ total: 600, totalIsExact: true })
    expect(whole.byTime).toMatchObject({ total: 600, totalIsExact: true })
    expect(whole.jobs).toMatchObject({ total: 600, totalIsExact: true })
    expect(whole.counts).toEqual({ counts: { failed: 600 }, isExact: true })
    expect(whole.failures.items).toHaveLength(600)
    expect(whole.failures.complete).toBe(true)
    expect(whole.groups).toMatchObject({ groups: [{ schedules: 600 }], complete: true })
    expect(whole.hours).toMatchObject({ hours: [{ jobs: 600 }], complete: true })

    const short = await looks(0)
    expect(short.schedules.totalIsExact).toBe(false)
    expect(short.byTime.totalIsExact).toBe(false)
    expect(short.jobs.totalIsExact).toBe(false)
    expect(short.counts.isExact).toBe(false)
    expect(short.failures.complete).toBe(false)
    expect(short.groups.complete).toBe(false)
    expect(short.hours.complete).toBe(false)
  })

  it('a search finds all rows that existed, also while newer rows are inserted', async () => {
    const many = { task: 'many', group_: 'many', error: 'many' }
    const older = Array.from({ length: 100 }, (_, index) => ({
      id: `m${String(index).padStart(3, '0')}`,
      ...many,
    }))
    await insertAll(under, 'job', older)
    let isNext = false
    let inserted = 0
    const { store } = await recording(under.url, async (statement) => {
      // Between the end of a slice and the slice itself.
      if (isNext && inserted < 40)
        for (let index = 0; index < 20; index += 1) await job(under, `n${inserted++}`, many)
      isNext = statement.startsWith('SELECT id FROM')
    })
    under.afterwards(() => store.close())
    const { items, totalIsExact } = await store.lists.jobs({ ...bounds, group: 'many', error: 'MANY' })
    const found = new Set(items.map(({ id }) => id))
    expect(inserted).toBe(40)
    expect([...found].filter((id) => id.startsWith('m'))).toHaveLength(100)
    expect(totalIsExact).toBe(true)
  })

  it.each<[string, Owner, RegExp]>([
    ['submitter', { group: null, submitter: 'eve' }, /job_submitter\b|periodic_task_submitter\b/],
    ['group', { group: 'eves', submitter: null }, /job_group\b|periodic_task_group\b/],
    ['group and submitter', { group: 'eves', submitter: 'eve' }, /job_submitter\b|periodic_task_submitter\b/],
  ])('rows of other owners change no result of a scope with a %s', async (_, own, index) => {
    const generated = '0199a000-0000-7000-8000-000000000000'
    const rowsOf = async (name: string, count: number, nextrun: string, finished: Date) => {
      const ours = { submitter: name, group_: `${name}s`, task: 'some' }
      await under.query('BEGIN')
      for (let number = 0; number < count; number += 1) {
        const id = `${name}${String(number).padStart(3, '0')}`
        await insert(under, 'periodic_task', {
          ...ours,
          id,
          timer: 'daily',
          nextrun,
          planned_from: `1|daily|0||||${nextrun}`,
        })
        const isRunning = number % 2 === 0
        await job(under, id, {
          ...ours,
          exclusive: 0,
          periodic_task_id: generated,
          slot: toText(after(finished, number)),
          state: isRunning ? 'running' : 'failed',
          worker: isRunning ? 'w/1' : null,
          finished: isRunning ? null : toText(after(finished, number)),
        })
      }
      await under.query('COMMIT')
    }
    const { store, statements } = await recording(under.url)
    under.afterwards(() => store.close())
    const lists = store.lists.ownedBy(own)
    const few = { ...bounds, searchWithin: 30, countUpTo: 20, limit: 10 }
    const ended = { finishedFrom: START, finishedTo: after(START, 24 * 60 * MINUTE) }
    const answers = async () => ({
      ended: await lists.jobs({ ...few, ...ended }),
      failed: await lists.jobs({ ...few, ...ended, state: 'failed' }),
      running: await lists.jobs({ ...few, worker: 'w/1' }),
      ofSchedule: await lists.jobs({ ...few, scheduleId: generated }),
      counts: await lists.jobCounts(ended, few),
      hours: await lists.finishedPerHour(ended, few),
      failures: await lists.failures(ended, few),
      next: await lists.schedules({ ...few, order: 'nextRunAt' }),
      nextSearched: await lists.schedules({ ...few, order: 'nextRunAt', task: 'some', text: 'EVE' }),
    })
    await rowsOf('eve', 4, '2036-01-01 00:00:00.000', after(START, MINUTE))
    const before = await answers()
    expect(before).toMatchObject({
      ended: { total: 2, totalIsExact: true },
      running: { total: 2, totalIsExact: true },
      ofSchedule: { total: 4, totalIsExact: true },
      counts: { counts: { failed: 2 }, isExact: true },
      hours: { hours: [{ jobs: 2 }], complete: true },
      next: { total: 4, totalIsExact: true, items: [0, 1, 2, 3].map((number) => ({ id: `eve00${number}` })) },
      nextSearched: { total: 4, totalIsExact: true },
    })

    await rowsOf('mallory', 100, '2035-01-01 00:00:00.000', after(START, 2 * MINUTE))
    statements.length = 0
    expect(await answers()).toEqual(before)

    const ranges = statements.filter((statement) => statement.includes(' LIMIT '))
    expect(ranges.length).toBeGreaterThan(9)
    for (const statement of ranges) {
      const explain = under.kind === 'sqlite' ? 'EXPLAIN QUERY PLAN' : 'EXPLAIN'
      const plan = JSON.stringify(await under.query(`${explain} ${statement}`))
      expect(plan, statement).toMatch(index)
      expect(plan, statement).not.toMatch(/job_finished|job_held|job_occurrence|job_state|task_wake_at/)
    }
  })

  it('a list omits large values and reports their size; a single row has all of them', async () => {
    const large = { json: JSON.stringify('x'.repeat(900_000)), error: `Error: first\n${'y'.repeat(3000)}` }
    await insert(under, 'periodic_task', {
      id: 'large',
      task: 'large',
      timer: 'daily',
      args: large.json,
      last_error: large.error,
    })
    await job(under, 'large', {
      task: 'large',
      state: 'failed',
      periodic_task_id: 'large',
      slot: toText(START),
      args: large.json,
      result: large.json,
      progress: large.json,
      error: large.error,
    })
    const { lists, jobs, schedules } = under.store
    const sizes = { args: 900_002, result: 900_002, progress: 900_002, error: 3013 }
    const shortened = { args: null, result: null, progress: null, error: 'Error: first', truncated: sizes }
    expect((await lists.jobs({ ...bounds, task: 'large' })).items).toMatchObject([shortened])
    expect(await lists.history('large', { before: null }, 1000)).toMatchObject([shortened])
    expect(await lists.history('large', { from: START }, 10)).toMatchObject([shortened])
    expect((await lists.schedules({ ...bounds, task: 'large', order: 'id' })).items).toMatchObject([
      { args: null, lastError: 'Error: first', truncated: { args: 900_002, lastError: 3013 } },
    ])
    const [small] = (await lists.jobs({ ...bounds, task: 'mail', limit: 1 })).items
    expect(small).not.toHaveProperty('truncated')
    expect(await jobs.get('large')).toMatchObject({ args: 'x'.repeat(900_000), error: large.error })
    expect(await schedules.get('large')).toMatchObject({ args: 'x'.repeat(900_000), lastError: large.error })
  })

  it('the next runs are sorted by time, and schedules without one are omitted', async () => {
    await under.query(
      "UPDATE periodic_task SET nextrun = '2026-05-01 00:00:00.000', planned_from = CONCAT(definition, '|2026-05-01 00:00:00.000')".replace(
        /CONCAT\(definition, ('.*')\)/,
        under.kind === 'sqlite' ? 'definition || $1' : 'CONCAT(definition, $1)',
      ),
    )
    await under.query(
      `UPDATE periodic_task SET nextrun = '2026-04-01 00:00:00.000', planned_from = ${under.kind === 'sqlite' ? "definition || '|2026-04-01 00:00:00.000'" : "CONCAT(definition, '|2026-04-01 00:00:00.000')"} WHERE id LIKE 's11%'`,
    )
    const { items } = await under.store.lists.schedules({ ...bounds, order: 'nextRunAt' })
    expect(items[0]?.id).toMatch(/^s11/)
    expect(items.every(({ status, waitingFor }) => status === 'active' && waitingFor === null)).toBe(true)
    expect(items.length).toBeGreaterThan(5)
  })

  it('the last runs of each schedule are read at once, newest first', async () => {
    const runs = await under.store.lists.recentRuns(['s00 x', 's02 x', 'none'], 3)
    expect([...runs.keys()]).toEqual(['s00 x', 's02 x', 'none'])
    expect(runs.get('none')).toEqual([])
    const slots = runs.get('s00 x')?.map(({ slot }) => slot?.toISOString() ?? '') ?? []
    expect(slots).toHaveLength(3)
    expect(slots).toEqual(slots.toSorted().toReversed())
    expect(slots[0]).toBe(after(START, 56 * MINUTE).toISOString())
    const scoped = await under.store.lists
      .ownedBy({ group: 'nobody', submitter: null })
      .recentRuns(['s00 x'], 3)
    expect(scoped.get('s00 x')).toEqual([])
  })

  it('failures have the beginning of their error, tasks appear once, equal timers are grouped', async () => {
    const { lists } = under.store
    const { items: failures, complete } = await lists.failures({ task: 'mail' }, bounds)
    expect(complete).toBe(true)
    expect(await lists.failures({ task: 'mail' }, { ...bounds, limit: 1 })).toEqual({
      items: failures.slice(0, 1),
      complete: false,
    })
    expect(failures.length).toBeGreaterThan(0)
    for (const failure of failures)
      expect(failure).toMatchObject({ task: 'mail', error: expect.stringMatching(/^Error: /) })
    expect(await lists.tasks(10)).toEqual(['clean', 'mail', 'report'])
    expect(await lists.tasks(1)).toEqual(['clean'])
    expect(await lists.ownedBy({ group: 'nobody', submitter: null }).tasks(10)).toEqual([])
    const { groups } = await lists.timerGroups({}, bounds)
    const active = (await everySchedule()).filter(({ status }) => status === 'active')
    expect(groups.reduce((sum, { schedules }) => sum + schedules, 0)).toBe(active.length)
    expect(groups.filter(({ timer }) => timer === 'daily')).toHaveLength(1)
    expect(groups.filter(({ timer }) => timer === 'every 5min').every((one) => one.schedules === 1)).toBe(
      true,
    )
  })

  it('the timers of active schedules are read in pieces, however many others are between them', async () => {
    const all = await everySchedule()
    const timers = async (of: Owner, conditions: ScheduleConditions, atOnce: number) => {
      const found: TimerRow[] = []
      for await (const piece of under.store.lists.ownedBy(of).timers(conditions, atOnce)) found.push(...piece)
      return found
    }
    const wanted = fc.record({
      task: maybe(fc.constantFrom('mail', 'none')),
      group: maybe(fc.constantFrom('', 'a')),
      submitter: maybe(fc.constant('ann')),
    })
    const ids = (rows: readonly { readonly id: string }[]) => rows.map(({ id }) => id)
    const holds = async (of: Owner, conditions: ScheduleConditions, atOnce: number) => {
      const expected = all.filter(
        (one) =>
          one.status === 'active' &&
          (of.group === null || one.group === of.group) &&
          (of.submitter === null || one.submitter === of.submitter) &&
          (['task', 'group', 'submitter'] as const).every(
            (key) => conditions[key] === undefined || one[key] === conditions[key],
          ),
      )
      expect(ids(await timers(of, conditions, atOnce))).toEqual(ids(expected))
    }
    await fc.assert(fc.asyncProperty(owner, wanted, fc.integer({ min: 1, max: 40 }), holds))
    for (const row of await timers(ANY_OWNER, {}, 3))
      expect(all.find(({ id }) => id === row.id)).toMatchObject({ ...row })
  })

  it.each([0, 15, 30, 45])('ended jobs are counted by state and by hours from minute %i', async (minute) => {
    const finishedFrom = new Date(START)
    finishedFrom.setUTCMinutes(minute - 60)
    const range = { finishedFrom, finishedTo: after(START, 3 * 60 * MINUTE) }
    const { hours, complete } = await under.store.lists.finishedPerHour(range, bounds)
    const ended = (await everyJob()).filter(({ finishedAt: finished }) => finished !== null)
    expect(complete).toBe(true)
    expect(new Set(hours.map(({ hour }) => hour.getUTCMinutes()))).toEqual(new Set([minute]))
    expect(hours.reduce((sum, { jobs }) => sum + jobs, 0)).toBe(ended.length)
    for (const { hour, state, jobs } of hours)
      expect(
        ended.filter(
          (one) =>
            one.state === state &&
            one.finishedAt !== null &&
            one.finishedAt >= hour &&
            one.finishedAt < after(hour, 60 * MINUTE),
        ),
      ).toHaveLength(jobs)
  })

  it('ended jobs of one schedule are counted by hour, from the first instant of the range to the last but one', async () => {
    const ended = (await everyJob()).filter(({ finishedAt: finished }) => finished !== null)
    const ofOne = ended
      .filter(({ scheduleId }) => scheduleId === 's00 x')
      .map(({ finishedAt: finished }) => finished?.getTime() ?? 0)
    const [first, last] = [new Date(Math.min(...ofOne)), new Date(Math.max(...ofOne))]
    const count = async (finishedFrom: Date, finishedTo: Date) => {
      const range = { scheduleId: 's00 x', finishedFrom, finishedTo }
      const { hours } = await under.store.lists.finishedPerHour(range, bounds)
      return hours.reduce((sum, { jobs }) => sum + jobs, 0)
    }
    expect(ofOne.length).toBeGreaterThan(1)
    expect(ofOne.length).toBeLessThan(ended.length)
    expect(await count(first, after(last, 1))).toBe(ofOne.length)
    expect(await count(after(first, 1), after(last, 1))).toBe(ofOne.length - 1)
    expect(await count(first, last)).toBe(ofOne.length - 1)
  })

  describe('change tokens', () => {
    const look = () => under.store.lists.changeTokens()
    /** The time of a change is told in whole seconds. */
    const nextSecond = () => new Promise((resolve) => setTimeout(resolve, under.kind === 'sqlite' ? 0 : 1100))

    it('change with every write in SQL', async () => {
      let before = await look()
      for (const statements of [
        [
          ['schedules', "UPDATE periodic_task SET summary = 'new' WHERE id LIKE 's11%'"],
          ['jobs', "INSERT INTO job (task) VALUES ('by hand')"],
          ['workers', "INSERT INTO worker (id, name, host, pid, tasks) VALUES ('n/1', 'n', 'h', 1, '[]')"],
        ],
        [
          ['schedules', "DELETE FROM periodic_task WHERE id LIKE 's11%'"],
          ['jobs', "UPDATE job SET args = '[]' WHERE state = 'failed'"],
        ],
      ] as const) {
        await nextSecond()
        for (const [table, statement] of statements) {
          await under.query(statement)
          const now = await look()
          expect(now[table], statement).not.toBe(before[table])
          before = now
        }
      }
    })

    it('stay the same while nothing changes', async () => {
      await nextSecond()
      const before = await look()
      await nextSecond()
      expect(await look()).toEqual(before)
    })

    it('change with every write of Kalends', async () => {
      const before = await look()
      await nextSecond()
      const other = await under.another()
      expect(await other.schedules.delete('s01 mail')).not.toBeNull()
      expect((await look()).schedules).not.toBe(before.schedules)
      await nextSecond()
      const again = await look()
      expect(await under.store.schedules.delete('s02 x')).not.toBeNull()
      expect((await look()).schedules).not.toBe(again.schedules)
    })
  })
})
