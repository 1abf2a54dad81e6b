/** The file of the application's SQLite database: only its path is used, to open a separate connection. */
import { closeSync, openSync, readSync } from 'node:fs'
import { InvalidInputError, messageOf } from '../../errors.ts'
import type { DatabaseTarget, SqliteTarget } from '../database.ts'

const HEADER = 'SQLite format 3\0'
const ATTACHED = 'PRAGMA database_list'
/** Kalends uses this mode anyway. On a new database, this writes the header. */
const WAL = 'PRAGMA journal_mode = WAL'

/** mysql2's connections also have `prepare` but no `pragma`, and its pools have `execute` but no `protocol`. */
export function isSqlite(target: Exclude<DatabaseTarget, string>): target is SqliteTarget {
  const client: unknown = clientIn(target)
  if (typeof client !== 'object' || client === null) return false
  return ('pragma' in client && 'prepare' in client) || ('protocol' in client && 'execute' in client)
}

/** @throws InvalidInputError when the database is closed, in memory, remote or encrypted */
export async function fileOf(target: SqliteTarget): Promise<string> {
  const client = clientIn(target)
  if ('protocol' in client && client.protocol !== 'file')
    throw refused(`the database is remote (${client.protocol}); Kalends needs a file on this machine`)
  const file = mainFile(await read(client, ATTACHED))
  if (file === '')
    throw refused('the database is in memory, where no other connection can read it; Kalends needs a file')
  // This uses the application's encryption key, if it has one. An encrypted file has no readable header.
  if (headerOf(file) === '') await read(client, WAL)
  if (headerOf(file) !== HEADER)
    throw refused(
      `the file '${file}' is encrypted, or is not a SQLite database; Kalends needs an unencrypted database file`,
    )
  return file
}

async function read(client: Client, statement: string): Promise<unknown> {
  try {
    if ('protocol' in client) return (await client.execute(statement)).rows
    return client.prepare(statement).all()
  } catch (error) {
    throw refused(`its file cannot be found: ${messageOf(error)}`)
  }
}

type Client = Exclude<SqliteTarget, { readonly $client: unknown }>

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

function headerOf(file: string): string {
  let descriptor: number
  try {
    descriptor = openSync(file, 'r')
  } catch (error) {
    throw refused(`the file cannot be read: ${messageOf(error)}`)
  }
  try {
    const header = Buffer.alloc(HEADER.length)
    const bytes = readSync(descriptor, header, 0, HEADER.length, 0)
    return header.toString('latin1', 0, bytes)
  } finally {
    closeSync(descriptor)
  }
}

function refused(why: string): InvalidInputError {
  return new InvalidInputError('database', why)
}
