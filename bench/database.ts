/** The database of one measurement: the benchmark fills it, queries it and reads the server's counters. */
import Database from 'libsql'
import { rm } from 'node:fs/promises'
import { createPool, type RowDataPacket } from 'mysql2/promise'
import { withDatabase } from '../test/support/databases-run.ts'
import { Kalends } from '../src/index.ts'
import { COUNTED } from './counted.ts'

export interface Running {
  readonly url: string
  readonly version: string
  /** The durability of an acknowledged write. */
  readonly durability: string
  readonly stop: () => Promise<void>
  /** The processor time so far, with all threads and processes. */
  readonly cpuMs: () => Promise<number>
}
export type DatabaseName = 'MariaDB' | 'MySQL' | 'SQLite'

export type Row = Readonly<Record<string, unknown>>

export interface BenchDatabase {
  readonly kind: DatabaseName
  /** For Kalends.open. */
  readonly url: string
  readonly query: (sql: string) => Promise<readonly Row[]>
  /** The server's counters since its start; empty if it has none. */
  readonly status: () => Promise<ReadonlyMap<string, number>>
  /** The server's processor time so far; 0 without a server. */
  readonly cpuMs: () => Promise<number>
  readonly drop: () => Promise<void>
}

export async function openOnServer(
  kind: Exclude<DatabaseName, 'SQLite'>,
  server: Pick<Running, 'url' | 'cpuMs'>,
  name: string,
): Promise<BenchDatabase> {
  const admin = createPool({ uri: withDatabase(server.url, ''), connectionLimit: 1 })
  await admin.query(`CREATE DATABASE \`${name}\` CHARACTER SET utf8mb4`)
  const url = withDatabase(server.url, name)
  await Kalends.migrate(url)
  const pool = createPool({
    uri: url,
    // One connection, so that session settings apply to later statements.
    connectionLimit: 1,
    dateStrings: true,
    timezone: 'Z',
    multipleStatements: true,
  })
  return {
    kind,
    url,
    query: async (sql) => {
      const [rows] = await pool.query(sql)
      const list: unknown = rows
      return Array.isArray(list) ? list.filter(isRow) : []
    },
    status: async () => {
      const [rows] = await admin.query<RowDataPacket[]>('SHOW GLOBAL STATUS')
      const values = new Map(rows.map((row) => [String(row['Variable_name']), Number(row['Value'])]))
      return new Map(
        COUNTED.flatMap((key) => (values.has(key) ? [[key, values.get(key) ?? 0] as const] : [])),
      )
    },
    cpuMs: server.cpuMs,
    drop: async () => {
      await pool.end()
      await admin.query(`DROP DATABASE \`${name}\``)
      await admin.end()
    },
  }
}

export async function openSqlite(path: string): Promise<BenchDatabase> {
  const url = `sqlite:${path}`
  await Kalends.migrate(url)
  const database = new Database(path)
  // Blocking here is harmless, because the measured programs run in other processes.
  database.exec('PRAGMA busy_timeout = 10000')
  return {
    kind: 'SQLite',
    url,
    query: async (sql) => {
      const statement = database.prepare(sql)
      if (statement.reader) return statement.all().filter(isRow)
      statement.run()
      return []
    },
    status: async () => new Map(),
    cpuMs: async () => 0,
    drop: async () => {
      database.close()
      await Promise.all(['', '-wal', '-shm'].map((end) => rm(path + end, { force: true })))
    },
  }
}

function isRow(value: unknown): value is Row {
  return typeof value === 'object' && value !== null
}
