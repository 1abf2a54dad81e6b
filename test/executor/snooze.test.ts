import { expect, test } from 'vitest'
import { SnoozedError, task } from '../../src/index.ts'
import { open } from '../../src/testing/index.ts'
import type { Middleware } from '../../src/index.ts'

const poll = task('poll', { retries: 1, retryDelay: '1min' })

test('a snoozed job runs again after the given time, without a failure and without using a retry [R3, X7]', async () => {
  const attempts: string[] = []
  await using app = await open(async (kalends) => {
    kalends.handle(poll, ({ attempt, snooze }) => {
      attempts.push(`${app.now().toISOString().slice(11, 16)} ${attempt}`)
      if (attempts.length < 4) snooze('10min')
      return 'done'
    })
    await kalends.schedules.create({ id: 's', task: poll, timer: '2026-01-01 01:00' })
  })
  const settled: unknown[] = []
  app.kalends.on('settled', ({ state, snoozed, retryInMs }) => settled.push([state, snoozed, retryInMs]))
  await app.advance('2h')
  expect(attempts).toEqual(['01:00 1', '01:10 1', '01:20 1', '01:30 1'])
  expect(settled).toEqual([
    ...Array.from({ length: 3 }, () => ['waiting', true, 600_000]),
    ['success', false, null],
  ])
  expect(await app.kalends.schedules.get('s')).toMatchObject({
    runCount: 1,
    errorCount: 0,
    failedAttempts: 0,
    lastError: null,
  })
  const { lastJobId } = (await app.kalends.schedules.get('s')) ?? {}
  const history = await app.kalends.jobs.attempts(lastJobId ?? '')
  expect(history?.map(({ outcome }) => outcome)).toEqual(['snoozed', 'snoozed', 'snoozed', 'success'])
})

test('a snooze does not use up retries', async () => {
  let calls = 0
  await using app = await open((kalends) => {
    kalends.handle(poll, ({ snooze }) => {
      calls += 1
      if (calls === 2) snooze(1000)
      throw new Error(`call ${calls}`)
    })
  })
  const job = await app.waitFor(await app.kalends.jobs.submit(poll))
  expect(job).toMatchObject({ state: 'failed', reason: 'exhausted', attempt: 2 })
  expect(calls).toBe(3)
})

test.each<[string, Middleware]>([
  ['catches the error', (_, run) => run().catch(() => 'caught')],
  [
    'wraps the error',
    (_, run) =>
      run().catch((error: unknown) => {
        throw new Error('wrapped', { cause: error })
      }),
  ],
])(
  'middleware that %s cannot prevent a snooze; the other middleware sees a SnoozedError',
  async (_, middleware) => {
    const seen: unknown[] = []
    const watching: Middleware = (_job, run) =>
      run().catch((error: unknown) => {
        seen.push(error)
        throw error
      })
    let calls = 0
    await using app = await open(
      (kalends) =>
        kalends.handle(poll, ({ snooze }) => {
          calls += 1
          if (calls === 1) snooze('1h')
        }),
      { middleware: [middleware, watching] },
    )
    const id = await app.kalends.jobs.submit(poll)
    await app.drain()
    expect(await app.kalends.jobs.get(id)).toMatchObject({ state: 'waiting', attempt: 0, error: null })
    expect(seen).toEqual([expect.any(SnoozedError)])
    expect(seen).toMatchObject([{ code: 'KALENDS_SNOOZED', delay: 3_600_000 }])
    expect(await app.waitFor(id)).toMatchObject({ state: 'success', attempt: 1 })
  },
)

test('a handler that catches the SnoozedError and continues decides its own outcome', async () => {
  await using app = await open((kalends) =>
    kalends.handle(poll, ({ snooze }) => {
      try {
        snooze('1h')
      } catch {
        return 'done after all'
      }
    }),
  )
  expect(await app.waitFor(await app.kalends.jobs.submit(poll))).toMatchObject({ result: 'done after all' })
})

test.each(['soon', -1, '11 years', Number.NaN])(
  'snooze(%o) fails the job, and the error names snooze',
  async (span) => {
    await using app = await open((kalends) => kalends.handle(poll, ({ snooze }) => snooze(span)))
    const job = await app.waitFor(await app.kalends.jobs.submit(poll))
    expect(job).toMatchObject({
      state: 'failed',
      error: expect.stringContaining('InvalidInputError: snooze: '),
    })
  },
)

test('a job that snoozes after it was asked to stop is cancelled', async () => {
  await using app = await open((kalends) =>
    kalends.handle(poll, async ({ job, snooze }) => {
      await kalends.jobs.cancel(job.id)
      snooze('1h')
    }),
  )
  expect(await app.waitFor(await app.kalends.jobs.submit(poll))).toMatchObject({ state: 'cancelled' })
})

test('unlimited retries can exceed the maximum of 1000, and can be set for tasks, schedules and jobs', async () => {
  const stubborn = task('stubborn', { retries: 'unlimited', retryDelay: 1, retryBackoff: 'fixed' })
  await using app = await open(async (kalends) => {
    kalends.handle(stubborn, ({ attempt }) => {
      if (attempt < 1200) throw new Error('not yet')
      return attempt
    })
    await kalends.schedules.create({ id: 's', task: 'stubborn', timer: 'daily', retries: 'unlimited' })
  })
  const { kalends } = app
  expect(await kalends.schedules.get('s')).toMatchObject({ retries: 'unlimited' })
  expect(await kalends.schedules.update('s', { retries: 5 })).toMatchObject({ retries: 5 })
  expect(await kalends.schedules.update('s', { retries: 'unlimited' })).toMatchObject({
    retries: 'unlimited',
  })
  await expect(kalends.schedules.update('s', { retries: -1 })).rejects.toThrow(
    "retries: must be an integer between 0 and 1000 or 'unlimited', or null (as set for the task), got -1",
  )
  const id = await kalends.jobs.submit(stubborn)
  expect(await app.waitFor(id)).toMatchObject({ result: 1200, retries: 'unlimited', attempt: 1200 })
  const other = await kalends.jobs.submit('stubborn', {}, { retries: 'unlimited' })
  expect(await kalends.jobs.get(other)).toMatchObject({ retries: 'unlimited' })
})
