/** When an executor claims, promotes and reserves, and when it compares its jobs with the database. */
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { LeaseLostError, StoreUnavailableError } from '../../src/errors.ts'
import type { JobExecutor } from '../../src/executor/job-executor.ts'
import { fenceOf } from '../../src/model/job.ts'
import type { ExecutingStore } from '../../src/store/executing-store.ts'
import { aborted, gate } from '../kalends/scene.ts'
import { claimed, executorOn, NOTHING, startLoops } from './claimed.ts'

function fakeTimers(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
}

/** Waits until all work of this process that needs no timer has ended. */
async function settledDown(): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}

async function pass(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms)
  await settledDown()
}

function started(executor: JobExecutor): JobExecutor {
  startLoops(executor)
  executor.wake()
  return executor
}

const never = () => new Promise<never>(() => {})

describe('a claim', () => {
  it('that continued where the last one ended and found nothing is repeated from the front of the queue', async () => {
    fakeTimers()
    const positions: number[] = []
    const executor = executorOn(
      {
        claim: async (_worker, _tasks, _limit, _after, { cursor } = {}) => {
          if (cursor === undefined) throw new Error('a claim of the loop has a cursor')
          positions.push(cursor.turns.length)
          const isFirst = positions.length === 1
          cursor.turns = isFirst ? [{ in_group: '', claim_task: 'noop', claim_rank: 0, behind: 'a' }] : []
          return isFirst ? [claimed('a')] : []
        },
      },
      never,
    )
    startLoops(executor)
    await settledDown()
    expect(positions).toEqual([0, 1, 0])
    executor.stop(0).catch(() => {})
    await pass(60_000)
  })
})

describe('the promotion of due jobs', () => {
  const claims: ExecutingStore['claim'] = () => Promise.resolve([])

  it('takes place once after each call of wakeForTime', async () => {
    const promoteDue = vi.fn<ExecutingStore['promoteDue']>(() => Promise.resolve(0))
    const executor = started(executorOn({ promoteDue }, never))
    await settledDown()
    expect(promoteDue).not.toHaveBeenCalled()
    executor.wakeForTime()
    await settledDown()
    executor.wake()
    await settledDown()
    expect(promoteDue).toHaveBeenCalledTimes(1)
    await executor.stop(0)
  })

  it.each([
    ['is not followed by a claim while the database is unavailable', new StoreUnavailableError('away'), 0],
    ['does not prevent claims if it fails for another reason', new Error('bad row'), 1],
  ])('%s', async (_, error, claimsAfter) => {
    fakeTimers()
    const claim = vi.fn(claims)
    const errors: unknown[] = []
    const executor = executorOn({ promoteDue: () => Promise.reject(error), claim }, never, {
      onError: (...args) => errors.push(args),
    })
    startLoops(executor)
    await settledDown()
    const before = claim.mock.calls.length
    executor.wakeForTime()
    await settledDown()
    expect(errors).toEqual([[error, 'executor']])
    expect(claim).toHaveBeenCalledTimes(before + claimsAfter)
    await executor.stop(0)
  })
})

