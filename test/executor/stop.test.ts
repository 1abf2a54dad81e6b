/** When a worker stops, nothing new starts, handlers get a grace period, and other jobs are released. */
import { expect, it } from 'vitest'
import { ConflictError, InvalidInputError, StoppedError, task } from '../../src/index.ts'
import { movableTimers } from '../kalends/movable-timers.ts'
import { aborted, collectingLogger, ended, gate, scene, signal } from '../kalends/scene.ts'
import { eachDatabase } from '../support/databases.ts'

const long = task('long')

const throwing = () => {
  throw new Error('the disk is full')
}

eachDatabase((under) => {
  it('stop waits up to the grace period for handlers to finish, and their outcomes are written [R11, L31]', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    const web = await open({ worker: 'web' })
    const release = gate()
    let signalled = false
    kalends.handle(long, async ({ signal, log }) => {
      signal.addEventListener('abort', () => {
        signalled = true
      })
      await release.promise
      log.info('the last line')
      return 'done'
    })
    await kalends.start()
    const started = signal(kalends, 'started')
    const id = await kalends.jobs.submit(long)
    await started
    const stopping = kalends.stop({ grace: '60s' })
    release.open()
    await stopping
    expect(await web.jobs.get(id)).toMatchObject({ state: 'success', result: 'done' })
    expect((await web.jobs.logs(id)).map(({ message }) => message)).toEqual(['the last line'])
    expect(signalled).toBe(false)
  })

  it('after the grace period, signals fire with a StoppedError, and the job is released without counting the attempt [R11]', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    const web = await open({ worker: 'web' })
    const reason = gate<unknown>()
    kalends.handle(long, ({ signal }) =>
      aborted(signal).catch((error: unknown) => {
        reason.open(error)
        throw error
      }),
    )
    await kalends.start()
    const started = signal(kalends, 'started')
    const id = await kalends.jobs.submit(long)
    await started
    await kalends.stop({ grace: 0 })
    expect(await reason.promise).toBeInstanceOf(StoppedError)
    expect(await web.jobs.get(id)).toMatchObject({ state: 'waiting', attempt: 0, worker: null, runAt: null })

    const next = await open({ worker: 'next' })
    next.handle(long, ({ attempt }) => attempt)
    await next.start()
    expect(await ended(web, id)).toMatchObject({ state: 'success', attempt: 1, result: 1 })
  })

  it('a handler that ignores its signal does not keep the worker from stopping, and its job is released', async () => {
    const on = await scene(under)
    const { pass } = movableTimers(on)
    const kalends = await on.open()
    const web = await on.open({ worker: 'web' })
    const fired = gate()
    kalends.handle(long, ({ signal: stop }) => {
      void aborted(stop).catch(() => fired.open())
      return new Promise(() => {})
    })
    await kalends.start()
    const started = signal(kalends, 'started')
    const id = await kalends.jobs.submit(long)
    await started
    const stopped = kalends.stop({ grace: 0 })
    await fired.promise
    await pass(5000)
    await stopped
    expect(await web.jobs.get(id)).toMatchObject({ state: 'waiting', attempt: 0 })
  })

  it('jobs that have not started stay in the queue', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    const web = await open({ worker: 'web' })
    const release = gate()
    kalends.handle(long, () => release.promise)
    await kalends.start({ concurrency: 1 })
    const started = signal(kalends, 'started')
    const first = await kalends.jobs.submit(long)
    await started
    const second = await kalends.jobs.submit(long)
    const stopping = kalends.stop({ grace: '60s' })
    release.open()
    await stopping
    expect(await web.jobs.get(first)).toMatchObject({ state: 'success' })
    expect(await web.jobs.get(second)).toMatchObject({ state: 'waiting', attempt: 0 })
  })

  it('a stopped worker leaves no registration and no marks', async () => {
    const { open, database } = await scene(under)
    const kalends = await open()
    await kalends.start()
    const submitted = signal(kalends, 'submitted')
    await kalends.schedules.create({ id: 's', task: 'unknown', timer: '*:*:*' })
    await submitted
    await kalends.stop()
    expect(await database.query('SELECT id FROM worker')).toEqual([])
    expect(await database.query('SELECT worker, marked FROM periodic_task')).toEqual([
      { worker: null, marked: null },
    ])
  })

  it('stop can be called twice, even concurrently', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    await kalends.start()
    await Promise.all([kalends.stop(), kalends.stop()])
    await kalends.stop()
  })

  it('stop during start stops everything that start has started', async () => {
    const { open, database } = await scene(under)
    const kalends = await open()
    const starting = kalends.start()
    await kalends.stop()
    await starting
    expect(kalends.health()).toMatchObject({ ok: false, worker: null, loops: [] })
    expect(await database.query('SELECT id FROM worker')).toEqual([])
  })

  it('stop closes an instance that was never started', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    await kalends.stop()
    await expect(kalends.start()).rejects.toThrow(ConflictError)
  })

  it('a stopped instance cannot start again', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    await kalends.start()
    await kalends.stop()
    await expect(kalends.start()).rejects.toThrow(
      'start was called too late: this Kalends instance was already stopped',
    )
  })

  it('an invalid grace period is rejected, and the worker continues', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    kalends.handle(long, () => 'ran')
    await kalends.start()
    await expect(kalends.stop({ grace: 'a while' })).rejects.toThrow(InvalidInputError)
    expect(await ended(kalends, await kalends.jobs.submit(long))).toMatchObject({ state: 'success' })
  })

  it('await using stops the worker at the end of the block', async () => {
    const { open, database } = await scene(under)
    {
      await using kalends = await open()
      await kalends.start()
      expect(await database.query('SELECT id FROM worker')).toHaveLength(1)
    }
    expect(await database.query('SELECT id FROM worker')).toEqual([])
  })

  it('if the logger throws, the loops continue and no job is lost', async () => {
    const { open } = await scene(under)
    const kalends = await open({
      logger: { debug: throwing, info: throwing, warn: throwing, error: throwing },
    })
    kalends.handle(long, () => 'ran')
    await kalends.start()
    for (let i = 0; i < 3; i += 1)
      expect(await ended(kalends, await kalends.jobs.submit(long))).toMatchObject({ state: 'success' })
  })

  it('if an event listener throws, the loops continue and no job is lost', async () => {
    const { open } = await scene(under)
    const { logger, messages } = collectingLogger()
    const kalends = await open({ logger })
    for (const event of ['started', 'settled', 'submitted'] as const) {
      kalends.on(event, () => {
        throw new Error('a listener')
      })
    }
    kalends.handle(long, () => 'ran')
    await kalends.start()
    expect(await ended(kalends, await kalends.jobs.submit(long))).toMatchObject({ state: 'success' })
    expect(await ended(kalends, await kalends.jobs.submit(long))).toMatchObject({ state: 'success' })
    expect(messages()).toContain('error: An event listener threw an error')
  })
})
