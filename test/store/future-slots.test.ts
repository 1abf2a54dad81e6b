/** Slots that were decided while the clock was ahead are found, and can be planned again manually. */
import { describe, expect, it } from 'vitest'
import { runNow } from '../../src/model/manual-runs.ts'
import { plan } from '../../src/model/plan.ts'
import { toText } from '../../src/model/instant.ts'
import type { Decide } from '../../src/store/scheduling-store.ts'
import {
  after,
  clock,
  ids,
  instant,
  job,
  LEASE_MS,
  MINUTE,
  onEachStore,
  one,
  planned,
  schedule,
  settings,
  submitDue,
  WORKER,
} from './conformance.ts'

const LATER = new Date('2098-01-01T01:00:00Z')
const decide: Decide = (row, now, open) => plan(row, { now, open, missedAfterMs: LEASE_MS })

onEachStore((under) => {
  const submit = async (how: Decide = decide) =>
    under.store.scheduling.submit(WORKER, await under.store.scheduling.markDue(WORKER, 100, LEASE_MS), how)
  /** Inserts a schedule as if it had been planned while the clock showed 2098. */
  const ahead = (id: string, more: Record<string, string | number | null> = {}) =>
    planned(under, id, after(LATER, MINUTE), { last_slot: toText(LATER), ...more })
  const times = async (id: string) => {
    const row = await schedule(under, id)
    return { nextRunAt: instant(row['nextrun']), lastSlot: instant(row['last_slot']) }
  }
  /** Checks that the next run is at most a minute away, and that the last slot is recent. */
  const expectPlannedFromNow = async (id: string) => {
    const now = await clock(under)
    const { nextRunAt, lastSlot } = await times(id)
    expect((nextRunAt?.getTime() ?? 0) - now.getTime()).toBeLessThanOrEqual(MINUTE)
    expect(lastSlot?.getTime()).toBeLessThanOrEqual(now.getTime())
    expect(lastSlot?.getTime()).toBeGreaterThan(now.getTime() - 3 * MINUTE)
  }

  describe('a schedule whose last slot is in 2098 continues from now [S14]', () => {
    it.each([
      ['nextrun = NULL', 'nextrun = NULL'],
      ['a nextrun in the past', "nextrun = '2000-01-01 00:00:00'"],
    ])('after %s', async (_, assignment) => {
      await ahead('s')
      expect(ids((await submit()).submissions)).toEqual([])
      await under.query(`UPDATE periodic_task SET ${assignment}`)
      await submit()
      await expectPlannedFromNow('s')
    })

    it('after a pause and a resume through the API, even if no worker has seen the pause', async () => {
      await ahead('s')
      await under.store.schedules.update('s', { enabled: false })
      const resumed = await under.store.schedules.update('s', { enabled: true })
      expect(resumed).toMatchObject({ enabled: true, status: 'active', nextRunAt: null })
      await submit()
      await expectPlannedFromNow('s')
    })

    it('after a pause and a resume in SQL', async () => {
      await ahead('s')
      await under.query('UPDATE periodic_task SET enabled = 0')
      await submit()
      expect(await times('s')).toEqual({ nextRunAt: null, lastSlot: LATER })
      await under.query('UPDATE periodic_task SET enabled = 1')
      await submit()
      await expectPlannedFromNow('s')
    })

    it('after a reset', async () => {
      await ahead('s', { idle: 'done' })
      await under.store.schedules.reset('s')
      await submit()
      await expectPlannedFromNow('s')
    })
  })

  it('enabling an enabled schedule does not plan it again: a due slot stays due', async () => {
    const slot = after(await clock(under), -1000)
    await planned(under, 's', slot)
    await under.store.schedules.update('s', { enabled: true })
    expect((await times('s')).nextRunAt).toEqual(slot)
  })

  it('runNow uses the current time as the slot, even after a slot in 2098', async () => {
    await under.store.schedules.create({ id: 's', settings: settings(), isDue: null })
    await under.query('UPDATE periodic_task SET last_slot = ?', [toText(LATER)])
    await under.store.schedules.runNow('s', null, runNow)
    const { slot } = await one(under, 'SELECT slot FROM job')
    const now = await clock(under)
    expect(Math.abs((instant(slot)?.getTime() ?? 0) - now.getTime())).toBeLessThan(MINUTE)
    expect((await times('s')).lastSlot).toEqual(instant(slot))
  })

  describe('a slot that was decided while the clock was ahead [S14]', () => {
    const dueWith = async (state: string, finishedMs: number) => {
      const now = await clock(under)
      const slot = after(now, -1000)
      for (const id of ['a', 'b', 'c']) await planned(under, id, slot)
      await job(under, 'early', {
        periodic_task_id: 'b',
        slot: toText(slot),
        state,
        reason: state === 'skipped' ? 'missed' : null,
        finished: toText(after(now, finishedMs)),
      })
      const result = await submit(submitDue)
      expect(result.refused).toEqual([])
      expect(ids(result.submissions).toSorted()).toEqual(['a', 'b', 'c'])
      expect(await times('b')).toEqual({ nextRunAt: after(slot, MINUTE), lastSlot: slot })
      return under.query("SELECT id, state FROM job WHERE periodic_task_id = 'b'")
    }

    it('is not repeated if it has a job, and other schedules are submitted', async () => {
      expect(await dueWith('success', LEASE_MS * 10)).toEqual([{ id: 'early', state: 'success' }])
    })

    it('runs if it was counted as missed at that time', async () => {
      expect(await dueWith('skipped', LEASE_MS * 10)).toMatchObject([{ state: 'waiting' }])
    })

    it('stays skipped if it was skipped at a time in the past', async () => {
      expect(await dueWith('skipped', -1)).toEqual([{ id: 'early', state: 'skipped' }])
    })
  })

  describe('a nextrun that is an hour off because the zone data changed [S14]', () => {
    const HOUR = 60 * MINUTE
    /** Submits a schedule that is due now, although its daily timer elapses `ms` later (earlier if negative). */
    const off = async (ms: number, more: Record<string, string | number | null> = {}) => {
      const due = after(await clock(under), -1000)
      const slot = after(due, ms)
      const timer = `*-*-* ${toText(slot).slice(11)}`
      await planned(under, 's', due, { timer, last_slot: toText(after(due, -24 * HOUR)), ...more })
      await planned(under, 'other', due)
      const { submissions, refused } = await submit()
      expect(refused).toEqual([])
      expect(ids(submissions).toSorted()).toEqual(['other', 's'])
      return {
        due,
        slot,
        jobs: await under.query("SELECT slot, state FROM job WHERE periodic_task_id = 's'"),
      }
    }

    it('makes the schedule wait for the upcoming slot if the nextrun from the planner is too early', async () => {
      const { due, slot, jobs } = await off(HOUR)
      expect(jobs).toEqual([])
      expect(await times('s')).toEqual({ nextRunAt: slot, lastSlot: after(due, -24 * HOUR) })
    })

    it('makes the schedule run for the past slot if the nextrun from the planner is too late', async () => {
      const { slot, jobs } = await off(-HOUR)
      expect(jobs).toEqual([{ slot: toText(slot), state: 'waiting' }])
      expect(await times('s')).toEqual({ nextRunAt: after(slot, 24 * HOUR), lastSlot: slot })
    })

    it('is used unchanged if it was set manually', async () => {
      const due = after(await clock(under), -1000)
      const timer = `*-*-* ${toText(after(due, HOUR)).slice(11)}`
      await planned(under, 's', due, { timer, planned_by_hand: 1 })
      await submit()
      expect((await times('s')).lastSlot).toEqual(due)
    })
  })

  describe('the origin of nextrun', () => {
    const wakeAt = async () => instant((await schedule(under, 's'))['wake_at'])
    const read = async () => {
      let seen: unknown
      await submit((row) => {
        seen = { nextRunAt: row.nextRunAt, plannedRun: row.plannedRun, isByHand: row.isByHand }
        return null
      })
      return seen
    }

    it('is stored until the schedule is planned again, and does not wake a worker before nextrun', async () => {
      const soon = after(await clock(under), 10 * MINUTE)
      await planned(under, 's', null)
      await under.query('UPDATE periodic_task SET nextrun = ?', [toText(soon)])
      await submit()
      expect(await wakeAt()).toEqual(soon)
      expect((await under.store.scheduling.furthest(10)).schedules).toMatchObject([
        { id: 's', nextRunAt: soon, plannedRun: soon, isByHand: true },
      ])
      await under.query("UPDATE periodic_task SET timer = 'hourly'")
      await submit()
      expect((await under.store.scheduling.furthest(10)).schedules).toMatchObject([{ isByHand: false }])
    })

    it('is kept when a mark ends without a plan', async () => {
      const past = after(await clock(under), -1000)
      await planned(under, 's', past, { planned_by_hand: 1 })
      const expected = { nextRunAt: past, plannedRun: past, isByHand: true }
      expect(await read()).toEqual(expected)
      expect(await read()).toEqual(expected)
      expect(await wakeAt()).toEqual(past)
    })
  })

  it('the schedules furthest ahead are those with a last slot in the future and those with the latest next run', async () => {
    const now = await clock(under)
    await planned(under, 'year', after(now, 366 * 24 * 60 * MINUTE))
    await planned(under, 'day', after(now, 24 * 60 * MINUTE))
    await planned(under, 'hour', after(now, 60 * MINUTE), { last_slot: toText(after(now, 59 * MINUTE)) })
    await planned(under, 'minute', after(now, MINUTE), { last_slot: toText(after(now, -MINUTE)) })
    await planned(under, 'paused', after(now, 1e12), { enabled: 0 })
    await planned(under, 'done', null, { idle: 'done', last_slot: toText(after(now, -MINUTE)) })
    await planned(under, 'early', null, { idle: 'done', last_slot: toText(LATER) })
    await planned(under, 'dead', null, { idle: 'dead', last_slot: toText(LATER) })
    const furthest = async (most: number) =>
      (await under.store.scheduling.furthest(most)).schedules.map(({ id }) => id)
    const [ahead, ...latest] = await furthest(1)
    expect(['early', 'hour']).toContain(ahead)
    expect(latest).toEqual(['year'])
    expect(await furthest(2)).toEqual(['day', 'early', 'hour', 'year'])
    expect(await furthest(10)).toEqual(['day', 'early', 'hour', 'minute', 'year'])
    expect((await under.store.scheduling.furthest(10)).now.getTime()).toBeGreaterThanOrEqual(now.getTime())
  })
})
