/** The valid and invalid values that people write into the columns of a schedule. */
import { msOf, textOf } from '../dates.ts'
import type { Random } from '../random.ts'
import type { RowText } from '../record.ts'
import type { Columns } from './editing.ts'

/** The input of an edit. */
export interface Situation {
  readonly random: Random
  /** By the database's clock. */
  readonly now: number
  readonly row: RowText
  /** Ids of registered workers. */
  readonly workers: readonly string[]
}

export interface EditKind {
  readonly name: string
  readonly weight: number
  readonly columns: (situation: Situation) => Columns
  /** Columns to write some time later, if the edit would otherwise leave the schedule inactive or useless. */
  readonly repair?: (situation: Situation) => Columns
}

const LIVELY = [
  '*:*:*',
  '*:*:* Europe/Berlin',
  '*:*:0/2',
  '*:*:1/3 America/New_York',
  'Mon..Sun *:*:0/2',
  '*:*:0.25/1.5',
  'every 1s',
  'every 1500ms',
  'every 2s',
  'every 1s after finish',
  'every 700ms after finish',
]
const RARE = [
  'cron * * * * *',
  'cron 0-59 * * * * Europe/Berlin',
  'minutely',
  '*:*:0/20 Asia/Kolkata',
  'daily',
]
const GARBAGE = [
  '',
  'whenever',
  'cron 0 0 L * *',
  '*:*:61',
  'every 0s',
  'every -1s',
  '🕰️',
  'Mon..Xyz 9:00',
  'every',
]

const sane = ({ random }: Situation): Columns => ({ timer: random.pick(LIVELY), enabled: 1 })
const clear = {
  starts: null,
  ends: null,
  max_runs: null,
  idle: null,
  nextrun: null,
  planned_from: null,
} as const
const instant = (ms: number) => textOf(Math.round(ms))

/** Makes a schedule active again after any edit. */
export const revived = (situation: Situation): Columns => ({
  ...sane(situation),
  ...clear,
  jitter: 0,
  task: 'tick',
})

