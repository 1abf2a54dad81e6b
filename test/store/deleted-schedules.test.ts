/**
 * A job belongs to the row that submitted it. After a schedule is deleted and another one is created with the same id,
 * the jobs of the old row run to their end, and neither hold up nor change the new row.
 */
import { describe, expect, it } from 'vitest'
import { toText } from '../../src/model/instant.ts'
import { occurrenceId } from '../../src/model/occurrence.ts'
import { type OpenJobs, NO_OPEN_JOBS } from '../../src/model/planning.ts'
import type { AttemptEnd } from '../../src/model/settle.ts'
import { DEFAULT_POLICY } from '../../src/model/task.ts'
import type { Decide } from '../../src/store/scheduling-store.ts'
import { ADOPT, type Row } from '../support/databases.ts'
import {
  after,
  clock,
  job,
  jobRow,
  LEASE_MS,
  MINUTE,
  onEachStore,
  planned,
  policies,
  schedule,
  settings,
  submitDue,
  uidOf,
  WORKER,
} from './conformance.ts'
import { write } from './writes.ts'

const SLOT = '2026-01-01 00:00:00.000'
const STARTED = { worker: WORKER, attempt: 1, claim: 1, started: SLOT }
const OPEN: Readonly<Record<string, Record<string, string | number | null>>> = {
  running: { state: 'running', ...STARTED },
  external: { state: 'external', queue: 'q', ...STARTED },
  waiting: { state: 'waiting' },
  blocked: { state: 'blocked' },
  retrying: { state: 'waiting', attempt: 1, run_at: '2090-01-01 00:00:00.000' },
}

