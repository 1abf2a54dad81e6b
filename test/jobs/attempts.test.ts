/** `jobs.attempts`: the history of a job as data, independent of its log. */
import { expect, it } from 'vitest'
import { type Attempt, type Kalends, NotFoundError, task } from '../../src/index.ts'
import { ended, scene } from '../kalends/scene.ts'
import { eachDatabase } from '../support/databases.ts'

const outcomes = (attempts: readonly Attempt[]) => attempts.map(({ attempt, outcome }) => [attempt, outcome])

async function attemptsOf(kalends: Kalends, id: string): Promise<Attempt[]> {
  await ended(kalends, id)
  return await kalends.jobs.attempts(id)
}

eachDatabase((under) => {
  it('each attempt has its worker, times, outcome and error', async () => {
    const { open } = await scene(under)
    const kalends = await open({ worker: 'web' })
    kalends.handle(task('flaky', { retryDelay: 20 }), ({ attempt }) => {
      if (attempt < 3) throw new Error(`failure ${attempt}`)
    })
    await kalends.start()
    const id = await kalends.jobs.submit('flaky')
    const attempts = await attemptsOf(kalends, id)
    const job = await kalends.jobs.get(id)
    const worker = expect.stringMatching(/^web\//)
    expect(attempts).toMatchObject([
      { attempt: 1, worker, outcome: 'failed', error: expect.stringContaining('Error: failure 1\n') },
      { attempt: 2, worker, outcome: 'failed', error: expect.stringContaining('Error: failure 2\n') },
      {
        attempt: 3,
        worker,
        outcome: 'success',
        error: null,
        startedAt: job?.startedAt,
        endedAt: job?.finishedAt,
      },
    ])
    const times = attempts.flatMap(({ startedAt: started, endedAt: end }) => [
      started.getTime(),
      end?.getTime() ?? 0,
    ])
    expect(times).toEqual(times.toSorted((one, other) => one - other))
  })

  it('log lines that look like failed attempts have no effect [R14]', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    kalends.handle(task('liar'), ({ log }) => {
      log.warn('Attempt 1 failed: fake')
      log.warn('Attempt 2 failed: fake')
    })
    await kalends.start()
    const id = await kalends.jobs.submit('liar')
    expect(outcomes(await attemptsOf(kalends, id))).toEqual([[1, 'success']])
  })

  it('`attempts` throws a NotFoundError for an unknown job', async () => {
    const { open } = await scene(under)
    await expect((await open()).jobs.attempts('nobody')).rejects.toThrow(NotFoundError)
  })
})
