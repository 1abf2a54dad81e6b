import { describe, expect, test } from 'vitest'
import type { DoctorInput, DoctorSchedule, Finding } from '../../src/model/diagnosis.ts'
import { doctorFindings, isFrequent } from '../../src/model/doctor.ts'
import { schemaFindings } from '../../src/model/schema-drift.ts'
import type { Plannable } from '../../src/model/planning.ts'
import { schedule as planned } from './plannable.ts'

const NOW = new Date('2026-11-21T12:00:00Z')
const LEASE_MS = 60_000
const ago = (ms: number) => new Date(NOW.getTime() - ms)

const healthy: DoctorInput = {
  now: NOW,
  localNow: NOW,
  roundTripMs: 1,
  workers: [{ id: 'w/1', heartbeatAt: ago(5000), tasks: ['a'], running: 0 }],
  marks: [],
  schedules: [],
  furthest: [],
  waiting: [],
  orphans: [],
  unreported: [],
  unremoved: [],
  behind: [],
  blocked: [],
  endless: [],
}

function schedule(changes: Partial<DoctorSchedule>): DoctorSchedule {
  return {
    id: 's',
    task: 'a',
    timer: 'daily',
    idle: null,
    nextRunAt: ago(-1000),
    createdAt: ago(3_600_000),
    lastError: null,
    retryAt: null,
    retry: null,
    retryLimit: null,
    isDue: false,
    ...changes,
  }
}

const furthest = (changes: Partial<Plannable>): Plannable =>
  planned({ id: 's', timer: 'daily', nextRunAt: ago(-1000), ...changes })

function findings(changes: Partial<DoctorInput>): Finding[] {
  return doctorFindings({ ...healthy, ...changes }, LEASE_MS)
}

const codes = (changes: Partial<DoctorInput>) => findings(changes).map(({ code }) => code)

describe('no problem is found', () => {
  test.each<[string, Partial<DoctorInput>]>([
    ['with nothing to do', { workers: [] }],
    ['with a live worker', {}],
    [
      'with a heartbeat as old as the lease',
      { workers: [{ id: 'w/1', heartbeatAt: ago(LEASE_MS), tasks: [], running: 0 }] },
    ],
    ['while a schedule is being submitted', { marks: [{ id: 's', worker: 'w/1', ends: ago(-1) }] }],
    [
      'with a schedule that has just become due',
      { schedules: [schedule({ nextRunAt: ago(9000), isDue: true })] },
    ],
    ['with a new schedule', { schedules: [schedule({ nextRunAt: null, createdAt: ago(500), isDue: true })] }],
    [
      'with jobs that wait for capacity',
      {
        workers: [{ id: 'w/1', heartbeatAt: ago(1), tasks: ['a'], running: 3 }],
        waiting: [{ task: 'a', count: 1000, since: ago(1e9) }],
      },
    ],
    ['with a job that was just submitted', { waiting: [{ task: 'a', count: 1, since: ago(500) }] }],
    ['with a mark that ends now', { marks: [{ id: 's', worker: 'w/1', ends: NOW }] }],
    ['with a mark of two leases', { marks: [{ id: 's', worker: 'w/1', ends: ago(-2 * LEASE_MS) }] }],
    [
      'with a heartbeat that is ahead by no more than the clock tolerance',
      { workers: [{ id: 'w/1', heartbeatAt: ago(-2000), tasks: [], running: 0 }] },
    ],
    ['with clocks that differ by the allowed maximum', { localNow: ago(-2001), roundTripMs: 1 }],
    [
      'with a schedule that has been due for ten seconds',
      { schedules: [schedule({ nextRunAt: ago(10_000), isDue: true })] },
    ],
    [
      'with a schedule that is not due, although its next run time has passed',
      { schedules: [schedule({ nextRunAt: ago(1e9) })] },
    ],
    [
      'with a job that has waited for ten seconds',
      { waiting: [{ task: 'a', count: 1, since: ago(10_000) }] },
    ],
    [
      'with jobs that wait while another worker is busy',
      {
        workers: [...healthy.workers, { id: 'w/2', heartbeatAt: ago(1), tasks: ['a'], running: 1 }],
        waiting: [{ task: 'a', count: 1, since: ago(1e9) }],
      },
    ],
    [
      'with slots that are ahead by no more than the clock tolerance',
      { furthest: [furthest({ timer: 'hourly', nextRunAt: ago(-60_000), lastSlot: ago(-60_000) })] },
    ],
    [
      'with a next run that was set manually',
      { furthest: [furthest({ nextRunAt: ago(-1e12), isByHand: true })] },
    ],
    [
      'with a schedule that has reached max_runs',
      { furthest: [furthest({ idle: 'done', maxRuns: 3, successes: 3, lastSlot: ago(-1e12) })] },
    ],
    [
      'with a schedule that ended',
      { furthest: [furthest({ idle: 'done', ends: ago(1), lastSlot: ago(-1e12) })] },
    ],
    ['with a mark of a whole lease', { marks: [{ id: 's', worker: 'w/1', ends: ago(-LEASE_MS) }] }],
    [
      'with clocks that differ by no more than the measurement error',
      { localNow: ago(3000), roundTripMs: 1500 },
    ],
  ])('%s', (_, changes) => {
    expect(findings(changes)).toEqual([])
  })
})