export const EDIT_KINDS: readonly EditKind[] = [
  { name: 'off and on', weight: 6, columns: () => ({ enabled: 0 }), repair: () => ({ enabled: 1 }) },
  { name: 'on', weight: 1, columns: () => ({ enabled: 1 }) },
  { name: 'timer', weight: 8, columns: ({ random }) => ({ timer: random.pick(LIVELY) }) },
  { name: 'rare timer', weight: 2, columns: ({ random }) => ({ timer: random.pick(RARE) }), repair: sane },
  {
    name: 'invalid timer',
    weight: 3,
    columns: ({ random }) => ({ timer: random.pick(GARBAGE) }),
    repair: sane,
  },
  {
    name: 'one-off',
    weight: 2,
    columns: ({ random, now }) => ({ timer: textOf(now + random.int(-5, 4) * 1000).slice(0, 19) }),
    repair: sane,
  },
  {
    name: 'run-now',
    weight: 6,
    columns: ({ random, now }) => ({ nextrun: instant(now - random.int(1, 1e6)) }),
  },
  { name: 'run now, as in the guide', weight: 2, columns: () => ({ nextrun: '2000-01-01 00:00:00.000' }) },
  {
    name: 'run at',
    weight: 5,
    columns: ({ random, now }) => ({ nextrun: instant(now + random.int(1, 4000)) }),
  },
  { name: 'count again', weight: 3, columns: () => ({ nextrun: null }) },
  {
    name: 'run in a week',
    weight: 1,
    columns: ({ now }) => ({ nextrun: instant(now + 6e8) }),
    repair: () => ({ nextrun: null }),
  },
  {
    name: 'run at the last slot again',
    weight: 3,
    columns: ({ row }) => (row['last_slot'] === null ? {} : { nextrun: row['last_slot'] ?? null }),
  },
  {
    // The nextrun looks as if the planner had written it, so only last_slot keeps slots from being decided again.
    name: 'set back unseen',
    weight: 3,
    columns: ({ row, random }) => {
      const lastSlot = msOf(row['last_slot'])
      // Without a decided slot, there is nothing to set back.
      if (lastSlot === null) return {}
      const nextrun = instant(lastSlot - random.int(0, 8) * 500)
      return { nextrun, planned_nextrun: nextrun, planned_from: String(row['definition']) }
    },
  },
  {
    name: 'starts',
    weight: 2,
    columns: ({ random, now }) => ({ starts: instant(now + random.int(-3000, 4000)) }),
  },
  {
    name: 'ends',
    weight: 2,
    columns: ({ random, now }) => ({ ends: instant(now + random.int(-1000, 4000)) }),
    repair: () => ({ ends: null }),
  },
  { name: 'bounds removed', weight: 1, columns: () => ({ starts: null, ends: null }) },
  {
    name: 'jitter',
    weight: 3,
    columns: ({ random }) => ({ jitter: random.pick([0, 1, 500, 3000, 60_000]) }),
  },
  {
    name: 'max-runs',
    weight: 3,
    columns: ({ row, random }) => ({
      max_runs: Math.max(1, Number(row['run_count']) - Number(row['error_count']) + random.int(-2, 5)),
    }),
    repair: () => ({ max_runs: null }),
  },
  {
    name: 'overlap',
    weight: 5,
    columns: ({ random }) => ({ overlap: random.pick(['skip', 'queue-one', 'replace', 'allow']) }),
  },
  { name: 'catch up', weight: 3, columns: ({ random }) => ({ catch_up: random.pick([0, 1, 2, 5, 1000]) }) },
  {
    name: 'stop when it fails',
    weight: 2,
    columns: () => ({ on_exhausted: 'stop', task: 'throw', args: '{}', max_retries: 0 }),
    repair: (situation) => ({ ...revived(situation), on_exhausted: 'continue', max_retries: 2 }),
  },
  { name: 'args', weight: 4, columns: ({ random }) => ({ args: argsOf(random) }) },
  {
    name: 'priority',
    weight: 2,
    columns: ({ random }) => ({ priority: random.pick([0, 1, -1, 2_147_483_647, -2_147_483_647, 7]) }),
  },
  {
    name: 'group',
    weight: 2,
    columns: ({ random }) => ({ group_: random.pick(['', 'red', 'GREEN', 'grün 🟢', 'x'.repeat(100)]) }),
  },
  {
    name: 'subject',
    weight: 1,
    columns: ({ random }) => ({
      subject: random.pick([null, 'Ms Adler', "'; DROP TABLE job; --", 'ß'.repeat(255)]),
    }),
  },
  {
    name: 'submitter',
    weight: 1,
    columns: ({ random }) => ({ submitter: random.pick([null, 'anna', 'Ànna ']) }),
  },
  { name: 'summary', weight: 1, columns: ({ random }) => ({ summary: random.pick([null, '', 'Σ\n\t\\']) }) },
  {
    name: 'policy of runs',
    weight: 2,
    columns: ({ random }) => ({
      timeout: random.pick([null, 1000, 5000, 600_000]),
      max_retries: random.pick([null, 0, 1, 5]),
      retry_delay: random.pick([null, 0, 1, 500, 1500]),
      retry_backoff: random.pick([null, 'fixed', 'exponential']),
    }),
    repair: () => ({ timeout: null, max_retries: 2, retry_delay: 500, retry_backoff: 'fixed' }),
  },
  {
    name: 'counters',
    weight: 2,
    columns: ({ random }) => ({
      run_count: random.int(0, 1000),
      error_count: random.pick([0, 0, 3]),
      last_run: random.pick([null, '2020-02-29 12:00:00.000']),
      last_finished: null,
      last_job: random.pick([null, 'nobody-knows']),
      last_error: random.pick([null, 'by hand']),
    }),
  },
  { name: 'last slot cleared', weight: 2, columns: () => ({ last_slot: null }) },
  {
    name: 'last slot moved back',
    weight: 2,
    columns: ({ row, now }) => ({ last_slot: instant((msOf(row['last_slot']) ?? now) - 3000) }),
  },
  {
    name: 'last slot moved forward',
    weight: 2,
    columns: ({ row, now, random }) => ({
      last_slot: instant((msOf(row['last_slot']) ?? now) + random.int(1, 4000)),
    }),
  },
  {
    name: 'idle',
    weight: 4,
    columns: ({ random }) => ({
      idle: random.pick(['done', 'dead', 'invalid', 'retired', 'awaiting-finish', null]),
    }),
    repair: revived,
  },
  { name: 'idle cleared', weight: 1, columns: () => ({ idle: null }) },
  { name: 'planned_from cleared', weight: 2, columns: () => ({ planned_from: null }) },
  { name: 'planned_nextrun cleared', weight: 2, columns: () => ({ planned_nextrun: null }) },
  {
    name: 'planned_from invalid',
    weight: 2,
    columns: ({ random }) => ({ planned_from: random.pick(['', '|', 'x', '1|*:*:*|0|||', '❌|❌']) }),
  },
  {
    name: 'mark of a dead worker',
    weight: 4,
    columns: ({ now, random }) => ({
      worker: 'gone/00000000',
      marked: instant(now),
      mark_ends: instant(now + random.pick([-1000, 500, 3000])),
    }),
  },
  {
    name: 'mark far in the future',
    weight: 3,
    columns: ({ now, random, workers }) => ({
      worker: random.chance(0.5) || workers.length === 0 ? 'gone/00000001' : random.pick(workers),
      marked: instant(now),
      mark_ends: instant(now + random.pick([20_000, 3_600_000, 3e10])),
    }),
  },
  {
    name: 'mark of a live worker',
    weight: 3,
    columns: ({ now, random, workers }) =>
      workers.length === 0
        ? {}
        : {
            worker: random.pick(workers),
            marked: instant(now),
            mark_ends: instant(now + random.int(0, 3000)),
          },
  },
  {
    name: 'incomplete mark',
    weight: 2,
    columns: ({ random }) => ({
      worker: 'gone/00000002',
      marked: null,
      mark_ends: random.pick([null, '1999-01-01 00:00:00.000']),
    }),
  },
  { name: 'mark removed', weight: 3, columns: () => ({ worker: null, marked: null, mark_ends: null }) },
  {
    name: 'created',
    weight: 2,
    columns: ({ now, random }) => ({ created: instant(now - random.int(1, 1e7)) }),
  },
  { name: 'created in the future', weight: 1, columns: ({ now }) => ({ created: instant(now + 3000) }) },
  {
    name: 'declared',
    weight: 1,
    columns: () => ({ declared_by: 'nobody-declares-it' }),
    repair: () => ({ declared_by: null }),
  },
  {
    name: 'another task',
    weight: 2,
    columns: ({ random }) => ({ task: random.pick(['tick', 'slow', 'throw']), args: '{"ms":200,"times":1}' }),
  },
  {
    name: 'task without a handler',
    weight: 2,
    columns: () => ({ task: 'nobody-handles' }),
    repair: () => ({ task: 'tick' }),
  },
  {
    name: 'everything at once',
    weight: 2,
    columns: ({ random, now }) => ({
      timer: random.pick(LIVELY),
      nextrun: instant(now + random.int(-2000, 2000)),
      enabled: 1,
      overlap: 'allow',
      priority: 3,
    }),
  },
]

