/** A worker's assessment of its own health. */
import { describe, expect, test } from 'vitest'
import { judge, unstarted } from '../../src/worker/health.ts'
import type { HealthNote, Vitals } from '../../src/worker/health-notes.ts'
import type { Settler } from '../../src/executor/settler.ts'
import type { LoopHealth } from '../../src/loop.ts'

const NOW = new Date('2026-11-21T12:00:00Z')
const LEASE_MS = 60_000
const ago = (ms: number) => new Date(NOW.getTime() - ms)

const idle: LoopHealth = {
  name: 'scheduler',
  lastGoodPassAt: ago(86_400_000),
  busySince: null,
  busyMs: null,
  nextPassAt: null,
  lateMs: 0,
  consecutiveErrors: 0,
  lastError: null,
  lastErrorAt: null,
}

const well: Vitals = {
  leaseMs: LEASE_MS,
  worker: 'w/1',
  sinceHeartbeatMs: 3000,
  sinceLeaseLostMs: null,
  running: 2,
  unwritten: null,
  log: { lines: 0, progress: 0, ms: 0, dropped: 0 },
  setAside: [],
  behind: [],
  retries: [],
  isRowLocked: false,
  lockedWorkers: [],
  slotsInFuture: [],
  connectionWaitMs: 0,
  clock: { aheadMs: 3, roundTripMs: 2 },
  stall: null,
  databaseWarnings: [],
  abandonedHandlers: [],
  loops: [idle],
}

const unwritten = (changes: Partial<ReturnType<Settler['unwritten']>>): Pick<Vitals, 'unwritten'> => ({
  unwritten: { waiting: 0, locked: 0, lockedMs: 0, rejected: 0, isLimitReached: false, ...changes },
})

const busy = (ms: number): LoopHealth => ({ ...idle, busySince: ago(ms), busyMs: ms })

describe('it is ok', () => {
  test.each<[string, Partial<Vitals>]>([
    ['while a loop sleeps until it is woken, however long that takes', {}],
    ['while a loop sleeps until a given time', { loops: [{ ...idle, nextPassAt: ago(-30_000) }] }],
    ['while a pass takes up to three fifths of the lease', { loops: [busy(36_000)] }],
    [
      'while outcomes of runs are being written',
      { ...unwritten({ waiting: 5 }), loops: [{ ...busy(100), name: 'settler' }] },
    ],
    [
      'while log lines are being written',
      { log: { lines: 500, progress: 1, ms: 5000, dropped: 0 }, loops: [{ ...busy(100), name: 'journal' }] },
    ],
    [
      'if clocks differ by no more than the tolerance plus the measurement error',
      { clock: { aheadMs: 2900, roundTripMs: 2000 } },
    ],
    ['while it waits up to five seconds for a connection', { connectionWaitMs: 5000 }],
    ['before it has compared the clocks', { clock: null }],
    ['long after it stalled', { stall: { ms: 9000, until: ago(LEASE_MS + 1), agoMs: LEASE_MS + 1 } }],
    ['long after it was evicted', { sinceLeaseLostMs: LEASE_MS + 1 }],
  ])('%s', (_, changes) => {
    expect(judge({ ...well, ...changes })).toMatchObject({ ok: true, live: true, reasons: [], warnings: [] })
  })
})

describe('it is not ok, and says why:', () => {
  test.each<[HealthNote['code'], string | null, Partial<Vitals>, RegExp]>([
    ['no-connection', null, { connectionWaitMs: 5100 }, /has waited 5\.1 s for a connection/],
    ['no-connection', null, { connectionWaitMs: 1100, leaseMs: 2000 }, /1\.1 s/],
    [
      'stuck',
      'scheduler',
      { loops: [busy(37_000)] },
      /stuck: its pass has been running for 37 s, longer than three fifths of the lease/,
    ],
    ['late', 'scheduler', { loops: [{ ...idle, lateMs: 37_000 }] }, /37 s ago; this process stalled/],
    [
      'failing',
      'scheduler',
      { loops: [{ ...idle, consecutiveErrors: 1, lastError: 'read-only', lastErrorAt: NOW }] },
      /failed once, last with: read-only/,
    ],
    [
      'failing',
      'scheduler',
      { loops: [{ ...idle, consecutiveErrors: 7, lastError: 'disk full', lastErrorAt: NOW }] },
      /failed 7 times in a row, last with: disk full/,
    ],
    ['no-lease', null, { worker: null, sinceHeartbeatMs: 45_000 }, /last heartbeat was 45 s ago/],
    [
      'no-lease',
      null,
      { worker: null, sinceHeartbeatMs: 45_000, isRowLocked: true },
      /another transaction has locked its row in the table worker/,
    ],
    ['no-lease', null, { worker: null, sinceHeartbeatMs: null }, /has not sent a heartbeat yet/],
  ])('%s %#', (code, subject, changes, text) => {
    const health = judge({ ...well, ...changes })
    expect(health).toMatchObject({ ok: false, live: true, reasons: [{ code, subject }] })
    expect(health.reasons[0]?.text).toMatch(text)
  })
})

