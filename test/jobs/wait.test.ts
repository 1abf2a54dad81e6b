/** Waiting for a job in any process. */
import { expect, it } from 'vitest'
import { NotFoundError, task, WaitTimeoutError } from '../../src/index.ts'
import { gate, scene, signal } from '../kalends/scene.ts'
import { eachDatabase } from '../support/databases.ts'

const work = task('work', { retries: 0 })

eachDatabase((under) => {
  it('wait returns the job with its result when the job ends, without polling if it runs in this process [R13]', async () => {
    const { open } = await scene(under)
    // Without polling.
    const kalends = await open({ pollInterval: '60s' })
    kalends.handle(work, () => ({ mails: 3 }))
    await kalends.start()
    const id = await kalends.jobs.submit(work)
    expect(await kalends.jobs.wait(id, { timeout: '50s' })).toMatchObject({
      id,
      state: 'success',
      result: { mails: 3 },
    })
    expect(await kalends.jobs.wait(id, { timeout: 0 })).toMatchObject({ state: 'success' })
  })

  it('wait notices that a job has ended in another process', async () => {
    const { open } = await scene(under)
    const [web, worker] = [await open({ worker: 'web' }), await open({ worker: 'worker' })]
    worker.handle(work, () => 'there')
    const id = await web.jobs.submit(work)
    const waiting = web.jobs.wait(id)
    await worker.start()
    expect(await waiting).toMatchObject({ state: 'success', result: 'there' })
  })

  it('wait also returns failed, cancelled and manually edited jobs', async () => {
    const { open, database } = await scene(under)
    const kalends = await open()
    kalends.handle(work, () => {
      throw new Error('no')
    })
    await kalends.start()
    const failed = await kalends.jobs.wait(await kalends.jobs.submit(work))
    expect(failed.state).toBe('failed')
    expect(failed.error).toContain('no')

    const later = await kalends.jobs.submit(work, {}, { runAt: new Date('2099-01-01') })
    const cancelled = kalends.jobs.wait(later)
    await kalends.jobs.cancel(later)
    expect(await cancelled).toMatchObject({ state: 'cancelled' })

    const edited = await kalends.jobs.submit('nobody-runs-this')
    const byHand = kalends.jobs.wait(edited)
    await database.query(`UPDATE job SET state = 'success' WHERE id = ?`, [edited])
    expect(await byHand).toMatchObject({ state: 'success' })
  })

  it('wait rejects after its timeout, and the error includes the state of the job', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    const hold = gate()
    kalends.handle(work, () => hold.promise)
    await kalends.start()
    const started = signal(kalends, 'started')
    const id = await kalends.jobs.submit(work)
    await started
    const waiting = kalends.jobs.wait(id, { timeout: 120 })
    await expect(waiting).rejects.toThrow(WaitTimeoutError)
    await expect(waiting).rejects.toThrow(`The job ${id} is still running after 120 ms`)
    hold.open()
    expect(await kalends.jobs.wait(id)).toMatchObject({ state: 'success' })
  })

  it('wait rejects with the reason of its signal, even if the signal fired before the call', async () => {
    const { open } = await scene(under)
    const kalends = await open({ pollInterval: '60s' })
    const id = await kalends.jobs.submit(work)
    const controller = new AbortController()
    const waiting = kalends.jobs.wait(id, { signal: controller.signal })
    const reason = new Error('the request was closed')
    setImmediate(() => controller.abort(reason))
    await expect(waiting).rejects.toBe(reason)
    await expect(kalends.jobs.wait(id, { signal: controller.signal })).rejects.toBe(reason)
    expect(await kalends.jobs.get(id)).toMatchObject({ state: 'waiting' })
  })

  it('wait reports a job that does not exist, or that is deleted during the wait', async () => {
    const { open, database } = await scene(under)
    const kalends = await open()
    await expect(kalends.jobs.wait('nobody')).rejects.toThrow(NotFoundError)
    const id = await kalends.jobs.submit(work)
    const waiting = kalends.jobs.wait(id)
    const outcome = waiting.catch((error: unknown) => error)
    await database.query('DELETE FROM job')
    expect(await outcome).toBeInstanceOf(NotFoundError)
  })

  it.each([
    ['soon', 'timeout'],
    [-1, 'timeout'],
  ])('an invalid timeout is rejected: %o', async (timeout, field) => {
    const { open } = await scene(under)
    const { jobs } = await open()
    await expect(jobs.wait('x', { timeout })).rejects.toMatchObject({ code: 'KALENDS_INVALID_INPUT', field })
  })

  it('a hundred callers can wait for the same job', async () => {
    const { open } = await scene(under)
    const kalends = await open({ pollInterval: '60s' })
    kalends.handle(work, () => 1)
    const id = await kalends.jobs.submit(work)
    const waiting = Array.from({ length: 100 }, () => kalends.jobs.wait(id))
    await kalends.start()
    const states = (await Promise.all(waiting)).map(({ state }) => state)
    expect(new Set(states)).toEqual(new Set(['success']))
  })
})
