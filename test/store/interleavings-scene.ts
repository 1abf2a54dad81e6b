/**
 * A small database in which every statement of a worker has rows to process, and the actions of workers and people.
 */
import { DEFAULT_POLICY } from '../../src/model/task.ts'
import { type ClaimedJob, fenceOf, fenceText } from '../../src/model/job.ts'
import { Scheduler } from '../../src/scheduler/scheduler.ts'
import type { AttemptEnd } from '../../src/model/settle.ts'
import type { UnsettledAttempt } from '../../src/store/executing-store.ts'
import type { StartLimits } from '../../src/store/scheduling-store.ts'
import { ConflictError } from '../../src/errors.ts'
import { toText } from '../../src/model/instant.ts'
import { ADOPT, type TestDatabase } from '../support/databases.ts'
import type { Actor, Clock } from './interleavings-actors.ts'
import { write } from './writes.ts'

export const LEASE_MS = 60_000
export const POLL_INTERVAL_MS = 1000
export const START = new Date('2026-11-21T12:00:30.500Z')
/** The first undecided slot of every due schedule. */
export const FIRST_SLOT = new Date('2026-11-21T12:00:00.000Z')

const TASKS = new Map([['task', DEFAULT_POLICY]])
const BEFORE = '2026-11-21 11:59:00.000'
const EARLIER = '2026-11-21 11:58:00.000'
const DUE = toText(FIRST_SLOT)

interface ScheduleColumns {
  readonly id: string
  readonly overlap: string
  readonly timer?: string
  readonly nextrun?: string | null
  readonly lastSlot?: string | null
  readonly idle?: string
  readonly runs?: number
  readonly errors?: number
}

const SCHEDULES: readonly ScheduleColumns[] = [
  { id: 'free', overlap: 'allow' },
  { id: 'skips', overlap: 'skip', lastSlot: BEFORE },
  { id: 'queues', overlap: 'queue-one', lastSlot: BEFORE },
  { id: 'replaces', overlap: 'replace', lastSlot: BEFORE },
  { id: 'failed', overlap: 'skip', lastSlot: BEFORE, runs: 1, errors: 1 },
  {
    id: 'after',
    overlap: 'skip',
    timer: 'every 1min after finish',
    nextrun: null,
    lastSlot: BEFORE,
    idle: 'awaiting-finish',
  },
  // A schedule that no actor touches.
  { id: 'later', overlap: 'skip', timer: '*-*-* 18:00', nextrun: '2026-11-21 18:00:00.000' },
]

/** The worker of the jobs that are running at the beginning. */
export const EARLY = 'early/1'

const JOBS: readonly (readonly [schedule: string, slot: string, state: string, attempt: number])[] = [
  ['skips', BEFORE, 'running', 1],
  ['queues', EARLIER, 'running', 1],
  ['queues', BEFORE, 'blocked', 0],
  ['replaces', BEFORE, 'waiting', 0],
  ['failed', BEFORE, 'failed', 4],
  ['after', BEFORE, 'running', 1],
]

/** Resets the clock and the tables to the initial state. */
export async function reset(database: TestDatabase, clock: Clock): Promise<void> {
  MAYBE_UNSTARTED.clear()
  clock.now = START
  for (const table of ['periodic_task', 'job', 'attempt', 'worker'])
    await database.query(`DELETE FROM ${table}`)
  const schedules = SCHEDULES.map(
    ({
      id,
      overlap,
      timer = 'minutely',
      nextrun = DUE,
      lastSlot = null,
      idle = null,
      runs = 0,
      errors = 0,
    }) => [
      id,
      'task',
      timer,
      overlap,
      nextrun,
      lastSlot,
      idle,
      runs,
      errors,
      1000,
      '2026-11-21 11:00:00.000',
      `1|${timer}|0|||`,
      nextrun,
    ],
  )
  await insertRows(
    database,
    'periodic_task (id, task, timer, overlap, nextrun, last_slot, idle, run_count, error_count, catch_up, created, planned_from, planned_nextrun)',
    schedules,
  )
  const jobs = JOBS.map(([schedule, slot, state, attempt], index) => [
    `00000000-0000-8000-8000-00000000000${index}`,
    schedule,
    slot,
    'task',
    state,
    attempt,
    attempt,
    state === 'running' ? EARLY : null,
    state === 'running' || state === 'failed' ? slot : null,
    state === 'failed' ? slot : null,
  ])
  await insertRows(
    database,
    'job (id, periodic_task_id, slot, task, state, attempt, claim, worker, started, finished)',
    jobs,
  )
  await database.query(ADOPT)
  const attempts = JOBS.flatMap(([, slot, state, attempt], index) =>
    Array.from({ length: state === 'failed' ? attempt : 0 }, (_, before) => [
      `00000000-0000-8000-8000-00000000000${index}`,
      before + 1,
      before + 1,
      EARLY,
      slot,
      slot,
      'failed',
    ]),
  )
  await insertRows(database, 'attempt (job_id, claim, attempt, worker, started, ended, outcome)', attempts)
  await insertRows(database, 'worker (id, name, host, pid, tasks)', [[EARLY, 'early', 'host', 1, '["task"]']])
}

