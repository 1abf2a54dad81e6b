import { describe, expect, test } from 'vitest'
import {
  type AttemptEnd,
  type JobOutcome,
  outcomeOf,
  retryDelayOf,
  spreadFactor,
  withoutTexts,
} from '../../src/model/settle.ts'
import { DEFAULT_POLICY, type RunPolicy } from '../../src/model/task.ts'

function settle(
  end: AttemptEnd,
  attempt: number,
  policy: RunPolicy,
  stopRequested: boolean,
  spanMs: number | null = null,
  yields = false,
  noRetry: string | null = null,
): JobOutcome {
  const timer = spanMs === null ? null : `every ${spanMs}ms`
  return outcomeOf({ end, policy }, { attempt, stopRequested, noRetry, isManual: false, timer, yields })
}

const failure: AttemptEnd = { kind: 'error', error: 'no such host', permanent: false }
const permanent: AttemptEnd = { kind: 'error', error: 'no such user', permanent: true }
const timeout: AttemptEnd = { kind: 'timeout', error: 'too long' }
const lost: AttemptEnd = { kind: 'lost', error: 'the worker was lost' }
const released: AttemptEnd = { kind: 'released' }

describe('retries', () => {
  test('retries wait twice as long each time, up to a maximum of ten times the first delay [R3]', () => {
    const seconds = Array.from({ length: 7 }, (_, index) => retryDelayOf(index + 1, DEFAULT_POLICY) / 1000)
    expect(seconds).toEqual([60, 120, 240, 480, 600, 600, 600])
    expect(retryDelayOf(2000, DEFAULT_POLICY)).toBe(600_000)
  })

  test('retries always wait the same time if the backoff is fixed [R3]', () => {
    const policy = { retryDelay: 5000, retryBackoff: 'fixed' } as const
    expect([1, 2, 9].map((retry) => retryDelayOf(retry, policy))).toEqual([5000, 5000, 5000])
  })

  test('a random factor changes the delay of a retry by at most 10 % [X7]', () => {
    for (const kind of [failure, timeout])
      expect(settle({ ...kind, delayFactor: 1.05 }, 1, DEFAULT_POLICY, false)).toMatchObject({
        delayMs: 63_000,
      })
    expect([0, 0.5, 1].map((random) => spreadFactor(random))).toEqual([0.9, 1, 1.1])
  })

  test('retries are further attempts of the same job, which fails after the last one', () => {
    expect(settle(failure, 1, DEFAULT_POLICY, false)).toEqual({
      state: 'waiting',
      delayMs: 60_000,
      why: 'failed',
      error: 'no such host',
    })
    expect(settle(failure, 3, DEFAULT_POLICY, false)).toMatchObject({ state: 'waiting', delayMs: 240_000 })
    expect(settle(failure, 4, DEFAULT_POLICY, false)).toEqual({
      state: 'failed',
      reason: 'exhausted',
      error: 'no such host',
      result: null,
    })
  })

  test.each([1, 4])('a timeout is handled like an error: attempt %i', (attempt) => {
    const error: AttemptEnd = { kind: 'error', error: 'too long', permanent: false }
    expect(settle(timeout, attempt, DEFAULT_POLICY, false)).toEqual(
      settle(error, attempt, DEFAULT_POLICY, false),
    )
  })

  test('a job is not retried after a permanent error, or if no retries are allowed', () => {
    expect(settle(permanent, 1, DEFAULT_POLICY, false)).toMatchObject({
      state: 'failed',
      reason: 'permanent',
    })
    expect(settle(failure, 1, { ...DEFAULT_POLICY, retries: 0 }, false)).toMatchObject({ state: 'failed' })
  })
})

describe('a job whose worker was lost', () => {
  test('a lost attempt counts and is retried by another worker at once [R8]', () => {
    expect(settle(lost, 1, DEFAULT_POLICY, false)).toEqual({
      state: 'waiting',
      delayMs: 0,
      why: 'failed',
      error: 'the worker was lost',
    })
  })

  test('fails after the last attempt, so that it cannot keep killing workers', () => {
    expect(settle(lost, 4, DEFAULT_POLICY, false)).toMatchObject({ state: 'failed', reason: 'lost' })
  })
})

test('a job that a stopping worker releases waits as if the attempt had not happened', () => {
  expect(settle(released, 4, DEFAULT_POLICY, false)).toEqual({
    state: 'waiting',
    delayMs: 0,
    why: 'released',
    error: null,
  })
})

test('a snoozed job waits as long as requested, as if the attempt had not happened', () => {
  expect(settle({ kind: 'snoozed', delayMs: 5000 }, 4, DEFAULT_POLICY, false)).toEqual({
    state: 'waiting',
    delayMs: 5000,
    why: 'snoozed',
    error: null,
  })
})

test('a job with unlimited retries is retried after every error that is not permanent', () => {
  const policy = { ...DEFAULT_POLICY, retries: 'unlimited' } as const
  for (const attempt of [1, 1002, 2 ** 31 - 1])
    expect(settle(failure, attempt, policy, false)).toMatchObject({
      state: 'waiting',
      delayMs: expect.any(Number),
    })
  expect(settle(permanent, 1, policy, false)).toMatchObject({ state: 'failed' })
})

describe('a job whose retry yields', () => {
  test.each([failure, timeout, lost])('fails instead of waiting: %o', (end) => {
    expect(settle(end, 1, DEFAULT_POLICY, false, null, true)).toMatchObject({
      state: 'failed',
      reason: 'yielded',
      error: expect.any(String),
    })
  })

  test('is settled as usual if there is no retry', () => {
    expect(settle(failure, 4, DEFAULT_POLICY, false, null, true)).toMatchObject({ reason: 'exhausted' })
    expect(settle(released, 1, DEFAULT_POLICY, false, null, true)).toMatchObject({ state: 'waiting' })
    expect(settle(failure, 1, DEFAULT_POLICY, true, null, true)).toMatchObject({ state: 'cancelled' })
  })
})

