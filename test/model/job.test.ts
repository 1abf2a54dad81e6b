import { expect, test } from 'vitest'
import { fenceOf, fenceText, withoutClaim } from '../../src/model/job.ts'
import { FINAL_STATES, isFinal, OPEN_STATES } from '../../src/model/states.ts'
import { claimed } from '../executor/claimed.ts'

test('a job is final once it has ended, whatever its outcome', () => {
  expect(OPEN_STATES.filter(isFinal)).toEqual([])
  expect(FINAL_STATES.filter(isFinal)).toEqual(['success', 'failed', 'cancelled', 'skipped'])
})

test('a fence consists only of the id, the worker and the claim of a job', () => {
  const fence = { id: 'j', worker: 'w/1', claim: 2 }
  const job = { ...fence, state: 'running' }
  expect(fenceOf(job)).toEqual(fence)
})

test('two fences have the same text only if the fences are equal', () => {
  const fence = { id: 'j', worker: 'w/1', claim: 2 }
  expect(fenceText({ ...fence })).toBe(fenceText(fence))
  for (const other of [{ id: 'k' }, { worker: 'w/2' }, { claim: 3 }, { id: 'j/2', worker: '1', claim: 1 }])
    expect(fenceText({ ...fence, ...other })).not.toBe(fenceText(fence))
})

test('a claimed job without its claim has only the properties of a job', () => {
  const { claim, releases, argsText, policy, ...job } = claimed('j')
  expect([claim, releases, argsText, policy]).not.toContain(undefined)
  expect(withoutClaim(claimed('j'))).toEqual(job)
})
