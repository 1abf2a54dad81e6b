import { expect, test } from 'vitest'
import type { JobOutcome } from '../../src/model/settle.ts'
import { Retries } from '../../src/worker/retries.ts'

const END = new Date('2026-01-01T00:00:00Z')
const after = (ms: number) => new Date(END.getTime() + ms)
const failed: JobOutcome = { state: 'waiting', delayMs: 5000, why: 'failed', error: 'boom' }
const settled = (outcome: JobOutcome, scheduleId: string | null = 's') => ({
  settled: [
    { id: 'j', task: 't', scheduleId, attempt: 1, outcome, startedAt: END, endedAt: END, promoted: null },
  ],
})

test('a schedule counts as retrying until the time of the retry', () => {
  const retries = new Retries()
  retries.settled(settled(failed))
  expect(retries.waiting(after(4999))).toEqual([{ jobId: 'j', scheduleId: 's', attempt: 1, at: after(5000) }])
  expect(retries.waiting(after(5000))).toEqual([])
})

test.each<[string, JobOutcome]>([
  ['its job has ended', { state: 'cancelled', reason: null, error: null, result: null }],
  ['its job was released', { state: 'waiting', delayMs: 0, why: 'released', error: null }],
])('a schedule no longer counts as retrying once %s', (_, outcome) => {
  const retries = new Retries()
  retries.settled(settled(failed))
  retries.settled(settled(outcome))
  expect(retries.waiting(END)).toEqual([])
})

test('a job of a deleted schedule ends only its own retry, and past retries make room for others', () => {
  const retries = new Retries()
  const ofDeleted = (id: string) => {
    const [one] = settled({ state: 'success', reason: null, error: null, result: null }).settled
    if (one !== undefined) retries.settled({ settled: [{ ...one, id, scheduleDeleted: true }] })
  }
  retries.settled(settled(failed))
  ofDeleted('another job')
  expect(retries.waiting(END)).toHaveLength(1)
  ofDeleted('j')
  expect(retries.waiting(END)).toEqual([])
  for (let count = 0; count < 1000; count += 1) retries.settled(settled(failed, `s${count}`))
  const later = settled(failed, 'later').settled.map((one) => ({ ...one, endedAt: after(6000) }))
  retries.settled({ settled: later })
  expect(retries.waiting(after(6000))).toMatchObject([{ scheduleId: 'later' }])
})

test('at most a thousand schedules are remembered, and no jobs without a schedule', () => {
  const retries = new Retries()
  retries.settled(settled(failed, null))
  for (let count = 0; count < 1001; count += 1) retries.settled(settled(failed, `s${count}`))
  expect(retries.waiting(END)).toHaveLength(1000)
})
