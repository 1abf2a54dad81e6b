/** What one test run hands to its suites, and what it calls its things so that it can clear them away. */
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

/** Why a wanted server is not there, and what to do about it. */
export interface MissingServer {
  kind: ServerKind
  missing: string
}

export interface TestRun {
  /** Holds the SQLite files and the marks; removed at the end. */
  folder: string
  /** The names of the run's databases begin with it. */
  prefix: string
  servers: { kind: ServerKind; url: string }[]
  missing: MissingServer[]
  sqlite: boolean
}

declare module 'vitest' {
  export interface ProvidedContext {
    testRun: TestRun
    /** Whether the files of this project are tested on the servers too. */
    databases?: 'all' | 'sqlite'
  }
}

/** A file that is there once a test has used the database. */
export function usedMark(run: TestRun, kind: DatabaseKind): string {
  return join(run.folder, `used-${kind}`)
}

export function newDatabaseName(run: TestRun): string {
  return run.prefix + randomBytes(6).toString('hex')
}

/** The URL with another database, or with none. */
export function withDatabase(url: string, name: string): string {
  const changed = new URL(url)
  changed.pathname = `/${name}`
  return changed.href
}

/** Drops a database, also when a test that failed has left transactions open in it. */
export async function dropDatabase(url: string, name: string): Promise<void> {
  const connection = await createConnection({ uri: withDatabase(url, '') })
  try {
    await endSessions(connection, name)
    await connection.query(`DROP DATABASE IF EXISTS \`${name}\``)
  } finally {
    await connection.end()
  }
}

/** Ends every session in a database; statements of this connection then wait 20 s at most for what those had locked. */
export async function endSessions(connection: Connection, name: string): Promise<void> {
  // Not information_schema.processlist: on MySQL it fails where somebody's statement is not in the character set that
  // it was said to be in.
  const [sessions] = await connection.query<RowDataPacket[]>('SHOW PROCESSLIST')
  for (const { Id: id, db } of sessions) {
    // One that has ended meanwhile is as good as killed.
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
