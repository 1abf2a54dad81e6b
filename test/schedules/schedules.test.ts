/** Operations on schedules. */
import { expect, it } from 'vitest'
import { z } from 'zod'
import { ConflictError, type Kalends, NotFoundError, task } from '../../src/index.ts'
import { ended, gate, scene, signal, until } from '../kalends/scene.ts'
import { eachDatabase } from '../support/databases.ts'

const cleanup = task('cleanup', { args: z.object({ days: z.number().default(30) }) })

/** Waits until the schedule has a next run, and returns the schedule. */
async function planned(kalends: Kalends, id: string) {
  return await until(async () => {
    const schedule = await kalends.schedules.get(id)
    return schedule?.nextRunAt == null ? null : schedule
  })
}

eachDatabase((under) => {
  it('create stores its input, and the defaults of all other settings', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    const schedule = await kalends.schedules.create({
      id: 'nightly',
      task: cleanup,
      timer: 'Mon..Fri 03:00 Europe/Berlin',
      args: { days: 7 },
      group: 'ops',
      subject: 'logs',
      submitter: 'anna',
      summary: 'Räumt auf 🧹',
      priority: -5,
      catchUp: 3,
      timeout: '2h',
      retries: 0,
      retryDelay: 1500,
      retryBackoff: 'fixed',
    })
    expect(schedule).toMatchObject({
      id: 'nightly',
      enabled: true,
      status: 'active',
      task: 'cleanup',
      group: 'ops',
      args: { days: 7 },
      subject: 'logs',
      submitter: 'anna',
      summary: 'Räumt auf 🧹',
      priority: -5,
      timer: 'Mon..Fri 03:00 Europe/Berlin',
      catchUp: 3,
      timeout: 7_200_000,
      retries: 0,
      retryDelay: 1500,
      retryBackoff: 'fixed',
      declaredBy: null,
      runCount: 0,
      errorCount: 0,
      lastJobId: null,
    })
    expect(await kalends.schedules.get('nightly')).toEqual(schedule)

    const plain = await kalends.schedules.create({ task: cleanup, timer: 'daily' })
    expect(plain).toMatchObject({
      args: {},
      group: '',
      subject: null,
      submitter: null,
      summary: null,
      priority: 0,
      catchUp: 1,
      timeout: null,
      retries: null,
      retryDelay: null,
      retryBackoff: null,
    })
    expect(plain.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/)
  })

  it('creating a schedule with an id that is in use changes nothing, and throws a ConflictError that names the id', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    const before = await kalends.schedules.create({ id: 'a', task: cleanup, timer: 'daily' })
    const again = kalends.schedules.create({ id: 'a', task: cleanup, timer: 'weekly' })
    await expect(again).rejects.toThrow(ConflictError)
    await expect(again).rejects.toThrow(/'a'/)
    expect(await kalends.schedules.get('a')).toEqual(before)
  })

  it('`get` returns null for an unknown schedule; changes to it, `runNow` and `elapses` throw a NotFoundError', async () => {
    const { open } = await scene(under)
    const { schedules } = await open()
    expect(await schedules.get('nobody')).toBeNull()
    for (const call of [
      () => schedules.update('nobody', { priority: 1 }),
      () => schedules.delete('nobody'),
      () => schedules.pause('nobody'),
      () => schedules.resume('nobody'),
      () => schedules.runNow('nobody'),
      () => schedules.elapses('nobody'),
    ]) {
      const promise = call()
      await expect(promise).rejects.toThrow(NotFoundError)
      await expect(promise).rejects.toThrow("There is no schedule with the id 'nobody'")
    }
  })

  it('put creates the schedule or updates what differs, and is idempotent [U2]', async () => {
    const { open } = await scene(under)
    const { schedules } = await open()
    const input = { task: cleanup, timer: 'daily', args: { days: 3 }, summary: 'once' }
    expect((await schedules.put('a', input)).result).toBe('created')
    const first = await schedules.get('a')
    expect(await schedules.put('a', input)).toEqual({ result: 'unchanged', schedule: first })
    const changed = await schedules.put('a', { ...input, args: { days: 4 } })
    expect(changed).toMatchObject({ result: 'changed', schedule: { args: { days: 4 }, summary: 'once' } })
    // put replaces all settings: omitted ones return to their defaults.
    const reduced = await schedules.put('a', { task: cleanup, timer: 'daily' })
    expect(reduced).toMatchObject({ result: 'changed', schedule: { args: {}, summary: null } })
  })

  it('put keeps a paused schedule paused', async () => {
    const { open } = await scene(under)
    const { schedules } = await open()
    await schedules.put('a', { task: cleanup, timer: 'daily' })
    await schedules.pause('a')
    const { schedule } = await schedules.put('a', { task: cleanup, timer: 'weekly', enabled: true })
    expect(schedule).toMatchObject({ enabled: false, status: 'paused', timer: 'weekly' })
    await schedules.put('b', { task: cleanup, timer: 'daily', enabled: false })
    expect(await schedules.get('b')).toMatchObject({ status: 'paused' })
  })

  it('a paused schedule has no next run, and a pause is not downtime [R1]', async () => {
    const { open, database } = await scene(under)
    const kalends = await open()
    kalends.handle(cleanup, () => {})
    await kalends.start()
    await kalends.schedules.create({ id: 'a', task: cleanup, timer: 'monthly', catchUp: 100 })
    await planned(kalends, 'a')
    await kalends.schedules.pause('a')
    await until(async () => ((await kalends.schedules.get('a'))?.nextRunAt === null ? true : null))
    // As if the pause had begun long ago.
    await database.query("UPDATE periodic_task SET last_slot = '2020-01-01 00:00:00.000'")
    const { nextRunAt } = await kalends.schedules.resume('a')
    expect(nextRunAt?.getTime()).toBeGreaterThan(Date.now())
    expect(await kalends.schedules.history('a')).toEqual([])
  })

  it('a schedule paused in SQL stops within the poll interval [S7]', async () => {
    const { open, database } = await scene(under)
    const kalends = await open()
    kalends.handle(cleanup, () => {})
    await kalends.start()
    const ran = signal(kalends, 'submitted', ({ runs }) => runs.length > 0)
    await kalends.schedules.create({ id: 'a', task: cleanup, timer: '*:*:*' })
    await ran
    await database.query('UPDATE periodic_task SET enabled = 0')
    await until(async () => ((await kalends.schedules.get('a'))?.nextRunAt === null ? true : null))
    expect(await kalends.schedules.get('a')).toMatchObject({ status: 'paused' })
    await database.query('UPDATE periodic_task SET enabled = 1')
    await signal(kalends, 'submitted', ({ runs }) => runs.length > 0)
  })

  it.each(['update', 'put', 'SQL'] as const)(
    'a timer changed by %s is planned from now, and the edit itself never makes it fire [S6, L13]',
    async (how) => {
      const { open, database } = await scene(under)
      const kalends = await open()
      kalends.handle(cleanup, () => {})
      await kalends.start()
      await kalends.schedules.create({ id: 'a', task: cleanup, timer: '2199-01-01' })
      await planned(kalends, 'a')
      // The schedule has not run for years, so looking back would find a very large number of slots.
      await database.query("UPDATE periodic_task SET last_slot = '2020-01-01 00:00:00.000', catch_up = 1000")
      const replanned = signal(kalends, 'submitted')
      if (how === 'update') await kalends.schedules.update('a', { timer: 'monthly' })
      if (how === 'put') await kalends.schedules.put('a', { task: cleanup, timer: 'monthly', catchUp: 1000 })
      if (how === 'SQL') {
        await database.query("UPDATE periodic_task SET timer = 'monthly'")
        expect(await replanned).toMatchObject({ runs: [], skips: [] })
      }
      const plan = await planned(kalends, 'a')
      expect(await kalends.schedules.history('a')).toEqual([])
      const next = plan.nextRunAt?.getTime() ?? 0
      expect(next).toBeGreaterThan(Date.now())
      expect(next).toBeLessThanOrEqual(Date.now() + 31 * 86_400_000)
      expect(plan.nextRunAt?.toISOString()).toMatch(/-01T00:00:00\.000Z$/)
    },
  )

  it('a change to settings that do not affect the run times keeps the next run', async () => {
    const { open, database } = await scene(under)
    const kalends = await open()
    await kalends.start()
    await kalends.schedules.create({ id: 'a', task: cleanup, timer: 'daily' })
    await planned(kalends, 'a')
    const later = '2031-02-03 04:05:06.000'
    const obeyed = signal(kalends, 'submitted')
    await database.query('UPDATE periodic_task SET nextrun = ?', [later])
    await obeyed
    await kalends.schedules.update('a', { args: { days: 1 }, priority: 9, catchUp: 0, summary: 'new' })
    expect((await kalends.schedules.get('a'))?.nextRunAt).toEqual(new Date(`${later.replace(' ', 'T')}Z`))
  })

  it('a next run that is set in SQL is used once; a time in the past means now, and no slot counts as missed', async () => {
    const { open, database } = await scene(under)
    const kalends = await open()
    kalends.handle(cleanup, () => {})
    await kalends.start()
    await kalends.schedules.create({ id: 'a', task: cleanup, timer: 'yearly' })
    const { nextRunAt } = await planned(kalends, 'a')
    const ran = signal(kalends, 'submitted', ({ runs }) => runs.length > 0)
    await database.query("UPDATE periodic_task SET nextrun = '2020-01-01 00:00:00.000'")
    const plan = await ran
    expect(plan).toMatchObject({ runs: [{ missed: 0 }], skips: [], nextRunAt })
    expect(await ended(kalends, plan.runs[0]?.jobId ?? '')).toMatchObject({ state: 'success', missed: 0 })
  })

  it('runNow submits an extra run, even for a paused schedule, and keeps the next run [S9]', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    kalends.handle(cleanup, ({ args }) => args.days)
    await kalends.start()
    await kalends.schedules.create({
      id: 'a',
      task: cleanup,
      timer: 'yearly',
      args: { days: 2 },
      priority: 7,
    })
    const { nextRunAt } = await planned(kalends, 'a')
    const job = await ended(kalends, await kalends.schedules.runNow('a'))
    expect(job).toMatchObject({
      state: 'success',
      result: 2,
      scheduleId: 'a',
      run: 1,
      reason: 'run-now',
      priority: 7,
    })
    expect((await kalends.schedules.get('a'))?.nextRunAt).toEqual(nextRunAt)

    await kalends.schedules.pause('a')
    const again = await ended(kalends, await kalends.schedules.runNow('a'))
    expect(again).toMatchObject({ state: 'success', run: 2 })
    expect(await kalends.schedules.get('a')).toMatchObject({ status: 'paused', runCount: 2 })
  })

  it('while a job is unfinished, runNow throws a ConflictError that names the job and its state [S9]', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    const release = gate()
    kalends.handle(cleanup, () => release.promise)
    await kalends.schedules.create({ id: 'a', task: cleanup, timer: 'yearly' })
    const id = await kalends.schedules.runNow('a')
    const refused = kalends.schedules.runNow('a')
    await expect(refused).rejects.toThrow(ConflictError)
    await expect(refused).rejects.toThrow(
      `The schedule 'a' cannot run now: the job ${id} of this schedule is waiting; wait until it finishes, or cancel it`,
    )
    const started = signal(kalends, 'started')
    await kalends.start()
    await started
    await expect(kalends.schedules.runNow('a')).rejects.toThrow(`the job ${id} of this schedule is running`)
    release.open()
    await ended(kalends, id)
    await kalends.schedules.runNow('a')
  })

  it("`elapses` lists the run times after an instant, in the timer's zone", async () => {
    const { open } = await scene(under)
    const { schedules } = await open()
    await schedules.create({ id: 'a', task: cleanup, timer: '*-*-* 02:30 Europe/Berlin' })
    const elapses = await schedules.elapses('a', { after: new Date('2026-03-27T12:00:00Z'), limit: 3 })
    expect(elapses.map((at) => at.toISOString())).toEqual([
      '2026-03-28T01:30:00.000Z',
      '2026-03-30T00:30:00.000Z',
      '2026-03-31T00:30:00.000Z',
    ])
    expect(await schedules.elapses('a')).toHaveLength(5)
    await schedules.update('a', { timer: '2030-01-01' })
    expect(await schedules.elapses('a')).toEqual([new Date('2030-01-01T00:00:00Z')])
  })

  it('a schedule with an unreadable timer is invalid, shows the error, and recovers after an edit [S8]', async () => {
    const { open, database } = await scene(under)
    const kalends = await open()
    await kalends.start()
    const replanned = signal(kalends, 'submitted', ({ scheduleId }) => scheduleId === 'bad')
    await database.query("INSERT INTO periodic_task (id, task, timer) VALUES ('bad', 'cleanup', 'dayly')")
    expect(await replanned).toMatchObject({ runs: [], nextRunAt: null })
    expect(await kalends.schedules.get('bad')).toMatchObject({
      status: 'invalid',
      enabled: true,
      nextRunAt: null,
      lastError: expect.stringContaining('dayly'),
    })
    await database.query("UPDATE periodic_task SET timer = 'daily'")
    expect(await planned(kalends, 'bad')).toMatchObject({ status: 'active', lastError: null })
  })
})
