import { expect, it } from 'vitest'
import { openToInspect } from '../../src/store/open.ts'
import { openStore } from '../support/open-store.ts'
import { toText } from '../../src/model/instant.ts'
import { ADOPT } from '../support/databases.ts'
import { after, clock, job, newJob, onEachStore, planned, settings } from './conformance.ts'
import { write } from './writes.ts'

onEachStore((under) => {
  it('tables that the migrations created have no drift, even with a prefix', async () => {
    expect(await under.store.inspection.schemaDrift()).toEqual({
      pending: [],
      missing: [],
      engines: [],
      version: null,
    })
    const prefixed = await under.another({ tablePrefix: 'Pre_' })
    expect(await prefixed.inspection.schemaDrift()).toEqual({
      pending: [],
      missing: [],
      engines: [],
      version: null,
    })
  })

  it('jobs that the last pruning should have removed are reported', async () => {
    const unremoved = async () => (await under.store.inspection.inspect()).unremoved
    for (const [id, state, finished] of [
      ['old', 'success', '2026-01-08 00:00:00.000'],
      ['older', 'failed', '2026-01-07 00:00:00.000'],
      ['new', 'success', '2026-01-09 12:00:00.000'],
    ] as const)
      await job(under, id, { state, finished })
    expect(await unremoved()).toEqual([])
    await planned(under, 'kalends.prune', null)
    const pruned = {
      periodic_task_id: 'kalends.prune',
      state: 'success',
      finished: '2026-01-10 00:01:00.000',
    }
    const started = '2026-01-10 00:00:00.000'
    const args = JSON.stringify({ ageMs: 86_400_000, perSchedule: 10 })
    await job(under, 'pruning', { ...pruned, args, started })
    expect((await unremoved()).map(({ id }) => id).toSorted()).toEqual(['old', 'older'])
    await job(under, 'pruning later', { ...pruned, args: '[]', started })
    expect(await unremoved()).toEqual([])
  })

  it('missing parts of tables and unapplied migrations are reported', async () => {
    const database = await under.bare()
    const empty = await openToInspect(database.url, {})
    under.afterwards(() => empty.close())
    const before = await empty.inspection.schemaDrift()
    expect(before.pending[0]).toMatch(/^0000_/)
    expect(before.missing).toContain('column job.state')
    expect(before.missing).toContain('column periodic_task.status')
    expect(before.missing).toContain('index job_claim')
    expect(before.missing).toContain('check job_missed')
    const store = await openStore(database.url)
    under.afterwards(() => store.close())
    await database.query(under.kind === 'sqlite' ? 'DROP INDEX job_claim' : 'DROP INDEX job_claim ON job')
    await database.query('ALTER TABLE periodic_task DROP COLUMN last_finished')
    // SQLite cannot drop a CHECK.
    const checks = under.kind === 'sqlite' ? [] : ['check job_missed']
    if (checks.length > 0) await database.query('ALTER TABLE job DROP CONSTRAINT job_missed')
    const { pending, missing } = await empty.inspection.schemaDrift()
    expect(pending).toEqual([])
    expect(missing.toSorted()).toEqual([...checks, 'column periodic_task.last_finished', 'index job_claim'])
  })

  if (under.kind === 'mariadb')
    it('a unique key that is too long, which MariaDB stores as a hash, is reported as a missing index', async () => {
      const database = await under.fresh()
      const store = await openStore(database.url)
      under.afterwards(() => store.close())
      await database.query(
        'ALTER TABLE job DROP INDEX job_occurrence, ADD UNIQUE job_occurrence (periodic_task_id, slot, error)',
      )
      expect(await store.inspection.schemaDrift()).toEqual({
        pending: [],
        missing: ['index job_occurrence'],
        engines: [],
        version: null,
      })
    })

  it('frequent schedules that constantly miss slots count as behind', async () => {
    const now = await clock(under)
    const timers = {
      fast: 'every 1ms',
      punctual: 'every 1s',
      overlapping: 'every 1s',
      rare: 'every 5min',
      once: 'every 1s',
      earlier: 'every 1s',
      wrong: 'every',
    }
    for (const [id, timer] of Object.entries(timers)) await planned(under, id, now, { timer })
    // The check reads 100 schedules at a time, in the order of their ids.
    for (let index = 0; index < 100; index += 1) await planned(under, `a${index}`, now, { timer: 'every 1s' })
    const rows = (schedule: string, more: (index: number) => Record<string, string | number | null>) =>
      Promise.all(
        Array.from({ length: 6 }, (_, index) =>
          job(under, `${schedule}${index}`, {
            periodic_task_id: schedule,
            slot: toText(after(now, -1000 * index)),
            state: 'success',
            ...more(index),
          }),
        ),
      )
    const skipped = (reason: string) => ({ state: 'skipped', reason, missed: 9 })
    await rows('fast', (index) => (index % 2 === 0 ? skipped('missed') : {}))
    await rows('punctual', () => ({}))
    await rows('overlapping', () => skipped('overlap'))
    await rows('rare', () => skipped('missed'))
    await rows('once', (index) => (index === 2 ? { missed: 50 } : {}))
    await rows('earlier', (index) => ({ missed: 3, slot: toText(after(now, -100_000 - index)) }))
    expect((await under.store.inspection.inspect()).behind).toEqual([{ id: 'fast' }])
  })

  it('one inspection reads clocks, workers, marks, schedules, waiting jobs and orphans', async () => {
    await under.store.workers.register({ id: 'w/1', name: 'w', host: 'h', pid: 1, tasks: ['a'] })
    await write(under.store).create('paused', settings({ enabled: false }))
    await write(under.store).create('new', settings())
    await write(under.store).create('marked', settings())
    await write(under.store).create('broken', settings())
    await under.query(
      "UPDATE periodic_task SET worker = 'w/1', mark_ends = '2030-01-01 00:00:00.000' WHERE id = 'marked'",
    )
    await under.query("UPDATE periodic_task SET idle = 'invalid', last_error = 'what' WHERE id = 'broken'")
    await under.store.jobs.submit([newJob('one'), newJob('two'), newJob('orphan'), newJob('held')])
    await under.query("UPDATE job SET state = 'running', worker = 'gone/1' WHERE id = 'orphan'")
    await under.query("UPDATE job SET state = 'running', worker = 'w/1' WHERE id = 'held'")
    const seen = await under.store.inspection.inspect()
    expect(Math.abs(seen.now.getTime() - seen.localNow.getTime())).toBeLessThan(600_000)
    expect(seen.roundTripMs).toBeGreaterThan(0)
    expect(seen.workers).toMatchObject([{ id: 'w/1', tasks: ['a'], running: 1 }])
    expect(seen.marks).toEqual([{ id: 'marked', worker: 'w/1', ends: new Date('2030-01-01T00:00:00Z') }])
    expect(seen.schedules.map(({ id, idle, isDue }) => ({ id, idle, isDue }))).toEqual([
      { id: 'broken', idle: 'invalid', isDue: expect.any(Boolean) },
      { id: 'marked', idle: null, isDue: false },
      { id: 'new', idle: null, isDue: true },
    ])
    expect(seen.schedules[0]?.lastError).toBe('what')
    expect(seen.waiting).toMatchObject([{ count: 2 }])
    expect(seen.orphans).toEqual([{ id: 'orphan', worker: 'gone/1' }])
    expect(seen.blocked).toEqual([])
    expect(seen.endless).toEqual([])
    expect(await under.store.workers.running()).toEqual(
      new Map([
        ['w/1', 1],
        ['gone/1', 1],
      ]),
    )
  })
  it('jobs that can never start, and schedules that wait for a job that does not exist, are found', async () => {
    await write(under.store).create('s', settings())
    await write(under.store).create('t', settings())
    await under.query("UPDATE periodic_task SET idle = 'awaiting-finish' WHERE id IN ('s', 't')")
    await under.query(
      "INSERT INTO job (id, task, periodic_task_id, state, exclusive) VALUES ('first', 'x', 's', 'running', 1), ('second', 'x', 's', 'blocked', 1), ('third', 'x', 'gone', 'blocked', 1)",
    )
    await under.query(ADOPT)
    const before = await under.store.inspection.inspect()
    expect(before.blocked).toEqual([{ id: 'third', schedule: 'gone' }])
    expect(before.endless).toEqual([{ id: 't' }])
    await under.query("DELETE FROM job WHERE id = 'first'")
    const after = await under.store.inspection.inspect()
    expect(after.blocked.map(({ id }) => id)).toEqual(['second', 'third'])
  })
})
