/** A worker claims a job again while its handler is still running for an earlier claim of the job. */
import { expect, it, onTestFinished } from 'vitest'
import { CancelledError, LeaseLostError } from '../../src/errors.ts'
import type { ClaimedJob, Fence } from '../../src/model/job.ts'
import type { UnsettledAttempt } from '../../src/store/executing-store.ts'
import { aborted, gate } from '../kalends/scene.ts'
import { claimed, executorOn, NOTHING, settledDown, startLoops } from './claimed.ts'

/** An executor that claims the jobs added with `claim`. Its handlers run until their signals fire. */
function running() {
  const queue: ClaimedJob[] = []
  const reasons = new Map<number, ReturnType<typeof gate<unknown>>>()
  const settled: UnsettledAttempt[] = []
  const stop = { asked: gate(), answer: gate<readonly Fence[]>() }
  const runs: number[] = []
  const executor = executorOn(
    {
      claim: () => Promise.resolve(queue.splice(0)),
      stopRequests: () => {
        stop.asked.open()
        return stop.answer.promise
      },
      settle: (attempts) => {
        settled.push(...attempts)
        return Promise.resolve(NOTHING)
      },
    },
    ({ attempt, signal }) => {
      runs.push(attempt)
      return aborted(signal).catch((reason: unknown) => {
        reasons.get(attempt)?.open(reason)
        throw reason
      })
    },
    { concurrency: 5, pollIntervalMs: 1, onError: () => {} },
  )
  onTestFinished(() => executor.stop(0))
  const claim = (number: number, { attempt = number, releases = 0 } = {}) => {
    reasons.set(attempt, gate<unknown>())
    queue.push({ ...claimed('j'), attempt, claim: number, releases })
    executor.wake()
  }
  startLoops(executor)
  return { executor, claim, reasons, settled, stop, runs }
}

it('the second claim of a job fires the signal of the first, and the outcome of the first is not written', async () => {
  const { executor, claim, reasons, settled, stop, runs } = running()
  stop.answer.open([])
  claim(1)
  await settledDown()
  claim(2)
  expect(await reasons.get(1)?.promise).toEqual(
    new LeaseLostError('The job j was taken from this worker and is on its next attempt'),
  )
  await settledDown()
  expect(runs).toEqual([1, 2])
  expect(settled).toEqual([])
  expect(executor.attempts.count()).toBe(1)
})

it('a late stop request for the first claim does not stop the second claim', async () => {
  const { claim, reasons, settled, stop, runs } = running()
  claim(1)
  await stop.asked.promise
  claim(2)
  await reasons.get(1)?.promise
  // The query for stop requests was sent before the second claim.
  stop.answer.open([{ id: 'j', worker: 'w/1', claim: 1 }])
  await settledDown()
  expect(runs).toEqual([1, 2])
  expect(settled).toEqual([])
  stop.answer = gate()
  stop.answer.open([{ id: 'j', worker: 'w/1', claim: 2 }])
  expect(await reasons.get(2)?.promise).toBeInstanceOf(CancelledError)
})

it('an evicted worker stops the jobs of its old id and writes no outcomes for them', async () => {
  const { executor, claim, reasons, settled, stop } = running()
  stop.answer.open([])
  claim(1)
  await settledDown()
  executor.attempts.leaseLost('w/2')
  await settledDown()
  expect(executor.attempts.count()).toBe(1)
  executor.attempts.leaseLost('w/1')
  const reason = await reasons.get(1)?.promise
  expect(reason).toBeInstanceOf(LeaseLostError)
  expect(reason).toHaveProperty('message', expect.stringContaining('w/1 was considered dead'))
  await settledDown()
  expect(executor.attempts.count()).toBe(0)
  expect(settled).toEqual([])
})

it('a worker that is cut off fires all signals, and releases its jobs when it can write again', async () => {
  const { executor, claim, reasons, settled, stop } = running()
  stop.answer.open([])
  claim(1)
  await settledDown()
  executor.attempts.cutOff()
  const reason = await reasons.get(1)?.promise
  expect(reason).toBeInstanceOf(LeaseLostError)
  expect(reason).toHaveProperty('message', expect.stringContaining('w/1 has no connection'))
  await settledDown()
  // The fence protects the row if another worker has taken over the job.
  expect(settled).toMatchObject([{ fence: { id: 'j', worker: 'w/1', claim: 1 }, end: { kind: 'released' } }])
  expect(executor.attempts.count()).toBe(0)
})

it.each([
  [
    'has already been released ten times counts as lost, because it may be the cause',
    10,
    { kind: 'lost', error: expect.stringContaining('no connection') },
  ],
  // Such a job has been snoozed or retried manually.
  ['has been claimed eleven times but never released goes back to the queue', 0, { kind: 'released' }],
])('when a worker is cut off, a job that %s', async (_, releases, end) => {
  const { executor, claim, settled, stop } = running()
  stop.answer.open([])
  claim(11, { attempt: 1, releases })
  await settledDown()
  executor.attempts.cutOff()
  await settledDown()
  expect(settled).toMatchObject([{ end }])
})

it('a worker that was cut off after a cancellation still writes the cancellation', async () => {
  const { executor, claim, reasons, settled, stop } = running()
  stop.answer.open([{ id: 'j', worker: 'w/1', claim: 1 }])
  claim(1)
  expect(await reasons.get(1)?.promise).toBeInstanceOf(CancelledError)
  executor.attempts.cutOff()
  await settledDown()
  expect(settled).toMatchObject([{ end: { kind: 'cancelled' } }])
})

it('a stopping worker makes no more claims, even during the grace period', async () => {
  const { executor, claim, stop, runs } = running()
  stop.answer.open([])
  claim(1)
  await settledDown()
  const stopped = executor.stop(20)
  claim(2)
  await stopped
  expect(runs).toEqual([1])
})
