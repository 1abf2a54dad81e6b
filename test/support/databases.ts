/**
 * The databases that the suites use. Each test uses its own database:
 *
 *     eachDatabase(({ fresh }) => {
 *       it('keeps a row', async () => {
 *         const database = await fresh()
 *         …
 *         await database.drop()
 */
import { appendFileSync, existsSync, writeFileSync } from 'node:fs'
import { copyFile, mkdtemp, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type Connection, createConnection } from 'mysql2/promise'
import { describe, inject, it } from 'vitest'
import {
  type DatabaseKind,
  databaseNames,
  dropDatabase,
  newDatabaseName,
  type ServerKind,
  usedMark,
  withDatabase,
} from './databases-run.ts'
import { isBusy } from '../../src/store/sqlite/errors.ts'
import { columnsOf, openSqlite, sqliteVersion } from './sqlite.ts'

export type { DatabaseKind }
export type Row = Record<string, unknown>

/** Gives jobs with the id of an existing schedule to it, as if they had been inserted with its identity. */
export const ADOPT =
  'UPDATE job SET periodic_task_uid = (SELECT uid FROM periodic_task WHERE id = periodic_task_id)'

/** The private database of one test. */
export interface TestDatabase {
  readonly kind: DatabaseKind
  /** A URL for Kalends.open: `mysql://root@127.0.0.1:3306/name` or `sqlite:/folder/test.db`. */
  readonly url: string
  /**
   * Queries the database over a plain connection outside Kalends. Times and JSON are returned as text.
   * Statements without a result set yield an empty list.
   */
  readonly query: (sql: string, params?: readonly unknown[]) => Promise<Row[]>
  /** Removes the database and ends all connections to it. Can be called twice. */
  readonly drop: () => Promise<void>
}

export interface DatabaseUnderTest {
  readonly kind: DatabaseKind
  /** A database with Kalends' tables, which are empty. */
  readonly fresh: () => Promise<TestDatabase>
  /** A new database without tables. */
  readonly bare: () => Promise<TestDatabase>
}

const run = inject('testRun')
const onServers = inject('databases') !== 'sqlite'

/** The databases for this file, according to vitest.config.ts. */
export const databases: readonly DatabaseUnderTest[] = [
  ...(run.sqlite
    ? [
        {
          kind: 'sqlite' as const,
          fresh: async () => await sqliteFile(await template()),
          bare: () => sqliteFile(),
        },
      ]
    : []),
  ...(onServers ? run.servers : []).map(({ kind, url }) => ({
    kind,
    fresh: async () => await freshOnServer(kind, url),
    bare: async () => await bareOnServer(kind, url),
  })),
]

/** A session on a server, other than the querying session. */
export interface Session {
  readonly id: number
  /** Its current statement, or null. */
  readonly statement: string | null
}

/**
 * The sessions that use a database. They are not read from information_schema.processlist, which fails on MySQL while
 * any session runs a statement with characters that the table cannot store.
 */
export async function sessions({ url, query }: Pick<TestDatabase, 'url' | 'query'>): Promise<Session[]> {
  const name = new URL(url).pathname.slice(1)
  const rows = await query('SHOW FULL PROCESSLIST')
  return rows
    .filter(({ db, Info: info }) => db === name && info !== 'SHOW FULL PROCESSLIST')
    .map(({ Id: id, Command: command, Info: info }) => ({
      id: Number(id),
      statement: command === 'Query' && typeof info === 'string' ? info : null,
    }))
}

/** Defines the suite once for each database of this run, in a `describe` with the name of the database. */
export function eachDatabase(suite: (database: DatabaseUnderTest) => void): void {
  for (const database of databases) describe(database.kind, () => suite(database))
  for (const { kind, missing } of onServers ? run.missing : []) {
    describe(kind, () => {
      it.skip(`${databaseNames[kind]} is NOT TESTED: ${missing}`, () => {})
    })
  }
}

/**
 * The file of a migrated database. The first test of a run creates it; if several create it at once, the last one wins.
 */
