/**
 * The application's SQLite connection: Kalends opens its own connection to the same file, with the constructor of this
 * one, and so with the same copy of SQLite. See driver.ts for the reason.
 */
import { statSync } from 'node:fs'
import { InvalidInputError, messageOf } from '../../errors.ts'
import type { SqliteConnection, SqliteTarget } from '../database.ts'
import { loadedCopies } from './copies.ts'
import { type Connect, constructing } from './driver.ts'

const ATTACHED = 'PRAGMA database_list'
const LOCKING = 'PRAGMA locking_mode'
/** Kalends uses this mode anyway. On a new database, this writes the header. */
const WAL = 'PRAGMA journal_mode = WAL'
const USE_A_URL = "pass the URL of the file instead, such as 'sqlite:./app.db'"

/** mysql2's connections also have `prepare` but no `exec`. */
export function isSqlite(target: object): target is SqliteTarget {
  const client: unknown = clientIn(target)
  if (typeof client !== 'object' || client === null) return false
  return ('exec' in client && 'prepare' in client) || isClient(client)
}

/** A client of @libsql/client. */
function isClient(client: object): boolean {
  return 'protocol' in client && 'execute' in client
}

/** @throws InvalidInputError when the database is closed or in memory, or the constructor cannot be used */
export function connectionOf(target: SqliteTarget): { readonly path: string; readonly connect: Connect } {
  const given = clientIn(target)
  if (isClient(given))
    throw refused(
      `a client of @libsql/client hides its connection, and may have its own copy of SQLite; ${USE_A_URL}, with the driver libsql`,
    )
  const path = mainFile(read(given, ATTACHED, 'its file cannot be found'))
  if (path === '')
    throw refused('the database is in memory, where no other connection can read it; Kalends needs a file')
  const file = statSync(path, { throwIfNoEntry: false })
  if (file === undefined) throw refused(`its file '${path}' was deleted or moved`)
  if (JSON.stringify(read(given, LOCKING, LOCKING)).includes('exclusive'))
    throw refused("its locking_mode is 'exclusive', so no other connection can open its file")
  const connect = constructorOf(given)
  // With the application's encryption key, if it has one. Without a header, an encrypted file would look like a new one.
  if (file.size === 0) read(given, WAL, 'it cannot write the header of its new file')
  return { path, connect }
}

/** The constructor of the driver, not of a class that the application derives from it. */
function constructorOf(given: SqliteConnection): Connect {
  const connect = constructing(baseOf(given).constructor)
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

function read(client: SqliteConnection, statement: string, failure: string): unknown {
  try {
    return client.prepare(statement).all()
  } catch (error) {
    throw refused(`${failure}: ${messageOf(error)}`)
  }
}

function clientIn<Own extends object>(target: Own | { readonly $client: Own }): Own {
  return '$client' in target ? target.$client : target
}

/** The last prototype before that of all objects, which differs between the contexts of a process. */
function baseOf(given: object): object {
  let base = given
  for (let next: unknown = Object.getPrototypeOf(given); isObject(next); next = Object.getPrototypeOf(next)) {
    if (Object.getPrototypeOf(next) === null) break
    base = next
  }
  return base
}

/**
 * The path of the main file; empty if the database is in memory. A driver may return rows as arrays.
 *
 * @throws InvalidInputError when these are not rows, for example because the driver is asynchronous
 */
function mainFile(rows: unknown): string {
  for (const row of Array.isArray(rows) ? rows : []) {
    const [, name, file]: unknown[] = Array.isArray(row)
      ? row
      : isObject(row)
        ? ['', Reflect.get(row, 'name'), Reflect.get(row, 'file')]
        : []
    if (name === 'main') return typeof file === 'string' ? file : ''
  }
  throw refused(
    `its driver is not supported: pass a connection of better-sqlite3, libsql or node:sqlite, or ${USE_A_URL.slice('pass '.length)}`,
  )
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function refused(why: string): InvalidInputError {
  return new InvalidInputError('database', why)
}
