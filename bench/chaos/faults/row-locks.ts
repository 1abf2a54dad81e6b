/**
 * A transaction locks a single row for one to four leases. Only work that needs that row may wait for it. Some of
 * these faults kill a worker while a row that it holds is locked; the other workers then cannot take over that row.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Connection, RowDataPacket } from 'mysql2/promise'
import type { Fault, FaultReport, Member, Reach } from '../fault.ts'
import type { Admin } from '../targets/admin.ts'
import { withMember } from './held.ts'

interface Lockable {
  readonly table: 'periodic_task' | 'job' | 'job_log' | 'attempt' | 'worker'
  readonly key: readonly string[]
  /** Rows that workers may need. */
  readonly where: string
  readonly order: string
  /** The column that names the worker; null if the rows belong to no worker. */
  readonly worker: string | null
}

const LOCKABLE = {
  schedule: { table: 'periodic_task', key: ['id'], where: 'enabled = 1', order: 'RAND()', worker: 'worker' },
  waiting: {
    table: 'job',
    key: ['id'],
    where: "state IN ('waiting', 'blocked')",
    order: 'RAND()',
    worker: null,
  },
  running: { table: 'job', key: ['id'], where: "state = 'running'", order: 'RAND()', worker: 'worker' },
  log: { table: 'job_log', key: ['id'], where: '1 = 1', order: 'id DESC', worker: null },
  attempt: { table: 'attempt', key: ['job_id', 'claim'], where: '1 = 1', order: 'ended DESC', worker: null },
  worker: { table: 'worker', key: ['id'], where: '1 = 1', order: 'RAND()', worker: 'id' },
} as const satisfies Readonly<Record<string, Lockable>>
type What = keyof typeof LOCKABLE

const LOOK_FOR_MS = 1000
/** Marks on schedules last only moments, so finding one may take longer. */
const LOOK_FOR_MARK_MS = 4000
const AT_ONCE = 5
/**
 * Time for the server to notice that the connections of a killed worker are closed, and to roll back open transactions.
 */
const ROLLED_BACK_MS = 150
const START_MS = 2500

export function rowLockFaults(admin: Admin, leaseMs: number): Fault[] {
  return [
    ...Object.keys(LOCKABLE)
      .filter((key): key is What => key in LOCKABLE)
      .map((what) => held(admin, what, leaseMs)),
    ...(['schedule', 'running', 'worker'] as const).map((what) => heldOfKilled(admin, what, leaseMs)),
  ]
}

function held(admin: Admin, what: What, leaseMs: number): Fault {
  return {
    name: `locks.row-${what}`,
    weight: 2,
    lastsMs: 3 * leaseMs + 1000,
    scope: 'single',
    async run(ground, random) {
      const ms = random.int(leaseMs, 3 * leaseMs)
      const report = await admin.rolledBack(async (connection): Promise<FaultReport> => {
        const found = await lockAny(connection, what)
        if (found === null) return NOTHING
        await ground.pause(ms)
        return { hit: found.table, detail: textOf(found, ms), reach: reachOf(found.table, found.row) }
      })
      return report ?? { ...NOTHING, detail: 'the server rolled the transaction back' }
    },
  }
}

const NOTHING = { hit: 'nothing', detail: 'there was no row to lock' }

/** The row is locked before the worker dies, so that no other worker can take it over first. */
function heldOfKilled(admin: Admin, what: What, leaseMs: number): Fault {
  return {
    name: `locks.killed-${what}`,
    weight: 3,
    lastsMs: 4 * leaseMs + START_MS,
    scope: 'single',
    run: (ground, random) =>
      withMember(ground, random, async (member) => {
        // Other workers evict the dead worker only after three fifths of a lease. Only then can waiting for the lock
        // stall them, so the lock is held for much longer.
        const ms = random.int(3 * leaseMs, 4 * leaseMs)
        const isBackAtOnce = random.chance(0.5)
        const report = await admin.rolledBack(async (connection) => {
          const own = await lockOf(connection, what, member)
          const found = own ?? (await lockAny(connection, what))
          await member.kill()
          await delay(ROLLED_BACK_MS)
          const affected = joined(
            found === null ? reach({}) : reachOf(found.table, found.row),
            await heldBy(connection, member),
          )
          await Promise.all([ground.pause(ms), isBackAtOnce ? member.start() : null])
          const whose = own === null ? 'not its own' : 'its own'
          return {
            detail: `kill -9; ${found === null ? NOTHING.detail : `${textOf(found, ms)}, ${whose}`}; restarted ${isBackAtOnce ? 'at once' : 'after the lock'}`,
            reach: affected,
          }
        })
        return report ?? { detail: 'kill -9; the server rolled the transaction back' }
      }),
  }
}

