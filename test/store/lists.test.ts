/** What people look at: pages and counts, held against what a plain filter over all rows says. */
import * as fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { type Job, type JobState } from '../../src/model/job.ts'
import { ANY_OWNER, type Owner } from '../../src/model/owner.ts'
import type { Schedule, ScheduleStatus } from '../../src/model/schedule.ts'
import { toText } from '../../src/store/instant.ts'
import type { JobConditions, PageBounds, ScheduleConditions, TimerRow } from '../../src/store/list-store.ts'
import { after, insert, job, MINUTE, onEachStore } from './conformance.ts'

const START = new Date('2026-03-01T10:30:00.000Z')
const STATES = ['waiting', 'blocked', 'running', 'success', 'failed', 'cancelled', 'skipped'] as const
const bounds: PageBounds = { limit: 1000, offset: 0, countUpTo: 10_000, searchWithin: 100_000 }
const of = <Value>(values: readonly Value[], index: number): Value => {
  const value = values[index % values.length]
  if (value === undefined) throw new Error('no values')
  return value
}
const maybe = <Value>(arbitrary: fc.Arbitrary<Value>) => fc.option(arbitrary, { nil: undefined })
const has = (whole: string | null, part: string) => (whole ?? '').toLowerCase().includes(part.toLowerCase())

