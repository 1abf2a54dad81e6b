/** Policies with real runs in two workers, triggered with SQL and through the API. */
import { expect, it } from 'vitest'
import type { Handler } from '../../src/executor/handler.ts'
import { CancelledError, type Kalends, type KalendsEvents, task } from '../../src/index.ts'
import { aborted, ended, gate, scene, type Scene, until } from './scene.ts'
import { eachDatabase } from '../support/databases.ts'

const tick = task('tick')

interface Pair {
  readonly workers: readonly Kalends[]
  /** One of the workers, for calls that either can serve. */
  readonly any: Kalends
  /** The `submitted` events of both workers, in order. */
  readonly submitted: KalendsEvents['submitted'][]
}

type TickHandler = Handler<Record<string, unknown>>

/** Two workers that each submit and run jobs. */
async function twoWorkers({ open }: Scene, handler: TickHandler): Promise<Pair> {
  const workers = await Promise.all(['one', 'two'].map((worker) => open({ worker })))
  const submitted: KalendsEvents['submitted'][] = []
  for (const kalends of workers) {
    kalends.handle(tick, handler)
    kalends.on('submitted', (submission) => void submitted.push(submission))
    await kalends.start()
  }
  const [any] = workers
  if (any === undefined) throw new Error('there are two')
  return { workers, any, submitted }
}

/** Sets `nextrun` to a past time with SQL, so that the schedule runs now, under its own policies. */
const fire = ({ database }: Scene) =>
  database.query("UPDATE periodic_task SET nextrun = '2020-01-01 00:00:00.000'")

const statesOf = async (kalends: Kalends) =>
  (await kalends.schedules.history('s')).map(({ state }) => state).toReversed()
const statusOf = async (kalends: Kalends) => (await kalends.schedules.get('s'))?.status
const becomes = (kalends: Kalends, status: string) =>
  until(async () => ((await statusOf(kalends)) === status ? true : null))

eachDatabase((under) => {
  it('replace: the running job is asked to stop, its signal fires, and the new job runs after the old one ends [S4, L36]', async () => {
    const on = await scene(under)
    const order: string[] = []
    const reasons: unknown[] = []
    const release = gate()
    const { any } = await twoWorkers(on, async ({ job, signal: stop }) => {
      order.push(`${job.run} begins`)
      if (job.run !== 1) return
      await aborted(stop).catch((reason: unknown) => {
        reasons.push(reason)
      })
      // While the handler cleans up, nothing else runs.
      await release.promise
      order.push('1 ends')
      stop.throwIfAborted()
    })
    await any.schedules.create({ id: 's', task: tick, timer: 'yearly', overlap: 'replace', firstRun: 'now' })
    await until(async () => (order.length === 1 ? true : null))
    await fire(on)
    await until(async () => (reasons.length === 1 ? true : null))
    expect(reasons[0]).toBeInstanceOf(CancelledError)
    expect(await statesOf(any)).toEqual(['running', 'blocked'])
    release.open()
    await until(async () => ((await any.schedules.get('s'))?.runCount === 1 ? true : null))
    expect(order).toEqual(['1 begins', '1 ends', '2 begins'])
    expect(await statesOf(any)).toEqual(['cancelled', 'success'])
    // A replaced run is not a failure.
    expect(await any.schedules.get('s')).toMatchObject({ errorCount: 0, lastError: null })
  })

  it('allow: jobs run concurrently, one per slot [S4, U3]', async () => {
    const on = await scene(under)
    const release = gate()
    const begun: string[] = []
    const { any } = await twoWorkers(on, async ({ job }) => {
      begun.push(job.id)
      await release.promise
    })
    await any.schedules.create({ id: 's', task: tick, timer: 'yearly', overlap: 'allow', firstRun: 'now' })
    await until(async () => (begun.length === 1 ? true : null))
    await fire(on)
    await until(async () => (begun.length === 2 ? true : null))
    // The same applies to runNow, even with args for that run.
    const id = await any.schedules.runNow('s', { args: { once: true } })
    await until(async () => (begun.length === 3 ? true : null))
    expect(await any.jobs.get(id)).toMatchObject({ state: 'running', args: { once: true }, run: 3 })
    expect(await any.schedules.get('s')).toMatchObject({ args: {} })
    // After overlap is changed to skip, each of the concurrent runs prevents a new run.
    await any.schedules.update('s', { overlap: 'skip' })
    await expect(any.schedules.runNow('s')).rejects.toThrow(/cannot run now/)
    await fire(on)
    await until(async () => ((await statesOf(any)).at(-1) === 'skipped' ? true : null))
    release.open()
    await until(async () => ((await any.schedules.get('s'))?.runCount === 3 ? true : null))
    await fire(on)
    await until(async () => ((await any.schedules.get('s'))?.runCount === 4 ? true : null))
  })

  it('pause, resume and reset are rejected in states that do not allow them, and the error names the state [R1]', async () => {
    const on = await scene(under)
    const { any } = await twoWorkers(on, () => {})
    await any.schedules.create({ id: 's', task: tick, timer: 'yearly', maxRuns: 1 })
    await expect(any.schedules.resume('s')).rejects.toThrow(/is active; only a paused schedule/)
    await expect(any.schedules.reset('s')).rejects.toThrow(/is active; only a schedule that is done or dead/)
    expect(await any.schedules.pause('s')).toMatchObject({ status: 'paused' })
    await expect(any.schedules.pause('s')).rejects.toThrow(
      /is paused; only an active, retrying or frozen schedule/,
    )
    expect(await any.schedules.resume('s')).toMatchObject({ status: 'active' })
    await ended(any, await any.schedules.runNow('s'))
    await becomes(any, 'done')
    await expect(any.schedules.pause('s')).rejects.toThrow(/is done/)
    await expect(any.schedules.resume('s')).rejects.toThrow(/is done/)
    await expect(any.schedules.pause('nobody')).rejects.toThrow(/nobody/)
  })

  it('a past one-off is rejected, unless firstRun is now or, in a put, it has already run [T5]', async () => {
    const on = await scene(under)
    const { any } = await twoWorkers(on, () => {})
    const past = { task: tick, timer: '2020-01-01 09:00' } as const
    await expect(any.schedules.create(past)).rejects.toThrow(/does not elapse again/)
    await expect(any.schedules.put('s', past)).rejects.toThrow(/does not elapse again/)
    await expect(any.schedules.create({ ...past, timer: 'daily', ends: new Date(0) })).rejects.toThrow(
      /does not elapse again/,
    )
    const { result } = await any.schedules.put('s', { ...past, firstRun: 'now' })
    expect(result).toBe('created')
    await until(async () => ((await any.schedules.get('s'))?.runCount === 1 ? true : null))
    expect(await statusOf(any)).toBe('done')
    expect(await any.schedules.put('s', past)).toMatchObject({ result: 'unchanged' })
    expect(await any.schedules.put('s', { ...past, summary: 'has run' })).toMatchObject({
      result: 'changed',
      schedule: { status: 'done', runCount: 1 },
    })
    await expect(any.schedules.put('s', { ...past, timer: '2020-01-02' })).rejects.toThrow(
      /does not elapse again/,
    )
  })
})
