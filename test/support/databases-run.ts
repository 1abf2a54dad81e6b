/** The data that a test run passes to its suites, and functions that name its databases and drop them. */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { type Connection, createConnection, type RowDataPacket } from 'mysql2/promise'

export type DatabaseKind = 'sqlite' | 'mariadb' | 'mysql'
export type ServerKind = Exclude<DatabaseKind, 'sqlite'>

export const databaseKinds: readonly DatabaseKind[] = ['sqlite', 'mariadb', 'mysql']
export const databaseNames: Readonly<Record<DatabaseKind, string>> = {
  sqlite: 'SQLite',
  mariadb: 'MariaDB',
  mysql: 'MySQL',
}

/** Why a requested server is missing, and the remedy. */
export interface MissingServer {
  kind: ServerKind
  missing: string
}

export interface TestRun {
  /** The folder of the SQLite files and of the files that record what was tested; it is removed at the end. */
  folder: string
  /** The prefix of the run's database names. */
  prefix: string
  servers: { kind: ServerKind; url: string }[]
  missing: MissingServer[]
  sqlite: boolean
}

declare module 'vitest' {
  export interface ProvidedContext {
    testRun: TestRun
    /** Whether the test files of this Vitest project run on all databases or only on SQLite. */
    databases?: 'all' | 'sqlite'
  }
}

/** A file that exists once a test has used the database; for SQLite, it lists the versions with their drivers. */
export function usedMark(run: TestRun, kind: DatabaseKind): string {
  return join(run.folder, `used-${kind}`)
}

export function newDatabaseName(run: TestRun): string {
  return run.prefix + randomBytes(6).toString('hex')
}

/** Replaces the database in the URL; an empty name removes it. */
export function withDatabase(url: string, name: string): string {
  const changed = new URL(url)
  changed.pathname = `/${name}`
  return changed.href
}

/** Drops a database, even if a failed test has left transactions open in it. */
export async function dropDatabase(url: string, name: string): Promise<void> {
  const connection = await createConnection({ uri: withDatabase(url, '') })
  try {
    await endSessions(connection, name)
    await connection.query(`DROP DATABASE IF EXISTS \`${name}\``)
  } finally {
    await connection.end()
  }
}

/** Ends all sessions in a database. After this, statements on this connection wait at most 20 s for metadata locks. */
export async function endSessions(connection: Connection, name: string): Promise<void> {
  // This does not use information_schema.processlist, which fails on MySQL if a statement of any session is not in its
  // declared character set.
  const [sessions] = await connection.query<RowDataPacket[]>('SHOW PROCESSLIST')
  for (const { Id: id, db } of sessions) {
    // A session that has ended in the meantime does not need to be killed.
    if (db === name) await connection.query(`KILL ${Number(id)}`).catch(() => {})
  }
  await connection.query('SET SESSION lock_wait_timeout = 20')
}

export async function dropDatabasesOf(run: TestRun, url: string): Promise<void> {
  const connection = await createConnection({ uri: withDatabase(url, '') })
  const [rows] = await connection.query<RowDataPacket[]>(
    'SELECT schema_name AS name FROM information_schema.schemata WHERE LEFT(schema_name, ?) = ?',
    [run.prefix.length, run.prefix],
  )
  await connection.end()
  for (const { name } of rows) await dropDatabase(url, String(name))
}
