/** A schedule's row, its jobs and their attempts are consistent in every state. */
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Kalends, PermanentError, task } from '../../src/index.ts'
import { open } from '../../src/testing/index.ts'
import { runs } from '../support/runs.ts'

const OUTCOMES = ['success', 'error', 'error', 'permanent'] as const
const ACTIONS = ['wait', 'wait', 'wait', 'cancel', 'retry', 'run', 'pause', 'resume', 'reset'] as const
const FAILED = new Set(['failed', 'timeout', 'lost'])

const story = fc.record({
  yields: fc.boolean(),
  overlap: fc.constantFrom('skip', 'queue-one', 'replace', 'allow'),
  timer: fc.constantFrom('minutely', 'every 90s after finish', '2026-01-01 00:01'),
  outcomes: fc.array(fc.constantFrom(...OUTCOMES), { minLength: 1, maxLength: 12 }),
  steps: fc.array(fc.tuple(fc.constantFrom(...ACTIONS), fc.integer({ min: 1, max: 200 })), {
    minLength: 3,
    maxLength: 15,
  }),
})

async function act(kalends: Kalends, action: (typeof ACTIONS)[number]): Promise<void> {
  const [job] = (await kalends.jobs.list({ scheduleId: 's', limit: 1 })).items
  switch (action) {
    case 'wait':
      return
    case 'cancel':
    case 'retry':
      if (job !== undefined) await kalends.jobs[action](job.id)
      return
    case 'run':
      await kalends.schedules.runNow('s')
      return
    default:
      await kalends.schedules[action]('s')
  }
}

test('the status, the counters, the last error, the jobs and the attempts agree', async () => {
  await fc.assert(
    fc.asyncProperty(story, async ({ overlap, yields, timer, outcomes, steps }) => {
      let calls = 0
      const flaky = task('flaky', { retries: 2, retryDelay: '40s' })
      await using app = await open(async (kalends) => {
        kalends.handle(flaky, () => {
          const outcome = outcomes[calls % outcomes.length]
          calls += 1
          if (outcome === 'permanent') throw new PermanentError(`call ${calls}`)
          if (outcome === 'error') throw new Error(`call ${calls}`)
        })
        await kalends.schedules.create({ id: 's', task: flaky, timer, overlap, yields })
      })
      const { kalends } = app
      // A job that yields to the next slot ends without an event.
      const ended = new Set<string>()
      const told = { runCount: 0, errorCount: 0, failedAttempts: 0, lastError: null as string | null }
      kalends.on('settled', ({ jobId, state, error, endedAt }) => {
        if (state !== 'waiting') ended.add(`${jobId} ${endedAt.toISOString()}`)
        if (state === 'cancelled') return
        const hasFailed = error !== null
        told.lastError = error
        told.failedAttempts += Number(hasFailed)
        told.errorCount += Number(state === 'failed')
        told.runCount += Number(state !== 'waiting')
      })
      for (const [action, seconds] of steps) {
        // An action that the state does not allow has no effect.
        const done = await act(kalends, action).then(
          () => true,
          () => false,
        )
        if (done && action === 'reset')
          Object.assign(told, { runCount: 0, errorCount: 0, failedAttempts: 0, lastError: null })
        for (const moves of [0, seconds * 1000]) {
          await app.advance(moves)
          for (const { id, reason, finishedAt } of (
            await kalends.jobs.list({ scheduleId: 's', state: 'failed' })
          ).items) {
            const end = `${id} ${finishedAt?.toISOString()}`
            if (reason !== 'yielded' || ended.has(end)) continue
            ended.add(end)
            told.runCount += 1
            told.errorCount += 1
          }
          await checkRow(kalends, told)
        }
      }
    }),
    runs(300),
  )
})

async function checkRow(kalends: Kalends, told: object): Promise<void> {
  const row = await kalends.schedules.get('s')
  if (row === null) throw new Error('schedule not found')
  expect(row).toMatchObject(told)
  const jobs = (await kalends.jobs.list({ scheduleId: 's', limit: 1000 })).items
  const [retried] = jobs
    .filter(({ state, attempt }) => state === 'waiting' && attempt > 0)
    .toSorted((one, other) => Number(one.runAt) - Number(other.runAt) || (one.id < other.id ? -1 : 1))
  expect(row).toMatchObject({
    retryAt: retried?.runAt ?? null,
    retry: retried?.attempt ?? null,
    retryLimit: retried?.retries ?? null,
  })
  if (retried !== undefined && row.status !== 'dead')
    expect(row.status).toBe(row.enabled ? 'retrying' : 'paused')
  if (retried === undefined) expect(row.status).not.toBe('retrying')
  for (const { id, error, state } of jobs) {
    const attempts = (await kalends.jobs.attempts(id)) ?? []
    const last = attempts.findLast(({ outcome }) => outcome !== null && FAILED.has(outcome))
    if (state === 'failed') expect(attempts.at(-1)).toMatchObject({ error })
    if (state === 'waiting' && error !== null) expect(last).toMatchObject({ error })
    if (state === 'success') expect(error).toBeNull()
  }
}
