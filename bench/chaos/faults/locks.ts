/** Administrators working on the same tables: open transactions, table locks, deadlocks, long reads, DDL. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Connection, RowDataPacket } from 'mysql2/promise'
import type { Fault, FaultReport, Ground } from '../fault.ts'
import type { Random } from '../random.ts'
import type { Admin } from '../targets/admin.ts'
import { rowLockFaults } from './row-locks.ts'

export interface LockOptions {
  /** The number of deadlocks that the server has counted so far; null if it has no such counter. */
  readonly counted: () => Promise<number | null>
  /** Called with the number of deliberate deadlocks. */
  readonly made: (deadlocks: number) => void
  /** Whether tables may be locked. Clusters do not support table locks. */
  readonly ofTables: boolean
  readonly leaseMs: number
}

export function lockFaults(admin: Admin, options: LockOptions): Fault[] {
  return [
    openTransaction(admin, 'locks.schedules', 5, 'periodic_task'),
    openTransaction(admin, 'locks.jobs', 5, 'job'),
    openTransaction(admin, 'locks.workers', 3, 'worker'),
    ...rowLockFaults(admin, options.leaseMs),
    deadlocks(admin, options),
    longRead(admin),
    ...(options.ofTables ? [tableLock(admin), ddl(admin)] : []),
  ]
}

type Hurt = (ground: Ground, random: Random) => Promise<Omit<FaultReport, 'hit'>>

function whole(name: string, weight: number, lastsMs: number, hit: string, hurt: Hurt): Fault {
  return {
    name,
    weight,
    lastsMs,
    scope: 'whole',
    run: async (ground, random) => ({ ...(await hurt(ground, random)), hit }),
  }
}

function openTransaction(
  admin: Admin,
  name: string,
  weight: number,
  table: 'periodic_task' | 'job' | 'worker',
): Fault {
  return whole(name, weight, 7000, table, async (ground, random) => {
    const ms = random.int(1000, 6000)
    const most = random.pick([1, 5, 40])
    const locked = await admin.rolledBack(async (connection) => {
      await connection.query('SET SESSION innodb_lock_wait_timeout = 2')
      const held = await holdSome(connection, table, most)
      await ground.pause(ms)
      return held
    })
    return {
      detail:
        locked === null
          ? 'the server rolled the transaction back'
          : `a transaction held ${locked} rows of ${table} for ${ms} ms`,
    }
  })
}

const wanted = {
  periodic_task: 'SELECT id FROM periodic_task ORDER BY RAND()',
  // Most jobs end almost immediately, so few are in these states at any time.
  job: "SELECT id FROM job WHERE state IN ('waiting', 'running', 'blocked')",
  worker: 'SELECT id FROM worker',
} as const
const LOOK_FOR_MS = 1000

/** Locks rows that workers currently need. @returns the number of rows */
async function holdSome(connection: Connection, table: keyof typeof wanted, most: number): Promise<number> {
  const deadline = performance.now() + LOOK_FOR_MS
  for (;;) {
    const [found] = await connection.query<RowDataPacket[]>(`${wanted[table]} LIMIT ${most}`)
    const ids = ['NULL', ...found.map((row) => connection.escape(String(row['id'])))]
    // SKIP LOCKED, because the transaction should block others, not wait for them.
    const [rows] = await connection.query<RowDataPacket[]>(
      `SELECT id FROM ${table} WHERE id IN (${ids.join(', ')}) FOR UPDATE SKIP LOCKED`,
    )
    if (rows.length > 0 || performance.now() > deadline) return rows.length
    await delay(5)
  }
}

function deadlocks(admin: Admin, { counted, made }: LockOptions): Fault {
  return whole('locks.deadlocks', 3, 4000, 'periodic_task', async (_ground, random) => {
    const rounds = random.int(1, 4)
    const before = await counted()
    const one = admin.onOneNode()
    for (let round = 0; round < rounds; round += 1) await crossing(one)
    const after = await counted()
    const met = one.deadlocks
    // A worker that waits for one of the two transactions may become the victim, so all deadlocks that the server
    // counts in this time are treated as deliberate.
    const caused = before === null || after === null ? met : Math.max(met, after - before)
    made(caused)
    return {
      detail: `two transactions crossed ${rounds} times: ${caused} deadlocks, ${met} of them in these transactions`,
    }
  })
}

/** Two transactions lock the same two rows in opposite orders. */
async function crossing(admin: Admin): Promise<void> {
  const rows = await admin.query('SELECT id FROM periodic_task ORDER BY id')
  const one = String(rows[0]?.['id'])
  const other = String(rows.at(-1)?.['id'])
  let arrived = 0
  let open: (() => void) | null = null
  const both = new Promise<void>((resolve) => {
    open = resolve
  })
  const take = (first: string, second: string) =>
    admin
      .rolledBack(async (connection) => {
        await connection.query('SET SESSION innodb_lock_wait_timeout = 2')
        await lock(connection, first)
        arrived += 1
        if (arrived === 2) open?.()
        await Promise.race([both, delay(2000)])
        await lock(connection, second)
      })
      // A lock wait timeout is not a deadlock.
      .catch(() => null)
  await Promise.all([take(one, other), take(other, one)])
}

async function lock(connection: Connection, id: string): Promise<void> {
  await connection.query('SELECT id FROM periodic_task WHERE id = ? FOR UPDATE', [id])
}

function longRead(admin: Admin): Fault {
  return whole('locks.long-read', 3, 7000, 'job', async (ground, random) => {
    const ms = random.int(2000, 6000)
    const read = await admin.connected(async (connection) => {
      await connection.query('SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ')
      await connection.query('START TRANSACTION WITH CONSISTENT SNAPSHOT')
      const count = async () => {
        const [rows] = await connection.query<RowDataPacket[]>(
          'SELECT COUNT(*) AS jobs, SUM(LENGTH(args)) AS bytes FROM job',
        )
        return Number(rows[0]?.['jobs'])
      }
      const first = await count()
      await ground.pause(ms)
      return { first, second: await count() }
    })
    const detail = `a read of all ${read.first} jobs stayed open for ${ms} ms`
    return read.first === read.second
      ? { detail }
      : { detail, trouble: `its snapshot changed from ${read.first} to ${read.second} rows` }
  })
}

function tableLock(admin: Admin): Fault {
  return whole('locks.tables', 2, 4000, 'all tables', async (ground, random) => {
    const ms = random.int(500, 2500)
    const tables = random.pick([
      'job WRITE',
      'periodic_task WRITE',
      'periodic_task READ, job READ',
      'worker WRITE',
    ])
    await admin.connected(async (connection) => {
      await connection.query(`LOCK TABLES ${tables}`)
      await ground.pause(ms)
      await connection.query('UNLOCK TABLES')
    })
    return { detail: `LOCK TABLES ${tables} for ${ms} ms` }
  })
}

/**
 * Maintenance statements. Each statement needs exclusive access to its table for a moment, after all open transactions
 * have ended.
 */
function ddl(admin: Admin): Fault {
  return whole('locks.ddl', 2, 5000, 'all tables', async (_ground, random) => {
    const statement = random.pick([
      'ANALYZE TABLE job',
      'ANALYZE TABLE periodic_task',
      'ALTER TABLE periodic_task ENGINE = InnoDB',
      'ALTER TABLE worker ENGINE = InnoDB',
      'OPTIMIZE TABLE worker',
    ])
    const from = performance.now()
    await admin.query(statement)
    return { detail: `${statement} took ${Math.round(performance.now() - from)} ms` }
  })
}
