/**
 * The requirements for every store: the suites in this folder run on SQLite, MariaDB and MySQL. Each file uses one
 * database per kind and empties its tables before each test.
 */
import { createHash } from 'node:crypto'
import { afterEach, beforeAll, beforeEach } from 'vitest'
import type { OpenJobs, Plan, Plannable, PlannedRun } from '../../src/model/planning.ts'
import { DEFAULT_SETTINGS, type ScheduleSettings } from '../../src/model/schedule.ts'
import { DEFAULT_POLICY, type RunPolicy } from '../../src/model/task.ts'
import { fromText, toText } from '../../src/model/instant.ts'
import type { NewJob } from '../../src/store/job-store.ts'
import type { StoreOptions } from '../../src/store/open.ts'
import { type OpenStoreOptions, openStore } from '../support/open-store.ts'
import type { SetChanges, SetVersion } from '../../src/store/declared-store.ts'
import type { Mark } from '../../src/store/scheduling-store.ts'
import type { Store } from '../../src/store/store.ts'
import { type DatabaseKind, eachDatabase, type Row, type TestDatabase } from '../support/databases.ts'

export const LEASE_MS = 60_000
export const WORKER = 'w/1'

export interface StoreUnderTest {
  readonly kind: DatabaseKind
  readonly store: Store
  readonly url: string
  /** Queries the database directly. */
  readonly query: TestDatabase['query']
  /** A private database for one test. */
  readonly fresh: () => Promise<TestDatabase>
  /** A database without tables. */
  readonly bare: () => Promise<TestDatabase>
  /** The view from another process: a store with its own connections, closed after the test. */
  readonly another: (options?: OpenStoreOptions) => Promise<Store>
  /** Runs the work after the test; the last registered work runs first. */
  readonly afterwards: (work: () => Promise<unknown>) => void
}

export function onEachStore(suite: (under: StoreUnderTest) => void, options: StoreOptions = {}): void {
  eachDatabase(({ kind, fresh, bare }) => {
    let database: TestDatabase
    let store: Store
    const cleanups: (() => Promise<unknown>)[] = []
    const droppedAfterwards = async (made: Promise<TestDatabase>) => {
      const own = await made
      cleanups.push(own.drop)
      return own
    }
    const under: StoreUnderTest = {
      kind,
      get store() {
        return store
      },
      get url() {
        return database.url
      },
      query: (sql, params) => database.query(sql, params),
      fresh: () => droppedAfterwards(fresh()),
      bare: () => droppedAfterwards(bare()),
      another: async (own = options) => {
        const opened = await openStore(database.url, own)
        cleanups.push(() => opened.close())
        return opened
      },
      afterwards: (work) => void cleanups.push(work),
    }
    beforeAll(async () => {
      database = await (options.tablePrefix === undefined ? fresh() : bare())
      store = await openStore(database.url, options)
      return async () => {
        await store.close()
        await database.drop()
      }
    })
    beforeEach(async () => {
      const prefix = options.tablePrefix ?? ''
      for (const table of [
        'periodic_task',
        'job',
        'job_log',
        'attempt',
        'worker',
        'schedule_freeze',
        'task_queue',
      ])
        await database.query(`DELETE FROM ${prefix}${table}`)
    })
    afterEach(async () => {
      for (const cleanup of cleanups.splice(0).toReversed()) await cleanup()
    })
    suite(under)
  })
}

/** The database's clock. */
export async function clock(under: Pick<StoreUnderTest, 'store'>): Promise<Date> {
  return (await under.store.scheduling.look([])).now
}

export function after(instant: Date, ms: number): Date {
  return new Date(instant.getTime() + ms)
}

export const settings = (changes: Partial<ScheduleSettings> = {}): ScheduleSettings => ({
  ...DEFAULT_SETTINGS,
  task: 'task',
  timer: 'minutely',
  ...changes,
})

/** Inserts a schedule as planning leaves it, due at `nextRunAt`. */
export async function planned(
  under: Pick<StoreUnderTest, 'query'>,
  id: string,
  nextRunAt: Date | null,
  more: Record<string, string | number | null> = {},
): Promise<void> {
  const timer = more['timer'] ?? 'minutely'
  const enabled = more['enabled'] ?? 1
  const nextrun = nextRunAt && toText(nextRunAt)
  const columns = {
    id,
    task: 'task',
    timer,
    nextrun,
    planned_from: `${enabled}|${timer}|0|||`,
    planned_nextrun: nextrun,
    ...more,
  }
  await insert(under, 'periodic_task', columns)
}

/** Inserts a row into `job`. */
export async function job(
  under: Pick<StoreUnderTest, 'query'>,
  id: string,
  more: Record<string, string | number | null> = {},
): Promise<void> {
  await insert(under, 'job', { id, task: 'task', ...more })
}

type Columns = Record<string, string | number | null>

