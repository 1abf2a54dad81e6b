/**
 * The drivers of SQLite: better-sqlite3, libsql and node:sqlite, each with its own copy of SQLite.
 *
 * A process must open a file with only one copy. POSIX locks belong to the process, so two copies do not exclude each
 * other, and when one of them closes the file, the operating system also drops the locks of the other
 * (https://sqlite.org/howtocorrupt.html, section 2.2.1). Kalends therefore uses the copy that the application uses.
 */
import { firstLine, InvalidInputError, messageOf } from '../../errors.ts'
import { shownInput } from '../../model/input.ts'
import { SQLITE_DRIVERS, type SqliteDriver } from '../database.ts'
import { loadedCopies } from './copies.ts'

/** What the connections of all drivers have in common. */
export interface DriverConnection {
  exec(text: string): unknown
  prepare(text: string): DriverStatement
  close(): unknown
  /** Of better-sqlite3 and libsql. */
  readonly inTransaction?: unknown
  /** Of node:sqlite, since Node.js 22.16. */
  readonly isTransaction?: unknown
}

export interface DriverStatement {
  all(...params: readonly (string | number | null)[]): unknown
  run(...params: readonly (string | number | null)[]): { readonly changes: number | bigint }
  /** Of node:sqlite, which otherwise rejects integers above 2^53. */
  setReadBigInts?(enabled: boolean): unknown
}

export type Connect = (path: string) => DriverConnection

const NONE =
  "SQLite needs a driver, which is built into Node.js since 22.16 ('node:sqlite'); with older versions, run: npm install better-sqlite3@12"

/**
 * The driver for a URL. Without a name, it is the one that this process has already loaded, because the application
 * uses it, or else the first one that works.
 *
 * @param isFile  whether the database is a file, which the application may open, too
 * @throws InvalidInputError when the driver is unknown or does not work, or when several drivers are loaded
 */
export async function driverNamed(given: SqliteDriver | undefined, isFile: boolean): Promise<Connect> {
  if (given !== undefined && !SQLITE_DRIVERS.includes(given))
    throw new InvalidInputError(
      'driver',
      `must be one of ${SQLITE_DRIVERS.join(', ')}, got ${shownInput(given)}`,
    )
  const copies = loadedCopies()
  const loaded = SQLITE_DRIVERS.filter((driver) => copies.some((copy) => isOf(copy, driver)))
  if (isFile && given === undefined && loaded.length > 1)
    throw new InvalidInputError(
      'driver',
      `must be set, because this process has loaded several drivers of SQLite (${loaded.join(', ')}): name the one with which the application opens this file; with two copies of SQLite, the file would lose commits`,
    )
  const named = given ?? loaded[0]
  const connect = named === undefined ? await firstThatWorks() : await working(named)
  // The application may have loaded the same driver from another folder.
  if (isFile && named !== undefined && loaded.includes(named) && loadedCopies().length > copies.length)
    throw new InvalidInputError(
      'driver',
      `this process has loaded '${named}' from another folder than the one in which Kalends finds it, so the file would be opened with two copies of SQLite; pass the application's connection instead of a URL`,
    )
  return connect
}

async function working(driver: SqliteDriver): Promise<Connect> {
  try {
    return await tried(driver)
  } catch (error) {
    throw new InvalidInputError(
      'driver',
      `'${driver}' cannot be loaded (${firstLine(messageOf(error))}); if the application has a connection to the file, pass it instead of a URL`,
      { cause: error },
    )
  }
}

async function firstThatWorks(): Promise<Connect> {
  const reasons: string[] = []
  for (const driver of SQLITE_DRIVERS) {
    try {
      return await tried(driver)
    } catch (error) {
      reasons.push(`${driver}: ${firstLine(messageOf(error))}`)
    }
  }
  throw new InvalidInputError(
    'database',
    `no driver for SQLite can be loaded (${reasons.join('; ')}). ${NONE}`,
  )
}

/** Whether a loaded copy of SQLite, such as `…/better_sqlite3.node`, belongs to this driver. */
function isOf(copy: string, driver: SqliteDriver): boolean {
  if (driver === 'node:sqlite') return copy === driver
  return (driver === 'libsql' ? /[\\/]@libsql[\\/]/ : /[\\/]better_sqlite3\.node$/).test(copy)
}

/** @throws an error when the driver is not installed, or its binary is missing or too old */
async function tried(driver: SqliteDriver): Promise<Connect> {
  const connect = constructing(await classOf(driver))
  const memory = connect(':memory:')
  // Before Node.js 22.16, the connections of node:sqlite do not report whether a transaction is open.
  const isUsable = typeof inTransaction(memory) === 'boolean'
  memory.close()
  if (!isUsable) throw new Error('this version is too old')
  return connect
}

async function classOf(driver: SqliteDriver): Promise<unknown> {
  // With literal names, bundlers and tools that trace files find the packages. Turbopack accepts that a package is not
  // installed only if its import is inside a `try` block.
  try {
    if (driver === 'libsql') return (await import('libsql')).default
    if (driver === 'better-sqlite3') return (await import('better-sqlite3')).default
  } catch (error) {
    throw new Error(messageOf(error), { cause: error })
  }
  const module: object | undefined = process.getBuiltinModule(driver)
  if (module === undefined) throw new Error(`not part of Node.js ${process.version}`)
  return Reflect.get(module, 'DatabaseSync')
}

/** Undefined if the driver does not report it. */
export function inTransaction(connection: DriverConnection): unknown {
  return connection.inTransaction ?? connection.isTransaction
}

/** Connections of this class. */
export function constructing(Driver: unknown): Connect {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the class of a driver; a connection that lacks a method fails when it is opened
  const Connection = Driver as new (path: string) => DriverConnection
  return (path) => new Connection(path)
}
