/** What a busy worker asks of its database: few and full batches, and no look that could find nothing new. */
import { expect, it } from 'vitest'
import { JobExecutor } from '../../src/executor/job-executor.ts'
import { DEFAULT_ARGS_LIMIT, task } from '../../src/model/task.ts'
import { Redaction } from '../../src/model/redaction.ts'
import type { ExecutingStore } from '../../src/store/executing-store.ts'
import { gate } from '../kalends/scene.ts'
import { claimed, executingStore } from './claimed.ts'

const CONCURRENCY = 200

it('jobs that end together free capacity for one full claim and are written as one batch', async () => {
  const jobs = 5 * CONCURRENCY
  const calls = { claims: [] as number[], settles: [] as number[], stopLooks: 0 }
  let given = 0
  let settled = 0
  const all = gate()
  const store: ExecutingStore = {
    ...executingStore,
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
      return Promise.resolve({ settled: [], lost: [], locked: [] })
    },
    stopRequests: () => {
      calls.stopLooks += 1
      return Promise.resolve([])
    },
  }
  const executor = new JobExecutor({
    store,
    worker: () => 'w/1',
    handlers: new Map([['noop', { task: task('noop'), handler: () => Promise.resolve() }]]),
    middleware: null,
    delayFactor: () => 1,
    redaction: new Redaction([]),
    argsLimit: DEFAULT_ARGS_LIMIT,
    concurrency: CONCURRENCY,
    // Longer than any test takes.
    pollIntervalMs: 3_600_000,
    now: () => new Date(),
    onStarted: () => {},
    onSettled: () => {},
    onRejected: () => {},
    onUnstartable: () => {},
    onDropped: () => {},
    onError: (error) => {
      throw error
    },
  })
  executor.start()
  executor.wake()
  await all.promise
  await executor.stop(0)
  expect(calls.claims).toEqual([200, 200, 200, 200, 200])
  expect(calls.settles).toEqual([200, 200, 200, 200, 200])
  expect(calls.stopLooks).toBeLessThanOrEqual(1)
})
