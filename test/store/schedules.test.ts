/** Operations on schedules. */
import { describe, expect, it } from 'vitest'
import { ConflictError } from '../../src/errors.ts'
import { occurrenceId } from '../../src/model/occurrence.ts'
import { planEdit } from '../../src/model/plan.ts'
import type { OpenJobs } from '../../src/model/planning.ts'
import type { Schedule } from '../../src/model/schedule.ts'
import { toText } from '../../src/model/instant.ts'
import { DEFAULT_POLICY } from '../../src/model/task.ts'
import {
  after,
  clock,
  ids,
  insertAll,
  instant,
  job,
  jobRow,
  LEASE_MS,
  MINUTE,
  onEachStore,
  planned,
  schedule,
  settings,
  WORKER,
  setChanges,
  setVersion,
} from './conformance.ts'
import { write } from './writes.ts'

const ALL = settings({
  task: 't 😀',
  timer: "it's \\ ?",
  enabled: false,
  group: 'g',
  args: '{"a":[1,"\\\\ \' ? 😀"]}',
  subject: 's',
  submitter: 'me',
  summary: 'what it\ndoes',
  priority: 5,
  catchUp: 7,
  timeout: 1,
  retries: 0,
  retryDelay: 2,
  retryBackoff: 'fixed',
  declaredBy: 'set',
})

