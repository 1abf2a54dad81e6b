/** Why a job waits: one reason, the same from `jobs.explain`, `schedules.explain` and the API. */
import { expect, it } from 'vitest'
import { type Kalends, PermanentError, task } from '../../src/index.ts'
import { openJobText } from '../../src/model/open-job.ts'
import { open as openTest } from '../../src/testing/index.ts'
import { apiScene } from '../http/scene.ts'
import { collectingLogger, ended, scene, until } from '../kalends/scene.ts'
import { eachDatabase } from '../support/databases.ts'

const mail = task('mail')

eachDatabase((under) => {
  it('names a task that no live worker handles, and the worker that last handled it', async () => {
    const { call, kalends } = await apiScene(under)
    await kalends.schedules.create({ id: 'news', task: mail, timer: 'yearly' })
    const id = await kalends.schedules.runNow('news')
    const reason = `The job ${id} waits because no live worker handles the task 'mail'.`
    expect(await kalends.jobs.explain(id)).toBe(reason)
    expect((await kalends.schedules.explain('news')).reasons).toContain(reason)
    expect((await call(`GET /api/v1/jobs/${id}`)).body).toMatchObject({ explanation: reason })
  })

  it('names the worker that last handled the task', async () => {
    const { open } = await scene(under)
    const worker = await open({ worker: 'web-1' })
    worker.handle(mail, () => undefined)
    await worker.start()
    const kalends = await open()
    await ended(kalends, await kalends.jobs.submit(mail))
    await worker.stop()
    const id = await kalends.jobs.submit(mail)
    expect(await kalends.jobs.explain(id)).toMatch(
      /no live worker handles the task 'mail'; it was last handled by web-1/,
    )
    const done = await kalends.jobs.cancel(id)
    expect(await kalends.jobs.explain(done.id)).toBeNull()
  })

  it('names a freeze, a start time, the job in front, and the capacity', async () => {
    const { open } = await scene(under)
    const kalends = await open({ worker: 'w' })
    const explained = async (id: string) => (await kalends.jobs.explain(id)) ?? ''
    const later = await kalends.jobs.submit(mail, {}, { runAt: new Date('2090-01-01') })
    expect(await explained(later)).toContain('waits until 2090-01-01 00:00:00 UTC')
    await kalends.schedules.create({ id: 'a', task: mail, timer: 'yearly', overlap: 'queue-one' })
    const first = await kalends.schedules.runNow('a')
    const { id: freeze } = await kalends.freeze({ task: 'mail', until: new Date('2080-01-01') })
    expect(await explained(first)).toContain('is held by a freeze until 2080-01-01')
    await kalends.thaw(freeze)
    const busy = await open({ worker: 'busy' })
    const slow = task('slow', { concurrency: 1 })
    busy.handle(
      slow,
      ({ signal }) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    )
    await busy.start({ concurrency: 1 })
    const running = await busy.jobs.submit(slow)
    await until(async () => ((await busy.jobs.get(running))?.state === 'running' ? true : null))
    const next = await busy.jobs.submit(slow)
    expect(await busy.jobs.explain(next)).toMatch(
      /for a worker with free capacity: one live worker handles its task and runs 1 job; a worker runs at most 1 of its task at a time\.$/,
    )
  })

  it('a schedule for a task that no worker handles gets a warning in the log and the response', async () => {
    const { call, database, lines } = await apiScene(under)
    await database.query(
      `INSERT INTO worker (id, name, host, pid, tasks) VALUES ('w', 'w', 'h', 1, '["mail","report"]')`,
    )
    const warning = "No known worker handles the task 'mial'. Did you mean 'mail'?"
    const body = { id: 'a', task: 'mial', timer: 'daily' }
    expect(await call('POST /api/v1/schedules', { body })).toMatchObject({
      status: 201,
      body: { id: 'a', warning },
    })
    expect(await call('PUT /api/v1/schedules/b', { body: { ...body, id: 'b' } })).toMatchObject({
      body: { warning },
    })
    expect(await call('PATCH /api/v1/schedules/b', { body: { task: 'reprot' } })).toMatchObject({
      body: { warning: "No known worker handles the task 'reprot'. Did you mean 'report'?" },
    })
    const good = await call('PATCH /api/v1/schedules/b', { body: { task: 'mail' } })
    expect(good.body).not.toHaveProperty('warning')
    expect(lines.filter(({ level }) => level === 'warn').map(({ message }) => message)).toEqual([
      warning,
      "No known worker handles the task 'reprot'. Did you mean 'report'?",
    ])
  })

  it('stop waits for the warning about a job that was just submitted', async () => {
    const { open } = await scene(under)
    const { logger, messages } = collectingLogger()
    const kalends = await open({ logger })
    await kalends.jobs.submit('nobody')
    await kalends.stop()
    expect(messages()).toContainEqual(
      expect.stringContaining("warn: No known worker handles the task 'nobody'"),
    )
  })
})

