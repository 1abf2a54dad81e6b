/**
 * Capacity for jobs that start when they are submitted: how much can be reserved, when nothing can be, and what ends a
 * reservation.
 */
import { expect, it, onTestFinished, vi } from 'vitest'
import { StoreUnavailableError } from '../../src/errors.ts'
import type { HandledTask } from '../../src/executor/handler.ts'
import { task } from '../../src/model/task.ts'
import type { Reservation } from '../../src/executor/capacity.ts'
import { type Gate, gate } from '../kalends/scene.ts'
import {
  claimed,
  executingStore,
  executorOn,
  fakeTimers,
  NOTHING,
  pass,
  settledDown,
  startLoops,
} from './claimed.ts'

const WORKER = 'w/1'

/** An executor whose handlers end on demand, with a store that returns the given claims. */
async function started(concurrency: number, own: number | null = null) {
  const limits: number[] = []
  const waiting: string[] = []
  const held: string[] = []
  const state = {
    worker: WORKER as string | null,
    claims: gate(),
    answer: null as Gate | null,
    /** The error that the next claim throws. */
    failure: null as Error | null,
    running: 0,
    most: 0,
    /** The claim number that the database reports for jobs that are running here. */
    heldClaim: 1,
    /** Jobs whose handlers were asked to stop, with the reason. */
    aborted: [] as string[],
  }
  const ends = new Map<string, Gate>()
  const released: string[] = []
  const store = {
    ...executingStore,
    claim: async (_worker: string, _tasks: unknown, limit: number) => {
      limits.push(limit)
      const claims = state.claims
      state.claims = gate()
      claims.open()
      await state.answer?.promise
      const { failure } = state
      state.failure = null
      if (failure !== null) throw failure
      return waiting.splice(0, limit).map((id) => claimed(id))
    },
    held: () =>
      Promise.resolve(
        held.map((id) => ({
          fence: { id, worker: WORKER, claim: state.heldClaim },
          end: { kind: 'released' as const },
          policy: claimed(id).policy,
        })),
      ),
    settle: (attempts: readonly { fence: { id: string }; end: { kind: string } }[]) => {
      for (const { fence, end } of attempts) {
        if (end.kind === 'released') released.push(fence.id)
        if (held.includes(fence.id)) held.splice(held.indexOf(fence.id), 1)
      }
      return Promise.resolve(NOTHING)
    },
  }
  const handled: HandledTask = {
    task: task('noop', own === null ? {} : { concurrency: own }),
    handler: async ({ job: { id }, signal }) => {
      signal.addEventListener('abort', () => state.aborted.push(`${id}: ${String(signal.reason?.name)}`))
      state.running += 1
      state.most = Math.max(state.most, state.running)
      await ends.get(id)?.promise
      state.running -= 1
      return null
    },
  }
  const executor = executorOn(store, handled, { worker: () => state.worker, concurrency, onError: () => {} })
  expect(executor.claims.reserve(WORKER, 5)).toBeNull()
  const first = state.claims.promise
  startLoops(executor)
  await first
  await settledDown()
  return { executor, state, limits, waiting, held, released, ends }
}

/** Throws if nothing could be reserved. */
function reserved(reservation: Reservation | null): Reservation {
  if (reservation === null) throw new Error('no free capacity')
  return reservation
}

const NO_RESPONSE = new StoreUnavailableError('no response')

it('a reservation is limited by the request and by free capacity, and claims do not use reserved capacity', async () => {
  const { executor, limits, waiting, ends, state } = await started(4)
  const first = reserved(executor.claims.reserve(WORKER, 3))
  expect(first).toMatchObject({ limit: 3 })
  expect([...first.tasks.keys()]).toEqual(['noop'])
  const second = reserved(executor.claims.reserve(WORKER, 3))
  expect(second.limit).toBe(1)
  expect(executor.claims.reserve(WORKER, 3)).toBeNull()
  // A claim in the meantime finds no capacity, so it is deferred until nothing is reserved.
  waiting.push('a', 'b', 'c', 'd')
  for (const id of ['a', 'b', 'c', 'd', 'x', 'y']) ends.set(id, gate())
  const before = limits.length
  executor.wake()
  await settledDown()
  expect(limits.length).toBe(before)
  first.commit([claimed('x'), claimed('y')])
  second.commit([])
  await settledDown()
  expect(limits.slice(before)).toEqual([2])
  expect(state.most).toBe(4)
  for (const end of ends.values()) end.open()
  await executor.stop(1000)
  expect(state.most).toBe(4)
})

