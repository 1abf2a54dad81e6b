/** Which rows are pruned and which stay. */
import { expect, it } from 'vitest'
import type { Retention } from '../../src/store/store.ts'
import { toText } from '../../src/model/instant.ts'
import {
  after,
  clock,
  insert,
  job,
  MINUTE,
  onEachStore,
  planned,
  type StoreUnderTest,
  WORKER,
} from './conformance.ts'
import { recording, START } from './recording.ts'

const DAY = 86_400_000

/** Inserts final jobs of a schedule, oldest first. */
async function finals(
  under: StoreUnderTest,
  schedule: string | null,
  amount: number,
  more: Record<string, string | number | null> = {},
): Promise<void> {
  const now = await clock(under)
  for (let index = 0; index < amount; index += 1) {
    const at = toText(after(now, (index - amount) * MINUTE))
    const id = `${schedule ?? 'own'}-${index}`
    await job(under, id, {
      periodic_task_id: schedule,
      slot: schedule && at,
      state: 'success',
      finished: at,
      ...more,
    })
    await insert(under, 'job_log', { job_id: id, message: 'done' })
    await failedAttempt(under, id)
  }
}

async function failedAttempt(under: StoreUnderTest, job: string): Promise<void> {
  const at = '2026-01-01 00:00:00.000'
  await insert(under, 'attempt', {
    job_id: job,
    claim: 1,
    attempt: 1,
    worker: WORKER,
    started: at,
    ended: at,
    outcome: 'failed',
  })
}

async function prune(under: StoreUnderTest, retention: Partial<Retention>, limit = 500): Promise<number> {
  return under.store.retention.prune({ ageMs: 30 * DAY, perSchedule: 1000, ...retention }, limit)
}

async function left(under: StoreUnderTest): Promise<unknown[]> {
  return (await under.query('SELECT id FROM job ORDER BY id')).map((row) => row['id'])
}

