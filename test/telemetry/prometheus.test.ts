/** Metrics in a prom-client registry. */
import { Registry } from 'prom-client'
import { expect, it, onTestFinished } from 'vitest'
import { Kalends, PermanentError, task } from '../../src/index.ts'
import { prometheus } from '../../src/telemetry/prometheus.ts'
import { ended, gate, scene, signal } from '../kalends/scene.ts'
import { eachDatabase } from '../support/databases.ts'

const good = task('good')
const bad = task('bad', { retries: 1, retryDelay: 1 })
const hopeless = task('hopeless')

/** The samples by name and labels. */
async function samples(registry: Registry): Promise<Map<string, number>> {
  const lines = (await registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]),
  )
}

it('metrics that are registered twice are rejected, and the error says what to do', async () => {
  const kalends = await Kalends.open('sqlite::memory:')
  onTestFinished(() => kalends.stop())
  const registry = new Registry()
  const end = prometheus(kalends, { registry })
  expect(() => prometheus(kalends, { registry })).toThrow("already contains metrics named 'kalends_…'")
  prometheus(kalends, { registry, prefix: 'other_' })
  end()
  prometheus(kalends, { registry })
})

eachDatabase((under) => {
  it('submissions, attempts, running jobs and health are measured until the returned function is called', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    const registry = new Registry()
    const end = prometheus(kalends, { registry })
    const hold = gate()
    kalends.handle(good, async ({ args }) => {
      if (args['holds'] === true) await hold.promise
    })
    kalends.handle(bad, () => {
      throw new Error('no')
    })
    kalends.handle(hopeless, () => {
      throw new PermanentError('never')
    })
    await kalends.start()
    for (const each of [good, bad, hopeless]) await ended(kalends, await kalends.jobs.submit(each))
    const submitted = signal(kalends, 'submitted', ({ runs }) => runs.length > 0)
    await kalends.schedules.create({ id: 's', task: good, timer: 'yearly', firstRun: 'now' })
    const [run] = (await submitted).runs
    await signal(kalends, 'settled', ({ jobId }) => jobId === run?.jobId)
    const started = signal(kalends, 'started')
    const held = await kalends.jobs.submit(good, { holds: true })
    await started

    const found = await samples(registry)
    expect(found.get('kalends_jobs_submitted_total{task="good"}')).toBe(1)
    expect(found.get('kalends_attempts_total{task="good",state="success"}')).toBe(2)
    expect(found.get('kalends_attempts_total{task="bad",state="retry"}')).toBe(1)
    expect(found.get('kalends_attempts_total{task="bad",state="failed"}')).toBe(1)
    expect(found.get('kalends_attempts_total{task="hopeless",state="failed"}')).toBe(1)
    expect(found.get('kalends_attempt_seconds_count{task="bad"}')).toBe(2)
    expect(found.get('kalends_start_lateness_seconds_count{task="good"}')).toBe(1)
    expect(found.get('kalends_running_jobs')).toBe(1)
    expect(found.get('kalends_healthy')).toBe(1)
    expect(found.get('kalends_workers_lost_total')).toBe(0)
    hold.open()
    await ended(kalends, held)
    expect((await samples(registry)).get('kalends_running_jobs')).toBe(0)

    end()
    expect(await registry.metrics()).toBe('\n')
    await ended(kalends, await kalends.jobs.submit(good))
    expect(await registry.metrics()).toBe('\n')
    // The same metrics again, under other names.
    const endAgain = prometheus(kalends, { registry, prefix: 'app_' })
    // A run is counted once the worker knows that its outcome is written; the outcome can be read before that.
    const settled = signal(kalends, 'settled')
    await kalends.jobs.submit(good)
    await settled
    expect((await samples(registry)).get('app_attempts_total{task="good",state="success"}')).toBe(1)
    endAgain()
    endAgain()
  })

  it('skipped slots are counted, and a run that a stopping worker releases is not counted as a failure', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    const registry = new Registry()
    prometheus(kalends, { registry })
    kalends.handle(good, async ({ signal: stop }) => {
      await new Promise((resolve) => stop.addEventListener('abort', resolve))
    })
    const skipped = signal(kalends, 'submitted', ({ skips }) => skips.length > 0)
    await kalends.schedules.create({ id: 's', task: good, timer: '*:*:*' })
    await kalends.start()
    const { skips } = await skipped
    await kalends.schedules.pause('s')
    await kalends.stop({ grace: 0 })
    const found = await samples(registry)
    expect(found.get('kalends_slots_skipped_total{task="good",reason="overlap"}')).toBeGreaterThanOrEqual(
      skips[0]?.count ?? 1,
    )
    expect(found.get('kalends_attempts_total{task="good",state="released"}')).toBe(1)
    expect(found.get('kalends_healthy')).toBe(0)
  })

  it('an attempt whose outcome this worker cannot write is not counted and leaves nothing behind', async () => {
    const { open, database } = await scene(under)
    const kalends = await open()
    const registry = new Registry()
    prometheus(kalends, { registry })
    const hold = gate()
    kalends.handle(good, () => hold.promise)
    await kalends.start()
    const started = signal(kalends, 'started')
    const id = await kalends.jobs.submit(good)
    await started
    await database.query('DELETE FROM job WHERE id = ?', [id])
    hold.open()
    await expect.poll(() => kalends.health().running).toBe(0)
    const settled = signal(kalends, 'settled')
    await kalends.jobs.submit(good)
    await settled
    const found = await samples(registry)
    expect(found.get('kalends_attempts_total{task="good",state="success"}')).toBe(1)
    expect(found.get('kalends_attempt_seconds_count{task="good"}')).toBe(1)
  })
})
