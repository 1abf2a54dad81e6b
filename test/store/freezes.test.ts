/** Freezes in the database: what they hold, what continues, and how held rows are released. */
import { describe, expect, it } from 'vitest'
import type { NewFreeze } from '../../src/model/freeze.ts'
import { fromText, toText } from '../../src/model/instant.ts'
import { plan } from '../../src/model/plan.ts'
import { DEFAULT_POLICY } from '../../src/model/task.ts'
import type { Decide } from '../../src/store/scheduling-store.ts'
import {
  after,
  clock,
  insert,
  insertAll,
  job,
  jobRow,
  LEASE_MS,
  MINUTE,
  onEachStore,
  planned,
  policies,
  schedule,
  WORKER,
} from './conformance.ts'

const decide: Decide = (row, now, open, freezes) => plan(row, { now, open, missedAfterMs: LEASE_MS, freezes })
const TARGET: Omit<NewFreeze, 'until'> = { scheduleId: null, task: null, group: null, reason: null }

onEachStore((under) => {
  const pass = async () => {
    const { scheduling } = under.store
    const { submissions, refused } = await scheduling.submit(
      WORKER,
      await scheduling.markDue(WORKER, 100, LEASE_MS),
      decide,
    )
    expect(refused).toEqual([])
    return submissions.flatMap(({ jobs }) => jobs)
  }
  const claim = () => under.store.executing.claim(WORKER, policies('task', 'other'), 100, '')
  const claimed = async () => (await claim()).map(({ id }) => id).toSorted()
  const until = async (ms = 60 * MINUTE) => after(await clock(under), ms)
  const freeze = async (of: Partial<NewFreeze>, ms?: number) => {
    const added = await under.store.freezes.add({ ...TARGET, ...of, until: await until(ms) })
    if (added === null) throw new Error('a freeze in the future must be stored')
    return added
  }
  /** Ends the freezes and releases what they hold. */
  const passed = async () => {
    const past = toText(await until(-1000))
    await under.query('UPDATE schedule_freeze SET until = ?', [past])
    await under.query('UPDATE periodic_task SET frozen_until = ? WHERE frozen_until IS NOT NULL', [past])
    await under.query('UPDATE job SET frozen_until = ? WHERE frozen_until IS NOT NULL', [past])
    await under.store.executing.promoteDue(100)
  }
  const due = async (id: string, more: Record<string, string | number | null> = {}) =>
    planned(under, id, await until(-5000), { timer: 'every 1s', ...more })

  it('a freeze is stored, listed while it is in force, and removed', async () => {
    const added = await freeze({ task: 'task', reason: 'Maintenance' })
    expect(added).toMatchObject({ ...TARGET, task: 'task', reason: 'Maintenance', id: expect.any(String) })
    await freeze({ group: 'a' })
    await insert(under, 'schedule_freeze', { schedule_id: 's', until: toText(await until()) })
    await under.query("UPDATE schedule_freeze SET until = '2020-01-01 00:00:00' WHERE group_ = 'a'")
    const listed = await under.store.freezes.inForce()
    // In any order, because they may have been created in the same millisecond.
    expect(new Set(listed.map(({ task, scheduleId }) => task ?? scheduleId))).toEqual(new Set(['s', 'task']))
    expect(await under.store.freezes.end(added.id)).toEqual({ ...added, until: expect.any(Date) })
    expect(await under.store.freezes.end(added.id)).toBeNull()
    expect(await under.store.freezes.inForce()).toHaveLength(1)
    expect(await under.store.freezes.add({ ...TARGET, until: new Date(0) })).toBeNull()
  })

  describe('a schedule', () => {
    it.each([
      ['its id', { scheduleId: 's' }],
      ['its task', { task: 'task' }],
      ['its group', { group: 'a' }],
      ['everything', {}],
      ['its task and group', { task: 'task', group: 'a' }],
    ])('is held by a freeze of %s, and no job is submitted [R15]', async (_, of) => {
      await due('s', { group_: 'a' })
      const { until: end } = await freeze(of)
      expect(await pass()).toEqual([])
      const row = await schedule(under, 's')
      expect(row).toMatchObject({ status: 'frozen', worker: null, enabled: 1, last_slot: null })
      expect(fromText(String(row['frozen_until']))).toEqual(end)
      expect(fromText(String(row['wake_at']))).toEqual(end)
      expect(await pass()).toEqual([])
    })

    it.each([
      ['another id', { scheduleId: 't' }],
      ['another task', { task: 'other' }],
      ['another group', { group: 'b' }],
      ['its task in another group', { task: 'task', group: 'b' }],
    ])('runs during a freeze of %s', async (_, of) => {
      await due('s', { group_: 'a' })
      await freeze(of)
      expect(await pass()).toHaveLength(1)
    })

    it('runs again when the freeze has ended; the slots during the freeze become one skip [X6]', async () => {
      await due('s')
      await freeze({})
      await pass()
      await passed()
      await pass()
      const rows = await under.query('SELECT state, reason, missed FROM job ORDER BY slot')
      expect(rows[0]).toMatchObject({ state: 'skipped', reason: 'frozen' })
      expect(Number(rows[0]?.['missed'])).toBeGreaterThanOrEqual(4)
      // Slots that the freeze did not cover may have been missed.
      expect(rows.at(-1)).toMatchObject({ state: 'waiting' })
      expect(await schedule(under, 's')).toMatchObject({ status: 'active', frozen_until: null })
    })

    it('is released at once if the freeze is ended, and by `thaw` if its row is deleted in SQL [R15]', async () => {
      // No slot becomes due between the end of the freeze and the end of the test.
      await due('s', { timer: 'every 1h' })
      await due('once', { timer: '2020-01-01', nextrun: '2020-01-01 00:00:00.000' })
      await due('other', { task: 'other' })
      const { id } = await freeze({ task: 'task' })
      await freeze({ task: 'other' })
      // The freezes began before the slots were due.
      await under.query('UPDATE schedule_freeze SET created = ?', [toText(await until(-MINUTE))])
      await pass()
      const before = (await under.store.scheduling.look([])).freezes
      await under.store.freezes.end(id)
      expect((await under.store.scheduling.look([])).freezes).not.toBe(before)
      await pass()
      const rows = await under.query(
        "SELECT periodic_task_id AS id FROM job WHERE state = 'waiting' ORDER BY periodic_task_id",
      )
      expect(rows).toEqual([{ id: 'once' }])
      expect(await schedule(under, 'other')).toMatchObject({ status: 'frozen' })
      await under.query('DELETE FROM schedule_freeze')
      await under.store.freezes.thaw()
      await pass()
      expect(await schedule(under, 'other')).toMatchObject({ status: 'active' })
    })

    it('is held until the last of several freezes ends', async () => {
      await due('s')
      const longer = await freeze({ task: 'task' }, 120 * MINUTE)
      const { until: sooner } = await freeze({})
      await pass()
      expect(fromText(String((await schedule(under, 's'))['frozen_until']))).toEqual(longer.until)
      await under.store.freezes.end(longer.id)
      await pass()
      expect(fromText(String((await schedule(under, 's'))['frozen_until']))).toEqual(sooner)
    })

    it('a schedule that becomes done while held is no longer held', async () => {
      await due('s', { max_runs: 1, overlap: 'allow' })
      await under.query('UPDATE periodic_task SET planned_from = definition')
      const running = { state: 'running', worker: WORKER, attempt: 1, claim: 1 }
      await job(under, 'run', { ...running, periodic_task_id: 's', exclusive: 0 })
      await freeze({})
      await pass()
      expect(await schedule(under, 's')).toMatchObject({ status: 'frozen' })
      const fence = { id: 'run', worker: WORKER, claim: 1 }
      const end = { kind: 'success', result: null } as const
      await under.store.executing.settle([{ fence, end, policy: DEFAULT_POLICY }])
      expect(await schedule(under, 's')).toMatchObject({ status: 'done', frozen_until: null })
    })

    it('a schedule that is edited or paused while held is planned again, without a run', async () => {
      await due('s')
      await due('t')
      await freeze({})
      await pass()
      await under.query("UPDATE periodic_task SET timer = 'daily' WHERE id = 's'")
      await under.query("UPDATE periodic_task SET enabled = 0 WHERE id = 't'")
      expect(await pass()).toEqual([])
      expect(await schedule(under, 's')).toMatchObject({ status: 'active', frozen_until: null })
      expect(await schedule(under, 't')).toMatchObject({ status: 'paused', frozen_until: null })
    })

    it('a schedule whose next run was set manually runs once the freeze has ended', async () => {
      await planned(under, 's', await until(), { timer: 'yearly' })
      await freeze({})
      await under.query("UPDATE periodic_task SET nextrun = '2000-01-01 00:00:00.000'")
      expect(await pass()).toEqual([])
      expect(await schedule(under, 's')).toMatchObject({ status: 'frozen' })
      expect(await pass()).toEqual([])
      await passed()
      expect(await pass()).toHaveLength(1)
    })

    it('slots during two consecutive freezes are skipped with the reason frozen', async () => {
      await due('s')
      for (let round = 0; round < 2; round += 1) {
        await freeze({})
        const past = toText(await until(-3000))
        await under.query(
          'UPDATE periodic_task SET nextrun = ?, planned_nextrun = ?, planned_from = definition',
          [past, past],
        )
        await pass()
        await passed()
        await under.query("UPDATE periodic_task SET overlap = 'skip', max_runs = NULL")
        await pass()
        await under.query("DELETE FROM job WHERE state = 'waiting'")
      }
      const skips = await under.query("SELECT reason FROM job WHERE state = 'skipped'")
      expect(skips.length).toBeGreaterThan(0)
      expect(new Set(skips.map(({ reason }) => reason))).toEqual(new Set(['frozen']))
    })
  })

  describe('a job', () => {
    it('is not claimed during a freeze of its schedule, task or group, but other jobs are [X6]', async () => {
      await job(under, 'of schedule', { periodic_task_id: 's', slot: '2026-01-01 00:00:00.000' })
      await job(under, 'of task', { task: 'other' })
      await job(under, 'of group', { group_: 'a' })
      await job(under, 'free', { group_: 'b' })
      await freeze({ scheduleId: 's' })
      await freeze({ task: 'other' })
      const { until: end } = await freeze({ group: 'a' })
      expect(await claimed()).toEqual(['free'])
      expect(await claimed()).toEqual([])
      expect((await under.store.scheduling.look(['task', 'other'])).claimable).toBe(false)
      const row = await jobRow(under, 'of group')
      expect(row).toMatchObject({ state: 'waiting', attempt: 0, claim: 0, run_at: null })
      expect(fromText(String(row['due_at']))).toEqual(end)
      expect(await under.store.jobs.get('of group')).toMatchObject({ frozenUntil: end, runAt: null })
    })

    it('starts once the freeze has ended, but not before its own time', async () => {
      await job(under, 'now')
      await job(under, 'later', { run_at: toText(await until()) })
      await freeze({})
      expect(await claimed()).toEqual([])
      await passed()
      expect(await claimed()).toEqual(['now'])
      expect(await jobRow(under, 'now')).toMatchObject({ frozen_until: null })
      expect(await jobRow(under, 'later')).toMatchObject({ state: 'waiting', frozen_until: null })
    })

    it('a job that is waiting for a retry is held when the retry is due', async () => {
      await job(under, 'retry', { attempt: 1, run_at: '2020-01-01 00:00:00.000' })
      await freeze({})
      await under.store.executing.promoteDue(100)
      expect(await claimed()).toEqual([])
      await passed()
      expect(await claim()).toMatchObject([{ id: 'retry', attempt: 2 }])
    })

    it('is released when its freeze ends, or is edited or deleted in SQL, unless another freeze holds it', async () => {
      await job(under, 'one')
      await job(under, 'two', { task: 'other' })
      const { id } = await freeze({})
      await freeze({ task: 'other' })
      expect(await claimed()).toEqual([])
      await under.store.freezes.end(id)
      expect(await claimed()).toEqual(['one'])
      await under.query("UPDATE schedule_freeze SET task = 'third'")
      await under.store.scheduling.sweep(WORKER, LEASE_MS, 'everything')
      expect(await claimed()).toEqual(['two'])
      await job(under, 'three')
      await freeze({})
      expect(await claimed()).toEqual([])
      await under.query('DELETE FROM schedule_freeze')
      await under.store.scheduling.sweep(WORKER, LEASE_MS, 'everything')
      expect(await claimed()).toEqual(['three'])
    })

    it('is released by a sweep if the deletion of the last freeze did not release it', async () => {
      await due('s')
      await job(under, 'held')
      await freeze({})
      await pass()
      expect(await claimed()).toEqual([])
      // A claim that reads the freezes just before the deletion, or a lock on the rows, leads to the same state.
      await under.query('DELETE FROM schedule_freeze')
      await under.store.scheduling.sweep(WORKER, LEASE_MS, 'everything')
      expect(await claimed()).toEqual(['held'])
      await pass()
      expect(await schedule(under, 's')).toMatchObject({ status: 'active', frozen_until: null })
    })

    it('a job that is held belongs to no worker', async () => {
      await job(under, 'held')
      await job(under, 'running', { state: 'running', worker: WORKER, attempt: 1, claim: 1 })
      await freeze({})
      await claim()
      expect(await under.store.workers.running()).toEqual(new Map([[WORKER, 1]]))
      expect((await under.store.executing.orphans(10)).map(({ fence }) => fence.id)).toEqual(['running'])
    })

    it('a long queue of held jobs does not prevent claims of other jobs', async () => {
      const queue = Array.from({ length: 1200 }, (_, index) => ({
        id: `held ${index}`,
        task: 'task',
        periodic_task_id: 's',
        exclusive: 0,
        priority: 5,
        slot: toText(new Date(index)),
      }))
      await insertAll(under, 'job', queue)
      await job(under, 'free')
      await freeze({ scheduleId: 's' })
      expect(await under.store.executing.claim(WORKER, policies('task'), 1, '')).toMatchObject([
        { id: 'free' },
      ])
      expect(await under.query('SELECT id FROM job WHERE frozen_until IS NULL')).toEqual([{ id: 'free' }])
    })

    it('of a small group gets its turn even while a freeze of other jobs is in force', async () => {
      const queue = Array.from({ length: 30 }, (_, index) => ({
        id: `a ${index}`,
        task: 'task',
        group_: 'a',
      }))
      await insertAll(under, 'job', queue)
      await job(under, 'b', { group_: 'b' })
      await freeze({ scheduleId: 'of others' })
      const found = await under.store.executing.claim(WORKER, policies('task'), 10, '')
      expect(found.map(({ id }) => id)).toContain('b')
    })

    it('a running job continues', async () => {
      await job(under, 'running', { state: 'running', worker: WORKER, attempt: 1, claim: 1 })
      await freeze({})
      await claim()
      expect(await jobRow(under, 'running')).toMatchObject({ state: 'running', stop_requested: null })
    })
  })

  it('old freezes are pruned', async () => {
    await freeze({ task: 'task' })
    await insert(under, 'schedule_freeze', { id: 'old', until: '2020-01-01 00:00:00' })
    await under.store.retention.prune({ ageMs: 86_400_000, perSchedule: 10 }, 100)
    expect(await under.query('SELECT task FROM schedule_freeze')).toEqual([{ task: 'task' }])
  })
})
