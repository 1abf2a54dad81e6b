/** Housekeeping: a built-in declared schedule deletes final jobs by age and count. */
import { expect, it } from 'vitest'
import { type Kalends, task } from '../../src/index.ts'
import { ended, scene, until } from '../kalends/scene.ts'
import { eachDatabase, type TestDatabase } from '../support/databases.ts'

const work = task('work')

async function fill(database: TestDatabase, schedules: number, each: number): Promise<void> {
  for (let first = 0; first < schedules; first += 50) {
    const rows = Array.from({ length: Math.min(50, schedules - first) * each }, (_, index) => {
      const [schedule, slot] = [first + Math.floor(index / each), index % each]
      const at = `2026-01-01 00:${String(slot).padStart(2, '0')}:00.000`
      return `('${schedule}-${slot}', 'work', '${schedule}', '${schedule}', '${at}', 'success', '${at}')`
    })
    await database.query(
      `INSERT INTO job (id, task, periodic_task_id, periodic_task_uid, slot, state, finished) VALUES ${rows.join(', ')}`,
    )
  }
}

async function housekept(kalends: Kalends): Promise<void> {
  kalends.handle(work, () => {})
  await kalends.start()
  // `runNow` is rejected while a scheduled run has not finished.
  const id = await until(() => kalends.schedules.runNow('kalends.prune').catch(() => null))
  expect(await ended(kalends, id)).toMatchObject({ state: 'success', task: 'kalends.prune' })
}

eachDatabase((under) => {
  it('one run removes all excess jobs, regardless of the number of schedules', async () => {
    const { open, database } = await scene(under)
    const kalends = await open({ retention: { perSchedule: 2, age: '36500d' } })
    // One excess job per schedule, so that a query for a hundred schedules finds less than a full batch.
    await fill(database, 350, 3)
    await housekept(kalends)
    expect(
      await database.query(`SELECT COUNT(*) AS n, MIN(slot) AS first FROM job WHERE task = 'work'`),
    ).toEqual([{ n: 700, first: expect.stringContaining('00:01:00') }])
  })

  it('the slot of a pruned job is not submitted again [R12]', async () => {
    const { open, database } = await scene(under)
    const kalends = await open({ retention: { age: 1000 } })
    await kalends.schedules.create({ id: 's', task: work, timer: 'yearly' })
    const before = await kalends.schedules.runNow('s')
    kalends.handle(work, () => {})
    await kalends.start()
    await ended(kalends, before)
    await database.query(`UPDATE job SET finished = '2026-01-01 00:00:00.000' WHERE id = ?`, [before])
    const id = await until(() => kalends.schedules.runNow('kalends.prune').catch(() => null))
    await ended(kalends, id)
    expect(await kalends.jobs.get(before)).toBeNull()
    expect(await kalends.schedules.get('s')).toMatchObject({ runCount: 1, lastJobId: before })
    expect(await kalends.schedules.history('s')).toEqual([])
  })

  it.each([
    [{ age: 'soon' }, 'retention.age'],
    [{ age: 999 }, 'retention.age'],
    [{ perSchedule: 0 }, 'retention.perSchedule'],
    [{ perSchedule: 1.5 }, 'retention.perSchedule'],
  ])('an invalid retention is rejected: %j', async (retention, field) => {
    const { open } = await scene(under)
    await expect(open({ retention })).rejects.toMatchObject({ code: 'KALENDS_INVALID_INPUT', field })
  })
})
