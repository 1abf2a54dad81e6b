/** A claimed job that cannot start goes back to the queue and does not block other jobs. */
import { expect, it } from 'vitest'
import { gate } from '../kalends/scene.ts'
import type { UnsettledAttempt, ExecutingStore } from '../../src/store/executing-store.ts'
import { lookalikes } from '../support/hostile-texts.ts'
import { claimed, executorOn, NOTHING, startLoops } from './claimed.ts'

function scene(store: Partial<ExecutingStore>) {
  const ran: string[] = []
  const errors: unknown[] = []
  const problems: string[] = []
  const executor = executorOn({ ...store }, ({ job }) => void ran.push(job.id), {
    concurrency: 100,
    onUnstartable: (id, error) => {
      problems.push(id)
      errors.push(error)
    },
    onError: (error) => void errors.push(error),
  })
  return { executor, ran, errors, problems }
}

it('an unstartable job is released, and the jobs behind it in the same batch still run [L50]', async () => {
  const others = lookalikes('noop').map((name, index) => ({ ...claimed(`other${index}`), task: name }))
  const good = ['a', 'b', 'c'].map((id) => claimed(id))
  const endings = new Map<string, UnsettledAttempt['end']['kind']>()
  const all = gate()
  let claims = 0
  const { executor, ran, errors } = scene({
    claim: () => Promise.resolve(claims++ === 0 ? [...others, ...good] : []),
    settle: (attempts) => {
      for (const { fence, end } of attempts) endings.set(fence.id, end.kind)
      if (endings.size === others.length + good.length) all.open()
      return Promise.resolve(NOTHING)
    },
  })
  startLoops(executor)
  executor.wake()
  await all.promise
  await executor.stop(0)
  expect(ran).toEqual(['a', 'b', 'c'])
  for (const { id } of good) expect(endings.get(id)).toBe('success')
  for (const { id } of others) expect(endings.get(id)).toBe('released')
  expect(errors).toHaveLength(others.length)
  expect(String(errors[0])).toContain('no handler for the task; the job goes back to the queue')
})

it('the claims of a worker exclude a job that it could not start [L50]', async () => {
  const released = gate()
  const leftOut: string[] = []
  let claims = 0
  const { executor, problems } = scene({
    claim: () => {
      claims += 1
      return Promise.resolve(claims === 1 ? [{ ...claimed('bad'), task: 'noop ' }] : [])
    },
    leaveOut: ({ id }) => void leftOut.push(id),
    settle: () => {
      released.open()
      return Promise.resolve(NOTHING)
    },
  })
  startLoops(executor)
  executor.wake()
  await released.promise
  expect(leftOut).toEqual(['bad'])
  expect(problems).toEqual(['bad'])
  await executor.stop(0)
})

it('jobs that cannot be made claimable do not prevent claims of other jobs', async () => {
  const claim = gate<readonly number[]>()
  const { executor, errors } = scene({
    promoteDue: () => Promise.reject(new Error('a row is rejected')),
    claim: () => {
      claim.open(executor.loops().map((loop) => loop.health().consecutiveErrors))
      return Promise.resolve([])
    },
  })
  executor.wakeForTime()
  startLoops(executor)
  expect(await claim.promise).toEqual([0, 0, 0, 0, 0])
  await executor.stop(0)
  expect(errors.map(String)).toEqual(['Error: a row is rejected'])
})
