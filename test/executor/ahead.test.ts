/** Jobs that are claimed ahead, without free capacity: when, how many, and what happens to jobs that do not start. */
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import type { Handler } from '../../src/executor/handler.ts'
import { type ClaimedJob, fenceOf } from '../../src/model/job.ts'
import { task } from '../../src/model/task.ts'
import type { UnsettledAttempt, Settled } from '../../src/store/executing-store.ts'
import { gate } from '../kalends/scene.ts'
import { claimed, executorOn, NOTHING, settledDown, startLoops } from './claimed.ts'

const CONCURRENCY = 10

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
})

/** An executor with an endless queue. */
function busy({
  handler = () => {},
  concurrency = CONCURRENCY,
  most = Infinity,
}: {
  readonly handler?: Handler
  readonly concurrency?: number
  /** The maximum number of concurrent jobs of the task. */
  readonly most?: number
} = {}) {
  const state = {
    worker: 'w/1' as string | null,
    claims: [] as { readonly limit: number; readonly ahead: number }[],
    given: 0,
    left: Infinity,
    leavesOut: false,
    running: 0,
    mostRunning: 0,
    started: [] as string[],
    ends: [] as [id: string, kind: string][],
    writes: Promise.resolve(),
    claiming: Promise.resolve(),
    /** Whether the database server has lost the claims. */
    isLost: false,
    jobs: [] as ClaimedJob[],
  }
  const settle = async (attempts: readonly UnsettledAttempt[]): Promise<Settled> => {
    await state.writes
    state.ends.push(...attempts.map(({ fence, end }): [string, string] => [fence.id, end.kind]))
    const outcome = { state: 'success', reason: null, error: null, result: null } as const
    const finished = attempts.filter(({ end }) => end.kind === 'success')
    const settled = finished.map((of) => ({
      id: of.fence.id,
      task: 'noop',
      scheduleId: null,
      attempt: 1,
      outcome,
      startedAt: new Date(0),
      endedAt: new Date(0),
      promoted: null,
    }))
    return { ...NOTHING, settled }
  }
  const executor = executorOn(
    {
      claim: async (_worker, _tasks, limit, _after, { ahead = 0, taskLimits = new Map(), cursor } = {}) => {
        await state.claiming
        state.claims.push({ limit, ahead })
        if (cursor !== undefined) cursor.hasLeftOut = state.leavesOut
        const count = Math.min(limit + ahead, state.left, taskLimits.get('noop') ?? Infinity)
        state.left -= count
        const jobs = Array.from({ length: count }, () => claimed(`j${(state.given += 1)}`))
        state.jobs.push(...jobs)
        return jobs
      },
      settle,
      held: () => {
        const ended = new Set(state.ends.map(([id]) => id))
        const held = state.isLost ? [] : state.jobs.filter(({ id }) => !ended.has(id))
        return Promise.resolve(
          held.map((job) => ({ fence: fenceOf(job), end: { kind: 'released' }, policy: job.policy })),
        )
      },
    },
    {
      task: task('noop', most === Infinity ? {} : { concurrency: most }),
      handler: async (context) => {
        state.started.push(context.job.id)
        state.running += 1
        state.mostRunning = Math.max(state.mostRunning, state.running)
        await handler(context)
        state.running -= 1
      },
    },
    {
      worker: () => state.worker,
      concurrency,
    },
  )
  startLoops(executor)
  executor.wake()
  return { executor, state }
}

/** Lets short jobs run and end, then delays all further writes of outcomes. */
async function withShortRuns(of: ReturnType<typeof busy>, jobs = 100) {
  const { state } = of
  state.left = jobs
  of.executor.wake()
  await settledDown(500)
  expect(state.ends).toHaveLength(jobs)
  const writes = gate()
  state.writes = writes.promise
  state.left = Infinity
  state.claims.length = 0
  of.executor.wake()
  await settledDown(500)
  return writes
}