async function insertRows(
  database: TestDatabase,
  into: string,
  rows: readonly (readonly (string | number | null)[])[],
): Promise<void> {
  const values = rows.map((row) => `(${row.map(() => '?').join(', ')})`).join(', ')
  await database.query(`INSERT INTO ${into} VALUES ${values}`, rows.flat())
}

/** The fences of claims whose jobs may be released before they start; such a claim then has no attempt. */
export const MAYBE_UNSTARTED = new Set<string>()

/** An action of a worker or a person. */
export interface Program {
  readonly name: string
  /** The worker; null for a person, who works in SQL or through the API. */
  readonly worker: string | null
  readonly run: (actor: Actor, clock: Clock) => Promise<void>
  /** Schedules whose definition, policies or jobs change, so that their number of slots cannot be predicted. */
  readonly changes?: readonly string[]
  /** The violations in the final state; called only if no actor has crashed. */
  readonly wrongAtEnd?: (schedules: ReadonlyMap<string, Record<string, unknown>>) => string[]
}

/** @returns the jobs that started when they were submitted */
async function schedulerPass(
  actor: Actor,
  worker: string,
  startLimits: StartLimits | null = null,
): Promise<ClaimedJob[]> {
  const running: ClaimedJob[] = []
  const refuse = (id: string, cause: unknown) => {
    throw new Error(`The schedule ${id} could not be submitted`, { cause })
  }
  const scheduler = new Scheduler({
    store: actor.store.scheduling,
    worker: () => worker,
    leaseMs: LEASE_MS,
    missedAfterMs: LEASE_MS + POLL_INTERVAL_MS,
    batch: () => 100,
    submit: async (...of) => {
      const result = await actor.store.scheduling.submit(...of, startLimits)
      running.push(...result.started)
      for (const { item, error } of result.refused) refuse(item.id, error)
      return result
    },
    onError: () => undefined,
  })
  await scheduler.pass()
  return running
}

/** A success whose result identifies the worker and the attempt. */
const success = (worker: string, attempt: number): AttemptEnd => ({
  kind: 'success',
  result: JSON.stringify({ worker, attempt }),
})

/** Retries locked rows once, then leaves them to the takeover, because the lock's holder may be paused. */
async function settleTwice(actor: Actor, attempts: readonly UnsettledAttempt[]): Promise<void> {
  const { locked } = await write(actor.store).settle(attempts)
  if (locked.length > 0) await write(actor.store).settle(locked)
}

/** Claims jobs although there is no free capacity, and releases them. */
async function claimAndGiveBack(actor: Actor, worker: string): Promise<void> {
  const jobs = await actor.store.executing.claim(worker, TASKS, 0, '', { ahead: 10 })
  for (const job of jobs) MAYBE_UNSTARTED.add(fenceText(job))
  const end = { kind: 'unstarted' } as const
  await settleTwice(
    actor,
    jobs.map((job) => ({ fence: fenceOf(job), end, policy: job.policy })),
  )
}

/** @returns the number of jobs that ran */
async function claimAndRun(actor: Actor, worker: string): Promise<number> {
  const jobs = await actor.store.executing.claim(worker, TASKS, 10, '')
  await runAll(actor, worker, jobs)
  return jobs.length
}

async function runAll(actor: Actor, worker: string, jobs: readonly ClaimedJob[]): Promise<void> {
  await settleTwice(
    actor,
    jobs.map((job) => ({
      fence: { id: job.id, worker, claim: job.claim },
      job,
      end: success(worker, job.attempt),
      policy: job.policy,
    })),
  )
}

