/** From timer to job: each occurrence is submitted once, in a batch, by any of the workers. */
import { expect, it } from 'vitest'
import { z } from 'zod'
import { type Health, type Kalends, task } from '../../src/index.ts'
import { collect, collectingLogger, ended, gate, type Scene, scene, signal, until } from './scene.ts'
import { eachDatabase, type TestDatabase } from '../support/databases.ts'
import { expectNoFault, OccurrenceFault } from '../support/fault.ts'

const tick = task('tick')
const DAY_MS = 86_400_000

/**
 * Creates a daily schedule that has missed five slots.
 * @returns the newest slot, at an hour far from now, so that no slot becomes due during the test
 */
async function absence(open: Scene['open'], database: TestDatabase, catchUp: number): Promise<number> {
  const hour = (new Date().getUTCHours() + 12) % 24
  const last = Math.floor((Date.now() - hour * 3_600_000) / DAY_MS) * DAY_MS + hour * 3_600_000
  const before = await open({ worker: 'before' })
  await before.start({ concurrency: 0 })
  await before.schedules.create({ id: 's', task: tick, timer: `*-*-* ${hour}:00`, catchUp })
  await until(async () => ((await before.schedules.get('s'))?.nextRunAt == null ? null : true))
  await before.stop()
  const slot = new Date(last - 4 * DAY_MS).toISOString().replace('T', ' ').slice(0, 23)
  await database.query('UPDATE periodic_task SET planned_nextrun = ?, nextrun = ?', [slot, slot])
  return last
}

/** The health, or null until every loop has completed a pass. */
async function passed(kalends: Kalends): Promise<Health | null> {
  const health = kalends.health()
  return health.loops.every(({ lastGoodPassAt }) => lastGoodPassAt !== null) ? health : null
}

