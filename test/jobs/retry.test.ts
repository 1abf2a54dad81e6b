/** Retries of failed and cancelled jobs. */
import { expect, it } from 'vitest'
import { ConflictError, NotFoundError, PermanentError, task } from '../../src/index.ts'
import { ended, gate, scene, signal } from '../kalends/scene.ts'
import { eachDatabase } from '../support/databases.ts'

const work = task('work', { retries: 1, retryDelay: 1 })

eachDatabase((under) => {
  it('a failed job that is retried starts over at its first attempt, with all its retries', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    const attempts: number[] = []
    let broken = true
    kalends.handle(work, ({ attempt }) => {
      attempts.push(attempt)
      if (broken || attempt === 1) throw new Error('broken')
      return 'mended'
    })
    await kalends.start()
    const id = await kalends.jobs.submit(work, { a: 1 })
    expect(await ended(kalends, id)).toMatchObject({ state: 'failed', attempt: 2, reason: 'exhausted' })
    broken = false
    await kalends.jobs.retry(id)
    expect(await ended(kalends, id)).toMatchObject({
      state: 'success',
      attempt: 2,
      result: 'mended',
      error: null,
      // Nothing of the previous outcome remains.
      reason: 'retried',
      args: { a: 1 },
    })
    expect(attempts).toEqual([1, 2, 1, 2])
  })

  it('a cancelled job can be retried, even if it was asked to stop while it was running', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    const hold = gate()
    let runs = 0
    kalends.handle(work, async ({ signal: aborted }) => {
      runs += 1
      if (runs > 1) return
      await Promise.race([hold.promise, new Promise((resolve) => aborted.addEventListener('abort', resolve))])
    })
    const waiting = await kalends.jobs.submit('nobody-runs-this')
    await kalends.jobs.cancel(waiting)
    await kalends.jobs.retry(waiting)
    expect(await kalends.jobs.get(waiting)).toMatchObject({ state: 'waiting', attempt: 0, finishedAt: null })

    await kalends.start()
    const started = signal(kalends, 'started')
    const id = await kalends.jobs.submit(work)
    await started
    await kalends.jobs.cancel(id)
    expect(await ended(kalends, id)).toMatchObject({ state: 'cancelled' })
    await kalends.jobs.retry(id)
    expect(await ended(kalends, id)).toMatchObject({ state: 'success', attempt: 1, stopRequestedAt: null })
  })

  it('retry rejects an unknown job, and names the state of a job that cannot be retried', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    kalends.handle(work, () => {})
    const later = await kalends.jobs.submit(work, {}, { runAt: new Date('2099-01-01') })
    await expect(kalends.jobs.retry(later)).rejects.toThrow(`The job ${later} is waiting`)
    await kalends.start()
    const id = await kalends.jobs.submit(work)
    await ended(kalends, id)
    await expect(kalends.jobs.retry(id)).rejects.toThrow(ConflictError)
    await expect(kalends.jobs.retry(id)).rejects.toThrow(`The job ${id} is success`)
    await expect(kalends.jobs.retry('nobody')).rejects.toThrow(NotFoundError)
  })

  it('a job cannot be retried while another job of its schedule is unfinished, and the error names the other', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    kalends.handle(work, () => {
      throw new PermanentError('no')
    })
    const { schedules, jobs } = kalends
    await schedules.create({ id: 's', task: work, timer: 'yearly' })
    await kalends.start()
    const failed = await schedules.runNow('s')
    expect(await ended(kalends, failed)).toMatchObject({ state: 'failed', reason: 'permanent' })
    await kalends.stop()

    const web = await open()
    const waiting = await web.schedules.runNow('s')
    const refused: unknown = await web.jobs.retry(failed).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(ConflictError)
    expect(refused).toMatchObject({ jobId: waiting })
    expect(String(refused)).toContain(waiting)
    expect(await web.jobs.get(failed)).toMatchObject({ state: 'failed' })
    // The same applies to runNow.
    await expect(web.schedules.runNow('s')).rejects.toMatchObject({
      code: 'KALENDS_CONFLICT',
      jobId: waiting,
    })
    expect(jobs).toBeDefined()

    await web.schedules.update('s', { overlap: 'allow' })
    await web.jobs.retry(failed)
    expect((await web.jobs.list({ state: 'waiting' })).total).toBe(2)
  })

  it('after overlap is changed from allow to skip, a retried job never overlaps other jobs [L43]', async () => {
    const { open, database } = await scene(under)
    const { schedules, jobs } = await open()
    await schedules.create({ id: 's', task: work, timer: 'yearly', overlap: 'allow' })
    const id = await schedules.runNow('s')
    await jobs.cancel(id)
    await schedules.update('s', { overlap: 'skip' })
    await jobs.retry(id)
    await expect(schedules.runNow('s')).rejects.toMatchObject({ jobId: id })
    expect(await database.query('SELECT open_turn FROM job')).toEqual([{ open_turn: '' }])
  })

  it('a job whose schedule was deleted can be retried', async () => {
    const { open } = await scene(under)
    const { schedules, jobs } = await open()
    await schedules.create({ id: 's', task: work, timer: 'yearly' })
    const id = await schedules.runNow('s')
    await jobs.cancel(id)
    await schedules.delete('s')
    await jobs.retry(id)
    expect(await jobs.get(id)).toMatchObject({ state: 'waiting', scheduleId: 's', reason: 'retried' })
  })

  it('only one of many concurrent retries of the same job succeeds', async () => {
    const { open } = await scene(under)
    const [one, other] = [await open(), await open()]
    const id = await one.jobs.submit(work)
    await one.jobs.cancel(id)
    const outcomes = await Promise.allSettled([one, other, one, other].map(({ jobs }) => jobs.retry(id)))
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    expect(await one.jobs.get(id)).toMatchObject({ state: 'waiting', attempt: 0 })
  })
})
