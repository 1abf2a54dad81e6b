/** Room for jobs that begin with their submission: how much there is, when there is none, and what ends it. */
import { expect, it, onTestFinished, vi } from 'vitest'
import { Redaction } from '../../src/model/redaction.ts'
import type { HandledTask } from '../../src/executor/handler.ts'
import { JobExecutor } from '../../src/executor/job-executor.ts'
import { DEFAULT_ARGS_LIMIT, task } from '../../src/model/task.ts'
import type { Room } from '../../src/store/scheduling-store.ts'
import { type Gate, gate } from '../kalends/scene.ts'
import { claimed, executingStore } from './claimed.ts'

const WORKER = 'w/1'

/** An executor whose handlers end when the test says so, on a store whose claims give what the test says. */
async function started(concurrency: number, own: number | null = null) {
  const limits: number[] = []
  const waiting: string[] = []
  const held: string[] = []
  const state = {
    worker: WORKER as string | null,
    claims: gate(),
    answer: null as Gate | null,
    running: 0,
    most: 0,
    /** As the database has it, of those that it says run here. */
    heldClaim: 1,
    /** Jobs whose handlers were told to stop, and why. */
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
      return waiting.splice(0, limit).map((id) => claimed(id))
    },
    held: () =>
      Promise.resolve(
        held.map((id) => ({
          fence: { id, worker: WORKER, claim: state.heldClaim },
          ending: { kind: 'released' as const },
          policy: claimed(id).policy,
        })),
      ),
    settle: (attempts: readonly { fence: { id: string }; ending: { kind: string } }[]) => {
      for (const { fence, ending } of attempts) {
        if (ending.kind === 'released') released.push(fence.id)
        if (held.includes(fence.id)) held.splice(held.indexOf(fence.id), 1)
      }
      return Promise.resolve({ settled: [], lost: [], locked: [] })
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
  const executor = new JobExecutor({
    store,
    worker: () => state.worker,
    handlers: new Map([['noop', handled]]),
    around: null,
    redaction: new Redaction([]),
    argsLimit: DEFAULT_ARGS_LIMIT,
    concurrency,
    // Longer than any test takes.
    wakeUpMs: 3_600_000,
    now: () => new Date(),
    onStarted: () => {},
    onSettled: () => {},
    onRejected: () => {},
    onFault: () => {},
    onError: () => {},
  })
  expect(executor.keepRoom(WORKER, 5)).toBeNull()
  const first = state.claims.promise
  executor.start()
  await first
  await settledDown()
  return { executor, state, limits, waiting, held, released, ends }
}

/** What was begun in this turn of the event loop has ended. */
async function settledDown(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}

function kept(room: Room | null): Room {
  if (room === null) throw new Error('there is no room')
  return room
}

it('there is as much as is asked for and not taken, and what is kept is not claimed for', async () => {
  const { executor, limits, waiting, ends, state } = await started(4)
  const room = kept(executor.keepRoom(WORKER, 3))
  expect(room).toMatchObject({ limit: 3 })
  expect([...room.tasks.keys()]).toEqual(['noop'])
  expect(kept(executor.keepRoom(WORKER, 3)).limit).toBe(1)
  expect(executor.keepRoom(WORKER, 3)).toBeNull()
  // A claim meanwhile finds no room, and is made up for when there is some again.
  waiting.push('a', 'b', 'c', 'd')
  for (const id of ['a', 'b', 'c', 'd', 'x', 'y']) ends.set(id, gate())
  const before = limits.length
  executor.wake()
  await settledDown()
  expect(limits.length).toBe(before)
  executor.begun(room, [claimed('x'), claimed('y')])
  executor.begun({ ...room, limit: 1 }, [])
  await settledDown()
  expect(limits.slice(before)).toEqual([2])
  expect(state.most).toBe(4)
  for (const end of ends.values()) end.open()
  await executor.stop(1000)
  expect(state.most).toBe(4)
})

it('the limit of a task holds for both together', async () => {
  const { executor, ends } = await started(10, 2)
  ends.set('x', gate())
  const room = kept(executor.keepRoom(WORKER, 1))
  expect(room.limits.get('noop')).toBe(2)
  // The other one may be of that task too.
  expect(kept(executor.keepRoom(WORKER, 1)).limits.get('noop')).toBe(1)
  executor.begun(room, [claimed('x')])
  executor.begun(room, [])
  expect(kept(executor.keepRoom(WORKER, 5)).limits.get('noop')).toBe(1)
  executor.begun({ ...room, limit: 5 }, [])
  ends.get('x')?.open()
  await executor.stop(1000)
})

it('there is none while others wait, while a claim is under way, and for a worker that this is no more', async () => {
  const { executor, state, waiting, ends } = await started(2)
  for (const id of ['a', 'b', 'c']) ends.set(id, gate())
  state.answer = gate()
  const claiming = state.claims.promise
  waiting.push('a')
  executor.wake()
  await claiming
  expect(executor.keepRoom(WORKER, 1)).toBeNull()
  state.answer.open()
  state.answer = null
  await settledDown()
  expect(kept(executor.keepRoom(WORKER, 1)).limit).toBe(1)
  executor.begun({ limit: 1, tasks: new Map(), limits: new Map() }, [])
  expect(executor.keepRoom('w/2', 1)).toBeNull()
  // Of two that wait one has found a place; when that is free, the other comes first.
  waiting.push('b', 'c')
  executor.wake()
  await settledDown()
  state.answer = gate()
  ends.get('a')?.open()
  await settledDown()
  expect(executor.keepRoom(WORKER, 1)).toBeNull()
  state.answer.open()
  for (const end of ends.values()) end.open()
  await executor.stop(1000)
  expect(executor.keepRoom(WORKER, 1)).toBeNull()
})

it('where no answer came, what began unheard is given back, but not what another submission has begun', async () => {
  const { executor, held, released, ends } = await started(4)
  ends.set('y', gate())
  const [lost, other] = [kept(executor.keepRoom(WORKER, 1)), kept(executor.keepRoom(WORKER, 1))]
  held.push('x', 'y')
  executor.unheard(lost)
  await settledDown()
  // The answer to the other one is still to come.
  expect(released).toEqual([])
  expect(executor.keepRoom(WORKER, 1)).toBeNull()
  executor.begun(other, [claimed('y')])
  await settledDown()
  expect(released).toEqual(['x'])
  ends.get('y')?.open()
  await executor.stop(1000)
})

it('the doubt ends with a look that comes late enough, and not while there is no database to look at', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const { executor, state, held, released } = await started(1)
  executor.unheard(kept(executor.keepRoom(WORKER, 1)))
  await settledDown()
  // The database is away, and with it the heartbeat; meanwhile it carries out what it was asked last.
  state.worker = null
  held.push('x')
  await pass(120_000)
  expect(released).toEqual([])
  state.worker = WORKER
  await pass(3000)
  expect(released).toEqual(['x'])
  held.length = 0
  await pass(3000)
  expect(kept(executor.keepRoom(WORKER, 1)).limit).toBe(1)
  vi.useRealTimers()
})

