/** Jobs can be cancelled from any process. */
import { expect, it, onTestFinished, vi } from 'vitest'
import { CancelledError, NotFoundError, task } from '../../src/index.ts'
import { LEASE_MS, movableTimers } from '../kalends/movable-timers.ts'
import { aborted, collect, ended, gate, scene, signal, until } from '../kalends/scene.ts'
import { eachDatabase } from '../support/databases.ts'
import { claimed, executorOn, startLoops } from './claimed.ts'

const long = task('long', { retryDelay: '20ms' })

eachDatabase((under) => {
  it('a waiting job is cancelled at once and never runs [R4]', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    let called = 0
    kalends.handle(long, () => {
      called += 1
    })
    const id = await kalends.jobs.submit(long)
    expect(await kalends.jobs.cancel(id)).toMatchObject({ id, state: 'cancelled' })
    const job = await kalends.jobs.get(id)
    expect(job).toMatchObject({ state: 'cancelled', attempt: 0 })
    expect(job?.finishedAt).toBeInstanceOf(Date)

    await kalends.start()
    await ended(kalends, await kalends.jobs.submit(long))
    expect(called).toBe(1)
  })

  it('a running job is cancelled from another process: its signal fires with a CancelledError [R4]', async () => {
    const { open } = await scene(under)
    const kalends = await open({ worker: 'runs' })
    const web = await open({ worker: 'web' })
    const reason = gate<unknown>()
    kalends.handle(long, async ({ signal }) => {
      await aborted(signal).catch(reason.open)
      throw new Error('interrupted')
    })
    await kalends.start()
    const started = signal(kalends, 'started')
    const id = await kalends.jobs.submit(long)
    await started

    expect(await web.jobs.cancel(id)).toMatchObject({ state: 'running', stopRequestedAt: expect.any(Date) })
    expect(await reason.promise).toBeInstanceOf(CancelledError)
    const job = await ended(web, id)
    expect(job).toMatchObject({ state: 'cancelled', attempt: 1, error: 'The job was cancelled' })
    expect(job.stopRequestedAt).toBeInstanceOf(Date)
  })

  it('a job is cancelled even if its handler returns a result after the signal has fired', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    kalends.handle(long, async ({ signal }) => {
      await aborted(signal).catch(() => {})
      return 'half of it'
    })
    await kalends.start()
    const started = signal(kalends, 'started')
    const id = await kalends.jobs.submit(long)
    await started
    await kalends.jobs.cancel(id)
    expect(await ended(kalends, id)).toMatchObject({ state: 'cancelled', result: null })
  })

  it('cancelling an unknown job is an error', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    await expect(kalends.jobs.cancel('nobody')).rejects.toThrow(NotFoundError)
    await expect(kalends.jobs.cancel('nobody')).rejects.toThrow("There is no job with the id 'nobody'")
  })

  it('cancelling a job of a lost worker takes effect when the worker is evicted [L29]', async () => {
    const { open, database } = await scene(under)
    const web = await open()
    let called = 0
    await database.query(
      `INSERT INTO job (id, task, state, worker, attempt) VALUES ('left', 'long', 'running', 'gone/1', 1)`,
    )
    expect(await web.jobs.cancel('left')).toMatchObject({ state: 'running' })
    const kalends = await open()
    kalends.handle(long, () => {
      called += 1
    })
    await kalends.start()
    expect(await ended(web, 'left')).toMatchObject({ state: 'cancelled', attempt: 1 })
    expect(called).toBe(0)
  })

  it('the loss of a worker counts as a failed attempt, and the job is retried on another worker [R8, L29]', async () => {
    const { open, database } = await scene(under)
    const kalends = await open()
    kalends.handle(long, ({ attempt }) => `attempt ${attempt}`)
    await database.query(
      `INSERT INTO job (id, task, state, worker, attempt) VALUES ('left', 'long', 'running', 'gone/1', 1)`,
    )
    const lost = signal(kalends, 'settled', ({ state }) => state === 'waiting')
    await kalends.start()
    expect(await lost).toMatchObject({
      state: 'waiting',
      released: false,
      snoozed: false,
      error: 'The worker gone/1 was lost during attempt 1',
    })
    expect(await ended(kalends, 'left')).toMatchObject({ state: 'success', attempt: 2, result: 'attempt 2' })
  })

  it("an evicted worker fires its handlers' signals, discards their outcomes and continues under a new id [L27]", async () => {
    const on = await scene(under)
    const { beatUntil } = movableTimers(on)
    const { open, database } = on
    const kalends = await open({ lease: LEASE_MS })
    const reasons: unknown[] = []
    const second = gate()
    kalends.handle(long, async ({ attempt, signal }) => {
      if (attempt === 1) await aborted(signal).catch((reason: unknown) => reasons.push(reason))
      else await second.promise
      return attempt
    })
    await kalends.start()
    const before = kalends.health().worker
    const started = signal(kalends, 'started')
    const id = await kalends.jobs.submit(long)
    await started
    const lost = signal(kalends, 'leaseLost')
    const starts = collect(kalends, 'started')
    // Does what another worker would do after a lease without a heartbeat (docs/decisions.md#death-is-a-deleted-row).
    await database.query('DELETE FROM worker')
    await beatUntil(async () => (starts.some(({ attempt }) => attempt === 2) ? true : null))
    expect((await lost).worker).toBe(before)
    second.open()
    expect(await ended(kalends, id)).toMatchObject({ state: 'success', attempt: 2, result: 2 })
    expect(reasons).toEqual([expect.objectContaining({ code: 'KALENDS_LEASE_LOST' })])
    const after = await until(async () => kalends.health().worker)
    expect(after).not.toBe(before)
    expect(await database.query('SELECT id FROM worker')).toEqual([{ id: after }])
  })
})

it('cancellations are checked once per poll interval, no matter how many jobs start', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  let checks = 0
  let given = 0
  const executor = executorOn(
    {
      claim: () => Promise.resolve([claimed(`j${(given += 1)}`)].slice(0, Number(given % 2 === 1))),
      stopRequests: () => {
        checks += 1
        return Promise.resolve([])
      },
    },
    () => new Promise(() => {}),
    { concurrency: 1000, pollIntervalMs: 1000 },
  )
  startLoops(executor)
  for (let passed = 0; passed < 10_000; passed += 100) {
    executor.wake()
    for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve))
    await vi.advanceTimersByTimeAsync(100)
  }
  expect(executor.attempts.count()).toBeGreaterThan(50)
  expect(checks).toBeGreaterThan(5)
  expect(checks).toBeLessThanOrEqual(11)
})
