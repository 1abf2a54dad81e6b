/** Cancelling and retrying many jobs, by id or by filter. */
import { beforeEach, expect, it } from 'vitest'
import { InvalidInputError, type ManyJobs, NotFoundError } from '../../src/index.ts'
import { standingClock } from '../kalends/movable-timers.ts'
import { scene } from '../kalends/scene.ts'
import { eachDatabase } from '../support/databases.ts'

// The clock stands still, because a search that exceeds its time limit returns incomplete results.
beforeEach(standingClock)

eachDatabase((under) => {
  it('a filter without a state cancels all matching open jobs and no others', async () => {
    const { open } = await scene(under)
    const { jobs } = await open()
    for (const id of ['a', 'b', 'c']) await jobs.submit('mail', {}, { id })
    await jobs.submit('mail', {}, { id: 'later', runAt: new Date('2039-01-01T00:00:00Z') })
    await jobs.submit('other', {}, { id: 'other' })
    await jobs.cancel('a')
    const which = { filter: { task: 'mail' } }
    expect(await jobs.cancelMany(which, { dryRun: true })).toEqual({
      matched: 3,
      matchedIsExact: true,
      changed: [],
      refused: [],
      more: false,
    })
    expect(await jobs.cancelMany(which, { limit: 2 })).toMatchObject({
      matched: 3,
      changed: ['later', 'c'],
      more: true,
    })
    expect(await jobs.cancelMany(which)).toMatchObject({ matched: 1, changed: ['b'], more: false })
    expect((await jobs.count()).counts).toEqual({ waiting: 1, cancelled: 4 })
  })

  it('a filter without a state retries failed jobs but not cancelled ones', async () => {
    const { open, database } = await scene(under)
    const { jobs } = await open()
    for (const id of ['f', 'c']) await jobs.submit('mail', {}, { id })
    await jobs.cancel('c')
    await database.query("UPDATE job SET state = 'failed', finished = submitted WHERE id = 'f'")
    expect(await jobs.retryMany({ filter: {} })).toMatchObject({ matched: 1, changed: ['f'] })
    expect(await jobs.retryMany({ filter: { state: 'cancelled' } })).toMatchObject({ changed: ['c'] })
    await expect(jobs.retryMany({ filter: { state: 'waiting' } })).rejects.toThrow(InvalidInputError)
    await expect(jobs.cancelMany({ filter: { state: 'failed' } })).rejects.toThrow(
      /blocked, waiting, running/,
    )
  })

  it('a rejected job does not prevent changes to other jobs; any other error ends the call', async () => {
    const { open } = await scene(under)
    const { jobs } = await open()
    for (const id of ['a', 'b']) await jobs.submit('mail', {}, { id })
    const { changed, refused } = await jobs.cancelMany({ ids: ['a', 'nobody', 'b', 'b'] })
    expect(changed).toEqual(['a', 'b'])
    expect(refused).toEqual([{ id: 'nobody', error: expect.any(NotFoundError) }])
    const again = await jobs.cancelMany({ ids: ['a'] })
    expect(again).toMatchObject({
      changed: [],
      refused: [{ id: 'a', error: { message: 'The job a is already cancelled' } }],
    })
    await jobs.submit('mail', {}, { id: 'c' })
    const broken = new Error('broken')
    const each = () => Promise.reject(broken)
    await expect(jobs.cancelMany({ ids: ['c'] }, { each })).rejects.toBe(broken)
    expect(await jobs.get('c')).toMatchObject({ state: 'waiting' })
  })

  it('a job that is blocked by a waiting job is cancelled with it', async () => {
    const { open, database } = await scene(under)
    const { jobs, schedules } = await open()
    await schedules.create({ id: 's', task: 'mail', timer: 'yearly', overlap: 'queue-one' })
    const first = await schedules.runNow('s')
    await database.query(
      "INSERT INTO job (id, periodic_task_id, slot, task, state) VALUES ('b', 's', '2039-01-01 00:00:00.000', 'mail', 'blocked')",
    )
    const { changed, refused } = await jobs.cancelMany({ filter: { scheduleId: 's' } })
    expect(changed).toEqual(['b', first])
    expect(refused).toEqual([])
    expect((await jobs.count()).counts).toEqual({ cancelled: 2 })
  })

  it('all matching jobs are changed, whatever the search order', async () => {
    const { open, database } = await scene(under)
    const { jobs } = await open()
    // The jobs that ended last have the smallest ids.
    const rows = Array.from({ length: 1300 }, (_, index) => {
      const ended = new Date(Date.UTC(2026, 0, 1) + index * 1000).toISOString().replace('T', ' ').slice(0, 23)
      return `('j${String(9999 - index)}', 'mail', 'failed', '${ended}')`
    })
    await database.query(`INSERT INTO job (id, task, state, finished) VALUES ${rows.join(', ')}`)
    const filter = { finishedFrom: new Date('2025-01-01T00:00:00Z') }
    const some = await jobs.retryMany({ filter }, { limit: 10 })
    expect(some).toMatchObject({ matched: 1300, matchedIsExact: true, more: true })
    expect(some.changed).toHaveLength(10)
    const all = await jobs.retryMany({ filter })
    expect(all).toMatchObject({ matched: 1290, more: false, refused: [] })
    expect((await jobs.count()).counts).toEqual({ waiting: 1300 })
  })

  it.each<[string, object, object]>([
    ['limit', { filter: {} }, { limit: 0 }],
    ['limit', { filter: {} }, { limit: '10' }],
    ['filter.schedule', { filter: { schedule: 's' } }, {}],
    ['filter.group', { filter: { group: null } }, {}],
    ['filter.offset', { filter: { offset: 1 } }, {}],
    ['filter.finishedFrom', { filter: { finishedFrom: null } }, {}],
  ])('an invalid %s is rejected, and nothing changes: %o, %o', async (field, which, options) => {
    const { open } = await scene(under)
    const { jobs } = await open()
    await jobs.submit('mail', {}, { id: 'a' })
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- untyped code may pass this
    await expect(jobs.cancelMany(which as ManyJobs, options)).rejects.toMatchObject({ field })
    expect(await jobs.get('a')).toMatchObject({ state: 'waiting' })
  })
})