it('a waiting job of an external queue gives no past time as its reason, and still shows its error', () => {
  const now = new Date('2026-01-02')
  const facts = { now, freeze: null, before: null, handlers: { count: 1, running: 0 }, lastWorker: null }
  const others = { waiting: null, concurrency: null, earlierError: null, namesWorkers: true }
  const job = { state: 'waiting', queue: 'q', attempt: 0, error: 'no\n at x', submittedAt: now, retries: 0 }
  const text = (runAt: Date) =>
    Reflect.apply(openJobText, null, [
      { ...job, runAt, frozenUntil: null, stopRequestedAt: null },
      { ...facts, ...others, shown: (at: Date) => at.toISOString() },
    ])
  expect(text(new Date('2026-01-03'))).toBe('will be handed over again at 2026-01-03T00:00:00.000Z: no')
  expect(text(new Date('2026-01-01'))).toBe(
    'has been waiting since 2026-01-02T00:00:00.000Z for a worker with free capacity; its last hand-over failed: no',
  )
})

it('the error before a manual retry is shown after the retry was snoozed', async () => {
  let isSnoozing = false
  const setup = (kalends: Kalends) =>
    kalends.handle(mail, ({ snooze }) => {
      if (isSnoozing) snooze('1h')
      throw new PermanentError('first')
    })
  await using app = await openTest(setup, { logger: false })
  const { jobs } = app.kalends
  const id = await jobs.submit(mail)
  await app.drain()
  isSnoozing = true
  await jobs.retry(id)
  await app.drain()
  expect(await jobs.get(id)).toMatchObject({ state: 'waiting', attempt: 0 })
  expect(await jobs.explain(id)).toMatch(/before its manual retry, it failed: PermanentError: first\.$/)
})

eachDatabase((under) => {
  it("a scope does not learn of freezes of other owners' schedules with the same id", async () => {
    const { call, kalends } = await apiScene(under)
    const ann = kalends.scope({ submitter: 'ann', tasks: ['mail'] })
    await kalends.schedules.create({ id: 'nightly', task: mail, timer: 'yearly' })
    await ann.schedules.create({ id: 'nightly', task: mail, timer: 'yearly' })
    await kalends.freeze({ scheduleId: 'nightly', until: new Date('2090-01-01') })
    const id = await ann.schedules.runNow('nightly')
    const texts = async () => [
      await ann.jobs.explain(id),
      ...(await ann.schedules.explain('nightly')).reasons,
      JSON.stringify((await call(`GET /api/v1/jobs/${id}`, { as: 'ann' })).body),
      JSON.stringify((await call('GET /api/v1/schedules/nightly/explain', { as: 'ann' })).body),
    ]
    expect((await texts()).join(' ')).not.toMatch(/freeze|frozen until|2090/)
    await kalends.freeze({ scheduleId: 'ann/nightly', until: new Date('2080-01-01') })
    for (const text of [(await texts())[0], (await texts()).slice(-2).join(' ')])
      expect(text).toContain('2080')
  })
})

it('after two retries soon after a manual one, retries wait for the span of the timer again', async () => {
  const poll = task('poll', { retries: 2, retryBackoff: 'fixed' })
  const setup = (kalends: Kalends) => {
    kalends.handle(poll, () => {
      throw new Error('no')
    })
    kalends.declare('set', [{ id: 'p', task: poll, timer: 'every 45min', retries: 5 }])
  }
  await using app = await openTest(setup, { logger: false })
  const { jobs, schedules } = app.kalends
  const id = await schedules.runNow('p')
  await jobs.cancel(id)
  await jobs.retry(id)
  const waits: number[] = []
  for (let attempt = 1; attempt <= 3; attempt += 1) {
    await app.drain()
    const job = await jobs.get(id)
    expect(job).toMatchObject({ attempt, reason: 'retried' })
    waits.push((job?.runAt?.getTime() ?? 0) - app.now().getTime())
    await app.advance(`${waits.at(-1)}ms`)
  }
  expect(waits).toEqual([60_000, 60_000, 45 * 60_000])
})

it('a manual retry that fails is retried soon, and both errors are shown', async () => {
  let error = 'first'
  const poll = task('poll', { retries: 1 })
  const setup = (kalends: Kalends) => {
    kalends.handle(poll, () => {
      throw new Error(error)
    })
    kalends.declare('set', [{ id: 'p', task: poll, timer: 'every 45min' }])
  }
  await using app = await openTest(setup, { logger: false })
  const { jobs, schedules } = app.kalends
  await app.advance('100min')
  const [failed] = (await jobs.list({ state: 'failed' })).items
  const id = failed?.id ?? ''
  await schedules.pause('p', { jobs: 'cancel' })
  error = 'second'
  await jobs.retry(id)
  expect(await jobs.explain(id)).toMatch(/before its manual retry, it failed: Error: first\.$/)
  await app.drain()
  expect(await jobs.get(id)).toMatchObject({ state: 'waiting', attempt: 1 })
  const waitMs = ((await jobs.get(id))?.runAt?.getTime() ?? 0) - app.now().getTime()
  expect(waitMs).toBe(60_000)
  const text = /attempt 1 of 2 failed: Error: second; before its manual retry, it failed: Error: first\.$/
  expect(await jobs.explain(id)).toMatch(text)
  expect((await schedules.explain('p')).reasons).toContainEqual(expect.stringMatching(text))
})
