import { expect, test } from 'vitest'
import { storedEnd } from '../../src/model/attempt.ts'
import type { AttemptEnd } from '../../src/model/settle.ts'

test.each<[AttemptEnd, ReturnType<typeof storedEnd>]>([
  [{ kind: 'success', result: null }, null],
  [{ kind: 'unstarted' }, null],
  [{ kind: 'released' }, { outcome: 'released', error: null }],
  [
    { kind: 'unreported', error: 'no report' },
    { outcome: 'lost', error: 'no report' },
  ],
  [
    { kind: 'snoozed', delayMs: 1 },
    { outcome: 'snoozed', error: null },
  ],
  [
    { kind: 'error', error: 'Error: no', permanent: false },
    { outcome: 'failed', error: 'Error: no' },
  ],
  [
    { kind: 'timeout', error: 'too long' },
    { outcome: 'timeout', error: 'too long' },
  ],
  [
    { kind: 'cancelled', error: 'asked to' },
    { outcome: 'cancelled', error: 'asked to' },
  ],
  [
    { kind: 'lost', error: 'dead' },
    { outcome: 'lost', error: 'dead' },
  ],
])('%o is stored as %o', (end, stored) => {
  expect(storedEnd(end, { state: end.kind === 'success' ? 'success' : 'failed' })).toEqual(stored)
})

test.each<[AttemptEnd, string | null]>([
  [{ kind: 'error', error: 'boom', permanent: true }, 'boom'],
  [{ kind: 'timeout', error: 'too long' }, 'too long'],
  [{ kind: 'lost', error: 'dead' }, 'dead'],
  [{ kind: 'released' }, null],
])('the last attempt of a cancelled job is stored as cancelled: %o', (end, error) => {
  expect(storedEnd(end, { state: 'cancelled' })).toEqual({ outcome: 'cancelled', error })
})
