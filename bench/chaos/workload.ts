/** The schedules of a run, from its seed: every kind of timer with every policy, and canaries that no edit touches. */
import { databaseNow, textOf } from './dates.ts'
import type { Journal, Target } from './fault.ts'
import type { Random } from './random.ts'

export type Columns = Readonly<Record<string, string | number | null>>

export interface NewSchedule {
  readonly id: string
  readonly columns: Columns
}

/** Each slot of these schedules must become a run, unless the clock jumps forward by an hour. */
export const CANARY = 'canary-'
/**
 * A number of slots, and therefore of seconds. No fault can stop the workers for longer, but a clock that jumps forward
 * by an hour skips more slots.
 */
export const CANARY_CATCH_UP = 120
/**
 * Each worker has a schedule that no other worker can run, such as `only-w1`, with a slot every second. The schedule's
 * task has the same name.
 */
export const ONLY = 'only-'
/** Schedules that faults edit. */
export const EDIT = 'edit-'

/** Fractions of all schedules. */
const SHARES = { canary: 0.3, edit: 0.2 } as const
/** Enough retries to survive kills, with short delays. */
const STUBBORN = { max_retries: 20, retry_delay: 500, retry_backoff: 'fixed' } as const
const QUICK_RETRY = { max_retries: 2, retry_delay: 500, retry_backoff: 'fixed' } as const

const POLICIES: readonly Columns[] = ['skip', 'queue-one', 'replace', 'allow'].flatMap((overlap) =>
  [0, 1, 5].map((catchUp) => ({ overlap, catch_up: catchUp })),
)

const EACH_SECOND = ['*:*:*', '*:*:* Europe/Berlin', 'every 1s', 'Mon..Sun *:*:*', '*-*-* *:0/1:*']
const SLOWER = [
  '*:*:0/2',
  '*:*:0/3 Europe/Berlin',
  '*:*:1/5',
  '*:*:5,17,33,48',
  '*:*:0/7 America/New_York',
  'Sat,Sun,Mon..Fri *:0/1:0/10',
  'every 2s',
  'every 1500ms',
  'every 3s',
  'every 7s',
  'every 20s',
  'every 1s after finish',
  'every 2500ms after finish',
  'every 500ms after finish',
  'cron * * * * *',
  'cron 0-59 * * * * Europe/Berlin',
  'minutely',
  '*:*:0.5/2',
  '*:*:0/4.25',
]
/** Most of these are due only around the time of night at which clocks change in Europe/Berlin. */
const NIGHT = [
  '02:*:* Europe/Berlin',
  '02:*:0/2 Europe/Berlin',
  '01..03:*:0/3 Europe/Berlin',
  '*-*-* 02:00..59:0/5 Europe/Berlin',
  'Sun *-03,10-25..31 *:*:0/2 Europe/Berlin',
  'Sun *-03,10-* 00..04:*:0/2 Europe/Berlin',
  'cron * 2 * * * Europe/Berlin',
  'cron 0-59 1-3 * 3,10 0 Europe/Berlin',
  '*-*-* *:*:0/2 Europe/Berlin',
]
/** Tasks with their args; each job ends within seconds. */
const WORK: readonly Columns[] = [
  { task: 'tick' },
  { task: 'tick' },
  { task: 'slow', args: '{"ms":300}' },
  { task: 'slow', args: '{"ms":1800}' },
  { task: 'throw', args: '{"times":1}' },
  { task: 'throw', args: '{}' },
]

/**
 * @param count  the number of schedules, at least 10, not counting those for single workers and the application's queue
 * @param workers  the names of the workers
 * @param hasQueue  whether the application has its own queue
 */
export function workload(
  count: number,
  random: Random,
  workers: readonly string[],
  hasQueue: boolean,
): NewSchedule[] {
  const canaries = Math.max(4, Math.round(count * SHARES.canary))
  const edits = Math.max(2, Math.round(count * SHARES.edit))
  const others = Math.max(4, count - canaries - edits)
  return [
    ...numbered(canaries, CANARY, () => ({
      task: 'tick',
      timer: '*:*:*',
      overlap: 'allow',
      catch_up: CANARY_CATCH_UP,
      ...STUBBORN,
    })),
    ...numbered(edits, EDIT, (index) => ({
      ...turn(POLICIES, index),
      ...(random.chance(0.8) ? { task: 'tick' } : { task: 'slow', args: '{"ms":400}' }),
      timer: random.pick([...EACH_SECOND, ...SLOWER]),
      ...QUICK_RETRY,
    })),
    ...mixed(others, random),
    ...(hasQueue ? numbered(HANDED, 'handed-', handed) : []),
    ...workers.map((name) => ({
      id: `${ONLY}${name}`,
      columns: { task: `${ONLY}${name}`, timer: '*:*:*', ...STUBBORN },
    })),
  ]
}

/** Schedules whose jobs go to the application's own queue. */
const HANDED = 24
const handed = (index: number): Columns => ({
  task: 'hand',
  ...turn(POLICIES, index),
  timer: turn(['*:*:*', 'every 2s', 'every 1s after finish', '*:*:0/3 Europe/Berlin'], Math.floor(index / 5)),
  group_: turn(['', 'red', 'blue'], index),
})

