/** The hand-over loop: its batches, database errors, and submit callbacks that throw, hang or end the transaction. */
import { expect, it, onTestFinished, vi } from 'vitest'
import { StoreUnavailableError } from '../../src/errors.ts'
import { type ExternalQueue, HandOver } from '../../src/executor/hand-over.ts'
import type { ClaimedJob } from '../../src/model/job.ts'
import type { JobExecutorOptions } from '../../src/executor/options.ts'
import { Redaction } from '../../src/model/redaction.ts'
import {
  CallbackError,
  CallbackTooSlowError,
  type ExecutingStore,
  TransactionEndedError,
} from '../../src/store/executing-store.ts'
import { AllRefusedError } from '../../src/store/refusal.ts'
import { claimed, NOTHING, settledDown } from './claimed.ts'

const jobOf = (id: string): ClaimedJob => ({ ...claimed(id), state: 'external' })

type HandOverStore = Pick<ExecutingStore, 'promoteDue' | 'handOver' | 'handedOver' | 'postpone' | 'settle'>

function scene(
  waiting: readonly string[],
  {
    submit = () => {},
    reports = true,
    failsOnce,
    redaction = new Redaction(['args.password']),
    worker = () => 'w/1',
    leaseMs = 60_000,
    ...parts
  }: Partial<Pick<ExternalQueue, 'submit' | 'reports'> & Pick<JobExecutorOptions, 'redaction' | 'worker'>> &
    Partial<HandOverStore> & {
      readonly leaseMs?: number
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
  const store: HandOverStore = {
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
    ...parts,
  }
  const handOver = new HandOver({
    store,
    queue: { submit, reports, name: 'q', tasks: null, timeoutMs: 1000 },
    worker,
    leaseMs,
    redaction,
    argsLimit: 1000,
    onStarted: ({ id }) => void handedOver.push(id),
    onSettled: () => {},
    onUnstartable: refused,
    onLeftBehind: () => {},
    onError: errors,
  })
  return { handOver, left, limits, committed, settled, refused, errors, handedOver, postponed }
}

const MANY = Array.from({ length: 250 }, (_, index) => `j${index}`)

it('a pass hands over all waiting jobs, a hundred at a time', async () => {
  const { handOver, limits, left, handedOver, settled } = scene(MANY)
  expect(await handOver.pass()).toBe(Infinity)
  expect(left.size).toBe(0)
  expect(limits).toEqual([100, 100, 100, 100])
  expect(handedOver).toEqual(MANY)
  expect(settled).toEqual([])
})

it('after a submit callback that takes too long, the next batch has one job, and later batches are larger', async () => {
  const error = new CallbackTooSlowError('too long')
  const { handOver, limits, refused, postponed } = scene(MANY, { failsOnce: { ids: ['j0'], error } })
  await handOver.pass()
  expect(limits.slice(0, 5)).toEqual([100, 1, 2, 4, 8])
  // The first hundred jobs are retried after their back-off.
  expect(refused).toHaveBeenCalledTimes(100)
  expect(refused.mock.calls[0]?.[1]).toMatchObject({
    message: 'submit of the external queue failed: too long',
    cause: error,
  })
  expect(postponed).toHaveLength(100)
})

it('after a submit that has ended the transaction, committed jobs count as handed over, and the others are postponed [X1]', async () => {
  const error = new TransactionEndedError('it ended the transaction')
  const { handOver, committed, refused, errors, handedOver, limits } = scene(['a', 'b'], {
    failsOnce: { ids: ['a'], error },
  })
  committed.push('a')
  await handOver.pass()
  expect(handedOver).toEqual(['a'])
  expect(refused.mock.calls.map(([id]) => id)).toEqual(['b'])
  expect(errors.mock.calls).toEqual([
    [
      expect.objectContaining({ message: 'submit of the external queue failed: it ended the transaction' }),
      'hand-over',
    ],
  ])
  expect(limits).toEqual([100, 100])
})

it('a pass throws other errors, and the next pass continues', async () => {
  const error = new Error('the database is unavailable')
  const { handOver, left } = scene(['a'], { failsOnce: { ids: ['a'], error } })
  await expect(handOver.pass()).rejects.toBe(error)
  await handOver.pass()
  expect(left.size).toBe(0)
})

it('if the queue sends no reports, a pass settles the jobs whose transaction the callback has committed', async () => {
  const error = new TransactionEndedError('it ended the transaction')
  const { handOver, committed, settled } = scene(['a', 'b', 'c'], {
    reports: false,
    failsOnce: { ids: ['a'], error },
  })
  committed.push('a')
  await handOver.pass()
  expect(settled).toEqual(['a'])
})

it('a pass reports the error if the database rejects an outcome', async () => {
  const error = new Error('no end')
  const { handOver, errors } = scene(['a'], {
    reports: false,
    settle: ([item]) => Promise.resolve({ ...NOTHING, refused: item === undefined ? [] : [{ item, error }] }),
  })
  await handOver.pass()
  expect(errors.mock.calls).toEqual([[error, 'hand-over']])
})

it('each hand-over starts after the group of the last job of the previous hand-over', async () => {
  const after: string[] = []
  const groups = ['a', 'b', 'c']
  const { handOver } = scene([], {
    handOver: async (_worker, _queue, _limit, afterGroup, call) => {
      after.push(afterGroup)
      const jobs = groups.splice(0).map((group) => ({ ...jobOf(group), group }))
      if (jobs.length > 0) await call(jobs, {}, new AbortController().signal)
      return jobs
    },
  })
  await handOver.pass()
  await handOver.pass()
  expect(after).toEqual(['', 'c', 'c'])
})

it('due jobs are promoted once after each call of wakeForTime', async () => {
  const promoteDue = vi.fn<HandOverStore['promoteDue']>(() => Promise.resolve(0))
  const { handOver } = scene([], { promoteDue })
  await handOver.pass()
  expect(promoteDue).not.toHaveBeenCalled()
  handOver.wakeForTime()
  await handOver.pass()
  await handOver.pass()
  expect(promoteDue).toHaveBeenCalledTimes(1)
})

it('a pass reports an error of the promotion, and hands over the other jobs', async () => {
  const error = new Error('bad row')
  const { handOver, handedOver, errors } = scene(['a'], { promoteDue: () => Promise.reject(error) })
  handOver.wakeForTime()
  await handOver.pass()
  expect(handedOver).toEqual(['a'])
  expect(errors.mock.calls).toEqual([[error, 'hand-over']])
})

it('a pass fails if the database is unavailable', async () => {
  const error = new StoreUnavailableError('away')
  const away = () => Promise.reject(error)
  const promoting = scene(['a'], { promoteDue: away })
  promoting.handOver.wakeForTime()
  await expect(promoting.handOver.pass()).rejects.toBe(error)
  const tooSlow = { ids: ['a'], error: new CallbackTooSlowError('too long') }
  const postponing = scene(['a'], { postpone: away, failsOnce: tooSlow })
  await expect(postponing.handOver.pass()).rejects.toBe(error)
  expect([...promoting.handedOver, ...postponing.handedOver]).toEqual([])
})

it('a pass reports the error if jobs cannot be postponed', async () => {
  const error = new Error('no postpone')
  const tooSlow = new CallbackTooSlowError('too long')
  const { handOver, errors } = scene(['a'], {
    postpone: (jobs) => (jobs.length === 0 ? Promise.resolve() : Promise.reject(error)),
    failsOnce: { ids: ['a'], error: tooSlow },
  })
  await handOver.pass()
  expect(errors.mock.calls).toEqual([
    [expect.objectContaining({ cause: tooSlow }), 'hand-over'],
    [error, 'hand-over'],
  ])
})

it('a pass hands over nothing while the worker has no id', async () => {
  const { handOver, left, limits } = scene(['a'], { worker: () => null })
  expect(await handOver.pass()).toBe(Infinity)
  expect(limits).toEqual([])
  expect(left.size).toBe(1)
})

it('if all jobs are refused because submit failed, a pass throws an error that names the callback', async () => {
  const cause = new CallbackError('no more room')
  const { handOver } = scene(['a'], {
    handOver: () => Promise.reject(new AllRefusedError('all were refused', { cause })),
  })
  await expect(handOver.pass()).rejects.toMatchObject({
    message: 'submit of the external queue failed: no more room',
    cause,
  })
  for (const error of [
    new AllRefusedError('all were refused', { cause: new Error('bad rows') }),
    new Error('another error', { cause }),
  ]) {
    const other = scene(['a'], { handOver: () => Promise.reject(error) })
    await expect(other.handOver.pass()).rejects.toBe(error)
  }
})

it('a pass postpones a job that the database rejects, and hands over other jobs', async () => {
  const error = new Error('bad row')
  const batches = [[], [jobOf('good')]]
  const { handOver, postponed, handedOver } = scene([], {
    handOver: (_worker, _queue, _limit, _after, _call, onRefused) => {
      const jobs = batches.shift() ?? []
      if (batches.length === 1) onRefused?.('bad', error)
      return Promise.resolve(jobs)
    },
  })
  expect(await handOver.pass()).toBe(Infinity)
  expect(postponed).toMatchObject([{ id: 'bad', error: 'bad row' }])
  expect(handedOver).toEqual(['good'])
})

it.each([
  ['a third of a short lease', 30_000, 10_000],
  ['at most 20 s', 600_000, 20_000],
])('the deadline of submit is %s', async (_, leaseMs, deadlineMs) => {
  const deadlines: unknown[] = []
  const { handOver } = scene([], {
    leaseMs,
    handOver: (_worker, queue) => {
      deadlines.push(queue.deadlineMs)
      return Promise.resolve([])
    },
  })
  await handOver.pass()
  expect(deadlines).toEqual([deadlineMs])
})

it('a pass ends after a second, so that the worker can stop', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const { handOver, limits } = scene(MANY, { submit: () => void vi.advanceTimersByTime(500) })
  expect(await handOver.pass()).toBe(0)
  expect(limits).toHaveLength(2)
})

it('the loop runs a pass when it is woken, and none after it has stopped', async () => {
  const { handOver, left, limits } = scene([])
  onTestFinished(() => handOver.stop())
  handOver.loop.start()
  await settledDown()
  expect(handOver.loop.health()).toMatchObject({ name: 'hand-over', busySince: null, nextPassAt: null })
  left.add('a')
  handOver.wakeForTime()
  await settledDown()
  expect(left.size).toBe(0)
  await handOver.stop()
  const before = limits.length
  handOver.wakeForTime()
  expect(await handOver.pass()).toBe(Infinity)
  await settledDown()
  expect(limits).toHaveLength(before)
})