describe('it is ok, but warns: [L68]', () => {
  test.each<[HealthNote['code'], Partial<Vitals>, RegExp]>([
    ['lease-lost', { sinceLeaseLostMs: 1000 }, /considered it dead.* it continues as w\/1/],
    [
      'stall',
      { stall: { ms: 7500, until: ago(1000), agoMs: 1000 } },
      /stalled for 7\.5 s, until 2026-11-21T11:59:59/,
    ],
    ['clock', { clock: { aheadMs: 90_000, roundTripMs: 4 } }, /1 min 30 s ahead of the database's clock/],
    ['clock', { clock: { aheadMs: -2100, roundTripMs: 4 } }, /2\.1 s behind the database's clock/],
    [
      'unwritten',
      { ...unwritten({ waiting: 3 }), loops: [{ ...busy(6000), name: 'settler' }] },
      /the outcomes of 3 runs wait/,
    ],
    [
      'locked-outcomes',
      unwritten({ waiting: 2, locked: 2, lockedMs: 7000 }),
      /the outcomes of 2 runs wait, the first for 7 s, .* end that transaction$/,
    ],
    [
      'locked-outcomes',
      unwritten({ waiting: 200, locked: 200, lockedMs: 10, isLimitReached: true }),
      /the outcomes of 200 runs wait.* each further outcome counts against capacity/,
    ],
    [
      'slot-in-the-future',
      { slotsInFuture: ['a'] },
      /^the schedule a has a slot that its timer does not explain.* pause and resume the schedule, or set nextrun = NULL/,
    ],
    ['slot-in-the-future', { slotsInFuture: ['a', 'b', 'c'] }, /^the schedule a and 2 more have slots/],
    [
      'driver-copies',
      { databaseWarnings: [{ code: 'driver-copies', problem: 'two copies', fix: 'use one' }] },
      /^two copies: use one$/,
    ],
    [
      'rejected-outcomes',
      unwritten({ rejected: 1 }),
      /the database rejects the outcome of 1 run; each such job stays running/,
    ],
    [
      'unwritten-log',
      { log: { lines: 1, progress: 0, ms: 7000, dropped: 0 } },
      /\(1 log line\) have waited in memory for 7 s, .* end that transaction$/,
    ],
    [
      'unwritten-log',
      // The journal's loops fail, but runs continue without them.
      {
        log: { lines: 500, progress: 2, ms: 3_600_000, dropped: 30 },
        loops: [
          idle,
          ...['journal', 'progress'].map((name) => ({
            ...busy(3_600_000),
            name,
            consecutiveErrors: 7,
            lastError: 'lock wait',
          })),
        ],
      },
      /\(500 log lines, the progress of 2 jobs\) have waited in memory for 1 h.*; 30 further lines were dropped, because too many are waiting$/,
    ],
    [
      'set-aside',
      { setAside: [{ id: 'a', problem: "cannot start the job 'a' (no)" }] },
      /1 row is set aside .*: cannot start the job 'a' \(no\): repair the row/,
    ],
    [
      'set-aside',
      { setAside: ['a', 'b'].map((id) => ({ id, problem: `cannot start the job '${id}'` })) },
      /2 rows are set aside .*: cannot start the job 'a', and 1 more: repair these rows/,
    ],
    [
      'cannot-keep-up',
      { behind: ['s'] },
      /the slots of the schedule 's' come faster than they can be submitted.* longer intervals/,
    ],
    [
      'retrying',
      { retries: [{ jobId: 'j', scheduleId: 's', attempt: 2, at: new Date(0) }] },
      /the schedule 's' is retrying: attempt 2 failed; the next attempt is at 1970-01-01T00:00:00.000Z/,
    ],
    [
      'locked-worker',
      { lockedWorkers: ['w/2'] },
      /the worker w\/2 has sent no heartbeat .* another transaction has locked its row/,
    ],
    ['handlers-left', { abandonedHandlers: ['mail'] }, /a handler of 'mail' did not finish .* and continues/],
    ['handlers-left', { abandonedHandlers: ['mail', 'mail'] }, /2 handlers of 'mail' .* continue/],
  ])('%s %#', (code, changes, text) => {
    const health = judge({ ...well, ...changes })
    expect(health).toMatchObject({ ok: true, live: true, warnings: [{ code }] })
    expect(health.warnings).toHaveLength(1)
    expect(health.warnings[0]?.text).toMatch(text)
  })

  test('until the worker registers again, the warning cannot name its new id', () => {
    const { warnings } = judge({ ...well, worker: null, sinceLeaseLostMs: 10 })
    expect(warnings[0]?.text).toMatch(/registers again with its next heartbeat/)
  })
})

describe('the need for a new process', () => {
  test('a worker needs a new process if a pass takes longer than both three minutes and three leases', () => {
    expect(judge({ ...well, loops: [busy(180_000)] })).toMatchObject({ ok: false, live: true })
    expect(judge({ ...well, loops: [busy(180_001)] })).toMatchObject({ ok: false, live: false })
    // A long lease allows more time.
    expect(judge({ ...well, leaseMs: 600_000, loops: [busy(1_800_000)] }).live).toBe(true)
  })

  test('a worker needs no new process while the database is unavailable, no matter how long that lasts', () => {
    const failing = { ...idle, consecutiveErrors: 10_000, lastError: 'ECONNREFUSED', lastErrorAt: NOW }
    expect(judge({ ...well, worker: null, sinceHeartbeatMs: 1e9, loops: [failing] })).toMatchObject({
      ok: false,
      live: true,
    })
  })
})

test('without a worker, a process is ok until Kalends is stopped', () => {
  expect(unstarted(false)).toMatchObject({ ok: true, live: true, reasons: [] })
  expect(unstarted(true)).toMatchObject({ ok: false, live: true, reasons: [{ code: 'stopped' }] })
})