interface Found {
  readonly table: Lockable['table']
  readonly key: string
  readonly row: RowDataPacket
}

function textOf({ table, key }: Found, ms: number): string {
  return `a transaction held one row of ${table} (${key}) for ${ms} ms`
}

/** Locks a row of that kind, or of another kind if there is none. */
async function lockAny(connection: Connection, what: What): Promise<Found | null> {
  for (const each of [what, 'running', 'schedule'] as const) {
    const lockable = LOCKABLE[each]
    const found = await lockOne(connection, lockable, { where: lockable.where, params: [] }, LOOK_FOR_MS)
    if (found !== null) return found
  }
  return null
}

/** Locks a row that belongs to the worker. If it finds one, the worker stays suspended. */
async function lockOf(connection: Connection, what: What, member: Member): Promise<Found | null> {
  const lockable = LOCKABLE[what]
  const condition = { where: `${lockable.worker ?? 'NULL'} LIKE ?`, params: [`${member.name}/%`] }
  return await lockOne(connection, lockable, condition, LOOK_FOR_MARK_MS, member)
}

/** Tries one row after another until one exists long enough to be locked. */
async function lockOne(
  connection: Connection,
  { table, key, order }: Lockable,
  { where, params }: { readonly where: string; readonly params: string[] },
  withinMs: number,
  member?: Member,
): Promise<Found | null> {
  const deadline = performance.now() + withinMs
  const columns = key.join(', ')
  do {
    const [rows] = await connection.query<RowDataPacket[]>(
      `SELECT ${columns} FROM ${table} WHERE ${where} ORDER BY ${order} LIMIT ${AT_ONCE}`,
      params,
    )
    // Suspend the worker, so that it keeps the rows that it holds.
    if (rows.length > 0) member?.signal('SIGSTOP')
    for (const found of rows) {
      const values = key.map((column) => String(found[column]))
      const [[row]] = await connection.query<RowDataPacket[]>(
        `SELECT * FROM ${table} WHERE ${key.map((column) => `${column} = ?`).join(' AND ')} AND ${where} FOR UPDATE SKIP LOCKED`,
        [...values, ...params],
      )
      if (row !== undefined) return { table, key: values.join(', '), row }
    }
    member?.signal('SIGCONT')
    await delay(1)
  } while (performance.now() < deadline)
  return null
}

interface KnownReach extends Reach {
  readonly rows: NonNullable<Reach['rows']>
}

function reach({
  workers = [],
  schedules = [],
  jobs = [],
}: Readonly<Record<string, readonly string[]>>): KnownReach {
  return { workers, rows: { schedules, jobs } }
}

/** The work that may wait for a locked row. */
function reachOf(table: Lockable['table'], row: Readonly<Record<string, unknown>>): KnownReach {
  const id = String(row['id'])
  switch (table) {
    case 'periodic_task':
      return reach({ schedules: [id] })
    case 'job': {
      const isExclusive = Number(row['exclusive']) === 1
      return reach({ jobs: [id], schedules: isExclusive ? [String(row['periodic_task_id'])] : [] })
    }
    case 'worker':
      return reach({ workers: [id.replace(/\/.*/, '')] })
    default:
      return reach({})
  }
}

/** The rows that a worker held when it died. Work on them may wait until other workers evict the dead worker. */
async function heldBy(connection: Connection, { name }: Member): Promise<KnownReach> {
  const ids = async (query: string) => {
    const [rows] = await connection.query<RowDataPacket[]>(query, [`${name}/%`])
    return rows.map((row) => String(row['id']))
  }
  return reach({
    workers: [name],
    schedules: await ids('SELECT id FROM periodic_task WHERE worker LIKE ?'),
    jobs: await ids("SELECT id FROM job WHERE state = 'running' AND worker LIKE ?"),
  })
}

function joined(one: KnownReach, other: KnownReach): KnownReach {
  return reach({
    workers: [...one.workers, ...other.workers],
    schedules: [...one.rows.schedules, ...other.rows.schedules],
    jobs: [...one.rows.jobs, ...other.rows.jobs],
  })
}