/** Adds the identity of its schedule to a row of `job`, as Kalends does; a schedule without a row counts as deleted. */
async function withUid(
  under: Pick<StoreUnderTest, 'query'>,
  table: string,
  columns: Columns,
): Promise<Columns> {
  const { periodic_task_id: id } = columns
  if (table !== 'job' || typeof id !== 'string' || 'periodic_task_uid' in columns) return columns
  const [row] = await under.query('SELECT uid FROM periodic_task WHERE id = ?', [id])
  const ofDeleted = `deleted ${createHash('sha256').update(id).digest('hex')}`
  return { ...columns, periodic_task_uid: row === undefined ? ofDeleted : String(row['uid']) }
}

export async function insert(
  under: Pick<StoreUnderTest, 'query'>,
  table: string,
  given: Columns,
): Promise<void> {
  const columns = await withUid(under, table, given)
  const names = Object.keys(columns)
  await under.query(
    `INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`,
    Object.values(columns),
  )
}

/** Inserts rows that have the same columns, in one statement. */
export async function insertAll(
  under: Pick<StoreUnderTest, 'query'>,
  table: string,
  given: readonly Columns[],
): Promise<void> {
  const rows = await Promise.all(given.map((columns) => withUid(under, table, columns)))
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  const places = `(${names.map(() => '?').join(', ')})`
  await under.query(
    `INSERT INTO ${table} (${names.join(', ')}) VALUES ${rows.map(() => places).join(', ')}`,
    rows.flatMap((row) => names.map((name) => row[name] ?? null)),
  )
}

/** The only row that a query returns. */
export async function one(
  under: Pick<StoreUnderTest, 'query'>,
  sql: string,
  params: readonly unknown[] = [],
): Promise<Row> {
  const rows = await under.query(sql, params)
  const [row] = rows
  if (row === undefined || rows.length > 1) throw new Error(`${rows.length} rows: ${sql}`)
  return row
}

export async function schedule(under: Pick<StoreUnderTest, 'query'>, id: string): Promise<Row> {
  return one(under, 'SELECT * FROM periodic_task WHERE id = ?', [id])
}

export async function uidOf(under: Pick<StoreUnderTest, 'query'>, id: string): Promise<string> {
  return String((await schedule(under, id))['uid'])
}

export async function jobRow(under: Pick<StoreUnderTest, 'query'>, id: string): Promise<Row> {
  return one(under, 'SELECT * FROM job WHERE id = ?', [id])
}

export function instant(value: unknown): Date | null {
  return typeof value === 'string' ? fromText(value) : null
}

export const newJob = (id: string, changes: Partial<NewJob> = {}): NewJob => ({
  id,
  task: 'task',
  group: '',
  args: '{}',
  subject: null,
  submitter: null,
  priority: 0,
  runAt: null,
  delayMs: null,
  timeout: null,
  retries: null,
  retryDelay: null,
  retryBackoff: null,
  ...changes,
})

export const MINUTE = 60_000

/** Submits the due slot, or skips it while a job is active, and plans the next run for a minute later. */
export const submitDue = (schedule: Plannable, now: Date, open: OpenJobs): Plan => {
  const active = open.waiting + open.blocked + open.running > 0
  const slot = schedule.nextRunAt ?? now
  const runs: PlannedRun[] = active ? [] : [{ slot, missed: 0, state: 'waiting' }]
  return {
    runs,
    skips: active ? [{ slot, reason: 'overlap', count: 1, error: null }] : [],
    replaces: false,
    yields: false,
    frozenUntil: null,
    nextRunAt: after(slot, MINUTE),
    isByHand: false,
    idle: null,
    lastSlot: slot,
    lastError: schedule.lastError,
  }
}

export const ids = (marks: readonly Pick<Mark, 'id'>[]): string[] => marks.map((mark) => mark.id)

export const policies = (
  ...tasks: readonly (string | readonly [name: string, policy: Partial<RunPolicy>])[]
): ReadonlyMap<string, RunPolicy> =>
  new Map(
    tasks.map((task): [string, RunPolicy] =>
      typeof task === 'string' ? [task, DEFAULT_POLICY] : [task[0], { ...DEFAULT_POLICY, ...task[1] }],
    ),
  )

/** The given changes to a declared set; all other changes are empty. */
export const setChanges = (changes: {
  readonly create?: readonly { readonly id: string; readonly settings: ScheduleSettings }[]
  readonly change?: SetChanges['change']
}): SetChanges => ({
  create: (changes.create ?? []).map((schedule) => ({ ...schedule, isDue: null })),
  change: changes.change ?? [],
  retire: [],
  reactivate: [],
  delete: [],
})

export const setVersion = (name: string, schedules: readonly string[]): SetVersion => ({
  name,
  hash: createHash('sha256').update(schedules.join()).digest('hex'),
  schedules,
})
