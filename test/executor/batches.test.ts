/** The statements of a busy worker: a few full batches, and no polls without new work. */
import { expect, it, vi } from 'vitest'
import type { JobExecutorOptions } from '../../src/executor/options.ts'
import type { ExecutingStore } from '../../src/store/executing-store.ts'
import { gate } from '../kalends/scene.ts'
import { claimed, executorOn, NOTHING, startLoops } from './claimed.ts'

const CONCURRENCY = 200

it('jobs that end together free capacity for one full claim, and their outcomes are written in one batch', async () => {
  const jobs = 5 * CONCURRENCY
  const calls = { claims: [] as number[], settles: [] as number[], stopLooks: 0 }
  let given = 0
  let settled = 0
  const all = gate()
  const store: Partial<ExecutingStore> = {
    claim: (_worker, _tasks, limit) => {
      const ids = Array.from({ length: Math.min(limit, jobs - given) }, (_, index) => `j${given + index}`)
      given += ids.length
      if (ids.length > 0) calls.claims.push(ids.length)
      return Promise.resolve(ids.map(claimed))
    },
    settle: (attempts) => {
      calls.settles.push(attempts.length)
      settled += attempts.length
      if (settled === jobs) all.open()
      return Promise.resolve(NOTHING)
    },
    stopRequests: () => {
      calls.stopLooks += 1
      return Promise.resolve([])
    },
  }
  const onSettled = vi.fn<JobExecutorOptions['onSettled']>()
  const executor = executorOn(store, () => Promise.resolve(), { concurrency: CONCURRENCY, onSettled })
  startLoops(executor)
  executor.wake()
  await all.promise
  await executor.stop(0)
  expect(calls.claims).toEqual([200, 200, 200, 200, 200])
  expect(calls.settles).toEqual([200, 200, 200, 200, 200])
  expect(calls.stopLooks).toBeLessThanOrEqual(1)
  // The store settled nothing.
  expect(onSettled).not.toHaveBeenCalled()
})
