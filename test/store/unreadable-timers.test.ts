/**
 * A worker whose Node.js has older zone data, or whose version of Kalends is older, cannot read every timer. It does not
 * judge for the other workers.
 */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { plan } from '../../src/model/plan.ts'
import type { OnSetAside } from '../../src/store/refusal.ts'
import type { Decide } from '../../src/store/scheduling-store.ts'
import type { Store } from '../../src/store/store.ts'
import { clock, insert, job, LEASE_MS, onEachStore, planned, submitDue } from './conformance.ts'

// No back-off ends during a test.
beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => void vi.useRealTimers())

/** Only newer zone data have this zone. */
const UNREADABLE = '*:0/5 Mars/Base'
const decide: Decide = (row, now, open) => plan(row, { now, open, missedAfterMs: LEASE_MS })

onEachStore((under) => {
  const ago = async (ms: number) => new Date((await clock(under)).getTime() - ms)
  const rows = (columns: string) => under.query(`SELECT ${columns} FROM periodic_task ORDER BY id`)
  const pass = async (store: Store, how = decide) => {
    const marks = await store.scheduling.markDue('w/1', 10, LEASE_MS)
    const { submissions } = await store.scheduling.submit('w/1', marks, how)
    return { marked: marks.map(({ id }) => id), submitted: submissions.map(({ id }) => id) }
  }

  describe('a schedule that another worker has planned', () => {
    it('is left to workers that can read its timer, and named once', async () => {
      const slot = await ago(1000)
      for (const id of ['bad', 'good'])
        await planned(under, id, slot, { timer: id === 'bad' ? UNREADABLE : 'minutely' })
      const before = await rows('id, nextrun, idle, planned_from, last_error, worker')
      const onSetAside = vi.fn<OnSetAside>()
      const old = await under.another({ onSetAside })
      expect(await pass(old)).toEqual({ marked: ['bad', 'good'], submitted: ['good'] })
      expect((await rows('id, nextrun, idle, planned_from, last_error, worker'))[0]).toEqual(before[0])
      expect(await pass(old)).toEqual({ marked: [], submitted: [] })
      const problem =
        /^cannot plan the schedule 'bad' \(.*".*Mars\/Base".* \(read by Kalends [\d.]+ with the zone data \d{4}\w\)\)$/
      expect(old.setAside()).toEqual([{ id: 'bad', problem: expect.stringMatching(problem) }])
      vi.advanceTimersByTime(2000)
      expect(await pass(old)).toEqual({ marked: ['bad'], submitted: [] })
      expect(onSetAside).toHaveBeenCalledTimes(1)
      expect(onSetAside.mock.calls[0]?.[0]).toContain(
        'it leaves the schedule to workers that can read its timer',
      )
      expect(await pass(under.store, submitDue)).toEqual({ marked: ['bad'], submitted: ['bad'] })
    })

    it('is planned by such a worker after a run of its timer `… after finish` has ended', async () => {
      await planned(under, 's', null, { timer: 'every 1h after finish of the last', idle: 'awaiting-finish' })
      const run = {
        state: 'running',
        worker: 'w/1',
        attempt: 1,
        claim: 1,
        started: '2026-01-01 00:00:00.000',
      }
      await job(under, 'j', { periodic_task_id: 's', slot: '2026-01-01 00:00:00.000', ...run })
      const { settled } = await under.store.executing.settle([
        {
          fence: { id: 'j', worker: 'w/1', claim: 1 },
          end: { kind: 'success', result: null },
          policy: { timeout: 1000, retries: 0, retryDelay: 1000, retryBackoff: 'fixed' },
        },
      ])
      expect(settled).toHaveLength(1)
      expect(await rows('idle, nextrun, run_count')).toEqual([{ idle: null, nextrun: null, run_count: 1 }])
      expect(await pass(await under.another())).toEqual({ marked: ['s'], submitted: [] })
      expect(await rows('idle')).toEqual([{ idle: null }])
    })
  })

  describe('a schedule that no worker has planned', () => {
    it('becomes invalid, with the version and the zone data of the judge', async () => {
      await insert(under, 'periodic_task', { id: 's', task: 'task', timer: UNREADABLE })
      await pass(under.store)
      expect(await rows('status, last_error')).toEqual([
        {
          status: 'invalid',
          last_error: expect.stringMatching(/\(read by Kalends [\d.]+ with the zone data \d{4}\w\)$/),
        },
      ])
    })

    it('is planned from now by a worker that can read its timer, and then left alone by one that cannot', async () => {
      const timers = { bad: UNREADABLE, paused: 'minutely', read: 'minutely' }
      for (const [id, timer] of Object.entries(timers))
        await planned(under, id, null, {
          timer,
          idle: 'invalid',
          last_error: 'judged elsewhere',
          enabled: Number(id !== 'paused'),
        })
      const { repaired } = await under.store.scheduling.sweep('w/1', LEASE_MS, 'everything')
      expect(repaired).toEqual(['another worker could not read the timer of the schedule read'])
      expect(await rows('id, idle, last_error')).toEqual([
        { id: 'bad', idle: 'invalid', last_error: 'judged elsewhere' },
        { id: 'paused', idle: 'invalid', last_error: 'judged elsewhere' },
        { id: 'read', idle: null, last_error: null },
      ])
      // To this worker, the timer is unreadable.
      const blind: Decide = (row, ...of) => decide({ ...row, timer: UNREADABLE }, ...of)
      expect(await pass(await under.another(), blind)).toEqual({ marked: ['read'], submitted: [] })
      expect(await rows('idle')).toMatchObject([{}, {}, { idle: null }])
      expect(await pass(under.store)).toEqual({ marked: ['read'], submitted: ['read'] })
      const [, , read] = await rows('idle, nextrun')
      expect([read?.['idle'], read?.['nextrun']]).toEqual([null, expect.anything()])
    })
  })
})
