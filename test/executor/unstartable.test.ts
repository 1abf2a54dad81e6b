/** A claimed job that cannot be started goes back to the queue, and stands in the way of no other. */
import { expect, it } from 'vitest'
import { JobExecutor } from '../../src/executor/job-executor.ts'
import { Redaction } from '../../src/model/redaction.ts'
import { task } from '../../src/model/task.ts'
import { gate } from '../kalends/scene.ts'
import type { EndedAttempt, ExecutingStore } from '../../src/store/executing-store.ts'
import { lookalikes } from '../support/hostile-texts.ts'
import { claimed, executingStore } from './claimed.ts'

function scene(store: Partial<ExecutingStore>) {
  const ran: string[] = []
  const errors: unknown[] = []
  const problems: string[] = []
  const executor = new JobExecutor({
    store: { ...executingStore, ...store },
    worker: () => 'w/1',
    handlers: new Map([['noop', { task: task('noop'), handler: ({ job }) => void ran.push(job.id) }]]),
    middleware: null,
    delayFactor: () => 1,
    redaction: new Redaction([]),
    argsLimit: 262_144,
    concurrency: 100,
    // Longer than any test takes.
    pollIntervalMs: 3_600_000,
    now: () => new Date(),
    onStarted: () => {},
    onSettled: () => {},
    onRejected: () => {},
    onUnstartable: (id, error) => {
      problems.push(id)
      errors.push(error)
    },
    onDropped: () => {},
    onError: (error) => void errors.push(error),
  })
  return { executor, ran, errors, problems }
}

it('an unstartable job is released, and the jobs behind it in its batch run', async () => {
  const others = lookalikes('noop').map((name, index) => ({ ...claimed(`other${index}`), task: name }))
  const good = ['a', 'b', 'c'].map((id) => claimed(id))
  const endings = new Map<string, EndedAttempt['end']['kind']>()
  const all = gate()
  let claims = 0
  const { executor, ran, errors } = scene({
    claim: () => Promise.resolve(claims++ === 0 ? [...others, ...good] : []),
    settle: (attempts) => {
      for (const { fence, end } of attempts) endings.set(fence.id, end.kind)
      if (endings.size === others.length + good.length) all.open()
      return Promise.resolve({ settled: [], lost: [], locked: [] })
    },
  })
  executor.start()
  executor.wake()
  await all.promise
  await executor.stop(0)
  expect(ran).toEqual(['a', 'b', 'c'])
  for (const { id } of good) expect(endings.get(id)).toBe('success')
  for (const { id } of others) expect(endings.get(id)).toBe('released')
  expect(errors).toHaveLength(others.length)
  expect(String(errors[0])).toContain('no handler for the task; the job goes back to the queue')
})

it('a worker does not claim an unstartable job again before its back-off is over', async () => {
  const released = gate()
  const again = gate<readonly string[]>()
  let claims = 0
  const { executor } = scene({
    claim: (_worker, _tasks, _limit, _afterGroup, { setAside } = {}) => {
      claims += 1
      if (claims === 1) return Promise.resolve([{ ...claimed('bad'), task: 'noop ' }])
      again.open(setAside?.ids() ?? [])
      return Promise.resolve([])
    },
    settle: () => {
      released.open()
      return Promise.resolve({ settled: [], lost: [], locked: [] })
    },
  })
  executor.start()
  executor.wake()
  await released.promise
  executor.wake()
  expect(await again.promise).toEqual(['bad'])
  await executor.stop(0)
})

it('a job that cannot be made claimable is reported, and set aside by the worker', async () => {
  const claim = gate()
  const { executor, problems } = scene({
    promoteDue: (_limit, setAside) => {
      setAside?.add('bad', new Error('refused'))
      return Promise.resolve(7)
    },
    claim: () => {
      claim.open()
      return Promise.resolve([])
    },
  })
  executor.wakeForTime()
  executor.start()
  await claim.promise
  expect(problems).toEqual(['bad'])
  expect(executor.setAside()).toBe(1)
  await executor.stop(0)
})

it('jobs that cannot be made claimable do not prevent the claim of others', async () => {
  const claim = gate<readonly number[]>()
  const { executor, errors } = scene({
    promoteDue: () => Promise.reject(new Error('a row is refused')),
    claim: () => {
      claim.open(executor.loops().map((loop) => loop.health().consecutiveErrors))
      return Promise.resolve([])
    },
  })
  executor.wakeForTime()
  executor.start()
  expect(await claim.promise).toEqual([0, 0, 0, 0, 0])
  await executor.stop(0)
  expect(errors.map(String)).toEqual(['Error: a row is refused'])
})