it('the concurrency limit of a task applies to all reservations together', async () => {
  const { executor, ends } = await started(10, 2)
  ends.set('x', gate())
  const first = reserved(executor.claims.reserve(WORKER, 1))
  expect(first.taskLimits.get('noop')).toBe(2)
  // The job of the first reservation may belong to the same task.
  const second = reserved(executor.claims.reserve(WORKER, 1))
  expect(second.taskLimits.get('noop')).toBe(1)
  first.commit([claimed('x')])
  second.commit([])
  const third = reserved(executor.claims.reserve(WORKER, 5))
  expect(third.taskLimits.get('noop')).toBe(1)
  third.commit([])
  ends.get('x')?.open()
  await executor.stop(1000)
})

it('nothing can be reserved while jobs wait, during a claim, or under another worker id', async () => {
  const { executor, state, waiting, ends } = await started(2)
  for (const id of ['a', 'b', 'c']) ends.set(id, gate())
  state.answer = gate()
  const claiming = state.claims.promise
  waiting.push('a')
  executor.wake()
  await claiming
  expect(executor.claims.reserve(WORKER, 1)).toBeNull()
  state.answer.open()
  state.answer = null
  await settledDown()
  const one = reserved(executor.claims.reserve(WORKER, 1))
  expect(one.limit).toBe(1)
  one.commit([])
  expect(executor.claims.reserve('w/2', 1)).toBeNull()
  // There is capacity for one of two waiting jobs. The other one starts when more becomes free.
  waiting.push('b', 'c')
  executor.wake()
  await settledDown()
  state.answer = gate()
  ends.get('a')?.open()
  await settledDown()
  expect(executor.claims.reserve(WORKER, 1)).toBeNull()
  state.answer.open()
  for (const end of ends.values()) end.open()
  await executor.stop(1000)
  expect(executor.claims.reserve(WORKER, 1)).toBeNull()
})

it('nothing can be reserved while a task has no capacity, because its jobs may be waiting', async () => {
  const end = gate()
  const jobs = [claimed('a')]
  const handled = { task: task('noop', { concurrency: 1 }), handler: () => end.promise }
  const executor = executorOn(
    { claim: (_, tasks) => Promise.resolve(tasks.has('noop') ? jobs.splice(0) : []) },
    () => {},
    {
      handlers: new Map<string, HandledTask>([
        ['noop', handled],
        ['other', { task: task('other'), handler: () => {} }],
      ]),
    },
  )
  startLoops(executor)
  executor.wake()
  await settledDown()
  expect(executor.attempts.count()).toBe(1)
  expect(executor.claims.claimableTasks()).toEqual(['other'])
  expect(executor.claims.reserve(WORKER, 1)).toBeNull()
  end.open()
  await settledDown()
  expect(executor.claims.claimableTasks()).toEqual(['noop', 'other'])
  expect(executor.claims.reserve(WORKER, 1)).not.toBeNull()
})

it('a worker without free capacity has no claimable tasks', async () => {
  const { executor, waiting, ends } = await started(1)
  ends.set('a', gate())
  waiting.push('a')
  executor.wake()
  await settledDown()
  expect(executor.claims.claimableTasks()).toEqual([])
  ends.get('a')?.open()
  await settledDown()
  expect(executor.claims.claimableTasks()).toEqual(['noop'])
})

it('capacity that becomes free during a claim cannot be reserved', async () => {
  const { executor, state, waiting, ends } = await started(3)
  for (const id of ['a', 'b']) ends.set(id, gate())
  waiting.push('a', 'b')
  executor.wake()
  await settledDown()
  state.answer = gate()
  const claiming = state.claims.promise
  ends.get('a')?.open()
  await claiming
  ends.get('b')?.open()
  await settledDown()
  expect(executor.attempts.count()).toBe(0)
  expect(executor.claims.reserve(WORKER, 1)).toBeNull()
  state.answer.open()
  await settledDown()
  const all = reserved(executor.claims.reserve(WORKER, 9))
  expect(all.limit).toBe(3)
  all.commit([])
  await executor.stop(1000)
})

it('a claim that the database rejects frees the capacity that it has reserved', async () => {
  const { executor, state, waiting, limits } = await started(3)
  const claiming = state.claims.promise
  state.failure = new Error('constraint')
  waiting.push('a', 'b', 'c')
  executor.wake()
  await claiming
  await expect.poll(() => limits.at(-1) === 3 && waiting.length === 0, { timeout: 100_000 }).toBe(true)
  await executor.stop(1000)
})

it('a reservation cannot end twice', async () => {
  const { executor } = await started(1)
  const one = reserved(executor.claims.reserve(WORKER, 1))
  one.commit([])
  expect(() => one.commit([])).toThrow(/ended twice/)
  expect(() => one.abandon(new Error('constraint'))).toThrow(/ended twice/)
  expect(reserved(executor.claims.reserve(WORKER, 1)).limit).toBe(1)
})

