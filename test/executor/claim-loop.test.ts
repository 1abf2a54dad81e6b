/** When an executor claims and promotes jobs, and when it compares its running jobs with the database. */
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { LeaseLostError, StoreUnavailableError } from '../../src/errors.ts'
import { fenceOf } from '../../src/model/job.ts'
import type { ExecutingStore } from '../../src/store/executing-store.ts'
import { aborted, gate } from '../kalends/scene.ts'
import { claimed, executorOn, fakeTimers, NOTHING, pass, settledDown, startLoops } from './claimed.ts'

/** A started executor whose handlers run until their signals are aborted, with the reasons by job. */
async function running(store: Partial<ExecutingStore>, onError?: (error: unknown, loop: string) => void) {
  fakeTimers()
  const reasons = new Map<string, unknown>()
  const executor = executorOn(
    store,
    ({ job, signal }) =>
      aborted(signal).catch((reason: unknown) => {
        reasons.set(job.id, reason)
        throw reason
      }),
    onError === undefined ? {} : { onError },
  )
  onTestFinished(async () => {
    vi.useRealTimers()
    await executor.stop(0)
  })
  startLoops(executor)
  await settledDown()
  return { executor, reasons }
}

it('a claim is repeated from the front of the queue if it continued where the last one ended and found nothing', async () => {
  const positions: unknown[] = []
  await running({
    claim: async (_worker, _tasks, _limit, _after, { cursor } = {}) => {
      positions.push(cursor?.turns.length)
      const isFirst = positions.length === 1
      if (cursor !== undefined)
        cursor.turns = isFirst ? [{ in_group: '', claim_task: 'noop', claim_rank: 0, behind: 'a' }] : []
      return isFirst ? [claimed('a')] : []
    },
  })
  expect(positions).toEqual([0, 1, 0])
})

describe('the promotion of due jobs', () => {
  it('takes place once after each call of wakeForTime', async () => {
    const promoteDue = vi.fn<ExecutingStore['promoteDue']>(() => Promise.resolve(0))
    const { executor } = await running({ promoteDue })
    expect(promoteDue).not.toHaveBeenCalled()
    executor.wakeForTime()
    await settledDown()
    executor.wake()
    await settledDown()
    expect(promoteDue).toHaveBeenCalledTimes(1)
  })

  it('is not followed by a claim while the database is unavailable', async () => {
    const error = new StoreUnavailableError('away')
    const claim = vi.fn<ExecutingStore['claim']>(() => Promise.resolve([]))
    const onError = vi.fn<(error: unknown, loop: string) => void>()
    const { executor } = await running({ promoteDue: () => Promise.reject(error), claim }, onError)
    claim.mockClear()
    executor.wakeForTime()
    await settledDown()
    expect(onError.mock.calls).toEqual([[error, 'executor']])
    expect(claim).not.toHaveBeenCalled()
  })
})

describe('after a claim without a response', () => {
  /** The next claim gets no response. This worker runs the jobs in `claims`; by the database, it holds those in `held`. */
  async function unanswered(claims: readonly string[], held: readonly string[]) {
    fakeTimers()
    // The process is not new when the claim fails.
    await pass(40_000)
    const queue = claims.map(claimed)
    const state = { isAway: false, failedAt: 0, onCompare: () => {} }
    /** The times of the comparisons, in milliseconds since the failed claim. */
    const compared: number[] = []
    const { executor, reasons } = await running(
      {
        claim: () =>
          state.isAway ? Promise.reject(new StoreUnavailableError('away')) : Promise.resolve(queue.splice(0)),
        held: () => {
          compared.push(performance.now() - state.failedAt)
          state.onCompare()
          const { policy } = claimed('any')
          return Promise.resolve(
            held.map((id) => ({ fence: fenceOf(claimed(id)), end: { kind: 'released' }, policy })),
          )
        },
      },
      () => {},
    )
    expect(executor.claims.loop.health()).toMatchObject({ busySince: null, nextPassAt: null })
    state.isAway = true
    executor.wake()
    await settledDown()
    state.isAway = false
    state.failedAt = performance.now()
    return { executor, reasons, compared, state }
  }

  it('the worker compares its jobs with the database every two seconds for half a minute', async () => {
    const { executor, compared } = await unanswered(['a'], ['a'])
    expect(executor.claims.reserve('w/1', 1)).toBeNull()
    await pass(60_000)
    // The first comparison follows the back-off.
    expect(compared).toEqual(Array.from({ length: 16 }, (_, index) => 500 + 2000 * index))
    expect(executor.claims.loop.health()).toMatchObject({ busySince: null, nextPassAt: null })
    const reservation = executor.claims.reserve('w/1', 1)
    expect(reservation).toMatchObject({ limit: 1 })
    reservation?.commit([])
  })

  it('a handler is stopped if the database does not have its claim', async () => {
    const { reasons } = await unanswered(['a', 'b'], ['a'])
    await pass(2000)
    expect([...reasons]).toEqual([['b', new LeaseLostError('The job b was taken from this worker')]])
  })

  it('the comparisons continue if another statement gets no response during the last comparison', async () => {
    const { executor, compared, state } = await unanswered([], [])
    state.onCompare = () => {
      if ((compared.at(-1) ?? 0) < 30_000) return
      state.onCompare = () => {}
      executor.claims.recheckRunning()
    }
    await pass(40_000)
    expect(compared.at(-1)).toBeGreaterThan(35_000)
    expect(executor.claims.reserve('w/1', 1)).toBeNull()
  })
})

describe('runDue', () => {
  it('also runs a job that a running handler submits and waits for', async () => {
    const queue = [claimed('a')]
    const ended = gate()
    const ends: string[] = []
    const executor = executorOn(
      {
        claim: () => Promise.resolve(queue.splice(0)),
        settle: (attempts) => {
          ends.push(...attempts.map(({ fence }) => fence.id))
          return Promise.resolve(NOTHING)
        },
      },
      async ({ job }) => {
        // By the time of the submission, the claims of the first round have ended.
        await settledDown()
        if (job.id !== 'a') return ended.open()
        queue.push(claimed('b'))
        executor.wake()
        await ended.promise
        await settledDown()
      },
    )
    await executor.runDue()
    expect(ends).toEqual(['b', 'a'])
  })

  it('claims at most ten thousand jobs while a handler is running', async () => {
    let given = 0
    const most = gate()
    const executor = executorOn(
      {
        claim: (_worker, _tasks, limit) =>
          Promise.resolve(Array.from({ length: limit }, () => claimed(`j${(given += 1)}`))),
      },
      async ({ job }) => {
        if (job.id === 'j1') await most.promise
        executor.wake()
        if (job.id !== 'j10000') return
        await settledDown()
        most.open()
      },
      { concurrency: 2 },
    )
    await executor.runDue()
    expect(given).toBe(10_000)
  })
})
