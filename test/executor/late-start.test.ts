/**
 * A worker starts a job only if it is certain that it still owns the job. If its last heartbeat is too old, its claims
 * may be invalid.
 */
import { describe, expect, it, vi } from 'vitest'
import { LeaseLostError } from '../../src/errors.ts'
import type { HandledTask, Middleware } from '../../src/executor/handler.ts'
import { task } from '../../src/index.ts'
import { Membership } from '../../src/worker/membership.ts'
import { LEASE_MS, movableTimers } from '../kalends/movable-timers.ts'
import { collect, ended, scene, until } from '../kalends/scene.ts'
import { eachDatabase } from '../support/databases.ts'
import { LONELY } from '../worker/membership-options.ts'
import { claimed, executorOn, NOTHING } from './claimed.ts'

/** A worker trusts its id for this long after a heartbeat, because other workers do not evict it earlier. */
const TRUSTED_MS = ((LEASE_MS * 3) / 5) * 0.99

/**
 * Runs a worker that claims the jobs a, b and c together. Its clock advances only by the given times.
 *
 * @param claimMs  the response time of the claim
 * @param handlerMs  how long the first handler blocks the process
 * @param middlewareMs  how long the middleware of the first job takes before it calls the handler
 */
async function runDue({
  claimMs = 0,
  handlerMs = 0,
  middlewareMs = 0,
}: {
  claimMs?: number
  handlerMs?: number
  middlewareMs?: number
}) {
  const clock = { now: 0 }
  const started: string[] = []
  const ends: [id: string, end: string][] = []
  const thrown: unknown[] = []
  const middleware: Middleware = async (job, run) => {
    if (job.id === 'a') clock.now += middlewareMs
    await run().catch((error: unknown) => thrown.push(error))
  }
  const membership = new Membership({ ...LONELY, monotonicNow: () => clock.now, leaseMs: LEASE_MS })
  await membership.beat()
  const queue = ['a', 'b', 'c']
  const handled: HandledTask = {
    task: task('noop'),
    handler: ({ job }) => {
      if (started.length === 0) clock.now += handlerMs
      started.push(job.id)
    },
  }
  const executor = executorOn(
    {
      claim: (worker) => {
        clock.now += claimMs
        return Promise.resolve(queue.splice(0).map((id) => ({ ...claimed(id), worker })))
      },
      settle: (attempts) => {
        for (const { fence, end } of attempts) {
          ends.push([fence.id, end.kind])
          if (end.kind === 'released') queue.push(fence.id)
        }
        return Promise.resolve(NOTHING)
      },
    },
    handled,
    { worker: () => membership.id(), concurrency: 10, ...(middlewareMs > 0 && { middleware }) },
  )
  await executor.runDue()
  return { executor, membership, started, ends, thrown }
}

describe('claimed jobs', () => {
  it('start while the last heartbeat is recent enough', async () => {
    const { started, ends } = await runDue({ claimMs: TRUSTED_MS - 2, handlerMs: 1 })
    expect(started).toEqual(['a', 'b', 'c'])
    expect(ends.map(([, end]) => end)).toEqual(['success', 'success', 'success'])
  })

  it('do not start after a handler has blocked the process for too long, but are released and start after the next heartbeat', async () => {
    const { executor, membership, started, ends } = await runDue({ handlerMs: TRUSTED_MS })
    expect(started).toEqual(['a'])
    expect(new Map(ends)).toEqual(
      new Map([
        ['a', 'success'],
        ['b', 'released'],
        ['c', 'released'],
      ]),
    )
    // Until the next heartbeat, this worker makes no claims.
    await executor.runDue()
    expect(started).toEqual(['a'])
    await membership.beat()
    await executor.runDue()
    expect(started.toSorted()).toEqual(['a', 'b', 'c'])
  })

  it('do not start after their middleware has taken too long, but are released, even if the middleware caught the error', async () => {
    const { membership, started, ends, thrown } = await runDue({ middlewareMs: TRUSTED_MS })
    expect(started).toEqual([])
    expect(ends.map(([, end]) => end)).toEqual(['released', 'released', 'released'])
    // The middleware of the other jobs is not called.
    expect(thrown).toEqual([expect.any(LeaseLostError)])
    expect(membership.id()).toBeNull()
  })

  it('do not start if the response to their claim arrives too late', async () => {
    const { executor, membership, started, ends } = await runDue({ claimMs: TRUSTED_MS })
    expect(started).toEqual([])
    expect(ends.map(([, end]) => end)).toEqual(['unstarted', 'unstarted', 'unstarted'])
    expect(executor.attempts.count()).toBe(0)
    expect(membership.id()).toBeNull()
  })
})

eachDatabase((under) => {
  it('if a handler blocks the process for longer than the lease, claimed jobs start only once the worker has a valid id again', async () => {
    const on = await scene(under)
    movableTimers(on)
    const kalends = await on.open({ lease: LEASE_MS })
    const begun: { job: string; worker: string | null; attempt: number }[] = []
    kalends.handle(task('work'), ({ job, attempt, args }) => {
      begun.push({ job: job.id, worker: kalends.health().worker, attempt })
      // No promise callback runs during this time, and afterwards every timer is due. The signal of this handler
      // fires, and its job runs again.
      if (args['blocks'] === true && begun.length === 1) vi.advanceTimersByTime(LEASE_MS + 300)
    })
    const [blocking, ...others] = await kalends.jobs.submitMany([
      { task: task('work'), args: { blocks: true }, priority: 9 },
      ...Array.from({ length: 5 }, () => ({ task: task('work') })),
    ])
    const settled = collect(kalends, 'settled')
    await kalends.start()
    // The test waits for events instead of querying, because a statement that runs longer than a lease is aborted.
    await until(async () =>
      settled.filter(({ state }) => state === 'success').length > others.length ? true : null,
    )
    for (const id of others) expect(await ended(kalends, id)).toMatchObject({ state: 'success', attempt: 1 })
    expect(begun[0]?.job).toBe(blocking)
    // No job starts on a worker that other workers may consider dead, and each job after the blocking one starts once.
    expect(begun.filter(({ worker }) => worker === null)).toEqual([])
    expect(begun.filter(({ job }) => job !== blocking).map(({ job }) => job)).toEqual(others)
  })
})