it('after a statement that the database rejects, capacity can be reserved again at once', async () => {
  const { executor } = await started(1)
  reserved(executor.claims.reserve(WORKER, 1)).abandon(new Error('constraint'))
  reserved(executor.claims.reserve(WORKER, 1)).commit([])
  await executor.stop(1000)
})

it('if a submission gets no response, its jobs are released, but not those of another submission', async () => {
  const { executor, held, released, ends } = await started(4)
  ends.set('y', gate())
  const [lost, other] = [
    reserved(executor.claims.reserve(WORKER, 1)),
    reserved(executor.claims.reserve(WORKER, 1)),
  ]
  held.push('x', 'y')
  lost.abandon(NO_RESPONSE)
  await settledDown()
  // The other submission has not received its response yet.
  expect(released).toEqual([])
  expect(executor.claims.reserve(WORKER, 1)).toBeNull()
  other.commit([claimed('y')])
  await settledDown()
  expect(released).toEqual(['x'])
  ends.get('y')?.open()
  await executor.stop(1000)
})

it('a submission without a response stays uncertain until a late enough comparison with the database, even after an outage', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const { executor, state, held, released } = await started(1)
  reserved(executor.claims.reserve(WORKER, 1)).abandon(NO_RESPONSE)
  await settledDown()
  // The database is unreachable, so no heartbeat succeeds. Meanwhile, the database executes the last statement.
  state.worker = null
  held.push('x')
  await pass(120_000)
  expect(released).toEqual([])
  state.worker = WORKER
  await pass(3000)
  expect(released).toEqual(['x'])
  held.length = 0
  await pass(3000)
  expect(reserved(executor.claims.reserve(WORKER, 1)).limit).toBe(1)
  vi.useRealTimers()
})

it('after a failover, if the new server has only an earlier claim of a job, the job is released when its handler ends', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const { executor, state, waiting, held, released, ends } = await started(2)
  ends.set('a', gate())
  waiting.push('a')
  executor.wake()
  await settledDown()
  state.heldClaim = 0
  held.push('a')
  executor.claims.recheckRunning()
  await settledDown()
  expect(state.aborted).toEqual(['a: LeaseLostError'])
  await pass(3000)
  // If the job were released now, its next claim would get the number of the claim whose handler is still running.
  expect(released).toEqual([])
  ends.get('a')?.open()
  await pass(3000)
  expect(released).toEqual(['a'])
  vi.useRealTimers()
  await executor.stop(1000)
})

it('queued jobs start before jobs that are submitted later', async () => {
  const { executor, waiting, state } = await started(4)
  waiting.push('a')
  executor.wake()
  // The claim has not started yet.
  expect(executor.claims.reserve(WORKER, 1)).toBeNull()
  await settledDown()
  expect(state.most).toBe(1)
  reserved(executor.claims.reserve(WORKER, 1)).commit([])
  await executor.stop(1000)
})

it('a stop waits for submissions in progress and for the jobs that they start', async () => {
  const { executor, ends, state } = await started(1)
  const end = gate()
  ends.set('x', end)
  const reservation = reserved(executor.claims.reserve(WORKER, 1))
  let stopped = false
  const stop = executor.stop(60_000).then(() => void (stopped = true))
  await settledDown()
  expect(stopped).toBe(false)
  reservation.commit([claimed('x')])
  await settledDown()
  expect(stopped).toBe(false)
  expect(state.most).toBe(1)
  end.open()
  await stop
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
])(
  'nothing can be reserved after %s, because other jobs may still be waiting',
  async (_, shortRuns, claims) => {
    fakeTimers()
    const limits: { readonly limit: number; readonly ahead: number | undefined }[] = []
    const end = gate()
    const reservations: unknown[] = []
    const executor = executorOn(
      {
        claim: async (_worker, _tasks, limit, _after, { ahead } = {}) => {
          limits.push({ limit, ahead })
          return limits.length === 1 ? [claimed('a')] : []
        },
        settle: (attempts) => Promise.resolve({ ...NOTHING, lost: attempts.map(({ fence }) => fence) }),
      },
      () => end.promise,
      // The outcome has been written, and the next claim has not begun.
      { concurrency: 1, onSettled: () => void reservations.push(executor.claims.reserve(WORKER, 1)) },
    )
    for (let run = 0; run < shortRuns; run += 1) executor.claims.ended(1)
    startLoops(executor)
    await settledDown()
    expect(limits).toEqual(claims)
    end.open()
    await settledDown()
    expect(reservations).toEqual([null])
    await executor.stop(0)
  },
)
