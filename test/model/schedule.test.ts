/** Values derived from the settings of a schedule: its status, its hash and the changes of an edit. */
import { describe, expect, it, test } from 'vitest'
import { SETTING_NAMES } from '../../src/model/settings.ts'
import {
  changedSettings,
  DEFAULT_SETTINGS,
  isGoingOn,
  settingsHash,
  stateOf,
  type StoredSchedule,
} from '../../src/model/schedule.ts'
import { type Idle, STATUSES } from '../../src/model/states.ts'

const stored: StoredSchedule = {
  ...DEFAULT_SETTINGS,
  id: 's',
  uid: 'u',
  task: 'report',
  timer: 'daily',
  args: { to: ['a', 'b'] },
  nextRunAt: null,
  idle: null,
  createdAt: new Date(0),
  lastSlot: null,
  runCount: 0,
  errorCount: 0,
  lastRunAt: null,
  lastFinishedAt: null,
  lastJobId: null,
  lastError: null,
  failedAttempts: 0,
  retryAt: null,
  frozenUntil: null,
  pauseReason: null,
  retry: null,
  retryLimit: null,
  markedBy: null,
}
const schedule = { ...stored, ...stateOf(stored) }

test.each<[boolean, Idle | null, string, string, string | null]>([
  [true, null, 'active', 'retrying', null],
  [true, 'awaiting-finish', 'active', 'retrying', 'finish'],
  [true, 'done', 'done', 'retrying', null],
  [true, 'dead', 'dead', 'dead', null],
  [true, 'invalid', 'invalid', 'invalid', null],
  [true, 'retired', 'retired', 'retired', null],
  [false, null, 'paused', 'paused', null],
  [false, 'dead', 'paused', 'paused', null],
  [false, 'awaiting-finish', 'paused', 'paused', null],
])(
  'enabled %s and idle %s give the status %s, or %s with a retry, waiting for %s',
  (enabled, idle, status, withRetry, waitingFor) => {
    expect(stateOf({ enabled, idle, retryAt: null, frozenUntil: null })).toEqual({ status, waitingFor })
    expect(stateOf({ enabled, idle, retryAt: new Date(), frozenUntil: null })).toEqual({
      status: withRetry,
      waitingFor,
    })
    expect(stateOf({ enabled, idle, retryAt: new Date(), frozenUntil: new Date() })).toEqual({
      status: status === 'active' ? 'frozen' : withRetry,
      waitingFor,
    })
  },
)

test('the settings of a new schedule are the defaults, without args and without a declared set', () => {
  expect(DEFAULT_SETTINGS).toMatchObject({
    args: '{}',
    declaredBy: null,
    enabled: true,
    overlap: 'skip',
    catchUp: 1,
  })
})

describe('the changes of an edit', () => {
  it('are the differences from the current schedule', () => {
    const starts = new Date('2026-01-01')
    const current = { ...schedule, starts }
    expect(changedSettings(current, { timer: 'daily', catchUp: 3, starts: new Date(starts) })).toEqual({
      catchUp: 3,
    })
  })

  it('include args only if their value differs, not just their JSON text', () => {
    expect(changedSettings(schedule, { args: '{ "to": ["a","b"] }' })).toEqual({})
    expect(changedSettings(schedule, { args: '{"to":["b","a"]}' })).toEqual({ args: '{"to":["b","a"]}' })
  })
})

describe('the hash of the settings', () => {
  it('is a string of 22 characters that is valid in a URL or an ETag', () => {
    expect(settingsHash(schedule)).toMatch(/^[\w-]{22}$/)
  })

  it('differs after an edit of any setting, but not after a run', () => {
    const hash = settingsHash(schedule)
    for (const property of [...SETTING_NAMES, 'declaredBy'])
      expect(settingsHash({ ...schedule, [property]: 'other' }), property).not.toBe(hash)
    expect(settingsHash({ ...schedule, runCount: 1, lastJobId: 'j', nextRunAt: new Date() })).toBe(hash)
  })
})

test('a schedule counts as ongoing while its slots are being submitted, or are held only temporarily', () => {
  expect(STATUSES.filter(isGoingOn).toSorted()).toEqual(['active', 'frozen', 'retrying'])
})