const register = (actor: Actor, worker: string) =>
  actor.store.workers.register({
    id: worker,
    name: worker.split('/')[0] ?? '',
    host: 'host',
    pid: 1,
    tasks: ['task'],
  })

/** Takes over as if all leases had expired: all other registered workers count as dead. */
async function takeOver(actor: Actor, worker: string): Promise<void> {
  for (const other of (await actor.store.workers.list()).workers)
    if (other.id !== worker) await actor.store.workers.evict(other.id, other.heartbeatAt)
  await actor.store.scheduling.clearStaleMarks(worker, LEASE_MS)
  for (;;) {
    const orphans = await actor.store.executing.orphans(100)
    if (orphans.length === 0) return
    const { settled } = await write(actor.store).settle(orphans)
    if (settled.length === 0) return
  }
}

/** The outcomes of the attempts that are running at the beginning, as reported by the worker of these attempts. */
const endings = (end: (id: string) => AttemptEnd): UnsettledAttempt[] =>
  JOBS.flatMap(([, , state], index) => {
    const id = `00000000-0000-8000-8000-00000000000${index}`
    return state === 'running'
      ? [{ fence: { id, worker: EARLY, claim: 1 }, end: end(id), policy: DEFAULT_POLICY }]
      : []
  })

const pass = (worker: string): Program => ({
  name: `${worker} submits`,
  worker,
  run: async (actor) => void (await schedulerPass(actor, worker)),
})

/** Runs one SQL statement, or several in a transaction. A duplicate key is an expected result, not an error. */
const byHand = (
  name: string,
  statements: readonly string[],
  more: Pick<Program, 'changes' | 'wrongAtEnd'> = {},
): Program => ({
  name,
  worker: null,
  run: async (actor) => {
    const { database } = actor
    try {
      const [only, ...others] = statements
      if (only !== undefined && others.length === 0) await database.run(only)
      else
        await database.transaction(async (sql) => {
          for (const statement of statements) await sql.run(statement)
        })
    } catch (error) {
      if (!database.dialect.isDuplicate(error)) throw error
    }
  },
  ...more,
})

const refused = async (work: Promise<unknown>): Promise<void> => {
  try {
    await work
  } catch (error) {
    if (!(error instanceof ConflictError)) throw error
  }
}

/** The actions of workers. */
export const WORKERS: readonly Program[] = [
  pass('a/1'),
  pass('b/1'),
  {
    name: 'f/1 submits jobs that start at once',
    worker: 'f/1',
    run: async (actor) => {
      const limits = { limit: 100, tasks: TASKS, taskLimits: new Map<string, number>() }
      await runAll(actor, 'f/1', await schedulerPass(actor, 'f/1', limits))
    },
  },
  {
    name: 'g/1 claims ahead and releases',
    worker: 'g/1',
    run: (actor) => claimAndGiveBack(actor, 'g/1'),
  },
  { name: 'c/1 runs jobs', worker: 'c/1', run: async (actor) => void (await claimAndRun(actor, 'c/1')) },
  {
    name: `${EARLY} finishes`,
    worker: EARLY,
    run: (actor) =>
      settleTwice(
        actor,
        endings(() => success(EARLY, 1)),
      ),
  },
  {
    name: `${EARLY} fails`,
    worker: EARLY,
    run: (actor) =>
      settleTwice(
        actor,
        endings(() => ({ kind: 'error', error: 'boom', permanent: false })),
      ),
  },
  {
    name: 'd/1 takes over',
    worker: 'd/1',
    run: async (actor) => {
      await register(actor, 'd/1')
      await takeOver(actor, 'd/1')
      await schedulerPass(actor, 'd/1')
      await claimAndRun(actor, 'd/1')
    },
  },
  {
    name: 'e/1 sweeps',
    worker: 'e/1',
    run: async (actor) => {
      await actor.store.scheduling.sweep('e/1', LEASE_MS, 'everything')
      await actor.store.executing.promoteDue(100)
    },
  },
]

