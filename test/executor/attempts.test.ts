/** Attempts of a job: retries, timeouts, and the rules that decide the outcome of a run. */
import { expect, it } from 'vitest'
import { z } from 'zod'
import { PermanentError, task, AttemptTimeoutError } from '../../src/index.ts'
import { aborted, allLogs, ended, scene, until } from '../kalends/scene.ts'
import { eachDatabase } from '../support/databases.ts'

const flaky = task('flaky', { retryDelay: '20ms' })

eachDatabase((under) => {
  it('a failed attempt is retried, as another attempt of the same job, which fails when its retries are exhausted, and stores the last error', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    const attempts: number[] = []
    kalends.handle(flaky, ({ attempt }) => {
      attempts.push(attempt)
      throw new Error(`failure ${attempt}`)
    })
    await kalends.start()
    const job = await ended(kalends, await kalends.jobs.submit(flaky))
    expect(attempts).toEqual([1, 2, 3, 4])
    expect(job).toMatchObject({ state: 'failed', reason: 'exhausted', attempt: 4, result: null })
    expect(job.error).toContain('Error: failure 4')
    expect(job.finishedAt).toBeInstanceOf(Date)
  })

  it('the retries of a job or schedule override those of the task', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    kalends.handle(flaky, () => {
      throw new Error('no')
    })
    await kalends.start()
    const id = await kalends.jobs.submit(flaky, {}, { retries: 0 })
    expect(await ended(kalends, id)).toMatchObject({ state: 'failed', attempt: 1, retries: 0 })
    await kalends.schedules.create({ id: 's', task: flaky, timer: 'yearly', retries: 1 })
    const ofSchedule = await ended(kalends, await kalends.schedules.runNow('s'))
    expect(ofSchedule).toMatchObject({ state: 'failed', attempt: 2, retries: 1 })
  })

  it('an attempt that takes longer than its timeout fails, and its signal fires with an AttemptTimeoutError [R4]', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    const slow = task('slow', { timeout: '30ms', retries: 1, retryDelay: '20ms' })
    const reasons: unknown[] = []
    kalends.handle(slow, async ({ signal }) => {
      await aborted(signal).catch((reason: unknown) => reasons.push(reason))
    })
    await kalends.start()
    const job = await ended(kalends, await kalends.jobs.submit(slow))
    expect(job).toMatchObject({ state: 'failed', reason: 'exhausted', attempt: 2 })
    expect(job.error).toBe('AttemptTimeoutError: The run took longer than its timeout of 30 ms')
    expect(reasons).toHaveLength(2)
    for (const reason of reasons) expect(reason).toBeInstanceOf(AttemptTimeoutError)
  })

  it('a PermanentError skips the retries [R4]', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    kalends.handle(flaky, () => {
      throw new PermanentError('the customer does not exist')
    })
    await kalends.start()
    const job = await ended(kalends, await kalends.jobs.submit(flaky))
    expect(job).toMatchObject({ state: 'failed', reason: 'permanent', attempt: 1 })
    expect(job.error).toContain('PermanentError: the customer does not exist')
  })

  it('an error is stored with its causes', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    kalends.handle(flaky, () => {
      throw new Error('no mail', { cause: new Error('no network') })
    })
    await kalends.start()
    const job = await ended(kalends, await kalends.jobs.submit(flaky, {}, { retries: 0 }))
    expect(job.error).toMatch(/no mail[^]*Caused by: Error: no network/)
  })

  it('any value that a handler throws fails the attempt and never stops the worker', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    const circular: Record<string, unknown> = {}
    circular['self'] = circular
    const own = new Error('its own cause')
    own.cause = own
    const thrown: unknown[] = [10n, circular, undefined, null, 'a text', Symbol('s'), own, { code: 7 }]
    const throwing = task('throwing', { args: z.object({ index: z.number() }), retries: 0 })
    kalends.handle(throwing, ({ args }) => {
      throw thrown[args.index]
    })
    await kalends.start()
    const ids: string[] = []
    for (const index of thrown.keys()) ids.push(await kalends.jobs.submit(throwing, { index }))
    const jobs = await Promise.all(ids.map((id) => ended(kalends, id)))
    expect(jobs.map(({ state }) => state)).toEqual(thrown.map(() => 'failed'))
    expect(jobs.map(({ error }) => error?.split('\n')[0])).toEqual([
      '10n',
      expect.stringContaining('[Circular *1]'),
      'undefined',
      'null',
      'a text',
      'Symbol(s)',
      'Error: its own cause',
      '{"code":7}',
    ])
  })

  it('a handler receives the stored args as parsed by the schema of the task', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    const remind = task('remind', {
      args: z.object({ on: z.coerce.date<string>(), to: z.string().default('nobody') }),
    })
    const seen: unknown[] = []
    kalends.handle(remind, ({ args, job }) => {
      seen.push(args, job.args)
    })
    await kalends.start()
    const on = new Date('2026-03-29T00:30:00.123Z')
    await ended(kalends, await kalends.jobs.submit(remind, { on: on.toISOString() }))
    expect(seen).toEqual([{ on, to: 'nobody' }, { on: '2026-03-29T00:30:00.123Z' }])
  })

  it('args that no longer match the schema fail the job at once, without retries and without calling the handler', async () => {
    const { open, database } = await scene(under)
    const kalends = await open()
    let called = 0
    kalends.handle(task('strict', { args: z.object({ days: z.number() }) }), () => {
      called += 1
    })
    await kalends.start()
    await database.query(`INSERT INTO job (id, task, args) VALUES ('bad', 'strict', '{"days":"many"}')`)
    const job = await ended(kalends, 'bad')
    expect(job).toMatchObject({ state: 'failed', reason: 'permanent', attempt: 1 })
    expect(job.error).toContain("args: does not match the args of the task 'strict': days:")
    expect(called).toBe(0)
  })

  it('invalid args in a call made by the handler cause an ordinary error, so the attempt is retried', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    const other = task('other', { args: z.object({ days: z.number() }) })
    kalends.handle(flaky, async ({ attempt }) => {
      // Plain JavaScript can pass any value.
      const wrong: Record<string, unknown> = { days: 'many' }
      if (attempt === 1) await kalends.jobs.submit('other', wrong)
    })
    kalends.handle(other, () => {})
    await kalends.start()
    const job = await ended(kalends, await kalends.jobs.submit(flaky))
    expect(job).toMatchObject({ state: 'success', attempt: 2 })
  })

  it('a result is stored as JSON; a missing result is null [R10]', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    const answer = task('answer')
    const silent = task('silent')
    kalends.handle(answer, async () => ({ sent: 3, at: new Date(0), ключ: ['😀', null] }))
    kalends.handle(silent, () => {})
    await kalends.start()
    const job = await ended(kalends, await kalends.jobs.submit(answer))
    expect(job.result).toEqual({ sent: 3, at: '1970-01-01T00:00:00.000Z', ключ: ['😀', null] })
    expect((await ended(kalends, await kalends.jobs.submit(silent))).result).toBeNull()
  })

  it('a result that is not JSON fails the job at once, because the next attempt would also return it', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    const circular: Record<string, unknown> = {}
    circular['self'] = circular
    const results: unknown[] = [10n, circular, () => {}, Symbol('s')]
    const answer = task('answer', { args: z.object({ index: z.number() }) })
    kalends.handle(answer, ({ args }) => results[args.index])
    await kalends.start()
    for (const index of results.keys()) {
      const job = await ended(kalends, await kalends.jobs.submit(answer, { index }))
      expect(job).toMatchObject({ state: 'failed', reason: 'permanent', result: null, attempt: 1 })
      expect(job.error).toMatch(/^PermanentError: result: .*cannot be written as JSON/)
    }
  })

  it("the outcome of a job is written together with its schedule's counters and last_* columns [R5, R7]", async () => {
    const { open } = await scene(under)
    const kalends = await open()
    let fail = true
    const counted = task('counted', { retries: 1, retryDelay: '20ms' })
    kalends.handle(counted, () => {
      if (fail) throw new Error('not today')
    })
    await kalends.start()
    await kalends.schedules.create({ id: 's', task: counted, timer: 'yearly' })

    const failed = await ended(kalends, await kalends.schedules.runNow('s'))
    expect(await kalends.schedules.get('s')).toMatchObject({
      runCount: 1,
      errorCount: 1,
      lastJobId: failed.id,
      lastRunAt: expect.any(Date),
      lastFinishedAt: failed.finishedAt,
      lastError: expect.stringContaining('not today'),
    })

    fail = false
    const good = await ended(kalends, await kalends.schedules.runNow('s'))
    expect(await kalends.schedules.get('s')).toMatchObject({
      runCount: 2,
      errorCount: 1,
      lastJobId: good.id,
      lastRunAt: expect.any(Date),
      lastFinishedAt: good.finishedAt,
      lastError: null,
    })
  })

  it('a handler receives the schedule, run number, slot, missed count and attempt [R6]', async () => {
    const { open, database } = await scene(under)
    const kalends = await open()
    const seen: unknown[] = []
    kalends.handle(flaky, ({ attempt, slot, missed, job, args }) => {
      seen.push({ attempt, slot, missed, schedule: job.scheduleId, run: job.run, group: job.group, args })
      if (attempt === 1) throw new Error('once')
    })
    await kalends.start()
    await kalends.schedules.create({ id: 's', task: flaky, timer: 'yearly', group: 'g', args: { a: 1 } })
    await database.query('UPDATE periodic_task SET run_count = 41')
    const job = await ended(kalends, await kalends.schedules.runNow('s'))
    const common = { slot: job.slot, missed: 0, schedule: 's', run: 42, group: 'g', args: { a: 1 } }
    expect(seen).toEqual([
      { attempt: 1, ...common },
      { attempt: 2, ...common },
    ])
    expect(job.slot).toBeInstanceOf(Date)
  })

  it('progress and log lines are visible while the job runs [R10]', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    const elsewhere = await open()
    const long = task('long')
    kalends.handle(long, async ({ log, progress, signal }) => {
      log.debug('begin')
      log.info('middle')
      log.warn('careful')
      log.error('ouch')
      progress({ done: 40, of: 100 })
      await aborted(signal)
    })
    await kalends.start()
    const id = await kalends.jobs.submit(long)
    const job = await until(async () => {
      const found = await elsewhere.jobs.get(id)
      return found?.progress === null || (await elsewhere.jobs.logs(id)).length < 4 ? null : found
    })
    expect(job).toMatchObject({ state: 'running', progress: { done: 40, of: 100 } })
    const lines = await elsewhere.jobs.logs(id)
    expect(lines.map(({ level, message }) => `${level} ${message}`)).toEqual([
      'debug begin',
      'info middle',
      'warn careful',
      'error ouch',
    ])
    for (const { at } of lines) expect(at).toBeInstanceOf(Date)
    await kalends.jobs.cancel(id)
    await ended(kalends, id)
  })

  it('a final job keeps the last progress and all log lines, including those of failed attempts', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    const chatty = task('chatty', { retryDelay: '20ms', retries: 1 })
    kalends.handle(chatty, ({ log, progress, attempt }) => {
      for (let line = 0; line < 600; line += 1) log.info(`${attempt}.${line}`)
      for (let step = 0; step <= 10; step += 1) progress(step / 10)
      if (attempt === 1) throw new Error('once more')
    })
    await kalends.start()
    const logged = async (id: string) => (await allLogs(kalends, id)).map(({ message }) => message)
    const whole = [1, 2].flatMap((attempt) => [
      ...Array.from({ length: 600 }, (_, line) => `${attempt}.${line}`),
      ...(attempt === 1 ? ['Attempt 1 failed: Error: once more'] : []),
    ])
    const ids = await Promise.all(Array.from({ length: 5 }, () => kalends.jobs.submit(chatty)))
    for (const id of ids) {
      expect(await ended(kalends, id)).toMatchObject({ state: 'success', progress: 1 })
      // The lines may be written after the outcome if lines of other jobs are ahead of them.
      const lines = await until(async () => {
        const found = await logged(id)
        return found.length < whole.length ? null : found
      })
      expect(lines).toEqual(whole)
    }
  })

  it('each attempt starts without progress', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    const half = task('half', { retryDelay: '20ms' })
    kalends.handle(half, ({ progress, attempt }) => {
      if (attempt === 1) {
        progress(0.5)
        throw new Error('half way')
      }
    })
    await kalends.start()
    expect(await ended(kalends, await kalends.jobs.submit(half))).toMatchObject({
      state: 'success',
      attempt: 2,
      progress: null,
      error: null,
    })
  })
})
