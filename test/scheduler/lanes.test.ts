/** Bursts: the number of concurrent batches, and the handling of a failed batch. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { Mark, SubmitResult } from '../../src/store/scheduling-store.ts'
import { Scheduler, type SchedulerOptions } from '../../src/scheduler/scheduler.ts'
import { type Gate, gate } from '../kalends/scene.ts'

const BATCH = 10
const nothing = () => {}

// The clock stands still, because a pass ends after a second.
beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => void vi.useRealTimers())

const written = (locked: readonly Mark[] = []): SubmitResult => ({
  submissions: [],
  started: [],
  locked,
  left: [],
  refused: [],
})

/** A scheduler for this many due schedules, whose submissions wait until the test releases them. */
function burst(due: number, { inParallel = true }: { inParallel?: boolean } = {}) {
  let next = 0
  const underWay: { readonly ids: readonly string[]; readonly end: Gate<SubmitResult | Error> }[] = []
  const watched = { most: 0, begun: gate(), behind: [] as string[][] }
  const store: SchedulerOptions['store'] = {
    submitsInParallel: inParallel,
    markDue: (_worker, limit, _leaseMs, behind = []) => {
      watched.behind.push(behind.map(({ id }) => id))
      const ids = Array.from({ length: Math.min(limit, due - next) }, (_, index) => `s${next + index}`)
      next += ids.length
      return Promise.resolve(ids.map((id) => ({ id, marked: new Date(0) })))
    },
  }
  const submit: SchedulerOptions['submit'] = async (_worker, marks) => {
    const one = { ids: marks.map(({ id }) => id), end: gate<SubmitResult | Error>() }
    underWay.push(one)
    watched.most = Math.max(watched.most, underWay.length)
    watched.begun.open()
    const end = await one.end.promise
    underWay.splice(underWay.indexOf(one), 1)
    if (end instanceof Error) throw end
    return end
  }
  const scheduler = new Scheduler({
    store,
    worker: () => 'w/1',
    leaseMs: 60_000,
    missedAfterMs: 61_000,
    batch: () => BATCH,
    submit,
    onError: nothing,
  })
  /** Completes the submissions in progress, oldest first, until the pass has ended. @returns the ids of each batch */
  const letAll = async (pass: Promise<unknown>, endOf: (ids: readonly string[]) => SubmitResult | Error) => {
    const batches: (readonly string[])[] = []
    let over = false
    const ended = pass.then(
      () => void (over = true),
      () => void (over = true),
    )
    for (;;) {
      await Promise.race([ended, watched.begun.promise])
      if (over) return batches
      watched.begun = gate()
      // Let all lanes reach their waiting points.
      await new Promise(setImmediate)
      for (const { ids, end } of underWay.slice(0, 1)) {
        batches.push(ids)
        end.open(endOf(ids))
      }
      await new Promise(setImmediate)
      if (underWay.length > 0) watched.begun.open()
    }
  }
  return { scheduler, watched, letAll }
}

it('a burst is submitted in batches, at most two at the same time [S10]', async () => {
  const { scheduler, watched, letAll } = burst(5 * BATCH + 3)
  const batches = await letAll(scheduler.pass(), () => written())
  expect(watched.most).toBe(2)
  expect(batches.map((ids) => ids.length).toSorted((a, b) => b - a)).toEqual([10, 10, 10, 10, 10, 3])
  expect(new Set(batches.flat()).size).toBe(5 * BATCH + 3)
})

it('a burst that fits into one batch is submitted as a single batch', async () => {
  const { scheduler, watched, letAll } = burst(BATCH - 1)
  expect(await letAll(scheduler.pass(), () => written())).toHaveLength(1)
  expect(watched.most).toBe(1)
})

it('a database that allows only one writer at a time gets one batch at a time', async () => {
  const { scheduler, watched, letAll } = burst(3 * BATCH, { inParallel: false })
  const batches = await letAll(scheduler.pass(), () => written())
  expect(watched.most).toBe(1)
  expect(batches.flat()).toHaveLength(3 * BATCH)
})

it('a failed batch ends the pass once the other batch has ended, and is submitted again in the next pass', async () => {
  const { scheduler, letAll } = burst(2 * BATCH)
  const pass = scheduler.pass()
  const first = await letAll(pass, (ids) => (ids.includes('s0') ? new Error('away') : written()))
  await expect(pass).rejects.toThrow('away')
  expect(first.flat()).toHaveLength(2 * BATCH)
  const again = await letAll(scheduler.pass(), () => written())
  expect(again.flat()).toEqual(first.find((ids) => ids.includes('s0')))
})

it('marking continues from the end of a full batch, and starts at the front once more before the pass ends', async () => {
  const { scheduler, watched, letAll } = burst(2 * BATCH + 3, { inParallel: false })
  const batches = await letAll(scheduler.pass(), () => written())
  expect(batches.map((ids) => ids.length)).toEqual([10, 10, 3])
  // The third batch is not full, but schedules that were due earlier may have been left out.
  expect(watched.behind).toEqual([[], batches[0], batches[1], []])
})

it('schedules left over from one transaction are submitted in the next one, before others are marked', async () => {
  const { scheduler, letAll } = burst(BATCH + 2, { inParallel: false })
  const batches = await letAll(scheduler.pass(), (ids) => ({
    ...written(),
    left: ids.slice(4).map((id) => ({ id, marked: new Date(0) })),
  }))
  expect(batches).toEqual([
    ['s0', 's1', 's2', 's3', 's4', 's5', 's6', 's7', 's8', 's9'],
    ['s4', 's5', 's6', 's7', 's8', 's9'],
    ['s8', 's9'],
    ['s10', 's11'],
  ])
})

it('a pass ends after a second even if more is due, and the next pass begins with the rest', async () => {
  const { scheduler, letAll } = burst(100 * BATCH, { inParallel: false })
  const pass = scheduler.pass()
  const batches = await letAll(pass, (ids) => {
    vi.advanceTimersByTime(400)
    return { ...written(), left: ids.slice(5).map((id) => ({ id, marked: new Date(0) })) }
  })
  expect(await pass).toBe(0)
  expect(batches.map(([first]) => first)).toEqual(['s0', 's5', 's10'])
  const [again] = await letAll(scheduler.pass(), () => {
    vi.advanceTimersByTime(5000)
    return written()
  })
  expect(again).toEqual(['s15', 's16', 's17', 's18', 's19', 's20', 's21', 's22', 's23', 's24'])
})

it('rows that another transaction has locked are submitted in the next pass, whichever lane marked them', async () => {
  const { scheduler, letAll } = burst(2 * BATCH)
  const isHeld = (id: string) => id === 's3' || id === 's15'
  await letAll(scheduler.pass(), (ids) =>
    written(ids.filter(isHeld).map((id) => ({ id, marked: new Date(0) }))),
  )
  const rest = await letAll(scheduler.pass(), () => written())
  expect(rest.flat().toSorted()).toEqual(['s15', 's3'])
})