describe('while the outcomes of short runs are being written', () => {
  it('as many jobs are claimed ahead as have ended recently, and none of them starts', async () => {
    const of = busy()
    const writes = await withShortRuns(of)
    const { state, executor } = of
    expect(state.started).toHaveLength(100 + CONCURRENCY)
    const ahead = state.given - state.started.length
    expect(ahead).toBeGreaterThanOrEqual(50)
    expect(ahead).toBeLessThanOrEqual(100 + CONCURRENCY)
    // All jobs start, in the order of their claims.
    state.left = 0
    writes.open()
    await settledDown(500)
    expect(state.started).toEqual(Array.from({ length: state.given }, (_, index) => `j${index + 1}`))
    expect(state.ends.every(([, kind]) => kind === 'success')).toBe(true)
    expect(state.mostRunning).toBe(CONCURRENCY)
    await executor.stop(0)
  })

  it('a stopping worker releases jobs claimed ahead', async () => {
    const of = busy()
    const writes = await withShortRuns(of)
    const { state, executor } = of
    const ahead = state.given - state.started.length
    const stopped = executor.stop(0)
    await settledDown(500)
    writes.open()
    await stopped
    const kinds = state.ends.map(([, kind]) => kind)
    expect(kinds.filter((kind) => kind === 'unstarted')).toHaveLength(ahead)
  })

  it('jobs of a claim that is in progress when the worker stops are also released', async () => {
    const of = busy()
    const writes = await withShortRuns(of)
    const { state, executor } = of
    const { length } = state.started
    const claims = gate()
    state.claiming = claims.promise
    writes.open()
    await settledDown(500)
    // The available jobs have started, and the next claim has not received its response.
    const started = state.started.length
    expect(started).toBeGreaterThan(length)
    const stopped = executor.stop(0)
    claims.open()
    await stopped
    expect(state.started).toHaveLength(started)
    expect(state.ends.some(([, kind]) => kind === 'unstarted')).toBe(true)
  })

  it('jobs claimed ahead do not start if the worker has a new id', async () => {
    const of = busy()
    const writes = await withShortRuns(of)
    const { state, executor } = of
    const ahead = state.given - state.started.length
    state.worker = 'w/2'
    state.left = 0
    writes.open()
    await settledDown(500)
    expect(state.started).toHaveLength(100 + CONCURRENCY)
    expect(state.ends.filter(([, kind]) => kind === 'unstarted')).toHaveLength(ahead)
    await executor.stop(0)
  })

  it('a comparison with the database includes jobs claimed ahead', async () => {
    const of = busy()
    const writes = await withShortRuns(of)
    const { state, executor } = of
    state.left = 0
    executor.claims.recheckRunning()
    await settledDown(500)
    writes.open()
    await settledDown(500)
    expect(state.ends.every(([, kind]) => kind === 'success')).toBe(true)
    expect(state.started).toHaveLength(state.given)
    await executor.stop(0)
  })

  it('jobs whose claims were lost with the server do not start', async () => {
    const of = busy()
    const writes = await withShortRuns(of)
    const { state, executor } = of
    state.left = 0
    const { length } = state.started
    expect(state.given).toBeGreaterThan(length)
    state.isLost = true
    executor.claims.recheckRunning()
    await settledDown(500)
    writes.open()
    await settledDown(500)
    expect(state.started).toHaveLength(length)
    expect(state.ends.filter(([, kind]) => kind === 'unstarted')).toEqual([])
    await executor.stop(0)
  })

  it('the limit of a task includes jobs claimed ahead', async () => {
    const of = busy({ most: CONCURRENCY + 5 })
    const writes = await withShortRuns(of)
    const { state, executor } = of
    expect(state.given - state.started.length).toBeLessThanOrEqual(CONCURRENCY + 5)
    state.left = 0
    writes.open()
    await executor.stop(0)
  })
})

it('no job goes back to the queue if all jobs start within 100 ms', async () => {
  const of = busy({ handler: () => new Promise((resolve) => setTimeout(resolve, 5)) })
  const { executor, state } = of
  for (let passed = 0; passed < 2000; passed += 5) {
    await vi.advanceTimersByTimeAsync(5)
    for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve))
  }
  expect(state.claims.some(({ ahead }) => ahead > 0)).toBe(true)
  expect(state.started.length).toBeGreaterThan(2000)
  expect(state.ends.filter(([, kind]) => kind !== 'success')).toEqual([])
  state.left = 0
  const stopped = executor.stop(1000)
  await vi.advanceTimersByTimeAsync(1000)
  await stopped
})

it('jobs without retries get their turn: after a claim that left out some of them, no job is claimed ahead for one second', async () => {
  const of = busy({ handler: () => new Promise((resolve) => setTimeout(resolve, 5)) })
  const { executor, state } = of
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 5) {
      await vi.advanceTimersByTimeAsync(5)
      for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve))
    }
  }
  await pass(500)
  state.leavesOut = true
  await pass(50)
  state.leavesOut = false
  state.claims.length = 0
  await pass(800)
  expect(state.claims.length).toBeGreaterThan(50)
  expect(state.claims.every(({ limit, ahead }) => limit > 0 && ahead === 0)).toBe(true)
  await pass(500)
  expect(state.claims.some(({ ahead }) => ahead > 0)).toBe(true)
  state.left = 0
  const stopped = executor.stop(1000)
  await vi.advanceTimersByTimeAsync(1000)
  await stopped
})

it('jobs that a submission starts use the capacity that it has reserved', async () => {
  const { executor, state } = busy()
  state.left = 100
  executor.wake()
  await settledDown(500)
  expect(state.ends).toHaveLength(100)
  const reservation = executor.claims.reserve('w/1', 5)
  if (reservation === null) throw new Error('no free capacity')
  state.writes = gate().promise
  state.left = Infinity
  executor.wake()
  await settledDown(500)
  // The other jobs are claimed ahead.
  expect(state.started).toHaveLength(100 + CONCURRENCY - 5)
  expect(state.given).toBeGreaterThan(150)
  reservation.commit(Array.from({ length: 5 }, (_, index) => claimed(`own ${index}`)))
  await settledDown(500)
  expect(state.started.slice(100 + CONCURRENCY - 5)).toEqual(['own 0', 'own 1', 'own 2', 'own 3', 'own 4'])
})

it('no job is claimed ahead if runs take a long time', async () => {
  let ends = gate()
  const { executor, state } = busy({ handler: () => ends.promise })
  await settledDown(500)
  for (let round = 0; round < 3; round += 1) {
    await vi.advanceTimersByTimeAsync(20)
    const { open } = ends
    ends = gate()
    open()
    await settledDown(500)
  }
  expect(state.started).toHaveLength(4 * CONCURRENCY)
  expect(state.given).toBe(4 * CONCURRENCY)
  expect(state.claims.map(({ ahead }) => ahead).filter((ahead) => ahead > 0)).toEqual([])
  ends.open()
  await executor.stop(0)
})
