import { describe, expect, test } from 'vitest'
import {
  doctorFindings,
  type Finding,
  type DoctorSchedule,
  type DoctorInput,
  schemaFindings,
} from '../../src/model/doctor.ts'

const NOW = new Date('2026-11-21T12:00:00Z')
const LEASE_MS = 60_000
const ago = (ms: number) => new Date(NOW.getTime() - ms)

const healthy: DoctorInput = {
  now: NOW,
  localNow: NOW,
  roundTripMs: 1,
  workers: [{ id: 'w/1', heartbeat: ago(5000), tasks: ['a'], running: 0 }],
  marks: [],
  schedules: [],
  waiting: [],
  orphans: [],
  blocked: [],
  endless: [],
}

function schedule(changes: Partial<DoctorSchedule>): DoctorSchedule {
  return {
    id: 's',
    task: 'a',
    timer: 'daily',
    idle: null,
    nextRun: ago(-1000),
    created: ago(3_600_000),
    lastError: null,
    isDue: false,
    ...changes,
  }
}

function findings(changes: Partial<DoctorInput>): Finding[] {
  return doctorFindings({ ...healthy, ...changes }, LEASE_MS)
}

const codes = (changes: Partial<DoctorInput>) => findings(changes).map(({ code }) => code)

describe('nothing is wrong', () => {
  test.each<[string, Partial<DoctorInput>]>([
    ['with nothing to do', { workers: [] }],
    ['with a live worker', {}],
    [
      'with a heartbeat as old as the lease',
      { workers: [{ id: 'w/1', heartbeat: ago(LEASE_MS), tasks: [], running: 0 }] },
    ],
    ['while a schedule is being submitted', { marks: [{ id: 's', worker: 'w/1', ends: ago(-1) }] }],
    [
      'with a schedule that has just become due',
      { schedules: [schedule({ nextRun: ago(9000), isDue: true })] },
    ],
    [
      'with a schedule that was just made',
      { schedules: [schedule({ nextRun: null, created: ago(500), isDue: true })] },
    ],
    [
      'with jobs that wait for room',
      {
        workers: [{ id: 'w/1', heartbeat: ago(1), tasks: ['a'], running: 3 }],
        waiting: [{ task: 'a', count: 1000, since: ago(1e9) }],
      },
    ],
    ['with a job that was just submitted', { waiting: [{ task: 'a', count: 1, since: ago(500) }] }],
    ['with a mark of a whole lease', { marks: [{ id: 's', worker: 'w/1', ends: ago(-LEASE_MS) }] }],
    ['with clocks that differ no more than they can be known', { localNow: ago(3000), roundTripMs: 1500 }],
  ])('%s', (_, changes) => {
    expect(findings(changes)).toEqual([])
  })
})

