/** Operations on jobs. */
import { expect, it } from 'vitest'
import { z } from 'zod'
import { ConflictError, InvalidInputError, NotFoundError, type SubmitOptions, task } from '../../src/index.ts'
import { ended, scene } from '../kalends/scene.ts'
import { eachDatabase } from '../support/databases.ts'

const mail = task('mail', { args: z.object({ to: z.string() }) })
const plain = task('plain')

eachDatabase((under) => {
  it('`submit` stores its input under a new id that sorts by time', async () => {
    const { open } = await scene(under)
    const { jobs } = await open()
    const before = Date.now()
    const id = await jobs.submit(
      mail,
      { to: 'ä@ö.test' },
      {
        priority: -3,
        group: 'g',
        subject: 'order 7',
        submitter: 'anna',
        timeout: '5min',
        retries: 2,
        retryDelay: '3s',
        retryBackoff: 'fixed',
      },
    )
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    const job = await jobs.get(id)
    expect(job).toMatchObject({
      id,
      scheduleId: null,
      slot: null,
      missed: 0,
      run: null,
      task: 'mail',
      group: 'g',
      args: { to: 'ä@ö.test' },
      subject: 'order 7',
      submitter: 'anna',
      priority: -3,
      state: 'waiting',
      reason: null,
      worker: null,
      attempt: 0,
      runAt: null,
      startedAt: null,
      finishedAt: null,
      timeout: 300_000,
      retries: 2,
      retryDelay: 3000,
      retryBackoff: 'fixed',
      progress: null,
      result: null,
      error: null,
      stopRequestedAt: null,
    })
    expect(Math.abs((job?.submittedAt.getTime() ?? 0) - before)).toBeLessThan(600_000)
    const next = await jobs.submit(mail, { to: 'x' })
    expect(next > id).toBe(true)
  })

  it('a caller-chosen id is kept; a second submission with it is rejected with an error that names the id, and the first job stays [R13]', async () => {
    const { open } = await scene(under)
    const { jobs } = await open()
    expect(await jobs.submit(mail, { to: 'first' }, { id: 'order-7' })).toBe('order-7')
    const again = jobs.submit(mail, { to: 'second' }, { id: 'order-7' })
    await expect(again).rejects.toThrow(ConflictError)
    await expect(again).rejects.toThrow("A job with the id 'order-7' already exists")
    expect((await jobs.get('order-7'))?.args).toEqual({ to: 'first' })
    await jobs.submit(mail, { to: 'third' }, { id: 'ORDER-7' })
    expect((await jobs.list()).total).toBe(2)
  })

  it('a future job runs at its time, neither early nor late', async () => {
    const { open } = await scene(under)
    // Polling is effectively off: the worker itself knows when the jobs of its process are due.
    const kalends = await open({ pollInterval: '60s' })
    kalends.handle(plain, () => {})
    await kalends.start()
    const runAt = new Date(Date.now() + 700)
    const job = await ended(kalends, await kalends.jobs.submit(plain, {}, { runAt }))
    expect(job.state).toBe('success')
    const lateMs = (job.startedAt?.getTime() ?? 0) - runAt.getTime()
    expect(lateMs).toBeGreaterThanOrEqual(0)
    // With polling alone, the job would wait for up to 60 s.
    expect(lateMs).toBeLessThan(50_000)
  })

  it('a job with a time in the past runs at once', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    kalends.handle(plain, () => {})
    await kalends.start()
    const runAt = new Date('2020-01-01T00:00:00Z')
    expect(await ended(kalends, await kalends.jobs.submit(plain, {}, { runAt }))).toMatchObject({
      state: 'success',
    })
  })

  it('`get` returns null for an unknown job, and `logs` throws a NotFoundError', async () => {
    const { open } = await scene(under)
    const { jobs } = await open()
    expect(await jobs.get('nobody')).toBeNull()
    await expect(jobs.logs('nobody')).rejects.toThrow(NotFoundError)
  })

  it.each<[string, object]>([
    ['id', { id: '' }],
    ['id', { id: 'i'.repeat(255) }],
    ['id', { id: 'a/b' }],
    // The format of occurrence ids.
    ['id', { id: '019d2e4e-a87b-8ff7-8909-74f1365d34a0' }],
    ['id', { id: '019D2E4E-A87B-8FF7-8909-74F1365D34A0' }],
    ['id', { id: 7 }],
    ['runAt', { runAt: new Date('soon') }],
    ['runAt', { runAt: '2030-01-01' }],
    ['runAt', { runAt: new Date(8.64e15) }],
    ['priority', { priority: 0.5 }],
    ['priority', { priority: 2 ** 31 }],
    ['group', { group: 'g'.repeat(255) }],
    ['subject', { subject: 's'.repeat(256) }],
    ['submitter', { submitter: 5 }],
    ['timeout', { timeout: 'soon' }],
    ['retries', { retries: -1 }],
    ['retryDelay', { retryDelay: '' }],
    ['retryBackoff', { retryBackoff: 'never' }],
  ])('an invalid %s is rejected, and nothing is stored: %o [L65]', async (field, options: SubmitOptions) => {
    const { open } = await scene(under)
    const { jobs } = await open()
    const error: unknown = await jobs.submit(plain, {}, options).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(InvalidInputError)
    expect(error).toMatchObject({ field })
    expect((await jobs.list()).total).toBe(0)
  })
})