onEachStore((under) => {
  const old = (more: Record<string, string | number | null>, id = 'old') =>
    job(under, id, { periodic_task_id: 's', slot: SLOT, ...more })
  /** Deletes the schedule and creates another one, which is due and unlimited unless `more` says otherwise. */
  const recreate = async (more: Record<string, string | number | null> = {}) => {
    await under.query("DELETE FROM periodic_task WHERE id = 's'")
    await planned(under, 's', after(await clock(under), -1000), more)
  }
  /** A schedule with an open job, replaced by another schedule. */
  const replaced = async (
    state: Record<string, string | number | null> | undefined,
    more: Record<string, string | number | null> = {},
  ) => {
    await planned(under, 's', null)
    await old(state ?? {})
    await recreate(more)
  }
  const submit = async (decide: Decide = submitDue) =>
    under.store.scheduling.submit(WORKER, await under.store.scheduling.markDue(WORKER, 100, LEASE_MS), decide)
  const end = (of: AttemptEnd, retries = 0, id = 'old') => {
    const policy = { ...DEFAULT_POLICY, retries }
    return write(under.store).settle([{ fence: { id, worker: WORKER, claim: 1 }, end: of, policy }])
  }
  const failed: AttemptEnd = { kind: 'error', error: 'Error: no', permanent: false }
  const succeeded: AttemptEnd = { kind: 'success', result: null }
  const state = async (id = 'old') => (await jobRow(under, id))['state']

  it('each row gets an identity, which no edit changes', async () => {
    await under.query(
      "INSERT INTO periodic_task (id, task, timer) VALUES ('s', 'task', 'daily'), ('t', 'task', 'daily')",
    )
    await write(under.store).create('u', settings())
    const uids = await Promise.all(['s', 't', 'u'].map((id) => uidOf(under, id)))
    expect(new Set(uids).size).toBe(3)
    for (const uid of uids) expect(uid).toMatch(/^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-8[\da-f]{3}-[\da-f]{12}$/)
    const { schedules } = under.store
    await write(under.store).put('s', settings({ timer: 'hourly' }))
    await schedules.update('s', { task: 'other' })
    await schedules.pause('s', { jobs: 'cancel', reason: null })
    await schedules.update('s', { enabled: true })
    await schedules.reset('s')
    await under.query("UPDATE periodic_task SET timer = 'weekly', nextrun = NULL WHERE id = 's'")
    await submit(() => null)
    expect(await uidOf(under, 's')).toBe(uids[0])
  })

  it('a declared set keeps the identity of a schedule that it changes or retires, but not of one that it deletes', async () => {
    const nothing = { create: [], change: [], reactivate: [], retire: [], delete: [] }
    const sync = (changes: object) =>
      under.store.declared.sync({ name: 'set', hash: 'h', schedules: ['s'] }, () => ({
        ...nothing,
        ...changes,
      }))
    const create = [{ id: 's', settings: settings({ declaredBy: 'set' }), isDue: null }]
    await sync({ create })
    const uid = await uidOf(under, 's')
    await sync({ change: [{ id: 's', settings: settings({ timer: 'weekly' }) }] })
    await sync({ retire: ['s'] })
    await sync({ reactivate: ['s'] })
    expect(await uidOf(under, 's')).toBe(uid)
    await sync({ delete: ['s'] })
    await sync({ create })
    expect(await uidOf(under, 's')).not.toBe(uid)
  })

  describe('the outcome of a job of a deleted schedule', () => {
    it('does not make the new schedule done [L84]', async () => {
      const maxRuns = { max_runs: 1, planned_from: '1|minutely|0|||1', planned_nextrun: SLOT, nextrun: SLOT }
      await replaced(OPEN['running'], maxRuns)
      const before = await schedule(under, 's')
      const { settled } = await end(succeeded)
      expect(settled).toMatchObject([{ id: 'old', scheduleId: 's', scheduleDeleted: true }])
      expect(await state()).toBe('success')
      expect(await schedule(under, 's')).toEqual(before)
    })

    it('does not make the new schedule dead [L84]', async () => {
      await replaced(OPEN['running'], { on_exhausted: 'stop' })
      const before = await schedule(under, 's')
      await end(failed)
      expect(await state()).toBe('failed')
      expect(await schedule(under, 's')).toEqual(before)
    })

    it('is retried, but the new schedule is not retrying, nor has it a failed attempt', async () => {
      await replaced(OPEN['running'], { yields: 1 })
      const before = await schedule(under, 's')
      await end(failed, 3)
      expect(await jobRow(under, 'old')).toMatchObject({ state: 'waiting', attempt: 1 })
      expect(await schedule(under, 's')).toEqual(before)
    })

    it('unblocks the next job of the deleted schedule, and no job of the new one', async () => {
      await planned(under, 's', null)
      await old({ ...OPEN['running'] })
      await old({ state: 'blocked', slot: '2026-01-03 00:00:00.000' }, 'old blocked')
      await recreate()
      await old({ ...OPEN['running'], slot: '2026-01-01 00:00:00.001' }, 'new')
      await old({ state: 'blocked', slot: '2026-01-02 00:00:00.000' }, 'new blocked')
      const { settled } = await end(succeeded)
      expect(settled).toMatchObject([{ id: 'old', promoted: 'old blocked' }])
      expect(await state('new blocked')).toBe('blocked')
      expect(await end(succeeded, 0, 'new')).toMatchObject({ settled: [{ promoted: 'new blocked' }] })
      expect(await schedule(under, 's')).toMatchObject({ run_count: 1 })
    })

    it('written by a report, a cancellation or a manual retry leaves the new schedule as it is', async () => {
      await replaced(OPEN['external'], { on_exhausted: 'stop' })
      const before = await schedule(under, 's')
      const report = { state: 'failed', error: 'no', result: null } as const
      const finished = await under.store.jobs.finish('old', () => report, {
        startedAt: null,
        finishedAt: null,
      })
      expect(finished).toMatchObject({
        job: { state: 'failed', scheduleDeleted: true },
        settled: { scheduleDeleted: true },
      })
      await under.query("UPDATE job SET queue = NULL WHERE id = 'old'")
      await old({ ...OPEN['running'], slot: '2026-01-02 00:00:00.000' }, 'new')
      expect(await write(under.store).retry('old')).toMatchObject({ state: 'waiting' })
      expect(await write(under.store).cancel('old')).toMatchObject({ state: 'cancelled' })
      expect(await schedule(under, 's')).toEqual(before)
    })
  })

  it.each(Object.keys(OPEN))(
    'a %s job of a deleted schedule does not count as open for the new one',
    async (name) => {
      await replaced(OPEN[name])
      const before = await jobRow(under, 'old')
      const seen: OpenJobs[] = []
      const { submissions } = await submit((row, now, open) => {
        seen.push(open)
        return { ...submitDue(row, now, open), replaces: true, yields: name === 'retrying' }
      })
      expect(seen).toEqual([NO_OPEN_JOBS])
      expect(submissions).toMatchObject([{ id: 's', plan: { runs: [{}] } }])
      expect(await under.query("SELECT state, run FROM job WHERE id <> 'old'")).toEqual([
        { state: 'waiting', run: 1 },
      ])
      expect(await jobRow(under, 'old')).toEqual(before)
    },
  )

  it.each(Object.keys(OPEN))(
    'a pause of the new schedule leaves a %s job of the deleted one',
    async (name) => {
      await replaced(OPEN[name])
      const before = await jobRow(under, 'old')
      await under.store.schedules.pause('s', { jobs: 'cancel', reason: null })
      expect(await jobRow(under, 'old')).toEqual(before)
    },
  )

  it('the new schedule runs now, although a job of the deleted one is running', async () => {
    await replaced(OPEN['running'])
    const id = await write(under.store).runNow('s')
    expect(await jobRow(under, String(id))).toMatchObject({ state: 'waiting', run: 1 })
  })

  it('both rows may have a job for the same slot', async () => {
    const slot = after(await clock(under), -1000)
    await planned(under, 's', slot)
    await submit()
    const first = await uidOf(under, 's')
    await under.query("DELETE FROM periodic_task WHERE id = 's'")
    await planned(under, 's', slot)
    const second = await uidOf(under, 's')
    // The job of another row has the id of this occurrence, so the slot is submitted row by row.
    await job(under, occurrenceId(second, slot))
    await submit()
    expect(
      await under.query('SELECT periodic_task_uid AS uid, slot FROM job ORDER BY submitted, uid'),
    ).toEqual(expect.arrayContaining([first, second].map((uid) => ({ uid, slot: toText(slot) }))))
    const again = job(under, 'again', { periodic_task_id: 's', slot: toText(slot), state: 'success' })
    await expect(again).rejects.toThrow()
  })

  it('a skip of the new schedule is not counted in the last skip of the deleted one', async () => {
    await planned(under, 's', null)
    await old({ state: 'skipped', reason: 'overlap', missed: 1, finished: SLOT })
    await recreate({ last_slot: SLOT, overlap: 'skip' })
    await old({ ...OPEN['running'], slot: '2026-01-01 00:00:00.001' }, 'new')
    await submit()
    expect(await under.query("SELECT missed FROM job WHERE state = 'skipped'")).toEqual([
      { missed: 1 },
      { missed: 1 },
    ])
  })

  it('a sweep plans the new schedule, and unblocks a job of the deleted one that nothing blocks', async () => {
    await planned(under, 's', null)
    await old({ ...OPEN['retrying'] })
    await recreate({ idle: 'awaiting-finish', retry_at: '2090-01-01 00:00:00.000', retry: 1, nextrun: null })
    await job(under, 'stuck', { periodic_task_id: 'gone', slot: SLOT, state: 'blocked' })
    const { endless, blocked } = await under.store.inspection.inspect()
    expect({ endless, blocked }).toEqual({
      endless: [{ id: 's' }],
      blocked: [{ id: 'stuck', schedule: 'gone' }],
    })
    await under.store.scheduling.sweep(WORKER, LEASE_MS, 'everything')
    expect(await schedule(under, 's')).toMatchObject({ idle: null, retry_at: null })
    expect(await state('stuck')).toBe('waiting')
  })

  it('retention counts and keeps the jobs of each row separately', async () => {
    const now = toText(await clock(under))
    const finals = async (prefix: string) => {
      for (const number of [1, 2, 3])
        await old(
          { state: 'success', finished: now, slot: `2026-01-0${number} 00:00:00.000` },
          `${prefix}${number}`,
        )
    }
    await planned(under, 's', null)
    await finals('old')
    await recreate()
    await finals('new')
    await under.store.retention.prune({ ageMs: MINUTE, perSchedule: 2 }, 100)
    expect((await under.query('SELECT id FROM job ORDER BY id')).map(({ id }) => id)).toEqual([
      'new2',
      'new3',
      'old2',
      'old3',
    ])
    const done = { idle: 'done', after_done: 'delete', created: SLOT, last_slot: SLOT, nextrun: null }
    await recreate({ ...done, planned_from: '1|minutely|0|||', planned_nextrun: null })
    await under.store.retention.prune({ ageMs: MINUTE, perSchedule: 2 }, 100)
    expect(await under.query('SELECT id FROM periodic_task')).toEqual([])
  })

  it('lists by id show the jobs of all rows and mark those of deleted ones; the history is that of the row', async () => {
    await replaced(OPEN['running'])
    await old({ ...OPEN['running'], slot: '2026-01-02 00:00:00.000' }, 'new')
    const { lists, jobs } = under.store
    for (const more of [{}, { state: 'running' as const }]) {
      const { items } = await lists.jobs({ scheduleId: 's', limit: 10, ...more })
      expect(items.map(({ id, scheduleDeleted }) => [id, scheduleDeleted])).toEqual([
        ['old', true],
        ['new', undefined],
      ])
    }
    expect(await jobs.get('old')).toMatchObject({ scheduleId: 's', scheduleDeleted: true })
    expect(await jobs.get('new')).not.toHaveProperty('scheduleDeleted')
    const idsOf = (rows: readonly { id: string }[]) => rows.map(({ id }) => id)
    expect(idsOf(await lists.history('s', { before: null }, 10))).toEqual(['new'])
    expect(idsOf(await lists.openJobs('s', 10))).toEqual(['new'])
    expect(idsOf((await lists.recentRuns(['s'], 10)).get('s') ?? [])).toEqual(['new'])
  })

  it('a freeze of an id applies to the jobs of all schedules that had this id', async () => {
    await replaced({ state: 'waiting' })
    await under.store.freezes.add({
      scheduleId: 's',
      task: null,
      group: null,
      until: new Date('2090-01-01'),
      reason: null,
    })
    expect(await under.store.executing.claim(WORKER, policies('task'), 10, '')).toEqual([])
    expect(await jobRow(under, 'old')).toMatchObject({ frozen_until: '2090-01-01 00:00:00.000' })
  })

  describe('in SQL', () => {
    const COUNTED = { run_count: 1 }

    it('REPLACE makes another row', async () => {
      await planned(under, 's', null)
      await old({ ...OPEN['running'] })
      const uid = await uidOf(under, 's')
      await under.query("REPLACE INTO periodic_task (id, task, timer) VALUES ('s', 'task', 'daily')")
      expect(await uidOf(under, 's')).not.toBe(uid)
      await end(succeeded)
      expect(await schedule(under, 's')).toMatchObject({ run_count: 0 })
    })

    it('a new id leaves the row the same: its jobs count, and hold up its slots', async () => {
      await planned(under, 's', after(await clock(under), -1000))
      await old({ ...OPEN['running'] })
      await under.query("UPDATE periodic_task SET id = 'renamed' WHERE id = 's'")
      const { submissions } = await submit()
      expect(submissions).toMatchObject([
        { id: 'renamed', plan: { runs: [], skips: [{ reason: 'overlap' }] } },
      ])
      await expect(write(under.store).runNow('renamed')).rejects.toThrow(
        'the job old of this schedule is running',
      )
      await end(succeeded)
      expect(await schedule(under, 'renamed')).toMatchObject(COUNTED)
      expect(await under.store.lists.history('renamed', { before: null }, 10)).toHaveLength(2)
    })

    it('a restored backup keeps the identity of each row', async () => {
      await planned(under, 's', after(await clock(under), MINUTE))
      await old({ ...OPEN['running'] })
      const generated = /^(status|definition|wake_at|open_|ready$|claim_(task|rank)$|due_at|held_by)/
      const tables: (readonly [string, readonly Row[]])[] = []
      for (const table of ['periodic_task', 'job'])
        tables.push([table, await under.query(`SELECT * FROM ${table}`)])
      for (const [table] of tables) await under.query(`DELETE FROM ${table}`)
      for (const [table, [row = {}]] of tables) {
        const columns = Object.keys(row).filter((column) => !generated.test(column))
        await under.query(
          `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
          columns.map((column) => row[column]),
        )
      }
      await end(succeeded)
      expect(await schedule(under, 's')).toMatchObject(COUNTED)
    })

    it('copies of a row get their own identities, and none can be used twice', async () => {
      await planned(under, 's', null)
      await under.query(
        "INSERT INTO periodic_task (id, task, timer) SELECT CONCAT(id, n), task, timer FROM periodic_task, (SELECT 1 AS n UNION SELECT 2) AS numbers WHERE id = 's'",
      )
      expect(new Set(await Promise.all(['s', 's1', 's2'].map((id) => uidOf(under, id)))).size).toBe(3)
      await expect(
        under.query(
          "INSERT INTO periodic_task (id, uid, task, timer) SELECT 'copy', uid, task, timer FROM periodic_task WHERE id = 's'",
        ),
      ).rejects.toThrow(/periodic_task(\.uid|_identity)/)
    })

    it('a job with the identity of a schedule belongs to it; with only its id, it belongs to none', async () => {
      await planned(under, 's', after(await clock(under), MINUTE), { on_exhausted: 'stop' })
      const common = { periodic_task_id: 's', state: 'running', ...STARTED }
      await job(under, 'none', { ...common, slot: SLOT, periodic_task_uid: null })
      await job(under, 'own', { ...common, slot: SLOT, periodic_task_uid: null })
      await under.query(`${ADOPT} WHERE id = 'own'`)
      const [none] = (await end(failed, 0, 'none')).settled
      expect(none).toMatchObject({ id: 'none' })
      expect(none).not.toHaveProperty('scheduleDeleted')
      expect(await schedule(under, 's')).toMatchObject({ run_count: 0, idle: null })
      await end(failed, 0, 'own')
      expect(await schedule(under, 's')).toMatchObject({ run_count: 1, idle: 'dead' })
    })
  })
})
