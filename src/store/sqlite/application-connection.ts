/**
 * The application's SQLite connection: Kalends opens its own connection to the same file, with the constructor of this
 * one, and so with the same copy of SQLite. See driver.ts for the reason.
 */
import { statSync } from 'node:fs'
import { InvalidInputError, messageOf } from '../../errors.ts'
import type { DatabaseTarget, SqliteConnection, SqliteTarget } from '../database.ts'
import { loadedCopies } from './copies.ts'
import { type Connect, constructing } from './driver.ts'

const ATTACHED = 'PRAGMA database_list'
/** Kalends uses this mode anyway. On a new database, this writes the header. */
const WAL = 'PRAGMA journal_mode = WAL'
const USE_A_URL = "pass the URL of the file instead, such as 'sqlite:./app.db'"

/** mysql2's connections also have `prepare` but no `exec`. */
export function isSqlite(target: Exclude<DatabaseTarget, string>): target is SqliteTarget {
  const client: unknown = clientIn(target)
  if (typeof client !== 'object' || client === null) return false
  return ('exec' in client && 'prepare' in client) || isClient(client)
}

/** A client of @libsql/client. */
function isClient(client: object): boolean {
  return 'protocol' in client && 'execute' in client
}

/** @throws InvalidInputError when the database is closed, in memory or remote, or the constructor cannot be used */
export function connectionOf(target: SqliteTarget): { readonly path: string; readonly connect: Connect } {
  const given = clientIn(target)
  if (isClient(given))
    throw refused(
      `a client of @libsql/client hides its connection, and may have its own copy of SQLite; ${USE_A_URL}, with the driver libsql`,
    )
  const path = mainFile(read(given, ATTACHED))
  if (path === '')
    throw refused('the database is in memory, where no other connection can read it; Kalends needs a file')
  const connect = constructorOf(given)
  // With the application's encryption key, if it has one. Without a header, an encrypted file would look like a new one.
  if (statSync(path, { throwIfNoEntry: false })?.size === 0) read(given, WAL)
  return { path, connect }
}

/** The constructor of the driver, not of a class that the application derives from it. */
function constructorOf(given: SqliteConnection): Connect {
  let base: unknown = Object.getPrototypeOf(given)
  for (let next = base; next !== null && next !== Object.prototype; next = Object.getPrototypeOf(next))
    base = next
  const connect = constructing(typeof base === 'object' && base !== null ? base.constructor : undefined)
  const copies = loadedCopies().length
  let isSameCopy: boolean
  try {
    const memory = connect(':memory:')
    try {
      // A wrapper may open a file of its own, and its constructor may load a second copy of SQLite.
      const isInMemory = mainFile(memory.prepare(ATTACHED).all()) === ''
      isSameCopy = isInMemory && loadedCopies().length === copies && haveSameNative(memory, given)
    } finally {
      memory.close()
    }
  } catch (error) {
    throw refused(`its constructor cannot be used: ${messageOf(error)}; ${USE_A_URL}`)
  }
  if (isSameCopy) return connect
  throw refused(`its constructor opens databases with a different copy of SQLite; ${USE_A_URL}`)
}

/**
 * better-sqlite3 keeps its native connection under a symbol. The native class differs if the application passed
 * `nativeBinding`.
 */
function haveSameNative(one: object, other: object): boolean {
  return Object.getOwnPropertySymbols(one).every((key) => classAt(one, key) === classAt(other, key))
}

function classAt(connection: object, key: symbol): unknown {
  const value: unknown = Reflect.get(connection, key)
  return typeof value === 'object' && value !== null ? value.constructor : null
}

function read(client: SqliteConnection, statement: string): unknown {
  try {
    return client.prepare(statement).all()
  } catch (error) {
    throw refused(`its file cannot be found: ${messageOf(error)}`)
  }
}

function clientIn<Own extends object>(target: Own | { readonly $client: Own }): Own {
  return '$client' in target ? target.$client : target
}

/** The path of the main file; empty if the database is in memory. */
function mainFile(rows: unknown): string {
  const databases: readonly unknown[] = Array.isArray(rows) ? rows : []
  for (const row of databases)
    if (typeof row === 'object' && row !== null && Reflect.get(row, 'name') === 'main')
      return String(Reflect.get(row, 'file') ?? '')
  return ''
}

function refused(why: string): InvalidInputError {
  return new InvalidInputError('database', why)
}