describe('a job with a cancel request', () => {
  test.each([
    ['failed', failure],
    ['failed for good', permanent],
    ['timed out', timeout],
    ['was lost', lost],
    ['was returned to the queue', released],
    ['was snoozed', { kind: 'snoozed', delayMs: 1 } as const],
  ])('is cancelled and not retried when it %s', (_, ending) => {
    expect(settle(ending, 1, DEFAULT_POLICY, true)).toMatchObject({ state: 'cancelled', result: null })
  })

  test('succeeds if its attempt succeeds', () => {
    expect(settle({ kind: 'success', result: '{"sent":3}' }, 1, DEFAULT_POLICY, true)).toEqual({
      state: 'success',
      reason: null,
      error: null,
      result: '{"sent":3}',
    })
  })

  test('is cancelled with the error of its attempt', () => {
    expect(settle({ kind: 'cancelled', error: 'too late' }, 1, DEFAULT_POLICY, true)).toEqual({
      state: 'cancelled',
      reason: null,
      error: 'too late',
      result: null,
    })
  })

  test('is cancelled if its attempt was cancelled', () => {
    expect(settle({ kind: 'cancelled', error: null }, 2, DEFAULT_POLICY, true)).toMatchObject({
      state: 'cancelled',
    })
  })
})

test('a timeout is not permanent, and the default delay depends on the timer of the schedule', () => {
  const policy = { ...DEFAULT_POLICY, retryDelay: null }
  const delay = (timer: string | null, isManual = false) =>
    outcomeOf(
      { end: timeout, policy },
      { attempt: 1, stopRequested: false, noRetry: null, isManual, timer, yields: false },
    )
  expect(delay(null)).toMatchObject({ state: 'waiting', delayMs: 60_000 })
  expect(delay('every 10s')).toMatchObject({ state: 'waiting', delayMs: 10_000 })
  expect(delay('hourly')).toMatchObject({ state: 'waiting', delayMs: 60_000 })
  // A person waits for a manual run or retry.
  expect(delay('every 45min', true)).toMatchObject({ state: 'waiting', delayMs: 60_000 })
  expect(delay('every 10s', true)).toMatchObject({ state: 'waiting', delayMs: 10_000 })
})

test('a job whose external queue does not report the outcome fails and is not retried', () => {
  expect(settle({ kind: 'unreported', error: 'no report' }, 1, DEFAULT_POLICY, false)).toEqual({
    state: 'failed',
    reason: 'unreported',
    error: 'no report',
    result: null,
  })
})

test('a job that was returned before it started waits as before, unless it was cancelled', () => {
  expect(settle({ kind: 'unstarted' }, 1, DEFAULT_POLICY, false)).toEqual({
    state: 'waiting',
    delayMs: 0,
    why: 'unstarted',
    error: null,
  })
  expect(settle({ kind: 'unstarted' }, 1, DEFAULT_POLICY, true)).toMatchObject({ state: 'cancelled' })
})

describe('if the texts of an outcome cannot be stored', () => {
  test('an error is replaced by the reason', () => {
    expect(withoutTexts({ ...failure, delayFactor: 1.05 }, 'too long')).toEqual({
      ...failure,
      delayFactor: 1.05,
      error: 'The error of the run could not be stored: too long',
    })
    expect(withoutTexts({ kind: 'cancelled', error: null }, 'too long')).toEqual({
      kind: 'cancelled',
      error: 'The error of the run could not be stored: too long',
    })
  })

  test('a run with a result counts as failed and is not repeated', () => {
    expect(withoutTexts({ kind: 'success', result: '1' }, 'too long')).toEqual({
      kind: 'error',
      error: 'The result of the run could not be stored: too long',
      permanent: true,
    })
  })

  test.each<AttemptEnd>([{ kind: 'success', result: null }, released, { kind: 'snoozed', delayMs: 1 }])(
    'an outcome without texts is unchanged: %o',
    (end) => {
      expect(withoutTexts(end, 'too long')).toBe(end)
    },
  )
})

describe('a job whose schedule was paused with its queued jobs', () => {
  const unlimited: RunPolicy = { ...DEFAULT_POLICY, retries: 'unlimited' }
  const after = (end: AttemptEnd, policy = unlimited, stopRequested = false) =>
    settle(end, 1, policy, stopRequested, null, true, 'Paused: See #4711')

  test.each([failure, timeout, lost])('is cancelled instead of retried: $kind', (end) => {
    expect(after(end)).toEqual({
      state: 'cancelled',
      reason: 'paused',
      error: `${'error' in end ? end.error : ''}\nPaused: See #4711`,
      result: null,
    })
  })

  test.each<AttemptEnd>([released, { kind: 'unstarted' }, { kind: 'snoozed', delayMs: 1000 }])(
    'is cancelled instead of run again: $kind',
    (end) => {
      expect(after(end)).toEqual({
        state: 'cancelled',
        reason: 'paused',
        error: 'Paused: See #4711',
        result: null,
      })
    },
  )

  test('ends as usual if it would not be retried', () => {
    expect(after({ kind: 'success', result: null })).toMatchObject({ state: 'success' })
    expect(after(permanent)).toMatchObject({ state: 'failed', reason: 'permanent' })
    expect(after(failure, { ...DEFAULT_POLICY, retries: 0 })).toMatchObject({ reason: 'exhausted' })
    expect(after(failure, unlimited, true)).toMatchObject({ state: 'cancelled', reason: null })
  })
})