/** Every kind in turn, so that even a small run has as many kinds as fit. */
function mixed(count: number, random: Random): NewSchedule[] {
  const troubled = special(random)
  const eachSecond = Math.round(count * 0.45)
  const plain = Array.from({ length: Math.max(0, count - troubled.length) }, (_, index): NewSchedule => {
    const isEachSecond = index < eachSecond
    const timers = isEachSecond ? EACH_SECOND : index % 4 === 3 ? NIGHT : SLOWER
    const kind = isEachSecond ? 'second' : index % 4 === 3 ? 'night' : 'slower'
    return {
      id: `${kind}-${String(index).padStart(3, '0')}`,
      columns: {
        ...turn(POLICIES, index),
        ...(isEachSecond && index % 3 > 0 ? { task: 'tick' } : random.pick(WORK)),
        timer: turn(timers, isEachSecond ? index : Math.floor(index / (index % 4 === 3 ? 4 : 1))),
        ...QUICK_RETRY,
        priority: random.pick([0, 0, 0, 5, -3]),
        group_: random.pick(['', '', 'red', 'blue']),
        ...(random.chance(0.15) ? { jitter: random.int(1, 5000) } : {}),
      },
    }
  })
  return [...plain, ...troubled.slice(0, count)]
}

function each(id: string, columns: Columns): NewSchedule {
  return { id, columns: { ...QUICK_RETRY, ...columns } }
}

/** One schedule of each kind that the mix may omit. Some columns are in seconds from now: see `written`. */
function special(random: Random): NewSchedule[] {
  return [
    each('one-off-soon', { task: 'tick', timer: 'once 30' }),
    each('one-off-later', { task: 'tick', timer: `once ${random.int(60, 100)}` }),
    each('bounds-starts', { task: 'tick', timer: '*:*:*', starts: 20, overlap: 'allow', catch_up: 5 }),
    each('bounds-ends', { task: 'tick', timer: 'every 1s', ends: random.int(40, 80), catch_up: 5 }),
    each('bounds-both', { task: 'tick', timer: '*:*:0/2', starts: 15, ends: 75 }),
    each('max-runs', { task: 'tick', timer: '*:*:*', max_runs: random.int(10, 30) }),
    each('max-runs-slow', {
      task: 'slow',
      args: '{"ms":700}',
      timer: '*:*:*',
      max_runs: 15,
      overlap: 'queue-one',
    }),
    each('stop-dead', { task: 'throw', timer: '*:*:0/2', on_exhausted: 'stop', max_retries: 1 }),
    each('stop-lives', {
      task: 'throw',
      args: '{"times":1}',
      timer: '*:*:0/5',
      on_exhausted: 'stop',
      max_retries: 20,
    }),
    each('jitter-wide', { task: 'tick', timer: '*:*:0/10', jitter: 9000, overlap: 'allow', catch_up: 5 }),
    each('jitter-every', { task: 'tick', timer: 'every 4s', jitter: 3000 }),
    each('hang', { task: 'hang', timer: '*:*:0/10', timeout: 1500, max_retries: 1, overlap: 'skip' }),
    each('hang-replaced', {
      task: 'hang',
      timer: '*:*:0/7',
      timeout: 20_000,
      max_retries: 0,
      overlap: 'replace',
    }),
    each('deaf', { task: 'deaf', args: '{"ms":3000}', timer: '*:*:0/20', timeout: 1000, max_retries: 0 }),
    each('after-finish-slow', { task: 'slow', args: '{"ms":1200}', timer: 'every 1s after finish' }),
    each('after-finish-fails', { task: 'throw', timer: 'every 2s after finish', max_retries: 1 }),
    each('paused', { task: 'tick', timer: '*:*:*', enabled: 0 }),
  ]
}

function numbered(count: number, prefix: string, columns: (index: number) => Columns): NewSchedule[] {
  return Array.from({ length: count }, (_, index) => ({
    id: `${prefix}${String(index).padStart(3, '0')}`,
    columns: columns(index),
  }))
}

function turn<Item>(items: readonly Item[], index: number): Item {
  const item = items[index % items.length]
  if (item === undefined) throw new RangeError('the list is empty')
  return item
}

/**
 * Converts seconds from now to instants: `once 30` is a one-off in 30 s, and `starts` and `ends` are in seconds too.
 */
function written({ id, columns }: NewSchedule, now: number): NewSchedule {
  const at = (seconds: string | number) => textOf(Math.ceil(now / 1000) * 1000 + Number(seconds) * 1000)
  const { timer, starts, ends } = columns
  return {
    id,
    columns: {
      ...columns,
      ...(typeof timer === 'string' && timer.startsWith('once ')
        ? { timer: at(timer.slice('once '.length)).slice(0, 19) }
        : {}),
      ...(typeof starts === 'number' ? { starts: at(starts) } : {}),
      ...(typeof ends === 'number' ? { ends: at(ends) } : {}),
    },
  }
}

/** Inserts schedules as an administrator would, in batches that a cluster accepts. */
export async function writeSchedules(
  target: Target,
  journal: Journal,
  schedules: readonly NewSchedule[],
): Promise<void> {
  for (let index = 0; index < schedules.length; index += PORTION) {
    const portion = schedules.slice(index, index + PORTION)
    const { from, until, rows } = await target.transaction(async (query) => {
      const before = await databaseNow(target, query)
      const made = portion.map((schedule) => written(schedule, before))
      for (const { id, columns } of made) {
        const names = ['id', ...Object.keys(columns)]
        await query(
          `INSERT INTO periodic_task (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`,
          [id, ...Object.values(columns)],
        )
      }
      return { from: before, until: await databaseNow(target, query), rows: made }
    })
    for (const { id, columns } of rows) journal.write({ kind: 'schedule', id, columns, from, until })
  }
}

const PORTION = 50
