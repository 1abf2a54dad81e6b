/** The hand-over loop after a submit callback that throws, hangs or ends the transaction. */
import { expect, it, vi } from 'vitest'
import { type ExternalQueue, HandOver } from '../../src/executor/hand-over.ts'
import type { ClaimedJob } from '../../src/model/job.ts'
import { Redaction } from '../../src/model/redaction.ts'
import {
  CallbackTooSlowError,
  type ExecutingStore,
  TransactionEndedError,
} from '../../src/store/executing-store.ts'
import { claimed, NOTHING } from './claimed.ts'

const jobOf = (id: string): ClaimedJob => ({ ...claimed(id), state: 'external' })

function scene(
  waiting: readonly string[],
  {
    submit = () => {},
    reports = true,
    failsOnce,
  }: Partial<Pick<ExternalQueue, 'submit' | 'reports'>> & {
    /** The first hand-over that includes one of these jobs fails with this error after submit. */
    readonly failsOnce?: { readonly ids: readonly string[]; readonly error: Error }
  } = {},
) {
  const left = new Set(waiting)
  const limits: number[] = []
  const committed: string[] = []
  const settled: string[] = []
  const refused = vi.fn<(id: string, error: unknown) => void>()
  const errors = vi.fn<(error: unknown) => void>()
  const handedOver: string[] = []
  let failure = failsOnce
  const postponed: { id: string; error: string }[] = []
  const store: Pick<ExecutingStore, 'promoteDue' | 'handOver' | 'handedOver' | 'postpone' | 'settle'> = {
    postpone: (jobs) => {
      postponed.push(...jobs)
      for (const { id } of jobs) left.delete(id)
      return Promise.resolve()
    },
    promoteDue: () => Promise.resolve(0),
    async handOver(_worker, _queue, limit, _afterGroup, call) {
      limits.push(limit)
      const ids = [...left].slice(0, limit)
      if (ids.length === 0) return []
      const jobs = ids.map(jobOf)
      await call(jobs, {}, new AbortController().signal)
      if (failure !== undefined && ids.some((id) => failure?.ids.includes(id))) {
        const { error } = failure
        failure = undefined
        for (const id of committed) left.delete(id)
        throw error
      }
      for (const id of ids) left.delete(id)
      return jobs
    },
    handedOver: (_worker, claims) => Promise.resolve(claims.filter(({ id }) => committed.includes(id))),
    settle: (ends) => {
      settled.push(...ends.map(({ fence }) => fence.id))
      return Promise.resolve(NOTHING)
    },
  }
  const handOver = new HandOver({
    store,
    queue: { submit, reports, name: 'q', tasks: null, timeoutMs: 1000 },
    worker: () => 'w/1',
    leaseMs: 60_000,
    redaction: new Redaction(['args.password']),
    argsLimit: 1000,
    onStarted: ({ id }) => void handedOver.push(id),
    onSettled: () => {},
    onUnstartable: refused,
    onError: errors,
  })
  return { handOver, left, limits, committed, settled, refused, errors, handedOver, postponed }
}

const MANY = Array.from({ length: 250 }, (_, index) => `j${index}`)

it('hands over all waiting jobs, a hundred at a time', async () => {
  const { handOver, limits, left, handedOver } = scene(MANY)
  expect(await handOver.pass()).toBe(Infinity)
  expect(left.size).toBe(0)
  expect(limits).toEqual([100, 100, 100, 100])
  expect(handedOver).toEqual(MANY)
})

it('if the submit callback takes too long, starts over with one job, then more', async () => {
  const error = new CallbackTooSlowError('too long')
  const { handOver, limits, refused, postponed } = scene(MANY, { failsOnce: { ids: ['j0'], error } })
  await handOver.pass()
  expect(limits.slice(0, 5)).toEqual([100, 1, 2, 4, 8])
  // The first hundred jobs are retried after their back-off.
  expect(refused).toHaveBeenCalledTimes(100)
  expect(refused.mock.calls[0]?.[1]).toMatchObject({
    message: 'submit of the external queue failed: too long',
  })
  expect(postponed).toHaveLength(100)
})

it('after a submit that has ended the transaction, only uncommitted jobs are submitted again [X1]', async () => {
  const error = new TransactionEndedError('it ended the transaction')
  const { handOver, committed, refused, errors, handedOver } = scene(['a', 'b'], {
    failsOnce: { ids: ['a'], error },
  })
  committed.push('a')
  await handOver.pass()
  expect(handedOver).toEqual(['a'])
  expect(refused.mock.calls.map(([id]) => id)).toEqual(['b'])
  expect(errors.mock.calls.map(([thrown]) => thrown)).toMatchObject([
    { message: 'submit of the external queue failed: it ended the transaction' },
  ])
})

it('throws other errors, and continues in the next pass', async () => {
  const error = new Error('the database is unavailable')
  const { handOver, left } = scene(['a'], { failsOnce: { ids: ['a'], error } })
  await expect(handOver.pass()).rejects.toBe(error)
  await handOver.pass()
  expect(left.size).toBe(0)
})

it('ends the jobs itself if the queue sends no reports, even if the callback has committed', async () => {
  const error = new TransactionEndedError('it ended the transaction')
  const { handOver, committed, settled } = scene(['a', 'b', 'c'], {
    reports: false,
    failsOnce: { ids: ['a'], error },
  })
  committed.push('a')
  await handOver.pass()
  expect(settled).toEqual(['a'])
  const other = scene(['d'], { reports: false })
  await other.handOver.pass()
  expect(other.settled).toEqual(['d'])
})

it('calls submit with jobs that contain no internal fields of the store', async () => {
  const submit = vi.fn<ExternalQueue['submit']>()
  await scene(['a'], { submit }).handOver.pass()
  const [[job]] = submit.mock.calls[0] ?? [[]]
  expect(job).toMatchObject({ id: 'a', state: 'external' })
  for (const name of ['claim', 'argsText', 'policy', 'releases']) expect(job).not.toHaveProperty(name)
})