describe('a reservation', () => {
  it('is made only after a claim that found the queue empty', async () => {
    let queue = [claimed('a')]
    const claims = gate()
    const executor = executorOn(
      {
        claim: async () => {
          await claims.promise
          return queue.splice(0)
        },
      },
      () => {},
    )
    expect(executor.claims.reserve('w/1', 1)).toBeNull()
    started(executor)
    await settledDown()
    expect(executor.claims.reserve('w/1', 1)).toBeNull()
    claims.open()
    await settledDown()
    const reservation = executor.claims.reserve('w/1', 1)
    expect(reservation).toMatchObject({ limit: 1 })
    reservation?.commit([])
    // Another process may have submitted a job.
    queue = [claimed('b')]
    executor.wake()
    expect(executor.claims.reserve('w/1', 1)).toBeNull()
    expect(executor.claims.reserve('w/2', 1)).toBeNull()
    await settledDown()
    await executor.stop(0)
  })

  it.each([
    ['a claim that used all capacity', 0, [{ limit: 1, ahead: 0 }]],
    [
      'a claim that could only claim ahead',
      10,
      [
        { limit: 1, ahead: 10 },
        { limit: 0, ahead: 10 },
      ],
    ],
  ])('is not made after %s, because it does not show that no job waits', async (_, shortRuns, claims) => {
    fakeTimers()
    const limits: { readonly limit: number; readonly ahead: number | undefined }[] = []
    const end = gate()
    const writes = gate()
    const executor = executorOn(
      {
        claim: async (_worker, _tasks, limit, _after, { ahead } = {}) => {
          limits.push({ limit, ahead })
          return limits.length === 1 ? [claimed('a')] : []
        },
        settle: async () => {
          await writes.promise
          return NOTHING
        },
      },
      () => end.promise,
      { concurrency: 1 },
    )
    for (let run = 0; run < shortRuns; run += 1) executor.claims.ended(1)
    startLoops(executor)
    await settledDown()
    expect(limits).toEqual(claims)
    end.open()
    await settledDown()
    writes.open()
    // The outcome has just been written, and the next claim has not begun.
    while (executor.settler.occupied() > 0) await Promise.resolve()
    expect(executor.claims.reserve('w/1', 1)).toBeNull()
    await settledDown()
    await executor.stop(0)
  })
})

describe('after a claim without a response', () => {
  it('the worker compares its jobs with the database every two seconds for half a minute', async () => {
    fakeTimers()
    await pass(40_000)
    let isAway = false
    const queue = [claimed('a'), claimed('b')]
    const compared: number[] = []
    const reasons = new Map<string, unknown>()
    let onCompare = () => {}
    const executor = executorOn(
      {
        claim: () =>
          isAway ? Promise.reject(new StoreUnavailableError('away')) : Promise.resolve(queue.splice(0)),
        held: () => {
          compared.push(performance.now())
          onCompare()
          const { policy } = claimed('a')
          return Promise.resolve([{ fence: fenceOf(claimed('a')), end: { kind: 'released' }, policy }])
        },
      },
      ({ job, signal }) =>
        aborted(signal).catch((reason: unknown) => {
          reasons.set(job.id, reason)
          throw reason
        }),
      { onError: () => {} },
    )
    startLoops(executor)
    await settledDown()
    expect(executor.claims.loop.health()).toMatchObject({ busySince: null, nextPassAt: null })
    isAway = true
    executor.wake()
    await settledDown()
    isAway = false
    const failedAt = performance.now()
    await pass(5000)
    // Its claim is not in the database.
    expect(reasons.get('b')).toEqual(new LeaseLostError('The job b was taken from this worker'))
    expect(reasons.has('a')).toBe(false)
    expect(executor.claims.reserve('w/1', 1)).toBeNull()
    for (let second = 0; second < 40; second += 1) await pass(1000)
    expect(compared.length).toBeGreaterThanOrEqual(15)
    expect(compared.length).toBeLessThanOrEqual(18)
    expect(Math.max(...compared) - failedAt).toBeGreaterThan(30_000)
    const reservation = executor.claims.reserve('w/1', 1)
    expect(reservation).toMatchObject({ limit: 1 })
    reservation?.commit([])
    expect(executor.claims.loop.health()).toMatchObject({ nextPassAt: null })

    // Another statement gets no response during the last comparison.
    executor.claims.recheckRunning()
    await settledDown()
    await pass(29_000)
    onCompare = () => {
      executor.claims.recheckRunning()
      onCompare = () => {}
    }
    await pass(5000)
    expect(executor.claims.reserve('w/1', 1)).toBeNull()
    const stopped = executor.stop(0)
    await pass(1000)
    await stopped
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
        if (job.id !== 'a') return ended.open()
        queue.push(claimed('b'))
        executor.wake()
        await ended.promise
        for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve))
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
