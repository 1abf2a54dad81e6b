/** Cancelling and retrying many jobs: by ids or by a filter. */
import { expect, it } from 'vitest'
import { InvalidInputError, NotFoundError } from '../../src/index.ts'
import { scene } from '../kalends/scene.ts'
import { eachDatabase } from '../support/databases.ts'

eachDatabase((under) => {
  it('a filter without a state cancels all open jobs that match, and no others', async () => {
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

  it('a filter without a state retries failed jobs, and leaves cancelled ones', async () => {
    const { open, database } = await scene(under)
    const { jobs } = await open()
    for (const id of ['f', 'c']) await jobs.submit('mail', {}, { id })
    await jobs.cancel('c')
    await database.query("UPDATE job SET state = 'failed', finished = submitted WHERE id = 'f'")
    expect(await jobs.retryMany({ filter: {} })).toMatchObject({ matched: 1, changed: ['f'] })
    expect(await jobs.retryMany({ filter: { state: 'cancelled' } })).toMatchObject({ changed: ['c'] })
    await expect(jobs.retryMany({ filter: { state: 'waiting' } })).rejects.toThrow(InvalidInputError)
    await expect(jobs.cancelMany({ filter: { state: 'failed' } })).rejects.toThrow(
      /waiting, blocked, running/,
    )
  })

  it('a job that is refused leaves the others to be changed; another error ends the call', async () => {
    const { open } = await scene(under)
    const { jobs } = await open()
    for (const id of ['a', 'b']) await jobs.submit('mail', {}, { id })
    const { changed, refused } = await jobs.cancelMany({ ids: ['a', 'nobody', 'b', 'b'] })
    expect(changed).toEqual(['a', 'b'])
    expect(refused).toEqual([{ id: 'nobody', error: expect.any(NotFoundError) }])
    await jobs.submit('mail', {}, { id: 'c' })
    const broken = new Error('broken')
    const around = () => Promise.reject(broken)
    await expect(jobs.cancelMany({ ids: ['c'] }, { around })).rejects.toBe(broken)
    expect(await jobs.get('c')).toMatchObject({ state: 'waiting' })
  })
})
