/** Pages and counts for the web interface, compared with a plain filter over all rows. */
import * as fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { type Job } from '../../src/model/job.ts'
import type { JobState, ScheduleStatus } from '../../src/model/states.ts'
import { ANY_OWNER, type Owner } from '../../src/model/owner.ts'
import type { Schedule } from '../../src/model/schedule.ts'
import { toText } from '../../src/model/instant.ts'
import type {
  JobConditions,
  ListBounds,
  ListPage,
  PageQuery,
  ScheduleConditions,
  TimerRow,
} from '../../src/store/list-store.ts'
import { ADOPT } from '../support/databases.ts'
import { after, insert, insertAll, job, MINUTE, onEachStore, planned } from './conformance.ts'
import { recording } from './recording.ts'

const START = new Date('2026-03-01T10:30:00.000Z')
const STATES = ['waiting', 'blocked', 'running', 'success', 'failed', 'cancelled', 'skipped'] as const
const never = () => new Date('9999-12-31T00:00:00Z')
const bounds: ListBounds = { countUpTo: 10_000, searchWithin: 100_000, searchMs: 60_000 }
const ALL = { limit: 1000 }
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

  const everySchedule = async () => (await under.store.lists.schedules(ALL)).items
  const everyJob = async () => (await under.store.lists.jobs(ALL)).items

  const owner = fc.record({
    group: fc.constantFrom(null, null, 'a', 'nobody'),
    submitter: fc.constantFrom(null, null, 'ann'),
  })

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
      fc.asyncProperty(owner, conditions, fc.integer({ min: 1, max: 20 }), async (own, wanted, limit) => {
        const lists = under.store.lists.ownedBy(own)
        const mine = all.filter(
          ({ group, submitter }) =>
            (own.group ?? group) === group && (own.submitter ?? submitter) === submitter,
        )
        const expected = mine.filter(holds(wanted))
        const last = expected[limit - 1]
        expect(await lists.schedules({ ...wanted, limit }, bounds)).toEqual({
          items: expected.slice(0, limit),
          total: expected.length,
          next: expected.length > limit ? last?.id : null,
        })
        const { counts } = await lists.scheduleCounts(wanted, bounds)
        expect(Object.values(counts).reduce((sum, count) => sum + count, 0)).toBe(expected.length)
        for (const [status, count] of Object.entries(counts))
          expect(expected.filter((schedule) => schedule.status === status)).toHaveLength(count)
        if (last !== undefined) {
          const next = await lists.schedules({ ...wanted, limit, after: last.id }, bounds)
          expect(next.items).toEqual(expected.slice(limit, 2 * limit))
          expect(next.total).toBe(expected.length)
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
        const found = await lists.jobs({ ...wanted, ...ALL }, bounds)
        expect(new Set(found.items.map(({ id }) => id))).toEqual(new Set(expected.map(({ id }) => id)))
        expect([found.total, found.next]).toEqual([expected.length, null])
        const { counts } = await lists.jobCounts(wanted, bounds)
        expect(Object.values(counts).reduce((sum, count) => sum + count, 0)).toBe(expected.length)
      }),
      { numRuns: 60 },
    )
  })

  it('totals stop at a thousand, counts at their limit, and searches report where they stopped [V8]', async () => {
    const { lists } = under.store
    const few = { ...bounds, countUpTo: 5, searchWithin: 10 }
    expect(await lists.jobs({ state: 'failed', task: 'none', limit: 3 }, few)).toEqual({
      items: [],
      total: 0,
      next: null,
    })
    // The next page continues the search after the ten rows that were searched.
    const next = (await everyJob())[9]?.id
    expect(await lists.jobs({ error: 'none', limit: 3 }, few)).toEqual({ items: [], total: null, next })
    expect(await lists.jobCounts({}, few)).toMatchObject({ counts: { failed: 5 }, isExact: false })
    expect(await lists.scheduleCounts({ text: 'none' }, few)).toEqual({ counts: {}, isExact: false })

    const many = Array.from({ length: 1001 }, (_, index) => ({
      id: `many${String(index).padStart(4, '0')}`,
      task: index === 0 ? 'one' : 'many',
      timer: 'daily',
    }))
    await insertAll(under, 'periodic_task', many)
    expect(await lists.schedules({ limit: 1 })).toMatchObject({ total: 1000, items: [{ id: 'many0000' }] })
    expect(await lists.schedules({ limit: 1, task: 'many' })).toMatchObject({ total: 1000, next: 'many0001' })
    const all = await lists.schedules({ ...ALL, text: 'many' })
    expect(all).toMatchObject({ total: 1000, next: 'many0999' })
    expect(all.items).toHaveLength(1000)
    const rest = await lists.schedules({ ...ALL, text: 'many', after: 'many0999' })
    expect(rest).toMatchObject({ total: 1000, items: [{ id: 'many1000' }], next: null })
  })

  describe('pages', () => {
    const START_OF_RUNS = '2026-05-01 00:00:00.000'
    /** Few distinct times, so that most rows share their times with others. */
    const time = (index: number) => toText(after(new Date('2026-05-01T00:00:00Z'), (index % 3) * MINUTE))
    const planned = (id: string, nextrun: string) => ({
      id,
      task: 'paged',
      timer: 'daily',
      submitter: 'ann',
      group_: 'a',
      nextrun,
      planned_from: '1|daily|0|||',
      planned_nextrun: nextrun,
    })
    const ended = (id: string, index: number) => ({
      id,
      task: 'paged',
      submitter: 'ann',
      group_: 'a',
      exclusive: 0,
      state: 'failed',
      periodic_task_id: 'paged',
      // The slots of a schedule are unique; manually inserted jobs have none.
      slot: index % 4 === 0 ? null : toText(after(START, index)),
      error: index % 17 === 0 ? 'Error: rare' : 'Error',
      finished: time(index),
    })
    const ids = (prefix: string) =>
      Array.from({ length: 60 }, (_, index) => `${prefix}${String(index).padStart(2, '0')}`)
    const finishedFrom = new Date('2026-05-01T00:00:00Z')
    const ann: Owner = { group: null, submitter: 'ann' }
    const lists = (own: Owner) => under.store.lists.ownedBy(own)

    type Read = (
      own: Owner,
      page: PageQuery & { readonly limit: number },
    ) => Promise<ListPage<{ id: string }>>
    const schedules =
      (order: 'id' | 'nextRunAt', text?: string): Read =>
      (own, page) =>
        lists(own).schedules({ task: 'paged', order, text, ...page }, { ...bounds, searchWithin: 40 })
    const jobs =
      (conditions: JobConditions): Read =>
      (own, page) =>
        lists(own).jobs({ task: 'paged', ...conditions, ...page }, { ...bounds, searchWithin: 40 })

    const through = async (
      read: Read,
      own: Owner,
      limit: number,
      between: (last: string, page: number) => Promise<void> = async () => undefined,
    ): Promise<string[]> => {
      const seen: string[] = []
      let after: string | undefined
      for (let page = 0; page < 100; page += 1) {
        const { items, next } = await read(own, { limit, after })
        seen.push(...items.map(({ id }) => id))
        if (next === null) return seen
        after = next
        await between(seen.at(-1) ?? '', page)
      }
      throw new Error('The pages do not end')
    }

    it.each<[string, Owner, Read, number]>([
      ['schedules by id', ANY_OWNER, schedules('id'), 60],
      ['schedules by next run', ANY_OWNER, schedules('nextRunAt'), 60],
      ['schedules of an owner by next run', ann, schedules('nextRunAt'), 60],
      ['schedules by next run, with a search text', ANY_OWNER, schedules('nextRunAt', '7'), 6],
      ['jobs by id', ANY_OWNER, jobs({}), 60],
      ['jobs of an owner', ann, jobs({ finishedFrom }), 60],
      ['jobs of a schedule', ANY_OWNER, jobs({ scheduleId: 'paged' }), 60],
      ['jobs by end time', ANY_OWNER, jobs({ finishedFrom }), 60],
      ['jobs by end time, with a rare error', ANY_OWNER, jobs({ finishedFrom, error: 'rare' }), 4],
      ['jobs of a schedule with a rare error', ANY_OWNER, jobs({ scheduleId: 'paged', error: 'rare' }), 4],
      ['jobs of an owner with a rare error', ann, jobs({ error: 'rare' }), 4],
    ])(
      'pages of %s contain each row exactly once while rows are inserted and deleted [V8]',
      async (_, own, read, rows) => {
        const prefix = own === ann ? 'ann/' : ''
        await insertAll(
          under,
          'periodic_task',
          ids(`${prefix}p`).map((id, index) =>
            // Every fifth schedule has no next run.
            index % 5 === 0 ? { ...planned(id, time(index)), idle: 'done' } : planned(id, time(index)),
          ),
        )
        await insertAll(
          under,
          'job',
          ids(`${prefix}q`).map((id, index) => ended(id, index)),
        )
        const unchanged = await through(read, own, 50)
        expect(await through(read, own, 3)).toEqual(unchanged)
        expect(unchanged).toHaveLength(rows)
        const seen = await through(read, own, 7, async (last, page) => {
          // The last row of the page is deleted, and rows are inserted before and after it.
          await under.query(`DELETE FROM periodic_task WHERE id = '${prefix}${last}'`)
          await under.query(`DELETE FROM job WHERE id = '${prefix}${last}'`)
          const isEarly = page % 2 === 0
          const other = `${prefix}${isEarly ? 'a' : 'z'}${page}`
          await insertAll(under, 'periodic_task', [planned(other, isEarly ? START_OF_RUNS : time(2))])
          await insertAll(under, 'job', [{ ...ended(other, 100 + page), finished: time(isEarly ? 0 : 2) }])
        })
        const known = seen.filter((id) => /^[pq]\d/.test(id))
        expect(new Set(seen).size).toBe(seen.length)
        expect(new Set(known).size).toBe(rows)
      },
    )

    it('schedules are sorted by next run, those without one come last, and pages continue where the previous page ended, even after its last schedule has run [V8]', async () => {
      const isDone = (id: string) => Number(id.slice(1)) % 5 === 0
      await insertAll(
        under,
        'periodic_task',
        ids('p').map((id, index) => ({ ...planned(id, time(index)), ...(isDone(id) && { idle: 'done' }) })),
      )
      expect(await through(schedules('nextRunAt'), ANY_OWNER, 60)).toEqual([
        ...[0, 1, 2].flatMap((minute) => ids('p').filter((id, index) => !isDone(id) && index % 3 === minute)),
        ...ids('p').filter(isDone),
      ])
      const first = await schedules('nextRunAt')(ANY_OWNER, { limit: 10 })
      const secondPage = () => schedules('nextRunAt')(ANY_OWNER, { limit: 10, after: first.next ?? '' })
      const before = await secondPage()
      const later = '2026-06-01 00:00:00.000'
      await under.query(
        `UPDATE periodic_task SET nextrun = '${later}', planned_nextrun = '${later}'
         WHERE id = '${first.items.at(-1)?.id}'`,
      )
      expect(before.items).toHaveLength(10)
      expect(await secondPage()).toEqual(before)
    })

    it.each(['p01', '2026-05-01/p01', '2026-02-30 00:00:00.000/p01', '2026-13-01 00:00:00.000/p01', ''])(
      'pages by next run reject the invalid `after` value %j',
      async (wrong) => {
        await expect(
          under.store.lists.schedules({ ...ALL, order: 'nextRunAt', after: wrong }),
        ).rejects.toMatchObject({ code: 'KALENDS_INVALID_INPUT', field: 'after' })
      },
    )
  })

  it('a search that reaches its time limit returns partial results, marked as incomplete [V5]', async () => {
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
      const within = { ...bounds, searchMs }
      return {
        schedules: await lists.schedules({ limit: 1, text: 'MANY' }, within),
        byTime: await lists.jobs({ limit: 1, ...day, error: 'many' }, within),
        jobs: await lists.jobs({ limit: 1, error: 'many' }, within),
        counts: await lists.jobCounts({ error: 'many' }, within),
        failures: await lists.failures({ group: 'many' }, 1000, within),
        groups: await lists.timerGroups({ group: 'many' }, within),
        hours: await lists.finishedPerHour({ ...day, group: 'many' }, within),
      }
    }

    const whole = await looks(60_000)
    expect(whole.schedules.total).toBe(600)
    expect(whole.byTime.total).toBe(600)
    expect(whole.jobs.total).toBe(600)
    expect(whole.counts).toEqual({ counts: { failed: 600 }, isExact: true })
    expect(whole.failures.items).toHaveLength(600)
    expect(whole.failures.complete).toBe(true)
    expect(whole.groups).toMatchObject({ groups: [{ schedules: 600 }], complete: true })
    expect(whole.hours).toMatchObject({ hours: [{ jobs: 600 }], complete: true })

    const short = await looks(0)
    expect(short.schedules.total).toBeNull()
    expect(short.byTime.total).toBeNull()
    expect(short.jobs.total).toBeNull()
    expect(short.counts.isExact).toBe(false)
    expect(short.failures.complete).toBe(false)
    expect(short.groups.complete).toBe(false)
    expect(short.hours.complete).toBe(false)
  })

  it('a search finds all existing rows, even while newer rows are inserted', async () => {
    const many = { task: 'many', group_: 'many', error: 'many' }
    const older = Array.from({ length: 100 }, (_, index) => ({
      id: `m${String(index).padStart(3, '0')}`,
      ...many,
    }))
    await insertAll(under, 'job', older)
    let inserted = 0
    const { store } = await recording(under.url, async (statement) => {
      // Between two slices.
      if (statement.includes('AS placed') && inserted < 40)
        for (let index = 0; index < 20; index += 1) await job(under, `n${inserted++}`, many)
    })
    under.afterwards(() => store.close())
    const { items, next } = await store.lists.jobs({ ...ALL, group: 'many', error: 'MANY' }, bounds)
    const found = new Set(items.map(({ id }) => id))
    expect(inserted).toBe(40)
    expect([...found].filter((id) => id.startsWith('m'))).toHaveLength(100)
    expect(next).toBeNull()
  })

  it.each<[string, Owner, RegExp]>([
    ['submitter', { group: null, submitter: 'eve' }, /job_submitter\b|periodic_task_submitter\b/],
    ['group', { group: 'eves', submitter: null }, /job_group\b|periodic_task_group\b/],
    ['group and submitter', { group: 'eves', submitter: 'eve' }, /job_submitter\b|periodic_task_submitter\b/],
  ])('rows of other owners do not change the results of a scope with a %s', async (_, own, index) => {
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
          planned_from: '1|daily|0|||',
          planned_nextrun: nextrun,
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
    const few = { ...bounds, searchWithin: 30, countUpTo: 20 }
    const limit = 10
    const ended = { finishedFrom: START, finishedTo: after(START, 24 * 60 * MINUTE) }
    const answers = async () => ({
      ended: await lists.jobs({ limit, ...ended }, few),
      failed: await lists.jobs({ limit, ...ended, state: 'failed' }, few),
      running: await lists.jobs({ limit, worker: 'w/1' }, few),
      ofSchedule: await lists.jobs({ limit, scheduleId: generated }, few),
      counts: await lists.jobCounts(ended, few),
      hours: await lists.finishedPerHour(ended, few),
      failures: await lists.failures(ended, limit, few),
      next: await lists.schedules({ limit, order: 'nextRunAt' }, few),
      nextSearched: await lists.schedules({ limit, order: 'nextRunAt', task: 'some', text: 'EVE' }, few),
    })
    await rowsOf('eve', 4, '2036-01-01 00:00:00.000', after(START, MINUTE))
    const before = await answers()
    expect(before).toMatchObject({
      ended: { total: 2, next: null },
      running: { total: 2, next: null },
      ofSchedule: { total: 4, next: null },
      counts: { counts: { failed: 2 }, isExact: true },
      hours: { hours: [{ jobs: 2 }], complete: true },
      next: { total: 4, next: null, items: [0, 1, 2, 3].map((number) => ({ id: `eve00${number}` })) },
      nextSearched: { total: 4, next: null },
    })

    await rowsOf('mallory', 100, '2035-01-01 00:00:00.000', after(START, 2 * MINUTE))
    statements.length = 0
    expect(await answers()).toEqual(before)

    const ranges = statements.filter((statement) => statement.includes(' LIMIT '))
    expect(ranges.length).toBeGreaterThan(9)
    for (const statement of ranges) {
      const explain = under.kind === 'sqlite' ? 'EXPLAIN QUERY PLAN' : 'EXPLAIN'
      const plan = JSON.stringify(await under.query(`${explain} ${statement}`))
      // MySQL found while planning that no rows match, so the plan names no index.
      if (plan.includes('Zero rows')) continue
      expect(plan, statement).toMatch(index)
      expect(plan, statement).not.toMatch(/job_held|job_occurrence|job_state|task_wake_at/)
    }
  })

  it('a list omits large values, shortens long errors and reports the sizes; `get` returns them in full', async () => {
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
    expect((await lists.jobs({ ...ALL, task: 'large' })).items).toMatchObject([shortened])
    expect(await lists.history('large', { before: null }, 1000)).toMatchObject([shortened])
    expect(await lists.history('large', { from: START }, 10)).toMatchObject([shortened])
    expect((await lists.schedules({ ...ALL, task: 'large' })).items).toMatchObject([
      { args: null, lastError: 'Error: first', truncated: { args: 900_002, lastError: 3013 } },
    ])
    const [small] = (await lists.jobs({ task: 'mail', limit: 1 })).items
    expect(small).not.toHaveProperty('truncated')
    expect(await jobs.get('large')).toMatchObject({ args: 'x'.repeat(900_000), error: large.error })
    expect(await schedules.get('large')).toMatchObject({ args: 'x'.repeat(900_000), lastError: large.error })
  })

  it('the latest runs of several schedules are read together, newest first', async () => {
    await planned(under, 's00 x', null)
    await under.query(ADOPT)
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

  it('each failure contains the beginning of its error, each task appears once, and equal timers are grouped', async () => {
    const { lists } = under.store
    const { items: failures, complete } = await lists.failures({ task: 'mail' }, 1000)
    expect(complete).toBe(true)
    expect(await lists.failures({ task: 'mail' }, 1)).toEqual({
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

  it('the timers of retrying schedules are read like those of other schedules, except for one-offs', async () => {
    const { lists } = under.store
    const retry = { group_: 'retrying', retry_at: '2030-01-01 00:00:00.000', retry: 1 }
    const inserted = [
      { id: 'retry a', group_: 'retrying' },
      { id: 'retry b', ...retry },
      { id: 'retry c', ...retry, idle: 'awaiting-finish' },
      { id: 'retry once', ...retry, idle: 'done' },
    ]
    for (const row of inserted)
      await insert(under, 'periodic_task', {
        task: 'mail',
        timer: 'daily',
        created: '2026-01-01 00:00:00',
        ...row,
      })
    const conditions = { group: 'retrying' }
    const ids: string[] = []
    const ends: boolean[] = []
    for await (const { rows, isLast } of lists.timers(conditions, never)) {
      ids.push(...rows.map(({ id }) => id))
      ends.push(isLast)
    }
    expect(ids).toEqual(['retry a', 'retry b', 'retry c'])
    expect(ends.at(-1)).toBe(true)
    expect((await lists.timerGroups(conditions)).groups).toMatchObject([{ timer: 'daily', schedules: 3 }])
    expect((await lists.schedules({ ...conditions, status: 'retrying', limit: 10 })).items).toHaveLength(3)
    expect((await lists.scheduleCounts(conditions)).counts).toEqual({ active: 1, retrying: 3 })
    await under.query("DELETE FROM periodic_task WHERE group_ = 'retrying'")
  })

  it('the timers of active schedules are read in pieces, regardless of how many other schedules are between them', async () => {
    const all = await everySchedule()
    const timers = async (of: Owner, conditions: ScheduleConditions) => {
      const found: TimerRow[] = []
      for await (const { rows } of under.store.lists.ownedBy(of).timers(conditions, never))
        found.push(...rows)
      return found
    }
    const wanted = fc.record({
      task: maybe(fc.constantFrom('mail', 'none')),
      group: maybe(fc.constantFrom('', 'a')),
      submitter: maybe(fc.constant('ann')),
    })
    const ids = (rows: readonly { readonly id: string }[]) => rows.map(({ id }) => id)
    const holds = async (of: Owner, conditions: ScheduleConditions) => {
      const expected = all.filter(
        (one) =>
          one.status === 'active' &&
          (of.group === null || one.group === of.group) &&
          (of.submitter === null || one.submitter === of.submitter) &&
          (['task', 'group', 'submitter'] as const).every(
            (key) => conditions[key] === undefined || one[key] === conditions[key],
          ),
      )
      expect(ids(await timers(of, conditions))).toEqual(ids(expected))
    }
    await fc.assert(fc.asyncProperty(owner, wanted, holds))
    for (const row of await timers(ANY_OWNER, {}))
      expect(all.find(({ id }) => id === row.id)).toMatchObject({ ...row })
  })

  it('without a condition, timers are read in order of the next run, with marked schedules first and frozen ones last', async () => {
    const far = '2041-01-01 00:00:00.000'
    const planned = (id: string, nextrun: string, more = {}) =>
      insert(under, 'periodic_task', {
        id,
        task: 'mail',
        timer: 'daily',
        nextrun,
        planned_from: '1|daily|0|||',
        planned_nextrun: nextrun,
        ...more,
      })
    await planned('third', '2040-01-03 00:00:00.000')
    await planned('first', '2040-01-01 00:00:00.000')
    await planned('second', '2040-01-02 00:00:00.000')
    await planned('marked', '2020-01-01 00:00:00.000', {
      worker: 'w/1',
      mark_ends: toText(new Date(Date.now() + 30_000)),
    })
    await planned('frozen', '2039-01-01 00:00:00.000', { frozen_until: far })
    await planned('edited', '2040-01-01 00:00:00.000', { timer: 'hourly' })
    await planned('by hand', '2040-01-01 00:00:00.000', { nextrun: '2040-01-01 00:00:01.000' })
    for (let index = 100; index < 300; index += 1) await planned(`far ${index}`, far)
    const found: TimerRow[] = []
    const until = () => new Date('2040-06-01T00:00:00Z')
    for await (const { rows, isLast } of under.store.lists.timers({}, until, bounds)) {
      found.push(...rows)
      expect(isLast).toBe(rows.some(({ id }) => id === 'frozen'))
    }
    const ids = found.map(({ id }) => id)
    const own = ['marked', 'edited', 'by hand', 'first', 'second', 'third', 'frozen']
    expect(ids.filter((id, index) => own.includes(id) && ids.indexOf(id) === index)).toEqual([
      'marked',
      'by hand',
      'edited',
      'first',
      'second',
      'third',
      'frozen',
    ])
    expect(ids.filter((id) => id.startsWith('far')).length).toBeLessThan(150)
    const next = (id: string) => found.find((row) => row.id === id)?.nextRunAt?.toISOString()
    expect(own.map(next)).toEqual([
      '2020-01-01T00:00:00.000Z',
      undefined,
      '2040-01-01T00:00:01.000Z',
      '2040-01-01T00:00:00.000Z',
      '2040-01-02T00:00:00.000Z',
      '2040-01-03T00:00:00.000Z',
      '2039-01-01T00:00:00.000Z',
    ])
    const searched: boolean[] = []
    for await (const { isLast } of under.store.lists.timers({}, until, { ...bounds, searchWithin: 1 }))
      searched.push(isLast)
    expect(searched).not.toContain(true)
    await under.query(
      "DELETE FROM periodic_task WHERE timer IN ('daily', 'hourly') AND task = 'mail' AND planned_from IS NOT NULL",
    )
  })

  it.each([0, 15, 30, 45])(
    'ended jobs are counted by state and by hours that start at minute %i',
    async (minute) => {
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
    },
  )

  it('ended jobs are counted by hour, including the start of the range and excluding its end', async () => {
    const ended = (await everyJob()).flatMap(({ task, finishedAt }) =>
      task === 'mail' && finishedAt !== null ? [finishedAt.getTime()] : [],
    )
    const [first, last] = [new Date(Math.min(...ended)), new Date(Math.max(...ended))]
    const count = async (finishedFrom: Date, finishedTo: Date) => {
      const range = { task: 'mail', finishedFrom, finishedTo }
      const { hours } = await under.store.lists.finishedPerHour(range, bounds)
      return hours.reduce((sum, { jobs }) => sum + jobs, 0)
    }
    expect(ended.length).toBeGreaterThan(1)
    expect(await count(first, after(last, 1))).toBe(ended.length)
    expect(await count(after(first, 1), after(last, 1))).toBe(ended.length - 1)
    expect(await count(first, last)).toBe(ended.length - 1)
  })

  describe('change tokens', () => {
    const look = () => under.store.lists.changeTokens()
    /** Waits so that the next change gets a new time: servers record times in whole seconds. */
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

    it('stay the same if nothing changes', async () => {
      await nextSecond()
      const before = await look()
      await nextSecond()
      expect(await look()).toEqual(before)
    })

    it('change with every write by Kalends', async () => {
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
