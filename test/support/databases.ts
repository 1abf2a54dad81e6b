/**
 * The databases that suites run on. Each test takes a database of its own:
 *
 *     eachDatabase(({ fresh }) => {
 *       it('keeps a row', async () => {
 *         const database = await fresh()
 *         …
 *         await database.drop()
 */
import { existsSync, writeFileSync } from 'node:fs'
import { copyFile, mkdtemp, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import Database from 'libsql'
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

export type { DatabaseKind }
export type Row = Record<string, unknown>

/** A database of one test's own. */
export interface TestDatabase {
  readonly kind: DatabaseKind
  /** As Kalends.open takes it: `mysql://root@127.0.0.1:3306/name` or `sqlite:/folder/test.db`. */
  readonly url: string
  /**
   * What the database itself says, over a plain connection that is no part of Kalends. Times and JSON come
   * as text. A statement that returns no rows gives none.
   */
  readonly query: (sql: string, params?: readonly unknown[]) => Promise<Row[]>
  /** Removes the database, ends every connection to it. May be called twice. */
  readonly drop: () => Promise<void>
}

export interface DatabaseUnderTest {
  readonly kind: DatabaseKind
  /** A database with the tables of Kalends, which are empty. */
  readonly fresh: () => Promise<TestDatabase>
  /** A new database without any table. */
  readonly bare: () => Promise<TestDatabase>
}

const run = inject('testRun')
const onServers = inject('databases') !== 'sqlite'

/** The databases that this file is tested on: vitest.config.ts decides. */
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

/** A session of a server, other than the one that asks. */
export interface Session {
  readonly id: number
  /** What it runs; null: nothing. */
  readonly statement: string | null
}

/**
 * The sessions that use a database. Not from information_schema.processlist, which fails on MySQL while any session of
 * the server runs a statement with characters that the table cannot hold.
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

/** Defines the suite once for each database of this run, in a `describe` of the database's name. */
export function eachDatabase(suite: (database: DatabaseUnderTest) => void): void {
  for (const database of databases) describe(database.kind, () => suite(database))
  for (const { kind, missing } of onServers ? run.missing : []) {
    describe(kind, () => {
      it.skip(`${databaseNames[kind]} is NOT TESTED: ${missing}`, () => {})
    })
  }
}

/** The file of a migrated database. The first test of a run makes it; of several at once, the last. */
async function template(): Promise<string> {
  const file = join(run.folder, 'migrated.db')
  if (existsSync(file)) return file
  const made = await sqliteFile()
  const { migrateDatabase } = await import('../../src/store/open.ts')
  await migrateDatabase(made.url)
  // One file, whatever is in its log still.
  const copy = `${made.url.slice('sqlite:'.length)}.copy`
  await made.query('VACUUM INTO ?', [copy])
  await rename(copy, file)
  await made.drop()
  return file
}

/** @param from  a file to begin with */
async function sqliteFile(from?: string): Promise<TestDatabase> {
  writeFileSync(usedMark(run, 'sqlite'), '')
  const folder = await mkdtemp(join(run.folder, 'sqlite-'))
  const file = join(folder, 'test.db')
  if (from !== undefined) await copyFile(from, file)
  const database = new Database(file)
  let open = true
  return {
    kind: 'sqlite',
    url: `sqlite:${file}`,
    query: async (sql, params = []) => {
      // Once: a write that found the file busy stays half done until the same statement runs again, and until
      // then no other write of this connection is committed.
      const statement = database.prepare(sql)
      return await whenNotBusy(() => {
        if (statement.reader) return statement.all(...params).filter(isRow)
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
 * Waits for the write lock without holding the event loop: the one who has it may be Kalends in this very
 * process, which could then never let go.
 */
async function whenNotBusy<T>(statement: () => T): Promise<T> {
  const deadline = performance.now() + 100_000
  for (;;) {
    try {
      return statement()
    } catch (error) {
      const busy = error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_BUSY')
      if (!busy || performance.now() > deadline) throw error
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

/** One statement gives rows, or a header that says what it did. */
function isRows(result: unknown): result is Row[] {
  return Array.isArray(result)
}

function isRow(value: unknown): value is Row {
  return typeof value === 'object' && value !== null
}
