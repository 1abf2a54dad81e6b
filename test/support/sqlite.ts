/**
 * The driver for SQLite that this process tests: KALENDS_TEST_SQLITE_DRIVER, by default libsql. Tests open their own
 * connections with it, so that a process has one copy of SQLite, which Kalends then uses, too.
 */
import { SQLITE_DRIVERS, type SqliteDriver } from '../../src/store/database.ts'

/** A connection of any driver, as far as tests need it. */
export interface SqliteTestConnection {
  exec(sql: string): unknown
  prepare(sql: string): SqliteTestStatement
  close(): unknown
}

export interface SqliteTestStatement {
  all(...params: readonly unknown[]): unknown[]
  run(...params: readonly unknown[]): unknown
}

const given = process.env['KALENDS_TEST_SQLITE_DRIVER'] ?? 'libsql'
export const sqliteDriver: SqliteDriver = SQLITE_DRIVERS.find((driver) => driver === given) ?? unknown(given)
const Driver = await load(sqliteDriver)
/** Such as `3.53.2 (better-sqlite3)`. */
export const sqliteVersion = `${versionOf(openSqlite(':memory:'))} (${sqliteDriver})`

/** Opens a file, which is created if it does not exist. */
export function openSqlite(path: string, options: object = {}): SqliteTestConnection {
  return new Driver(path, options)
}

export function inTransaction(connection: object): boolean {
  return (Reflect.get(connection, 'inTransaction') ?? Reflect.get(connection, 'isTransaction')) === true
}

/** The number of columns of the result; 0 if the statement returns no rows. */
export function columnsOf(statement: object): number {
  if ('reader' in statement) return Number(statement.reader)
  const columns: unknown =
    'columns' in statement && typeof statement.columns === 'function' ? statement.columns() : []
  return Array.isArray(columns) ? columns.length : 0
}

type DriverClass = new (path: string, options?: object) => SqliteTestConnection

async function load(driver: SqliteDriver): Promise<DriverClass> {
  const found: unknown =
    driver === 'node:sqlite'
      ? databaseSync()
      : (driver === 'libsql' ? await import('libsql') : await import('better-sqlite3')).default
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- these methods exist in all drivers
  return found as DriverClass
}

function versionOf(connection: SqliteTestConnection): string {
  const rows = connection.prepare('SELECT sqlite_version() AS version').all()
  connection.close()
  return rows
    .map((row) => (typeof row === 'object' && row !== null ? String(Reflect.get(row, 'version')) : ''))
    .join()
}

function databaseSync(): unknown {
  const module: object | undefined = process.getBuiltinModule('node:sqlite')
  if (module === undefined) throw new Error(`Node.js ${process.version} has no node:sqlite`)
  return Reflect.get(module, 'DatabaseSync')
}

function unknown(name: string): never {
  throw new Error(`KALENDS_TEST_SQLITE_DRIVER is '${name}', which is not one of ${SQLITE_DRIVERS.join(', ')}`)
}