onEachStore((under) => {
  it('final jobs that ended longer ago than the age limit are removed, with their logs and attempts [R12]', async () => {
    const now = await clock(under)
    for (const [id, state, age] of [
      ['old-success', 'success', 31],
      ['old-failed', 'failed', 31],
      ['old-cancelled', 'cancelled', 31],
      ['old-skipped', 'skipped', 31],
      ['young', 'success', 29],
    ] as const) {
      await job(under, id, { state, finished: toText(after(now, -age * DAY)) })
      await insert(under, 'job_log', { job_id: id, message: id })
      await failedAttempt(under, id)
    }
    for (const state of ['waiting', 'blocked', 'running'])
      await job(under, state, {
        state,
        submitted: toText(after(now, -99 * DAY)),
        finished: toText(after(now, -99 * DAY)),
      })
    expect(await prune(under, {})).toBe(4)
    expect(await left(under)).toEqual(['blocked', 'running', 'waiting', 'young'])
    for (const table of ['job_log', 'attempt'])
      expect(await under.query(`SELECT job_id FROM ${table}`)).toEqual([{ job_id: 'young' }])
    expect(await prune(under, {})).toBe(0)
  })

  it('the newest jobs of each schedule stay: a busy schedule displaces no jobs of other schedules, and jobs without a schedule stay [R12]', async () => {
    await finals(under, 'busy', 20)
    await finals(under, 'rare', 2)
    await finals(under, null, 20)
    expect(await prune(under, { perSchedule: 5 })).toBe(15)
    const ids = await left(under)
    expect(ids.filter((id) => String(id).startsWith('busy'))).toEqual([
      'busy-15',
      'busy-16',
      'busy-17',
      'busy-18',
      'busy-19',
    ])
    expect(ids.filter((id) => String(id).startsWith('rare'))).toHaveLength(2)
    expect(ids.filter((id) => String(id).startsWith('own'))).toHaveLength(20)
    for (const table of ['job_log', 'attempt'])
      expect(await under.query(`SELECT COUNT(*) AS n FROM ${table}`)).toEqual([{ n: 27 }])
  })

  it('unfinished jobs are neither removed nor counted', async () => {
    const now = await clock(under)
    for (const [index, state] of ['waiting', 'blocked', 'running', 'waiting'].entries())
      await job(under, `open-${index}`, {
        periodic_task_id: 's',
        slot: toText(after(now, -index * DAY)),
        state,
        exclusive: 0,
      })
    await finals(under, 's', 3)
    expect(await prune(under, { perSchedule: 2 })).toBe(1)
    expect(await left(under)).toEqual(['open-0', 'open-1', 'open-2', 'open-3', 's-1', 's-2'])
  })

  it('a batch removes no more rows than its limit, and the next batch continues', async () => {
    await finals(under, 'a', 10)
    await finals(under, 'b', 10)
    expect(await prune(under, { perSchedule: 1 }, 7)).toBe(7)
    expect(await prune(under, { perSchedule: 1 }, 7)).toBe(7)
    expect(await prune(under, { perSchedule: 1 }, 7)).toBe(4)
    expect(await prune(under, { perSchedule: 1 }, 7)).toBe(0)
    expect(await left(under)).toEqual(['a-9', 'b-9'])
  })

  it("schedules are removed only if they are done, have after_done = 'delete' and are past the age limit", async () => {
    const now = await clock(under)
    const [old, young] = [toText(after(now, -31 * DAY)), toText(after(now, -29 * DAY))]
    const done = { idle: 'done', after_done: 'delete', created: old, last_finished: old }
    await planned(under, 'finished', null, done)
    await planned(under, 'never-ran', null, { ...done, last_finished: null })
    await planned(under, 'young', null, { ...done, last_finished: young })
    await planned(under, 'skipped-lately', null, { ...done, last_slot: young })
    await planned(under, 'new', null, { ...done, created: young })
    await planned(under, 'running', null, done)
    await job(under, 'j', { periodic_task_id: 'running', state: 'running', worker: WORKER })
    await planned(under, 'with-history', null, done)
    await job(under, 'k', { periodic_task_id: 'with-history', state: 'skipped', finished: young })
    await planned(under, 'kept', null, { ...done, after_done: 'keep' })
    await planned(under, 'declared', null, { ...done, declared_by: 'set' })
    await planned(under, 'dead', null, { ...done, idle: 'dead' })
    await planned(under, 'paused', null, { ...done, enabled: 0 })
    await planned(under, 'revived', null, done)
    await under.query("UPDATE periodic_task SET max_runs = 200 WHERE id = 'revived'")
    expect(await prune(under, {}, 1)).toBe(0)
    expect((await under.query('SELECT id FROM periodic_task ORDER BY id')).map(({ id }) => id)).toEqual([
      'dead',
      'declared',
      'kept',
      'new',
      'paused',
      'revived',
      'running',
      'skipped-lately',
      'with-history',
      'young',
    ])
  })

  it('a schedule edited between selection and deletion stays', async () => {
    const now = await clock(under)
    const old = toText(after(now, -31 * DAY))
    const done = { idle: 'done', after_done: 'delete', created: old, last_finished: old }
    await planned(under, 'revived', null, done)
    await planned(under, 'finished', null, done)
    const { store } = await recording(under.url, async (statement) => {
      if (statement === START)
        await under.query("UPDATE periodic_task SET max_runs = 200 WHERE id = 'revived'")
    })
    under.afterwards(() => store.close())
    await store.retention.prune({ ageMs: DAY, perSchedule: 1000 }, 500)
    expect(await under.query('SELECT id FROM periodic_task')).toEqual([{ id: 'revived' }])
  })

  it('a job that has been retried stays, with its log and attempts', async () => {
    await finals(under, 's', 2, { state: 'failed' })
    await under.query(`UPDATE job SET state = 'waiting', finished = NULL WHERE id = 's-0'`)
    expect(await prune(under, { ageMs: 1000, perSchedule: 1 })).toBe(1)
    for (const table of ['job_log', 'attempt'])
      expect(await under.query(`SELECT job_id FROM ${table}`)).toEqual([{ job_id: 's-0' }])
  })

  it('a job retried between selection and removal stays, with its log and attempts', async () => {
    await finals(under, 's', 2, { state: 'failed' })
    const { store } = await recording(under.url, async (statement) => {
      if (statement === START)
        await under.query(`UPDATE job SET state = 'waiting', finished = NULL WHERE id = 's-0'`)
    })
    under.afterwards(() => store.close())
    expect(await store.retention.prune({ ageMs: 1000, perSchedule: 1000 }, 500)).toBe(1)
    expect(await left(under)).toEqual(['s-0'])
    for (const table of ['job_log', 'attempt'])
      expect(await under.query(`SELECT job_id FROM ${table}`)).toEqual([{ job_id: 's-0' }])
  })
})