function argsOf(random: Random): string {
  const kinds: readonly (() => unknown)[] = [
    () => ({}),
    () => ({ ms: 250, note: 'ß 🦊 \u0000 \u202e' }),
    () => ({ text: 'x'.repeat(100_000) }),
    () => JSON.parse(`${'['.repeat(30)}1${']'.repeat(30)}`),
    () => ({ ms: 100, '': { __proto__: null, "o'clock": '"\\' } }),
    () => 17,
    () => null,
  ]
  return JSON.stringify(random.pick(kinds)())
}

/** Values that the tables must reject. */
export const REFUSED: readonly { readonly table: 'periodic_task' | 'job'; readonly columns: Columns }[] = [
  { table: 'periodic_task', columns: { overlap: 'sometimes' } },
  { table: 'periodic_task', columns: { catch_up: -1 } },
  { table: 'periodic_task', columns: { catch_up: 1001 } },
  { table: 'periodic_task', columns: { enabled: 2 } },
  { table: 'periodic_task', columns: { args: '{"half":' } },
  { table: 'periodic_task', columns: { jitter: -1 } },
  { table: 'periodic_task', columns: { max_runs: 0 } },
  { table: 'periodic_task', columns: { on_exhausted: 'perhaps' } },
  { table: 'periodic_task', columns: { retry_backoff: 'linear' } },
  { table: 'periodic_task', columns: { timer: null } },
  { table: 'periodic_task', columns: { created: null } },
  { table: 'job', columns: { state: 'nearly' } },
  { table: 'job', columns: { args: 'no json' } },
  { table: 'job', columns: { retry_backoff: '' } },
  { table: 'job', columns: { task: null } },
]