onEachStore((under) => {
  beforeEach(async () => {
    await under.query('BEGIN')
    for (let index = 0; index < 30; index += 1) {
      await insert(under, 'periodic_task', {
        id: `s${String(index).padStart(2, '0')} ${of(['Änderung', 'mail', 'x'], index)}`,
        task: of(['mail', 'clean', 'report'], index),
        timer: of(['daily', 'every 5min', '*:0/15'], index),
        group_: of(['', 'a', 'b'], Math.floor(index / 2)),
        submitter: of([null, 'ann', 'bob'], Math.floor(index / 3)),
        summary: of([null, 'Sends 100% of it', "it's_"], index),
        enabled: index % 5 === 0 ? 0 : 1,
        idle: of([null, null, 'done', 'dead', 'running'], index),
        declared_by: of([null, 'set'], index),
        created: toText(after(START, index)),
      })
    }
    for (let index = 0; index < 60; index += 1) {
      const state = of(STATES, index)
      const ended = ['success', 'failed', 'cancelled', 'skipped'].includes(state)
      await job(under, `${of(['0a', '0b', 'F'], index)}${String(index).padStart(3, '0')}`, {
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
      })
    }
    await under.query('COMMIT')
  })

  const everySchedule = async () => (await under.store.lists.schedules({ ...bounds, order: 'id' })).items
  const everyJob = async () => (await under.store.lists.jobs(bounds)).items

  const owner = fc.record({
    group: fc.constantFrom(null, null, 'a', 'nobody'),
    submitter: fc.constantFrom(null, null, 'ann'),
  })
  const page = fc.record({ limit: fc.integer({ min: 1, max: 20 }), offset: fc.integer({ min: 0, max: 10 }) })

  it('a page of schedules is what a filter over all of them says, and counts are', async () => {
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

  it('a page of jobs is what a filter over all of them says, newest first, and counts are', async () => {
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
      (wanted.schedule === undefined || one.scheduleId === wanted.schedule) &&
      (wanted.worker === undefined || one.worker === wanted.worker) &&
      (wanted.id === undefined || one.id.startsWith(wanted.id)) &&
      (wanted.error === undefined || has(one.error, wanted.error)) &&
      (wanted.args === undefined || has(JSON.stringify(one.args), wanted.args)) &&
      (wanted.finishedFrom === undefined || (one.finished !== null && one.finished >= wanted.finishedFrom)) &&
      (wanted.finishedTo === undefined || (one.finished !== null && one.finished < wanted.finishedTo))
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

  it('totals say when they stopped counting, and searches when they stopped looking', async () => {
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

  it('what comes next comes first, and what has nothing to come is left out', async () => {
    await under.query(
      "UPDATE periodic_task SET nextrun = '2026-05-01 00:00:00.000', planned_from = CONCAT(definition, '|2026-05-01 00:00:00.000')".replace(
        /CONCAT\(definition, ('.*')\)/,
        under.kind === 'sqlite' ? 'definition || $1' : 'CONCAT(definition, $1)',
      ),
    )
    await under.query(
      `UPDATE periodic_task SET nextrun = '2026-04-01 00:00:00.000', planned_from = ${under.kind === 'sqlite' ? "definition || '|2026-04-01 00:00:00.000'" : "CONCAT(definition, '|2026-04-01 00:00:00.000')"} WHERE id LIKE 's11%'`,
    )
    const { items } = await under.store.lists.schedules({ ...bounds, order: 'nextRun' })
    expect(items[0]?.id).toMatch(/^s11/)
    expect(items.every(({ status, idle }) => status === 'active' && idle === null)).toBe(true)
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

  it('failures come with the beginning of their error, tasks once, timers together that elapse alike', async () => {
    const { lists } = under.store
    const failures = await lists.failures({ task: 'mail' }, bounds)
    expect(failures.length).toBeGreaterThan(0)
    for (const failure of failures)
      expect(failure).toMatchObject({ task: 'mail', error: expect.stringMatching(/^Error: /) })
    expect(await lists.tasks(10)).toEqual(['clean', 'mail', 'report'])
    expect(await lists.tasks(1)).toEqual(['clean'])
    expect(await lists.ownedBy({ group: 'nobody', submitter: null }).tasks(10)).toEqual([])
    const groups = await lists.timerGroups({}, bounds)
    const active = (await everySchedule()).filter(({ status }) => status === 'active')
    expect(groups.reduce((sum, { schedules }) => sum + schedules, 0)).toBe(active.length)
    expect(groups.filter(({ timer }) => timer === 'daily')).toHaveLength(1)
    expect(groups.filter(({ timer }) => timer === 'every 5min').every((one) => one.schedules === 1)).toBe(
      true,
    )
  })

  it('the timers of active schedules come in pieces, however many of the others lie between', async () => {
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

  it('ended jobs are counted by hour and state', async () => {
    const range = { finishedFrom: START, finishedTo: after(START, 3 * 60 * MINUTE) }
    const { hours, complete } = await under.store.lists.finishedPerHour(range, bounds)
    const ended = (await everyJob()).filter(({ finished }) => finished !== null)
    expect(complete).toBe(true)
    expect(hours.reduce((sum, { jobs }) => sum + jobs, 0)).toBe(ended.length)
    for (const { hour, state, jobs } of hours)
      expect(
        ended.filter(
          (one) =>
            one.state === state &&
            one.finished !== null &&
            Math.floor(one.finished.getTime() / 3_600_000) === hour.getTime() / 3_600_000,
        ),
      ).toHaveLength(jobs)
  })

  describe('revisions', () => {
    const look = () => under.store.lists.revisions()
    /** The time of a change is told in whole seconds. */
    const nextSecond = () => new Promise((resolve) => setTimeout(resolve, under.kind === 'sqlite' ? 0 : 1100))

    it('change with whatever somebody does in SQL', async () => {
      let before = await look()
      for (const [table, statement] of [
        ['schedules', "UPDATE periodic_task SET summary = 'new' WHERE id LIKE 's11%'"],
        ['jobs', "INSERT INTO job (task) VALUES ('by hand')"],
        ['schedules', "DELETE FROM periodic_task WHERE id LIKE 's11%'"],
        ['jobs', "UPDATE job SET args = '[]' WHERE state = 'failed'"],
        ['workers', "INSERT INTO worker (id, name, host, pid, tasks) VALUES ('n/1', 'n', 'h', 1, '[]')"],
      ] as const) {
        await nextSecond()
        await under.query(statement)
        const now = await look()
        expect(now[table], statement).not.toBe(before[table])
        before = now
      }
    })

    it('stay the same while nothing changes', async () => {
      await nextSecond()
      const before = await look()
      await nextSecond()
      expect(await look()).toEqual(before)
    })

    it('change by what another of our own writes', async () => {
      await nextSecond()
      const before = await look()
      await nextSecond()
      const other = await under.another()
      expect(await other.schedules.delete('s01 mail')).toBe(true)
      expect((await look()).schedules).not.toBe(before.schedules)
      await nextSecond()
      const again = await look()
      await nextSecond()
      expect(await under.store.schedules.delete('s02 x')).toBe(true)
      expect((await look()).schedules).not.toBe(again.schedules)
    })
  })
})
