/** SQL is an interface: rows written manually or by programs in other languages take effect as documented. */
import { describe, expect, it } from 'vitest'
import { toText } from '../../src/model/instant.ts'
import {
  clock,
  ids,
  instant,
  job,
  LEASE_MS,
  onEachStore,
  one,
  planned,
  policies,
  schedule,
  submitDue,
  type StoreUnderTest,
  WORKER,
} from './conformance.ts'

const EPOCH = new Date(0)
const UUID7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

const wakeAt = async (under: StoreUnderTest, id: string) => instant((await schedule(under, id))['wake_at'])

onEachStore((under) => {
  const near = async (value: unknown) => {
    const now = await clock(under)
    expect(Math.abs((instant(value)?.getTime() ?? 0) - now.getTime())).toBeLessThan(600_000)
  }

  describe('required columns', () => {
    it('a schedule needs an id, a task and a timer', async () => {
      await under.query("INSERT INTO periodic_task (id, task, timer) VALUES ('nightly', 'cleanup', 'daily')")
      expect(await under.store.schedules.get('nightly')).toMatchObject({
        id: 'nightly',
        enabled: true,
        status: 'active',
        task: 'cleanup',
        timer: 'daily',
        group: '',
        args: {},
        priority: 0,
        catchUp: 1,
        timeout: null,
        nextRunAt: null,
        markedBy: null,
      })
      const row = await schedule(under, 'nightly')
      await near(row['created'])
      expect(ids(await under.store.scheduling.markDue(WORKER, 10, LEASE_MS))).toEqual(['nightly'])
    })

    it('a job needs only a task, and can have args', async () => {
      await under.query(`INSERT INTO job (task, args) VALUES ('mail', '{"to":"x"}')`)
      const [claimed] = await under.store.executing.claim(WORKER, policies('mail'), 10, '')
      expect(claimed).toMatchObject({
        task: 'mail',
        argsText: '{"to":"x"}',
        args: { to: 'x' },
        attempt: 1,
        scheduleId: null,
        slot: null,
      })
      expect(claimed?.id).toMatch(UUID7)
      const row = await one(under, 'SELECT * FROM job')
      await near(row['submitted'])
    })

    it('a log line needs only a job and a message', async () => {
      await under.query("INSERT INTO job_log (job_id, message) VALUES ('j', 'hello')")
      expect(await under.query('SELECT level, message FROM job_log')).toMatchObject([
        { level: 'info', message: 'hello' },
      ])
    })

    it('job ids default to UUIDv7 with the current time; they are unique within one INSERT … SELECT and sort by time', async () => {
      const before = await clock(under)
      await under.query("INSERT INTO job (task) VALUES ('a'), ('b'), ('c')")
      for (let doubled = 3; doubled < 3000; doubled *= 2)
        await under.query('INSERT INTO job (task) SELECT task FROM job')
      const first = await under.query('SELECT id FROM job')
      expect(new Set(first.map((row) => row['id'])).size).toBe(3072)
      for (const { id } of first) expect(id).toMatch(UUID7)
      for (const { id } of first) {
        const ms = Number.parseInt(String(id).replaceAll('-', '').slice(0, 12), 16)
        expect(Math.abs(ms - before.getTime())).toBeLessThan(600_000)
      }
      while ((await clock(under)).getTime() <= before.getTime() + 1);
      const newest = first
        .map((row) => String(row['id']))
        .toSorted()
        .at(-1)
      const mark = (await clock(under)).getTime()
      while ((await clock(under)).getTime() === mark);
      await under.query("INSERT INTO job (task) VALUES ('later')")
      const later = await one(under, "SELECT id FROM job WHERE task = 'later'")
      expect(String(later['id']) > String(newest)).toBe(true)
    })
  })

  describe('a statement is rejected', () => {
    it.each([
      "INSERT INTO job (task, state) VALUES ('t', 'runing')",
      "INSERT INTO job (task, args) VALUES ('t', '{to: x}')",
      "INSERT INTO job (task, retry_backoff) VALUES ('t', 'linear')",
      'INSERT INTO job (task) VALUES (NULL)',
      "INSERT INTO periodic_task (id, task, timer, args) VALUES ('s', 't', 'daily', '')",
      "INSERT INTO periodic_task (id, task, timer, enabled) VALUES ('s', 't', 'daily', 2)",
      "INSERT INTO periodic_task (id, task, timer, catch_up) VALUES ('s', 't', 'daily', -1)",
      "INSERT INTO periodic_task (id, task, timer, retry_backoff) VALUES ('s', 't', 'daily', '')",
      "INSERT INTO periodic_task (id, task) VALUES ('s', 't')",
      "INSERT INTO periodic_task (id, task, timer) VALUES (NULL, 't', 'daily')",
    ])('%s', async (statement) => {
      await expect(under.query(statement)).rejects.toThrow()
      expect(await under.query('SELECT id FROM job UNION ALL SELECT id FROM periodic_task')).toEqual([])
    })

    it('a schedule has at most one exclusive job that is waiting or running, and at most one job per slot [L3]', async () => {
      await job(under, 'a', { periodic_task_id: 's', slot: '2026-01-01 00:00:00.000' })
      await expect(
        job(under, 'b', { periodic_task_id: 's', slot: '2026-01-02 00:00:00.000' }),
      ).rejects.toThrow()
      await job(under, 'c', { periodic_task_id: 's', slot: '2026-01-02 00:00:00.000', state: 'blocked' })
      await job(under, 'd', { periodic_task_id: 's', slot: '2026-01-03 00:00:00.000', state: 'skipped' })
      await expect(
        job(under, 'e', { periodic_task_id: 's', slot: '2026-01-03 00:00:00.000', state: 'skipped' }),
      ).rejects.toThrow()
      await under.query("UPDATE job SET state = 'running' WHERE id = 'a'")
      await expect(under.query("UPDATE job SET state = 'waiting' WHERE id = 'c'")).rejects.toThrow()
      await under.query("UPDATE job SET state = 'failed' WHERE id = 'a'")
      await under.query("UPDATE job SET state = 'waiting' WHERE id = 'c'")
      // A run in an external queue is unfinished, too.
      await under.query("UPDATE job SET state = 'external' WHERE id = 'c'")
      await expect(
        job(under, 'f', { periodic_task_id: 's', slot: '2026-01-04 00:00:00.000' }),
      ).rejects.toThrow()
    })
  })

  describe('wake_at', () => {
    const FUTURE = new Date('2099-01-01T00:00:00Z')

    it('a new row is due for planning now', async () => {
      await under.query("INSERT INTO periodic_task (id, task, timer) VALUES ('s', 't', 'daily')")
      expect(await wakeAt(under, 's')).toEqual(EPOCH)
    })

    it('a new row is due for planning even if it is disabled, so that a worker sees it', async () => {
      await under.query("INSERT INTO periodic_task (id, task, timer, enabled) VALUES ('s', 't', 'daily', 0)")
      expect(await wakeAt(under, 's')).toEqual(EPOCH)
    })

    const MARKED = "worker = 'w/1', marked = '2030-01-01 00:00:00.000', mark_ends = '2030-01-01 00:01:00.000'"
    const MARK_ENDS = new Date('2030-01-01T00:01:00Z')

    it.each<[string, Date | null, string[], Date | null]>([
      ['a planned row wakes at its next run', FUTURE, [], FUTURE],
      [
        'other settings do not affect the plan [L13]',
        FUTURE,
        ["args = '{}', subject = 'x', priority = 9, catch_up = 3, group_ = 'g', timeout = 1"],
        FUTURE,
      ],
      ['a new timer needs a plan [L13]', FUTURE, ["timer = 'hourly'"], EPOCH],
      ['a disabled row needs a plan [L13]', FUTURE, ['enabled = 0'], EPOCH],
      ['a later next run needs a plan [L13]', FUTURE, ["nextrun = '2098-01-01 00:00:00.000'"], EPOCH],
      ['a past next run needs a plan [L13]', FUTURE, ["nextrun = '2000-01-01 00:00:00'"], EPOCH],
      ['a removed next run needs a plan [L13]', FUTURE, ['nextrun = NULL'], EPOCH],
      [
        'a row that is disabled and enabled again is unedited',
        FUTURE,
        ['enabled = 0', 'enabled = 1'],
        FUTURE,
      ],
      ['an idle row never wakes [L6]', null, [], null],
      ['an idle row with a new timer needs a plan', null, ["timer = 'hourly'"], EPOCH],
      ['an idle row that is disabled needs a plan', null, ['enabled = 0'], EPOCH],
      ['an idle row with a next run needs a plan', null, ["nextrun = '2098-01-01 00:00:00.000'"], EPOCH],
      ['a row with neither a next run nor a reason to be idle needs a plan', null, ['idle = NULL'], EPOCH],
      ['a marked row wakes when the mark ends [L33]', FUTURE, [MARKED], MARK_ENDS],
      ['a mark hides edits until it ends [L33]', FUTURE, [MARKED, "timer = 'daily', enabled = 0"], MARK_ENDS],
      [
        'clearing a mark reveals edits made in the meantime [L16]',
        FUTURE,
        [MARKED, "timer = 'daily'", 'worker = NULL, mark_ends = NULL'],
        EPOCH,
      ],
      ['a row whose mark has no end is due now', FUTURE, ["worker = 'w/1'"], EPOCH],
    ])('%s', async (_, nextRunAt, edits, expected) => {
      await planned(under, 's', nextRunAt, nextRunAt === null ? { idle: 'done' } : {})
      for (const edit of edits) await under.query(`UPDATE periodic_task SET ${edit}`)
      expect(await wakeAt(under, 's')).toEqual(expected)
    })

    it('a row that was planned while it was disabled never wakes', async () => {
      await planned(under, 's', null, { enabled: 0 })
      expect(await wakeAt(under, 's')).toBeNull()
    })

    it('a submitted row does not count as edited, whatever characters its timer contains', async () => {
      const timers = ['minutely', '*-*-* *:*:00 UTC', 'Mon|Tue 00:00', "it's \\ ?|", ' minutely ', '😀|']
      for (const [index, timer] of timers.entries()) {
        await under.query('INSERT INTO periodic_task (id, task, timer) VALUES (?, ?, ?)', [
          `s${index}`,
          't',
          timer,
        ])
      }
      const marks = await under.store.scheduling.markDue(WORKER, 10, LEASE_MS)
      await under.store.scheduling.submit(WORKER, marks, (row, now, active) => ({
        ...submitDue(row, now, active),
        runs: [],
        skips: [],
        nextRunAt: FUTURE,
        lastSlot: null,
        lastError: null,
        idle: null,
      }))
      for (const [index] of timers.entries()) expect(await wakeAt(under, `s${index}`)).toEqual(FUTURE)
    })

    it('times are preserved to the millisecond [L21]', async () => {
      await planned(under, 's', FUTURE)
      for (let ms = 0; ms < 1000; ms += under.kind === 'sqlite' ? 1 : 37) {
        const next = new Date(FUTURE.getTime() + ms)
        await under.query('UPDATE periodic_task SET nextrun = ?, planned_nextrun = ?', [
          toText(next),
          toText(next),
        ])
        expect(await wakeAt(under, 's')).toEqual(next)
      }
    })
  })

  describe('values written manually', () => {
    it('text that is not valid JSON is returned as text and hides no other rows', async () => {
      await under.query(`INSERT INTO job (id, task, result, progress) VALUES ('j', 't', 'not json', '{')`)
      await job(under, 'k')
      const { items } = await under.store.lists.jobs({ limit: 10 })
      expect(items.map((item) => item.result)).toEqual([null, 'not json'])
      expect((await under.store.executing.claim(WORKER, policies('t', 'task'), 10, '')).length).toBe(2)
    })
  })
})