describe('a problem is found:', () => {
  test.each<[Finding['code'], Partial<DoctorInput>, RegExp, RegExp]>([
    ['clock-skew', { localNow: ago(90_000) }, /1 min 30 s behind the database's/, /NTP/],
    ['clock-skew', { localNow: ago(-3000) }, /3 s ahead of the database's/, /NTP/],
    [
      'dead-worker',
      {
        workers: [...healthy.workers, { id: 'x/1', heartbeatAt: ago(7_200_000), tasks: [], running: 0 }],
      },
      /x\/1 has been silent for 2 h/,
      /^nothing to do .* takes over/,
    ],
    [
      'stale-mark',
      { marks: [{ id: 's', worker: 'w/1', ends: ago(1) }] },
      /1 schedule is marked/,
      /expires within the lease/,
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
      'retrying-schedule',
      {
        schedules: [
          schedule({ id: 't', retryAt: ago(-2000), retry: 1 }),
          schedule({ retryAt: ago(-1000), retry: 2, retryLimit: 3, lastError: 'Error: boo\n at' }),
        ],
      },
      /^2 schedules are waiting for a retry after a failed attempt; 's' is retrying, 2 of 3, next at \S+ \S+: Error: boo$/,
      /kalends schedules explain s/,
    ],
    [
      'late-schedule',
      {
        schedules: [
          schedule({ nextRunAt: ago(3_600_000), isDue: true }),
          schedule({ id: 't', nextRunAt: ago(60_000), isDue: true }),
        ],
      },
      /2 schedules are due but not submitted; 's' has been due for 1 h/,
      /open transaction/,
    ],
    ['late-schedule', { schedules: [schedule({ nextRunAt: null, isDue: true })] }, /for 1 h/, /worker/],
    [
      'cannot-keep-up',
      { behind: [{ id: 's' }, { id: 't' }] },
      /the slots of 2 schedules come faster than they can be submitted/,
      /longer intervals/,
    ],
    [
      'slot-in-the-future',
      {
        furthest: [
          furthest({ nextRunAt: ago(-3 * 86_400_000), lastSlot: ago(-2 * 86_400_000) }),
          furthest({ id: "it's", nextRunAt: new Date('2098-01-02') }),
          furthest({ id: 'done', idle: 'done', nextRunAt: null, lastSlot: ago(-61_000) }),
        ],
      },
      /^3 schedules have slots .* submit nothing before that time; 'it's': 2098-01-02T00:00:00\.000Z\./,
      /kalends schedules pause 'it'\\''s' && kalends schedules resume 'it'\\''s'/,
    ],
    [
      'slot-in-the-future',
      { furthest: [furthest({ lastSlot: ago(-61_000) })] },
      /^1 schedule has a slot .* submits nothing/,
      /`nextrun = NULL` in SQL/,
    ],
    [
      'unhandled-task',
      { waiting: [{ task: 'send.mail', count: 1, since: ago(50_000) }] },
      /1 job of the task 'send.mail' has been waiting for 50 s/,
      /jobs cancel --task send\.mail /,
    ],
    [
      'clock-skew',
      { workers: [{ id: 'w/1', heartbeatAt: ago(-90_000), tasks: [], running: 0 }] },
      /heartbeat of w\/1 is 1 min 30 s in the future/,
      /all nodes/,
    ],
    [
      'far-mark',
      { marks: [{ id: 's', worker: 'w/1', ends: ago(-3 * LEASE_MS) }] },
      /1 schedule is marked for more than two leases/,
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
    [
      'endless-schedule',
      { endless: [{ id: 's' }] },
      /1 schedule waits for a run whose job was deleted/,
      /sweep/,
    ],
    [
      'orphaned-job',
      { orphans: [{ id: 'j', worker: 'gone/1' }] },
      /1 job runs/,
      /^nothing to do: .* takes over/,
    ],
    ['clock-skew', { localNow: ago(2002), roundTripMs: 1 }, /2 s behind/, /NTP/],
    [
      'invalid-schedule',
      { schedules: [schedule({ idle: 'invalid', lastError: null })] },
      /the schedule 's' cannot be read: no reason was recorded$/,
      /--timer '…'/,
    ],
    [
      'dead-schedule',
      {
        schedules: [
          schedule({ timer: 'hurly', idle: 'dead', lastError: null, isDue: true, nextRunAt: ago(1e9) }),
        ],
      },
      /'s' is dead .*: no error was recorded$/,
      /reset s/,
    ],
    [
      'unhandled-task',
      { waiting: [{ task: 'send mail', count: 2, since: ago(500) }] },
      /2 jobs of the task 'send mail' have been waiting for 500 ms/,
      /--task 'send mail' --state waiting/,
    ],
    [
      'unclaimed-job',
      { waiting: [{ task: 'a', count: 1, since: ago(2 * 86_400_000) }] },
      /1 job of the task 'a' has been waiting for 2 d, although w\/1 could run it and runs nothing/,
      /open transaction/,
    ],
    [
      'unclaimed-job',
      {
        workers: [
          ...healthy.workers,
          { id: 'w/2', heartbeatAt: ago(1), tasks: ['b', 'a'], running: 0 },
          { id: 'w/3', heartbeatAt: ago(1), tasks: ['b'], running: 0 },
        ],
        waiting: [{ task: 'a', count: 1, since: ago(1e9) }],
      },
      /although w\/1, w\/2 could run it and run nothing/,
      /log/,
    ],
    [
      'blocked-job',
      { blocked: ['j', 'k'].map((id) => ({ id, schedule: 's' })) },
      /2 jobs are blocked although no other job blocks them/,
      /sweep/,
    ],
    ['endless-schedule', { endless: [{ id: 's' }, { id: 't' }] }, /2 schedules wait for a run/, /sweep/],
    [
      'orphaned-job',
      {
        orphans: [
          { id: 'j', worker: 'g' },
          { id: 'k', worker: 'g' },
        ],
      },
      /2 jobs run on/,
      /takes over/,
    ],
    [
      'far-mark',
      { marks: ['s', 't'].map((id) => ({ id, worker: 'w/1', ends: ago(-1e9) })) },
      /2 schedules are/,
      /--lease/,
    ],
    [
      'late-schedule',
      { schedules: [schedule({ nextRunAt: ago(10_001), isDue: true })] },
      /1 schedule is due/,
      /worker/,
    ],
  ])('%s %#', (code, changes, problem, fix) => {
    const [found, ...others] = findings(changes)
    expect(others).toEqual([])
    expect(found?.code).toBe(code)
    expect(found?.problem).toMatch(problem)
    expect(found?.fix).toMatch(fix)
  })

  test('the absence of workers is a problem only if there is work', () => {
    expect(codes({ workers: [], schedules: [schedule({})] })).toEqual(['no-worker'])
    expect(codes({ workers: [], waiting: [{ task: 'a', count: 2, since: NOW }] })).toEqual([
      'no-worker',
      'unhandled-task',
    ])
    expect(codes({ workers: [], schedules: [schedule({ idle: 'dead' })] })).toEqual(['dead-schedule'])
  })

  test('while no worker is alive, the remedy for lost workers and their jobs is to start a worker', () => {
    const dead = { id: 'x/1', heartbeatAt: ago(LEASE_MS + 1), tasks: [], running: 0 }
    const nobody = findings({ workers: [dead], orphans: [{ id: 'j', worker: 'gone/1' }] })
    expect(nobody.map(({ code, fix }) => [code, fix.split(':', 1)[0]])).toEqual([
      ['dead-worker', 'start a worker'],
      ['orphaned-job', 'start a worker'],
    ])
  })

  test('the subjects are listed, worst first', () => {
    const ahead = [5000, 90_000, 60_000].map((ms) => ({
      id: `w/${ms}`,
      heartbeatAt: ago(-ms),
      tasks: [],
      running: 0,
    }))
    expect(findings({ workers: ahead })).toMatchObject([
      {
        code: 'clock-skew',
        subjects: ['w/90000', 'w/60000', 'w/5000'],
        problem: expect.stringContaining('w/90000'),
      },
    ])
    const due = [20_000, 90_000, 30_000].map((ms) =>
      schedule({ id: `s${ms}`, nextRunAt: ago(ms), isDue: true }),
    )
    expect(findings({ schedules: due })).toMatchObject([{ subjects: ['s90000', 's30000', 's20000'] }])
  })

  test.each<[string, Partial<DoctorInput>]>([
    ['clock', { localNow: ago(90_000) }],
    ['x/1', { workers: [...healthy.workers, { id: 'x/1', heartbeatAt: ago(1e9), tasks: [], running: 0 }] }],
    ['s', { marks: [{ id: 's', worker: 'w/1', ends: ago(1) }] }],
    ['s', { marks: [{ id: 's', worker: 'w/1', ends: ago(-1e9) }] }],
    ['s', { schedules: [schedule({ timer: 'x', idle: 'invalid' })] }],
    ['s', { schedules: [schedule({ idle: 'dead' })] }],
    ['b', { waiting: [{ task: 'b', count: 1, since: ago(5000) }] }],
    ['a', { waiting: [{ task: 'a', count: 1, since: ago(1e9) }] }],
    ['j', { blocked: [{ id: 'j', schedule: 's' }] }],
    ['s', { endless: [{ id: 's' }] }],
    ['j', { orphans: [{ id: 'j', worker: 'gone/1' }] }],
  ])('with %s as its only subject %#', (subject, changes) => {
    expect(findings(changes)).toMatchObject([{ subjects: [subject], count: 1 }])
  })

  test('the absence of a running worker is reported as a single problem', () => {
    expect(findings({ workers: [], schedules: [schedule({})] })).toMatchObject([
      {
        subjects: ['worker'],
        problem: expect.stringContaining('nothing is submitted'),
        fix: expect.stringContaining('kalends start'),
      },
    ])
  })

  test('for jobs of an external queue that are not handed over, and for jobs whose outcome is not reported', () => {
    expect(findings({ unreported: [{ id: 'j' }] })).toMatchObject([
      {
        code: 'unreported-job',
        problem:
          '1 job has been in an external queue for more than an hour, and its outcome has not been reported',
        fix: expect.stringContaining('kalends.external.finish'),
      },
    ])
    expect(findings({ unreported: [{ id: 'j' }, { id: 'k' }] })).toMatchObject([
      { problem: expect.stringMatching(/^2 jobs have been .* and their outcomes have not been reported$/) },
    ])
    expect(
      findings({ waiting: [{ task: ' q', count: 2, since: ago(90_000) }] }).filter(
        ({ code }) => code === 'unhandled-task',
      ),
    ).toMatchObject([
      {
        subjects: ["the external queue 'q'"],
        problem: expect.stringMatching(/no live worker hands jobs over to it$/),
        fix: expect.stringContaining('start a worker with this `externalQueue`'),
      },
    ])
  })

  test('ten of a thousand problems of one kind are listed, with the total number', () => {
    const orphans = Array.from({ length: 1000 }, (_, n) => ({ id: `j${n}`, worker: 'gone/1' }))
    expect(findings({ orphans })).toMatchObject([
      { count: 1000, subjects: orphans.slice(0, 10).map(({ id }) => id) },
    ])
  })
})

test('tables: unapplied migrations are reported instead of the parts that are missing because of them', () => {
  expect(schemaFindings({ pending: [], missing: [], engines: [], version: null })).toEqual([])
  expect(
    schemaFindings({ pending: ['0001_x'], missing: ['column a.b'], engines: [], version: null }),
  ).toMatchObject([{ code: 'schema', subjects: ['0001_x'], fix: expect.stringContaining('kalends migrate') }])
  expect(schemaFindings({ pending: [], missing: ['column a.b'], engines: [], version: null })).toMatchObject([
    { problem: expect.stringContaining('column a.b') },
  ])
})

test('tables: an engine without transactions is reported with the statement that changes it', () => {
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

test('tables: a view that replaces a table is reported as a view', () => {
  const engines = [{ table: 'a_job', engine: 'VIEW' }]
  expect(schemaFindings({ pending: [], missing: [], engines, version: null })).toMatchObject([
    {
      subjects: ['table a_job'],
      problem: expect.stringContaining('a_job is a view'),
      fix: expect.stringContaining('rename or drop the view'),
    },
  ])
})

test('tables: if they require a newer version of Kalends, the remedy is to upgrade this process', () => {
  expect(schemaFindings({ pending: [], missing: [], engines: [], version: 'too old' })).toEqual([
    {
      code: 'schema',
      subjects: ['version'],
      count: 1,
      problem: 'too old',
      fix: expect.stringContaining('upgrade this process'),
    },
  ])
})

test('tables: at most ten missing parts are listed, with the total number', () => {
  const missing = Array.from({ length: 12 }, (_, n) => `column a.c${n}`)
  expect(schemaFindings({ pending: [], missing, engines: [], version: null })).toMatchObject([
    {
      code: 'schema',
      count: 12,
      problem: expect.stringMatching(/missing: column a\.c0, .*column a\.c9$/),
      fix: expect.stringContaining('drizzle/'),
    },
  ])
})

test('tables: unapplied migrations are listed', () => {
  const pending = ['0001_x', '0002_y']
  expect(schemaFindings({ pending, missing: [], engines: [], version: null })).toMatchObject([
    { subjects: pending, problem: expect.stringMatching(/migrations not applied: 0001_x, 0002_y$/) },
  ])
})

test.each([
  ['every 1ms', true],
  ['*:0/1', true],
  ['every 60001ms', false],
  ['daily', false],
  ['2026-12-24 18:00', false],
  ['2020-12-24 18:00', false],
  ['every', false],
])('%s elapses at least once a minute: %s', (timer, expected) => {
  expect(isFrequent({ timer, createdAt: ago(90_000) }, NOW)).toBe(expected)
})
