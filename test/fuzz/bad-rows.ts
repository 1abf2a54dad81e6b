/** Rows with hostile values in one to three columns. */
import * as fc from 'fast-check'
import type { DatabaseKind } from '../support/databases.ts'

const LONG = 10_240

/** Undocumented values. */
const VALUES: readonly unknown[] = [
  null,
  '',
  ' ',
  '\u0000',
  'a\u0000b',
  '\u202e\u200b\ufeff',
  '😀'.repeat(50),
  "'; DROP TABLE job; --",
  '\\',
  '%',
  '|',
  'a|b|c|',
  '/',
  'null',
  'true',
  '{',
  '[]',
  '{"a":1}',
  '{"__proto__":{"x":1}}',
  '[[1]]',
  '"text"',
  '0000-00-00 00:00:00',
  '0000-00-00',
  '0001-01-01 00:00:00.000',
  '9999-12-31 23:59:59.999',
  '1969-12-31 23:59:59.999',
  '2026-11-21T12:00:00Z',
  '2026-02-31 00:00:00',
  'now',
  'tomorrow',
  'infinity',
  0,
  -1,
  1,
  2,
  127,
  2_147_483_647,
  -2_147_483_648,
  Number.MAX_SAFE_INTEGER,
  '9223372036854775807',
  '-9223372036854775808',
  '99999999999999999999999999',
  1.5,
  'NaN',
  'x'.repeat(LONG),
  'running',
  'waiting',
  'blocked',
  'skipped',
  'retired',
  'done',
  'invalid',
  'allow',
  'replace',
  'queue-one',
  'stop',
  'fixed',
  'daily',
  'every 0s',
  'every 5min after finish',
  'every 999999999999999999d',
  'cron * * * * *',
  '2026-02-30',
  '*-*-* *:*:*.*',
  '9999-12-31',
  '*-02-30',
  'minutely Mars/Olympus',
]

const BYTES = [
  Buffer.from([0]),
  Buffer.from([0xff, 0xfe, 0x00, 0x80]),
  Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)),
]

const anyValue = (kind: DatabaseKind) =>
  fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(...VALUES) },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
    { weight: 1, arbitrary: fc.constantFrom(...BYTES) },
    { weight: 1, arbitrary: fc.integer() },
    // Fractions are tested only on SQLite, whose driver accepts any number in an INSERT.
    { weight: kind === 'sqlite' ? 1 : 0, arbitrary: fc.double({ noNaN: true }) },
  )

interface Table {
  readonly name: string
  readonly good: Readonly<Record<string, unknown>>
  readonly columns: readonly string[]
}

/** Valid values that make schedules and jobs due at once, and all columns that can get a hostile value. */
const TABLES: readonly Table[] = [
  {
    name: 'periodic_task',
    good: { id: 'bad', task: 'other', timer: 'minutely', nextrun: '2020-01-01 00:00:00.000' },
    columns: [
      'id',
      'enabled',
      'task',
      'group_',
      'args',
      'subject',
      'submitter',
      'summary',
      'priority',
      'timer',
      'nextrun',
      'starts',
      'ends',
      'jitter',
      'catch_up',
      'overlap',
      'on_exhausted',
      'max_runs',
      'timeout',
      'max_retries',
      'retry_delay',
      'retry_backoff',
      'declared_by',
      'created',
      'worker',
      'marked',
      'mark_ends',
      'idle',
      'last_slot',
      'run_count',
      'error_count',
      'last_run',
      'last_finished',
      'last_job',
      'last_error',
      'planned_from',
      'planned_nextrun',
      'planned_by_hand',
      'uid',
    ],
  },
  {
    name: 'job',
    good: { id: 'bad', task: 'other' },
    columns: [
      'id',
      'periodic_task_id',
      'periodic_task_uid',
      'slot',
      'missed',
      'run',
      'task',
      'group_',
      'args',
      'subject',
      'submitter',
      'priority',
      'state',
      'reason',
      'exclusive',
      'worker',
      'attempt',
      'submitted',
      'run_at',
      'started',
      'finished',
      'timeout',
      'max_retries',
      'retry_delay',
      'retry_backoff',
      'progress',
      'result',
      'error',
      'stop_requested',
    ],
  },
  {
    name: 'worker',
    good: { id: 'bad/1', name: 'bad', host: 'host', pid: 1, tasks: '[]' },
    columns: ['id', 'host', 'pid', 'tasks', 'sets', 'started', 'heartbeat'],
  },
  {
    name: 'declared_set',
    good: { name: 'bad', hash: 'x', schedules: '[]' },
    columns: ['name', 'hash', 'schedules', 'first_seen'],
  },
  {
    name: 'job_log',
    good: { job_id: 'bad', message: 'text' },
    columns: ['job_id', 'at', 'level', 'message'],
  },
  {
    name: 'attempt',
    good: {
      job_id: 'bad',
      claim: 1,
      attempt: 1,
      worker: 'bad/1',
      started: '2026-01-01 00:00:00',
      ended: '2026-01-01 00:00:01',
      outcome: 'lost',
    },
    columns: ['job_id', 'claim', 'attempt', 'worker', 'started', 'ended', 'outcome', 'error'],
  },
]

/** Rows of any table, with hostile values in one to three columns. */
export const rowCases = (kind: DatabaseKind) =>
  fc
    .constantFrom(...TABLES, ...TABLES.slice(0, 2), ...TABLES.slice(0, 2))
    .chain(({ name, good, columns }) =>
      fc
        .dictionary(fc.constantFrom(...columns), anyValue(kind), { minKeys: 1, maxKeys: 3 })
        .map((bad) => ({ table: name, columns: { ...good, ...bad } })),
    )