it('where another server lacks the claim of a job, its handler is stopped', async () => {
  const { executor, state, waiting, held, ends } = await started(2)
  for (const id of ['a', 'b']) ends.set(id, gate())
  waiting.push('a', 'b')
  held.push('a', 'b')
  executor.wake()
  await settledDown()
  held.splice(0, 1)
  executor.recheckRunning()
  await settledDown()
  expect(state.aborted).toEqual(['a: LeaseLostError'])
  for (const end of ends.values()) end.open()
  await executor.stop(1000)
})

it('where another server has an earlier claim of a job, it goes back when its handler has ended', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const { executor, state, waiting, held, released, ends } = await started(2)
  ends.set('a', gate())
  waiting.push('a')
  executor.wake()
  await settledDown()
  state.heldClaim = 0
  held.push('a')
  executor.recheckRunning()
  await settledDown()
  expect(state.aborted).toEqual(['a: LeaseLostError'])
  await pass(3000)
  // It would be claimed again under the number of the handler that goes on.
  expect(released).toEqual([])
  ends.get('a')?.open()
  await pass(3000)
  expect(released).toEqual(['a'])
  vi.useRealTimers()
  await executor.stop(1000)
})

/** In steps, so that each sleep that ends is seen. */
async function pass(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 500) {
    await vi.advanceTimersByTimeAsync(500)
    await settledDown()
  }
}

it('jobs that are put in the queue come before those that are submitted next', async () => {
  const { executor, waiting, state } = await started(4)
  waiting.push('a')
  executor.wake()
  // The claim has not begun.
  expect(executor.keepRoom(WORKER, 1)).toBeNull()
  await settledDown()
  expect(state.most).toBe(1)
  executor.begun(kept(executor.keepRoom(WORKER, 1)), [])
  await executor.stop(1000)
})

it('a stop waits for what is being submitted, and for the jobs that begin with it', async () => {
  const { executor, ends, state } = await started(1)
  const end = gate()
  ends.set('x', end)
  const room = kept(executor.keepRoom(WORKER, 1))
  let stopped = false
  const stop = executor.stop(60_000).then(() => void (stopped = true))
  await settledDown()
  expect(stopped).toBe(false)
  executor.begun(room, [claimed('x')])
  await settledDown()
  expect(stopped).toBe(false)
  expect(state.most).toBe(1)
  end.open()
  await stop
})