onEachStore((under) => {
  const get = async (id: string): Promise<Schedule> => {
    const found = await under.store.schedules.get(id)
    if (found === null) throw new Error(`no schedule ${id}`)
    return found
  }

  it('each write plans the row and returns its next run, without a scheduler', async () => {
    const { schedules, scheduling } = under.store
    const all = settings({ timer: '2199-03-04 05:06:07', args: '{"a":"😀"}', enabled: true })
    const of = { settings: all, isDue: null }
    const created = await schedules.create({ id: 's', ...of }, planEdit)
    expect(created).toMatchObject({ status: 'active', nextRunAt: new Date('2199-03-04T05:06:07Z') })
    const put = await schedules.put(
      'p',
      () => of,
      () => ({}),
      planEdit,
    )
    expect(put.schedule.nextRunAt).toEqual(created.nextRunAt)
    const timer = 'every 5min after finish'
    await job(under, 'open', { periodic_task_id: 's', slot: '2026-01-01 00:00:00.000', state: 'running' })
    const waiting = await schedules.update('s', { timer }, undefined, planEdit)
    expect(waiting).toMatchObject({ nextRunAt: null, status: 'active', waitingFor: 'finish' })
    const paused = await schedules.update('s', { enabled: false }, undefined, planEdit)
    expect(paused).toMatchObject({ nextRunAt: null, status: 'paused', waitingFor: null })
    const changed = await schedules.put(
      'p',
      () => of,
      () => ({ timer: '2198-01-01' }),
      planEdit,
    )
    expect(changed.schedule.nextRunAt).toEqual(new Date('2198-01-01T00:00:00Z'))
    for (const written of [paused, changed.schedule]) expect(await get(written?.id ?? '')).toEqual(written)
    await under.query("UPDATE periodic_task SET idle = 'done', nextrun = NULL WHERE id = 'p'")
    const reset = await schedules.reset('p', undefined, planEdit)
    expect(reset).toMatchObject({ status: 'active', nextRunAt: changed.schedule.nextRunAt })
    expect(await scheduling.markDue(WORKER, 10, LEASE_MS)).toEqual([])
    expect((await scheduling.look([])).wakeAt).toEqual(reset?.nextRunAt)
  })

  it('a created schedule can be read back', async () => {
    await write(under.store).create('id 😀', ALL)
    const { args, ...rest } = ALL
    expect(await get('id 😀')).toMatchObject({
      ...rest,
      args: JSON.parse(args),
      id: 'id 😀',
      status: 'paused',
      nextRunAt: null,
      lastSlot: null,
      runCount: 0,
      errorCount: 0,
      lastRunAt: null,
      lastFinishedAt: null,
      lastJobId: null,
      lastError: null,
      markedBy: null,
    })
    expect(await under.store.schedules.get('id')).toBeNull()
  })

  describe('put', () => {
    it('creates the schedule, updates differences, or changes nothing', async () => {
      const created = await write(under.store).put('s', ALL)
      expect(created).toEqual({ result: 'created', schedule: await get('s') })
      await under.query(
        "UPDATE periodic_task SET nextrun = '2099-01-01 00:00:00.000', planned_from = 'x', run_count = 3",
      )
      const before = await schedule(under, 's')
      expect(await write(under.store).put('s', ALL)).toMatchObject({ result: 'unchanged' })
      expect(await schedule(under, 's')).toEqual(before)
      expect(await write(under.store).put('s', { ...ALL, subject: null, args: '{}' })).toMatchObject({
        result: 'changed',
      })
      expect(await schedule(under, 's')).toEqual({ ...before, subject: null, args: '{}' })
    })

    it('treats args that are equal but written differently as equal', async () => {
      await write(under.store).put('s', settings({ args: '{"a":1,"b":{"p":[1,2],"q":null}}' }))
      const reordered = settings({ args: '{ "b": { "q": null, "p": [1, 2] }, "a": 1 }' })
      expect(await write(under.store).put('s', reordered)).toMatchObject({ result: 'unchanged' })
    })

    it('creates only one schedule, even in several concurrent calls', async () => {
      const stores = await Promise.all([under.another(), under.another(), under.another(), under.another()])
      const results = await Promise.all(stores.map((store) => write(store).put('s', settings())))
      expect(results.filter(({ result }) => result === 'created')).toHaveLength(1)
      expect(await under.store.schedules.count(10)).toBe(1)
    })
  })

  it("whether an owner's new schedule is due at once depends on the stored id, which determines the jitter", async () => {
    const decided: string[] = []
    const isDue = (id: string) => decided.push(id) === 0
    await under.store.schedules.ownedBy({ group: null, submitter: 'alice' }).put(
      'digest',
      () => ({ settings: settings({ submitter: 'alice' }), isDue }),
      () => ({}),
    )
    expect(decided).toEqual(['alice/digest'])
  })

  it('pause can cancel queued jobs, and keeps the reason until resume [R15, X6]', async () => {
    await planned(under, 's', new Date('2199-01-01T00:00:00Z'), {
      overlap: 'allow',
      retry_at: '2199-01-01 00:00:00',
      retry: 1,
    })
    const slots = ['2026-01-01 00:00:00.000', '2026-01-02 00:00:00.000', '2026-01-03 00:00:00.000']
    const of = (index: number, state: string, more = {}) =>
      job(under, state, { periodic_task_id: 's', slot: slots[index] ?? null, exclusive: 0, state, ...more })
    await of(0, 'running', { worker: WORKER, claim: 1, attempt: 1 })
    await of(1, 'waiting', { attempt: 1, run_at: '2199-01-01 00:00:00.000' })
    await of(2, 'blocked')
    await job(under, 'of another', { periodic_task_id: 't', slot: slots[0] ?? null })
    const { schedules } = under.store
    const pause = (jobs: 'leave' | 'cancel') =>
      schedules.pause('s', { jobs, reason: 'See #1' }, undefined, planEdit)
    expect(await pause('leave')).toMatchObject({ status: 'paused', pauseReason: 'See #1', enabled: false })
    expect(await jobRow(under, 'waiting')).toMatchObject({ state: 'waiting' })
    expect(await schedules.update('s', { enabled: true }, undefined, planEdit)).toMatchObject({
      pauseReason: null,
    })
    const paused = await pause('cancel')
    expect(paused).toMatchObject({ status: 'paused', retryAt: null, runCount: 0 })
    expect(paused).toEqual(await get('s'))
    expect(await jobRow(under, 'running')).toMatchObject({
      state: 'running',
      stop_requested: null,
      no_retry: 'Not run again, because the schedule was paused: See #1',
    })
    for (const id of ['waiting', 'blocked']) {
      const row = await jobRow(under, id)
      expect(row).toMatchObject({ state: 'cancelled', reason: 'paused' })
      expect(row['finished']).not.toBeNull()
    }
    expect(await jobRow(under, 'of another')).toMatchObject({ state: 'waiting' })
    expect(await schedules.pause('none', { jobs: 'leave', reason: null })).toBeNull()
  })

  it.each([
    ['error', { kind: 'error', error: 'no host', permanent: false }, 'no host\n'],
    ['released', { kind: 'released' }, ''],
  ] as const)(
    'after such a pause, a running job is cancelled instead of run again: %s',
    async (_, end, error) => {
      await planned(under, 's', new Date('2199-01-01T00:00:00Z'))
      const running = {
        state: 'running',
        worker: WORKER,
        claim: 1,
        attempt: 1,
        started: '2026-01-01 00:00:00.000',
      }
      const run = { periodic_task_id: 's', slot: '2026-01-01 00:00:00.000', run: 1 }
      await job(under, 'j', { ...run, ...running })
      const { schedules, jobs } = under.store
      await schedules.pause('s', { jobs: 'cancel', reason: null }, undefined, planEdit)
      await schedules.update('s', { enabled: true }, undefined, planEdit)
      const policy = { ...DEFAULT_POLICY, retries: 'unlimited' } as const
      await write(under.store).settle([{ fence: { id: 'j', worker: WORKER, claim: 1 }, end, policy }])
      const cancelled = { state: 'cancelled', reason: 'paused', run_at: null }
      const why = 'Not run again, because the schedule was paused'
      expect(await jobRow(under, 'j')).toMatchObject({ ...cancelled, error: `${error}${why}` })
      expect(await get('s')).toMatchObject({ status: 'active', retryAt: null, errorCount: 0 })
      // A manual retry is a new start.
      await jobs.retry('j', () => ({ exclusive: true }))
      expect(await jobRow(under, 'j')).toMatchObject({ state: 'waiting', no_retry: null })
    },
  )

  it('a pause can cancel every job of a long queue', async () => {
    await planned(under, 's', null, { overlap: 'allow' })
    const queue = Array.from({ length: 1001 }, (_, index) => ({
      id: `job ${index}`,
      task: 'task',
      periodic_task_id: 's',
      exclusive: 0,
      slot: toText(new Date(index)),
    }))
    await insertAll(under, 'job', queue)
    await under.store.schedules.pause('s', { jobs: 'cancel', reason: null }, undefined, planEdit)
    expect(await under.query('SELECT DISTINCT state FROM job')).toEqual([{ state: 'cancelled' }])
  })

  it('resume clears the next run, even if it was due before the pause, so that the schedule is planned from now', async () => {
    const now = await clock(under)
    const rows = {
      due: { nextRunAt: after(now, -MINUTE), last_slot: null },
      later: { nextRunAt: after(now, MINUTE), last_slot: null },
      ahead: { nextRunAt: after(now, -MINUTE), last_slot: toText(after(now, 5 * MINUTE)) },
    }
    const resumed: Record<string, Date | null | undefined> = {}
    for (const [id, { nextRunAt, last_slot }] of Object.entries(rows)) {
      await planned(under, id, nextRunAt, { last_slot })
      await under.store.schedules.update(id, { enabled: false })
      resumed[id] = (await under.store.schedules.update(id, { enabled: true }))?.nextRunAt
      expect((await under.store.schedules.get(id))?.nextRunAt).toEqual(resumed[id])
    }
    expect(resumed).toEqual({ due: null, later: null, ahead: null })
  })

  it('an update changes only the given columns', async () => {
    await write(under.store).create('s', ALL)
    const updated = await under.store.schedules.update('s', { enabled: true, group: 'new', subject: null })
    expect(updated).toEqual(await get('s'))
    const { args, ...rest } = ALL
    expect(await get('s')).toMatchObject({
      ...rest,
      args: JSON.parse(args),
      enabled: true,
      group: 'new',
      subject: null,
    })
    const paused = await under.store.schedules.update('s', { enabled: false, args: '{"b":[1]}' })
    expect(paused).toMatchObject({ status: 'paused', args: { b: [1] } })
    expect(paused).toEqual(await get('s'))
    expect(await under.store.schedules.update('s', {})).toEqual(paused)
    expect(await under.store.schedules.update('none', { group: 'new' })).toBeNull()
    expect(await under.store.schedules.update('none', {})).toBeNull()
  })

  it('delete returns the deleted schedule', async () => {
    await write(under.store).create('s', settings())
    expect(await under.store.schedules.delete('s')).toMatchObject({ id: 's' })
    expect(await under.store.schedules.delete('s')).toBeNull()
    expect(await under.store.schedules.get('s')).toBeNull()
  })

  describe('run-now', () => {
    it('submits an extra job', async () => {
      const next = after(await clock(under), MINUTE)
      await planned(under, 's', next, { args: '{"a":1}', run_count: 4, timeout: 9, group_: 'g', enabled: 0 })
      const before = await schedule(under, 's')
      const id = await write(under.store).runNow('s')
      const row = await jobRow(under, String(id))
      expect(row).toMatchObject({
        periodic_task_id: 's',
        task: 'task',
        args: '{"a":1}',
        run: 5,
        timeout: 9,
        group_: 'g',
        state: 'waiting',
        reason: 'run-now',
        periodic_task_uid: before['uid'],
        open_key: before['uid'],
        open_turn: '',
      })
      const written = await schedule(under, 's')
      expect(written).toEqual({
        ...before,
        last_slot: row['slot'],
        last_run: written['last_run'],
        last_job: id,
      })
      expect(instant(written['last_run'])).toBeInstanceOf(Date)
      expect(id).toBe(occurrenceId(String(before['uid']), (await get('s')).lastSlot ?? new Date(0)))
    })

    it.each(['waiting', 'blocked', 'running'])(
      'is rejected while a job is %s, and the error names the job',
      async (state) => {
        await planned(under, 's', null)
        await job(under, 'the-job', { periodic_task_id: 's', slot: '2026-01-01 00:00:00.000', state })
        const before = await schedule(under, 's')
        const running = write(under.store).runNow('s')
        await expect(running).rejects.toThrow(ConflictError)
        await expect(running).rejects.toThrow('the-job')
        expect(await schedule(under, 's')).toEqual(before)
      },
    )

    it('is allowed when all jobs are final; its slot is later than the last slot', async () => {
      const last = after(await clock(under), MINUTE)
      await planned(under, 's', after(last, MINUTE), { last_slot: toText(last) })
      await job(under, 'j', { periodic_task_id: 's', slot: '2026-01-01 00:00:00.000', state: 'failed' })
      const id = await write(under.store).runNow('s')
      expect(await jobRow(under, String(id))).toMatchObject({ slot: toText(after(last, 1)) })
    })

    it('submits only one job in two concurrent calls [L3]', async () => {
      await planned(under, 's', null)
      const other = await under.another()
      const results = await Promise.allSettled([write(under.store).runNow('s'), write(other).runNow('s')])
      expect(results.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    })

    it('run-now returns null for an unknown schedule', async () => {
      expect(await write(under.store).runNow('none')).toBeNull()
    })

    it('does not affect a mark, and the marking worker sees the run', async () => {
      await planned(under, 's', after(await clock(under), -1000))
      const marks = await under.store.scheduling.markDue(WORKER, 1, LEASE_MS)
      await write(under.store).runNow('s')
      const seen: OpenJobs[] = []
      await under.store.scheduling.submit(WORKER, marks, (_, __, open) => {
        seen.push(open)
        return null
      })
      expect(seen).toEqual([{ waiting: 1, blocked: 0, running: 0, retrying: 0 }])
    })
  })

  describe('a declared set', () => {
    it('the callback decides the changes after all rows that belong to the set or have one of its ids have been locked and read', async () => {
      await write(under.store).create('of set', settings({ declaredBy: 'set' }))
      await write(under.store).create('by id', settings())
      await write(under.store).create('other', settings({ declaredBy: 'other' }))
      await under.store.declared.sync(setVersion('set', ['by id', 'new']), ({ existing }) => {
        expect(ids(existing)).toEqual(['by id', 'of set'])
        return setChanges({
          create: [{ id: 'new', settings: ALL }],
          change: [
            { id: 'of set', settings: { declaredBy: null } },
            { id: 'by id', settings: {} },
          ],
        })
      })
      expect(await get('new')).toMatchObject({ declaredBy: 'set', task: 't 😀' })
      expect(await get('of set')).toMatchObject({ declaredBy: null })
      expect(await get('by id')).toMatchObject({ declaredBy: null })
    })

    it('may be empty', async () => {
      await write(under.store).create('s', settings({ declaredBy: 'set' }))
      const seen: string[] = []
      await under.store.declared.sync(setVersion('set', []), ({ existing }) => {
        seen.push(...ids(existing))
        return setChanges({})
      })
      expect(seen).toEqual(['s'])
    })
  })
})
