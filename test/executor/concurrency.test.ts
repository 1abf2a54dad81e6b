/** The limit on concurrent jobs of one task in one worker. */
import { expect, it } from 'vitest'
import { type Kalends, task } from '../../src/index.ts'
import { collect, ended, gate, scene, signal, until } from '../kalends/scene.ts'
import { eachDatabase } from '../support/databases.ts'

const heavy = task('heavy', { concurrency: 2, retries: 0 })
const light = task('light')

/** Registers a handler for the heavy task. It counts its concurrent runs, which last until `hold` resolves. */
function watched(
  kalends: Kalends,
  hold: Promise<unknown> = Promise.resolve(),
): { now: number; most: number } {
  const seen = { now: 0, most: 0 }
  kalends.handle(heavy, async ({ args }) => {
    seen.now += 1
    seen.most = Math.max(seen.most, seen.now)
    await hold
    await new Promise((resolve) => setImmediate(resolve))
    seen.now -= 1
    if (args['fails'] === true) throw new Error('as intended')
  })
  return seen
}

eachDatabase((under) => {
  it('a task never exceeds its concurrency, even across groups in one claim; other tasks continue [R9]', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    const hold = gate()
    const seen = watched(kalends, hold.promise)
    kalends.handle(light, () => 'done')
    const jobs = await kalends.jobs.submitMany([
      ...Array.from({ length: 12 }, (_, index) => ({ task: heavy, group: `g${index % 6}`, priority: 9 })),
      ...Array.from({ length: 20 }, () => ({ task: light, group: 'g0' })),
    ])
    await kalends.start({ concurrency: 10 })
    // Two heavy jobs are still running when all light jobs have ended.
    for (const id of jobs.slice(12)) expect(await ended(kalends, id)).toMatchObject({ result: 'done' })
    expect(seen).toEqual({ now: 2, most: 2 })
    expect(kalends.health().running).toBe(2)
    expect((await kalends.jobs.list({ state: 'running' })).total).toBe(2)
    hold.open()
    for (const id of jobs) expect(await ended(kalends, id)).toMatchObject({ state: 'success', attempt: 1 })
    expect(seen.most).toBe(2)
  })

  it('handlers that end immediately leave nothing running, and stop() completes [L31]', async () => {
    const { database, open } = await scene(under)
    const kalends = await open()
    kalends.handle(light, () => 'done')
    const ids = await kalends.jobs.submitMany(Array.from({ length: 50 }, () => ({ task: light })))
    await kalends.start({ concurrency: 5 })
    for (const id of ids) expect(await ended(kalends, id)).toMatchObject({ state: 'success', result: 'done' })
    expect(kalends.health().running).toBe(0)
    await kalends.stop()
    expect(await database.query("SELECT id FROM job WHERE state = 'running'")).toEqual([])
  })

  it('a failed or cancelled run frees capacity', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    const one = task('one', { concurrency: 1, retries: 0 })
    kalends.handle(one, async ({ args, signal: stop }) => {
      if (args['hangs'] === true)
        await new Promise((_, reject) => stop.addEventListener('abort', () => reject(new Error('stopped'))))
      if (args['fails'] === true) throw new Error('as intended')
    })
    await kalends.start()
    const started = signal(kalends, 'started')
    const [hangs = '', fails = '', last = ''] = await kalends.jobs.submitMany([
      { task: one, args: { hangs: true } },
      { task: one, args: { fails: true } },
      { task: one },
    ])
    expect((await started).id).toBe(hangs)
    expect(await kalends.jobs.get(last)).toMatchObject({ state: 'waiting' })
    await kalends.jobs.cancel(hangs)
    expect(await ended(kalends, fails)).toMatchObject({ state: 'failed' })
    expect(await ended(kalends, last)).toMatchObject({ state: 'success' })
  })

  it('the limit applies per worker: two workers run twice as many jobs', async () => {
    const { open } = await scene(under)
    const hold = gate()
    const workers = [await open({ worker: 'one' }), await open({ worker: 'two' })]
    const seen = workers.map((worker) => watched(worker, hold.promise))
    const [web = await open()] = workers
    const ids = await web.jobs.submitMany(Array.from({ length: 9 }, () => ({ task: heavy })))
    const started = workers.map((worker) => collect(worker, 'started'))
    for (const worker of workers) await worker.start()
    await until(async () => (started.every((of) => of.length === 2) ? true : null))
    expect((await web.jobs.list({ state: 'running' })).total).toBe(4)
    hold.open()
    for (const id of ids) await ended(web, id)
    expect(seen.map(({ most }) => most)).toEqual([2, 2])
  })

  it.each([-1, 1.5, Number.NaN, 10_001])('a concurrency of %d is rejected', async (concurrency) => {
    expect(() => task('t', { concurrency })).toThrow('concurrency')
    expect(() => task('t', { concurrency: 0 })).toThrow('concurrency')
    const { open } = await scene(under)
    const kalends = await open()
    await expect(kalends.start({ concurrency })).rejects.toMatchObject({ field: 'concurrency' })
  })
})
