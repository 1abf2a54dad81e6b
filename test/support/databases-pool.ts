/**
 * Migrated databases of the run's servers, which tests reuse one after another: creating the tables costs a server
 * 150 to 200 fsyncs, and passing a database on costs 15 to 35.
 *
 * A returned database gets a new name, and the old name is dropped. Leftovers of a test, such as a running worker that
 * reconnects, then find no database, as if it had been dropped. The tables move only if they are unchanged since the
 * migration; everything else is dropped with the old name.
 */
import { createHash } from 'node:crypto'
import { mkdir, readdir, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Connection, createConnection, type RowDataPacket } from 'mysql2/promise'
import { migrateDatabase } from '../../src/store/open.ts'
import { endSessions, newDatabaseName, type ServerKind, type TestRun, withDatabase } from './databases-run.ts'

const FILLED = [
  'attempt',
  'declared_set',
  'job',
  'job_log',
  'periodic_task',
  'schedule_freeze',
  'task_queue',
  'worker',
] as const
const TABLES = [...FILLED, 'kalends_migration'] as const
/**
 * Up to this many rows are deleted; a table with more rows is truncated, because deleting them would leave statistics
 * and history behind.
 */
const FEW = 500

export interface Migrated {
  readonly name: string
  /** A hash of the properties that must be unchanged before another test gets the database. */
  readonly fingerprint: string
}

/** Takes a database that any process of this run has returned, or a new one. */
export async function takeMigrated(run: TestRun, kind: ServerKind, serverUrl: string): Promise<Migrated> {
  for (const entry of await readdir(await freeFolder(run, kind))) {
    const [name = '', fingerprint = ''] = entry.split('.')
    if (await isRemoved(join(await freeFolder(run, kind), entry))) return { name, fingerprint }
  }
  const name = newDatabaseName(run)
  return await withConnection(serverUrl, async (connection) => {
    await createDatabase(connection, name)
    await migrateDatabase(withDatabase(serverUrl, name))
    return { name, fingerprint: await fingerprintOf(connection, name) }
  })
}

/** Ends all sessions in the database, then empties it for the next test or drops it. */
export async function giveBack(
  run: TestRun,
  kind: ServerKind,
  serverUrl: string,
  { name, fingerprint }: Migrated,
): Promise<void> {
  await withConnection(serverUrl, async (connection) => {
    await endSessions(connection, name)
    const isAsItWas = (await fingerprintOf(connection, name)) === fingerprint
    const next = newDatabaseName(run)
    if (isAsItWas) {
      await createDatabase(connection, next)
      const moves = TABLES.map((table) => `\`${name}\`.${table} TO \`${next}\`.${table}`)
      await connection.query(`RENAME TABLE ${moves.join(', ')}`)
    }
    await connection.query(`DROP DATABASE IF EXISTS \`${name}\``)
    if (!isAsItWas) return
    // The database is emptied only now, because writes were possible until it had its new name.
    await empty(connection, next)
    await writeFile(join(await freeFolder(run, kind), `${next}.${fingerprint}`), '')
  })
}

/** Small tables share a transaction, which costs the server one fsync; TRUNCATE on all tables costs a hundred. */
async function empty(connection: Connection, name: string): Promise<void> {
  await connection.query('START TRANSACTION')
  const large: string[] = []
  for (const table of FILLED.map((filled) => `\`${name}\`.${filled}`)) {
    const [beyond] = await connection.query<RowDataPacket[]>(`SELECT 1 FROM ${table} LIMIT ${FEW}, 1`)
    if (beyond.length > 0) large.push(table)
    else await connection.query(`DELETE FROM ${table}`)
  }
  await connection.query('COMMIT')
  for (const table of large) await connection.query(`TRUNCATE TABLE ${table}`)
}

export async function createDatabase(connection: Connection, name: string): Promise<void> {
  await connection.query(`CREATE DATABASE \`${name}\` CHARACTER SET utf8mb4`)
}

export async function withConnection<T>(
  serverUrl: string,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  const connection = await createConnection({ uri: withDatabase(serverUrl, '') })
  try {
    return await work(connection)
  } finally {
    await connection.end()
  }
}

/** The folder that contains a file for each available database. */
async function freeFolder(run: TestRun, kind: ServerKind): Promise<string> {
  const folder = join(run.folder, `free-${kind}`)
  await mkdir(folder, { recursive: true })
  return folder
}

/** Whether this process has removed the file: if several try at once, only one succeeds. */
async function isRemoved(file: string): Promise<boolean> {
  try {
    await unlink(file)
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return false
    throw error
  }
}

/** A hash of the definitions of the tables and triggers, and of the recorded migrations. */
async function fingerprintOf(connection: Connection, name: string): Promise<string> {
  const [tables] = await connection.query<RowDataPacket[]>(`SHOW FULL TABLES FROM \`${name}\``)
  const found = tables.map((row) => String(Object.values(row)[0]))
  const [triggers] = await connection.query<RowDataPacket[]>(`SHOW TRIGGERS FROM \`${name}\``)
  const parts: unknown[] = [triggers]
  for (const table of TABLES.filter((wanted) => found.includes(wanted))) {
    const [created] = await connection.query<RowDataPacket[]>(`SHOW CREATE TABLE \`${name}\`.${table}`)
    parts.push(Object.values(created[0] ?? {}).map((text) => String(text).replace(/ AUTO_INCREMENT=\d+/, '')))
  }
  if (found.includes('kalends_migration')) {
    const [steps] = await connection.query<RowDataPacket[]>(
      `SELECT name, lowest FROM \`${name}\`.kalends_migration ORDER BY name`,
    )
    parts.push(steps)
  }
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32)
}