/** Checks the value of a column; reports nothing if the schedule was deleted. */
const isOf =
  (id: string, column: string, wanted: unknown) =>
  (schedules: ReadonlyMap<string, Record<string, unknown>>) => {
    const row = schedules.get(id)
    return row === undefined || row[column] === wanted ? [] : [`${id}.${column} is ${String(row[column])}`]
  }

/** The actions of people. */
export const PEOPLE: readonly Program[] = [
  byHand('a timer is edited', ["UPDATE periodic_task SET timer = '*:0/7' WHERE id IN ('skips', 'queues')"], {
    changes: ['skips', 'queues'],
    wrongAtEnd: (schedules) =>
      ['skips', 'queues'].flatMap((id) => {
        const next = schedules.get(id)?.['nextrun']
        if (typeof next !== 'string') return []
        return /:(00|07|14|21|28|35|42|49|56):00.000$/.test(next) ? [] : [`${id} continues with ${next}`]
      }),
  }),
  byHand(
    'a run is wanted now',
    ["UPDATE periodic_task SET nextrun = '2000-01-01 00:00:00.000' WHERE id = 'free'"],
    {
      changes: ['free'],
    },
  ),
  byHand('a schedule is paused', ["UPDATE periodic_task SET enabled = 0 WHERE id IN ('free', 'after')"], {
    changes: ['free', 'after'],
    wrongAtEnd: isOf('free', 'status', 'paused'),
  }),
  byHand(
    'a policy is edited',
    [
      "UPDATE periodic_task SET overlap = 'allow' WHERE id = 'queues'",
      "UPDATE periodic_task SET overlap = 'skip' WHERE id = 'free'",
    ],
    {
      changes: ['queues', 'free'],
      wrongAtEnd: isOf('queues', 'overlap', 'allow'),
    },
  ),
  byHand('a schedule is deleted', ["DELETE FROM periodic_task WHERE id = 'queues'"], { changes: ['queues'] }),
  byHand('jobs are deleted', ["DELETE FROM job WHERE periodic_task_id IN ('skips', 'after', 'replaces')"], {
    changes: ['skips', 'after', 'replaces'],
  }),
  byHand('a failed job is put back', [
    "UPDATE job SET state = 'waiting', attempt = 0, finished = NULL WHERE periodic_task_id = 'failed' AND state = 'failed'",
  ]),
  byHand('an occurrence is inserted', [
    `INSERT INTO job (id, periodic_task_id, periodic_task_uid, slot, task) SELECT 'by hand', id, uid, '${DUE}', 'task' FROM periodic_task WHERE id = 'free'`,
  ]),
  byHand('a transaction is left open', [
    "UPDATE periodic_task SET summary = 'one' WHERE id IN ('failed', 'queues')",
    "UPDATE periodic_task SET summary = 'two' WHERE id = 'skips'",
    "UPDATE job SET priority = 5 WHERE periodic_task_id = 'after'",
  ]),
  {
    name: 'a run is asked for',
    worker: null,
    changes: ['failed'],
    run: (actor) => refused(write(actor.store).runNow('failed')),
  },
  {
    name: 'jobs are cancelled',
    worker: null,
    run: async (actor) => {
      for (const index of [0, 1, 2, 3])
        await write(actor.store).cancel(`00000000-0000-8000-8000-00000000000${index}`)
    },
  },
  {
    name: 'a failed job is tried again',
    worker: null,
    run: (actor) => refused(write(actor.store).retry('00000000-0000-8000-8000-000000000004')),
  },
  {
    name: 'time passes',
    worker: null,
    run: async (actor, clock) => {
      await actor.step('time', 'more than a lease')
      clock.now = new Date(clock.now.getTime() + LEASE_MS + POLL_INTERVAL_MS)
    },
  },
]

/** Lets all marks expire; then a new worker takes over and does all remaining work. */
export async function recover(actor: Actor, clock: Clock): Promise<void> {
  clock.now = new Date(clock.now.getTime() + LEASE_MS + POLL_INTERVAL_MS)
  const worker = 'last/1'
  await register(actor, worker)
  await takeOver(actor, worker)
  for (let rounds = 0; rounds < 20; rounds += 1) {
    await actor.store.scheduling.sweep(worker, LEASE_MS, 'everything')
    await schedulerPass(actor, worker)
    await actor.store.executing.promoteDue(100)
    if ((await claimAndRun(actor, worker)) === 0) return
  }
  throw new Error('Too many jobs')
}