async function template(): Promise<string> {
  const file = join(run.folder, 'migrated.db')
  if (existsSync(file)) return file
  const made = await sqliteFile()
  const { migrateDatabase } = await import('../../src/store/open.ts')
  await migrateDatabase(made.url)
  // The copy is a single file, without a write-ahead log.
  const copy = `${made.url.slice('sqlite:'.length)}.copy`
  await made.query('VACUUM INTO ?', [copy])
  await rename(copy, file)
  await made.drop()
  return file
}

/** @param from  a file to copy */
async function sqliteFile(from?: string): Promise<TestDatabase> {
  // Several drivers may be tested in one run.
  appendFileSync(usedMark(run, 'sqlite'), `${sqliteVersion}\n`)
  const folder = await mkdtemp(join(run.folder, 'sqlite-'))
  const file = join(folder, 'test.db')
  if (from !== undefined) await copyFile(from, file)
  const database = openSqlite(file)
  let open = true
  return {
    kind: 'sqlite',
    url: `sqlite:${file}`,
    query: async (sql, params = []) => {
      // The driver does not end EXPLAIN before the statement is garbage-collected. Until then, its connection keeps an
      // old snapshot, and can neither write nor commit, so EXPLAIN gets a separate connection.
      if (sql.startsWith('EXPLAIN')) {
        const explaining = openSqlite(file)
        try {
          return rowsOf(explaining.prepare(sql).all(...params))
        } finally {
          explaining.close()
        }
      }
      // Prepare the statement only once: after SQLITE_BUSY, the write is pending until the same statement runs again,
      // and until then the connection commits no other write.
      const statement = database.prepare(sql)
      return await whenNotBusy(() => {
        if (columnsOf(statement) > 0) return rowsOf(statement.all(...params))
        statement.run(...params)
        return []
      })
    },
    drop: async () => {
      if (open) database.close()
      open = false
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/**
 * Waits for the write lock without blocking the event loop: the holder of the lock may be Kalends in this process,
 * which could never release it while the loop is blocked.
 */
async function whenNotBusy<T>(statement: () => T): Promise<T> {
  const deadline = performance.now() + 100_000
  for (;;) {
    try {
      return statement()
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw error
      await pause(5)
    }
  }
}

async function freshOnServer(kind: ServerKind, serverUrl: string): Promise<TestDatabase> {
  const { giveBack, takeMigrated } = await import('./databases-pool.ts')
  const migrated = await takeMigrated(run, kind, serverUrl)
  return onServer(kind, serverUrl, migrated.name, () => giveBack(run, kind, serverUrl, migrated))
}

async function bareOnServer(kind: ServerKind, serverUrl: string): Promise<TestDatabase> {
  const { createDatabase, withConnection } = await import('./databases-pool.ts')
  const name = newDatabaseName(run)
  await withConnection(serverUrl, (connection) => createDatabase(connection, name))
  return onServer(kind, serverUrl, name, () => dropDatabase(serverUrl, name))
}

function onServer(
  kind: ServerKind,
  serverUrl: string,
  name: string,
  remove: () => Promise<void>,
): TestDatabase {
  writeFileSync(usedMark(run, kind), '')
  const url = withDatabase(serverUrl, name)
  let connecting: Promise<Connection> | undefined
  let removing: Promise<void> | undefined
  return {
    kind,
    url,
    query: async (sql, params = []) => {
      connecting ??= createConnection({
        uri: url,
        dateStrings: true,
        jsonStrings: true,
        supportBigNumbers: true,
        timezone: 'Z',
      })
      const connection = await connecting
      const [rows] = await connection.query(sql, [...params])
      return isRows(rows) ? rows : []
    },
    drop: async () => {
      const connection = await connecting
      connecting = undefined
      connection?.destroy()
      removing ??= remove()
      await removing
    },
  }
}

/** The driver returns rows for a query, and a header with the effect for any other statement. */
function isRows(result: unknown): result is Row[] {
  return Array.isArray(result)
}

/** node:sqlite returns rows without a prototype. */
function rowsOf(rows: readonly unknown[]): Row[] {
  return rows.map((row) => ({ ...(typeof row === 'object' ? row : {}) }))
}