describe('is found:', () => {
  test.each<[Finding['code'], Partial<DoctorInput>, RegExp, RegExp]>([
    ['clock-skew', { localNow: ago(90_000) }, /1 min 30 s behind the database's/, /NTP/],
    ['clock-skew', { localNow: ago(-3000) }, /3 s ahead of the database's/, /NTP/],
    [
      'dead-worker',
      {
        workers: [...healthy.workers, { id: 'x/1', heartbeat: ago(7_200_000), tasks: [], running: 0 }],
      },
      /x\/1 has been silent for 2 h/,
      /takes over/,
    ],
    [
      'stale-mark',
      { marks: [{ id: 's', worker: 'w/1', ends: ago(1) }] },
      /1 schedule is marked/,
      /ends by itself/,
    ],
    [
      'stale-mark',
      {
        marks: [
          { id: 's', worker: 'gone/1', ends: ago(-1) },
          { id: 't', worker: 'gone/1', ends: null },
        ],
      },
      /2 schedules are/,
      /lease/,
    ],
    [
      'invalid-schedule',
      { schedules: [schedule({ id: "it's", timer: 'x', idle: 'invalid', lastError: 'no event\n  at' })] },
      /'it's' cannot be read: no event$/,
      /kalends schedules edit 'it'\\''s' --timer/,
    ],
    [
      'invalid-schedule',
      { schedules: [schedule({ timer: 'Mo 9:00' })] },
      /did you mean Mon/,
      /edit s --timer/,
    ],
    [
      'dead-schedule',
      { schedules: [schedule({ idle: 'dead', lastError: 'Error: boo' })] },
      /Error: boo/,
      /kalends schedules reset s/,
    ],
    [
      'late-schedule',
      {
        schedules: [
          schedule({ nextRun: ago(3_600_000), isDue: true }),
          schedule({ id: 't', nextRun: ago(60_000), isDue: true }),
        ],
      },
      /2 schedules are due and not submitted; 's' for 1 h/,
      /open transaction/,
    ],
    ['late-schedule', { schedules: [schedule({ nextRun: null, isDue: true })] }, /for 1 h/, /worker/],
    [
      'unhandled-task',
      { waiting: [{ task: 'b', count: 1, since: ago(5000) }] },
      /1 job of the task 'b' has been waiting for 5 s/,
      /jobs cancel --task b/,
    ],
    [
      'clock-skew',
      { workers: [{ id: 'w/1', heartbeat: ago(-90_000), tasks: [], running: 0 }] },
      /heartbeat of w\/1 is 1 min 30 s in the future/,
      /all nodes/,
    ],
    [
      'far-mark',
      { marks: [{ id: 's', worker: 'w/1', ends: ago(-3 * LEASE_MS) }] },
      /1 schedule is marked for longer than two leases/,
      /once per lease/,
    ],
    [
      'unclaimed-job',
      { waiting: [{ task: 'a', count: 2, since: ago(30_000) }] },
      /2 jobs of the task 'a' have been waiting for 30 s, although w\/1 could run them and runs nothing/,
      /\/health/,
    ],
    [
      'blocked-job',
      { blocked: [{ id: 'j', schedule: 's' }] },
      /1 job is blocked although no other job blocks it/,
      /sweep/,
    ],
    ['endless-schedule', { endless: [{ id: 's' }] }, /end of a run whose job was deleted/, /sweep/],
    ['orphaned-job', { orphans: [{ id: 'j', worker: 'gone/1' }] }, /1 job runs/, /takes over/],
  ])('%s %#', (code, changes, problem, fix) => {
    const [found, ...others] = findings(changes)
    expect(others).toEqual([])
    expect(found?.code).toBe(code)
    expect(found?.problem).toMatch(problem)
    expect(found?.fix).toMatch(fix)
  })

  test('no worker, as soon as there is something to do', () => {
    expect(codes({ workers: [], schedules: [schedule({})] })).toEqual(['no-worker'])
    expect(codes({ workers: [], waiting: [{ task: 'a', count: 2, since: NOW }] })).toEqual([
      'no-worker',
      'unhandled-task',
    ])
    expect(codes({ workers: [], schedules: [schedule({ idle: 'dead' })] })).toEqual(['dead-schedule'])
  })

  test('a thousand of a kind as ten, with their number', () => {
    const orphans = Array.from({ length: 1000 }, (_, n) => ({ id: `j${n}`, worker: 'gone/1' }))
    expect(findings({ orphans })).toMatchObject([
      { count: 1000, subjects: orphans.slice(0, 10).map(({ id }) => id) },
    ])
  })
})

test('tables: what was not applied comes before what is missing because of it', () => {
  expect(schemaFindings({ pending: [], missing: [], engines: [], version: null })).toEqual([])
  expect(
    schemaFindings({ pending: ['0001_x'], missing: ['column a.b'], engines: [], version: null }),
  ).toMatchObject([{ code: 'schema', subjects: ['0001_x'], fix: expect.stringContaining('kalends migrate') }])
  expect(schemaFindings({ pending: [], missing: ['column a.b'], engines: [], version: null })).toMatchObject([
    { problem: expect.stringContaining('column a.b') },
  ])
})

test('tables: one on an engine without transactions is told with the statement that mends it', () => {
  const engines = [{ table: 'a_job', engine: 'Aria' }]
  expect(schemaFindings({ pending: [], missing: [], engines, version: null })).toMatchObject([
    {
      code: 'schema',
      subjects: ['table a_job'],
      problem: expect.stringContaining('Aria'),
      fix: expect.stringContaining('ALTER TABLE a_job ENGINE=InnoDB'),
    },
  ])
})
