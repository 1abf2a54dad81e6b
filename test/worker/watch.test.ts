/** When the watch polls, and when it does not. */
import { beforeEach, expect, it, onTestFinished, vi } from 'vitest'
import type { Look, SchedulingStore } from '../../src/store/scheduling-store.ts'
import { Watch } from '../../src/worker/watch.ts'

const START = new Date('2026-11-21T12:00:00.000Z')

const POLL_MS = 60_000

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
})

function unused(): never {
  throw new Error('not used in this test')
}

/** A watch whose polls return the given answers in order, and then always the last one. */
function watching(answers: readonly Partial<Look>[], onJobDue: (() => void) | null = null) {
  const told: string[] = []
  let looks = 0
  const store: SchedulingStore = {
    mostAtOnce: unused,
    submitsInParallel: true,
    look: () => {
      const answer = answers[Math.min(looks, answers.length - 1)]
      looks += 1
      told.push('look')
      return Promise.resolve({
        now: START,
        wakeAt: null,
        dueAt: null,
        claimable: false,
        freezes: '',
        ...answer,
      })
    },
    markDue: unused,
    submit: unused,
    clearStaleMarks: unused,
    sweep: unused,
    furthest: unused,
  }
  const changes = { count: 0, freezes: [] as number[], fails: 0 }
  const watch = new Watch({
    store,
    pollIntervalMs: POLL_MS,
    now: () => new Date(),
    claimableTasks: () => [],
    onScheduleDue: () => void told.push('due'),
    onJobDue,
    serverChanges: () => changes.count,
    onServerChange: () => told.push('another server'),
    onFreezesChanged: () => {
      changes.fails -= 1
      if (changes.fails >= 0) return Promise.reject(new Error('thaw failed'))
      return Promise.resolve(void changes.freezes.push(told.length))
    },
    onError: (error) => {
      if (!(error instanceof Error) || error.message !== 'thaw failed') throw error
      told.push(error.message)
    },
  })
  return { watch, told, changes }
}

const soon = { wakeAt: new Date(START.getTime() + 5) }

it('at the due time that the last poll found, the watch reports the schedule first and polls afterwards', async () => {
  const { watch, told } = watching([soon, {}])
  watch.loop.start()
  await vi.advanceTimersByTimeAsync(4)
  expect(told).toEqual(['look'])
  await vi.advanceTimersByTimeAsync(1)
  expect(told).toEqual(['look', 'due'])
  // The watch polls again, because another worker may have submitted the schedule.
  await vi.advanceTimersByTimeAsync(20)
  expect(told).toEqual(['look', 'due', 'look'])
  await watch.loop.stop()
})

it('a wake-up before the due time triggers a poll, whose result replaces that time', async () => {
  const { watch, told } = watching([soon, {}])
  watch.loop.start()
  watch.loop.wake()
  await vi.advanceTimersByTimeAsync(POLL_MS - 1)
  expect(told).toEqual(['look', 'look'])
  await vi.advanceTimersByTimeAsync(1)
  expect(told).toEqual(['look', 'look', 'look'])
  await watch.loop.stop()
})

it('a schedule that a poll finds due is reported at once', async () => {
  const { watch, told } = watching([{ wakeAt: START }])
  expect(await watch.pass()).toBeLessThan(1000)
  expect(told).toEqual(['look', 'due'])
})

it('if a poll finds that the database server has changed, the watch reports this once', async () => {
  const { watch, told, changes } = watching([{}])
  await watch.pass()
  changes.count = 2
  await watch.pass()
  await watch.pass()
  expect(told).toEqual(['look', 'look', 'another server', 'look'])
})

it('after a job from another process, the watch polls every 100 ms until none arrives for ten seconds', async () => {
  const { watch, told } = watching([{}, { claimable: true }, {}], () => undefined)
  watch.loop.start()
  await vi.advanceTimersByTimeAsync(POLL_MS)
  expect(told).toEqual(['look', 'look'])
  await vi.advanceTimersByTimeAsync(10_000)
  expect(told.length).toBeGreaterThanOrEqual(100)
  const looks = told.length
  await vi.advanceTimersByTimeAsync(POLL_MS - 1000)
  expect(told.length).toBeLessThanOrEqual(looks + 1)
  await watch.loop.stop()
})

it('jobs submitted by this process do not make the watch poll more often, and a job that no worker can start makes it poll only four times per second', async () => {
  const own = watching([{}, { claimable: true }, {}], () => undefined)
  own.watch.loop.start()
  await vi.advanceTimersByTimeAsync(10)
  own.watch.wakeForJobs()
  await vi.advanceTimersByTimeAsync(POLL_MS / 2)
  expect(own.told).toEqual(['look', 'look', 'look'])
  await own.watch.loop.stop()
  const stuck = watching([{ claimable: true }], () => undefined)
  stuck.watch.loop.start()
  await vi.advanceTimersByTimeAsync(POLL_MS)
  const looks = stuck.told.length
  await vi.advanceTimersByTimeAsync(10_000)
  // The watch polls only four times per second, because another worker may be about to start the job.
  expect(stuck.told.length - looks).toBeLessThanOrEqual(41)
  await stuck.watch.loop.stop()
})

it('an error while releasing frozen jobs does not delay due schedules, and the release is retried', async () => {
  const due = { wakeAt: START, freezes: 'one' }
  const { watch, told, changes } = watching([due, due, due])
  changes.fails = 1
  for (let pass = 0; pass < 3; pass += 1) await watch.pass()
  expect(told).toEqual(['look', 'thaw failed', 'due', 'look', 'due', 'look', 'due'])
  expect(changes.freezes).toHaveLength(1)
})

it('freezes are reported when they change and at the first poll, because they may have changed before it', async () => {
  const { watch, changes } = watching([
    { freezes: 'one' },
    { freezes: 'one' },
    { freezes: 'two' },
    { freezes: 'two' },
  ])
  for (let pass = 0; pass < 4; pass += 1) await watch.pass()
  // The number of polls at the time of each report.
  expect(changes.freezes).toEqual([1, 3])
})