eachDatabase((under) => {
  it('each occurrence is submitted exactly once, however many workers there are [S3, L1]', async () => {
    const { open, database } = await scene(under)
    const workers = await Promise.all(['a', 'b', 'c'].map((worker) => open({ worker })))
    const runs = new Map<string, number>()
    for (const kalends of workers) {
      kalends.handle(tick, ({ job, slot }) => {
        const key = `${job.scheduleId} ${slot?.toISOString()}`
        runs.set(key, (runs.get(key) ?? 0) + 1)
      })
      await kalends.start()
    }
    const [web] = workers
    for (let i = 0; i < 20; i += 1) await web?.schedules.create({ id: `s${i}`, task: tick, timer: '*:*:*' })
    await until(async () => (runs.size >= 60 ? true : null))
    await Promise.all(workers.map((kalends) => kalends.stop()))
    expectNoFault([...runs].filter(([, count]) => count !== 1))
    const twice = await database.query(
      'SELECT periodic_task_id, slot FROM job GROUP BY periodic_task_id, slot HAVING COUNT(*) > 1',
    )
    expectNoFault(twice)
    const attempts = await database.query("SELECT MAX(attempt) AS most FROM job WHERE state = 'success'")
    expect(attempts).toEqual([{ most: 1 }])
  })

  it('of the slots missed during downtime, one is made up, and the others are counted, recorded and logged [S5, L9]', async () => {
    const { open, database } = await scene(under)
    const last = await absence(open, database, 1)
    const { logger, lines } = collectingLogger()
    const kalends = await open({ logger })
    const seen: unknown[] = []
    kalends.handle(tick, ({ slot, missed }) => void seen.push([slot?.getTime(), missed]))
    const submitted = signal(kalends, 'submitted', ({ runs }) => runs.length > 0)
    await kalends.start()
    await ended(kalends, (await submitted).runs[0]?.jobId ?? '')
    expect(seen).toEqual([[last, 4]])
    const newestDropped = new Date(last - DAY_MS)
    expect((await kalends.jobs.list({ state: 'skipped' })).items).toEqual([
      expect.objectContaining({ reason: 'missed', missed: 4, slot: newestDropped }),
    ])
    expect(lines).toContainEqual({
      level: 'warn',
      message: 'Slots skipped',
      fields: { scheduleId: 's', task: 'tick', slot: newestDropped, reason: 'missed', count: 4 },
    })
  })

  it('a blocked job can be cancelled, and the jobs behind it still run [R4]', async () => {
    const { open, database } = await scene(under)
    await absence(open, database, 3)
    const kalends = await open()
    const release = gate()
    kalends.handle(tick, () => release.promise)
    const submitted = signal(kalends, 'submitted', ({ runs }) => runs.length > 0)
    await kalends.start()
    const [first = '', second = '', third = ''] = (await submitted).runs.map(({ jobId }) => jobId)
    expect(await kalends.jobs.get(second)).toMatchObject({ state: 'blocked' })
    expect(await kalends.jobs.cancel(second)).toMatchObject({ state: 'cancelled' })
    release.open()
    expect(await ended(kalends, first)).toMatchObject({ state: 'success' })
    expect(await ended(kalends, third)).toMatchObject({ state: 'success' })
    expect(await kalends.jobs.get(second)).toMatchObject({ state: 'cancelled', attempt: 0 })
  })

  it('a schedule with an invalid timer is reported; other schedules still run, and not early', async () => {
    const { open, database } = await scene(under)
    await database.query("INSERT INTO periodic_task (id, task, timer) VALUES ('bad', 'tick', 'nonsense')")
    const { logger, messages } = collectingLogger()
    const kalends = await open({ logger })
    kalends.handle(tick, () => {})
    await kalends.start()
    const submitted = signal(
      kalends,
      'submitted',
      ({ scheduleId, runs }) => scheduleId === 'good' && runs.length > 0,
    )
    await kalends.schedules.create({ id: 'good', task: tick, timer: '*:*:*' })
    const job = await ended(kalends, (await submitted).runs[0]?.jobId ?? '')
    if (job.slot === null || job.submittedAt < job.slot) throw new OccurrenceFault(JSON.stringify(job))
    expect(await kalends.schedules.get('bad')).toMatchObject({ status: 'invalid' })
    expect(messages()).toContain('error: Invalid timer; edit it to continue')
  })

  it('all 1200 slots of a burst are submitted and run once [S10]', async () => {
    const { open, database } = await scene(under)
    const kalends = await open({ pollInterval: '1s' })
    kalends.handle(tick, () => {})
    const rows = Array.from(
      { length: 1200 },
      (_, i) => `('b${i}', 'tick', '2199-01-01', '2020-01-01 00:00:00')`,
    )
    await database.query(`INSERT INTO periodic_task (id, task, timer, nextrun) VALUES ${rows.join(', ')}`)
    const submissions = collect(kalends, 'submitted')
    const all = signal(kalends, 'submitted', () => submissions.length >= 1200)
    await kalends.start({ concurrency: 100 })
    await all
    expect(new Set(submissions.flatMap(({ runs }) => runs.map(({ jobId }) => jobId))).size).toBe(1200)
    await until(async () =>
      (await kalends.jobs.count({ state: 'success' })).counts.success === 1200 ? true : null,
    )
    const [{ n } = { n: 0 }] = await database.query('SELECT SUM(run_count) AS n FROM periodic_task')
    expect(Number(n)).toBe(1200)
  })

  it('a scheduler without an executor only submits, and an executor without a scheduler only runs [S11]', async () => {
    const { open } = await scene(under)
    const scheduler = await open({ worker: 'scheduler' })
    const executor = await open({ worker: 'executor' })
    executor.handle(tick, () => 'ran')
    await scheduler.start({ concurrency: 0 })
    await executor.start({ scheduler: false })
    const submissions = collect(executor, 'submitted')
    const submitted = signal(scheduler, 'submitted', ({ runs }) => runs.length > 0)
    await scheduler.schedules.create({ id: 's', task: tick, timer: '*:*:*' })
    const [{ jobId: id } = { jobId: '' }] = (await submitted).runs
    expect(await ended(scheduler, id)).toMatchObject({
      state: 'success',
      worker: expect.stringMatching(/^executor\//),
    })
    expect(submissions).toEqual([])
    expect(scheduler.health().loops.map(({ name }) => name)).toEqual([
      'lease',
      'take-over',
      'watch',
      'declared sets',
      'scheduler',
    ])
    expect(executor.health().loops.map(({ name }) => name)).not.toContain('scheduler')
  })

  it('args of a schedule are read when its job is submitted, and validated when the job runs [L11]', async () => {
    const { open, database } = await scene(under)
    const kalends = await open()
    const dated = task('dated', { args: z.object({ since: z.coerce.date<string>() }) })
    kalends.handle(dated, ({ args }) => args.since.getTime())
    await kalends.start()
    const since = new Date(1).toISOString()
    await kalends.schedules.create({ id: 's', task: dated, timer: 'yearly', args: { since } })
    expect((await ended(kalends, await kalends.schedules.runNow('s'))).result).toBe(1)
    await database.query(`UPDATE periodic_task SET args = '{"since":"1970-01-01T00:00:00.002Z"}'`)
    expect((await ended(kalends, await kalends.schedules.runNow('s'))).result).toBe(2)
  })

  it('health is ok while the loops work, and shows the worker and the number of its running jobs [L30]', async () => {
    const { open } = await scene(under)
    const kalends = await open({ worker: 'w' })
    const release = gate()
    kalends.handle(tick, () => release.promise)
    expect(kalends.health()).toMatchObject({ ok: true, live: true, worker: null, running: 0, loops: [] })
    await kalends.start()
    const started = signal(kalends, 'started')
    const id = await kalends.jobs.submit(tick)
    await started
    expect(kalends.health()).toMatchObject({ ok: true, worker: expect.stringMatching(/^w\//), running: 1 })
    release.open()
    await ended(kalends, id)
    const health = await until(() => passed(kalends))
    expect(health.loops.map(({ name }) => name)).toEqual([
      'lease',
      'take-over',
      'watch',
      'declared sets',
      'scheduler',
      'executor',
      'stop requests',
      'settler',
      'journal',
      'progress',
    ])
    await kalends.stop()
    expect(kalends.health()).toMatchObject({ ok: false, loops: [], reasons: [{ code: 'stopped' }] })
  })
})
