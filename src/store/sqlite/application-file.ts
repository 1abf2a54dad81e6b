/** The file of an application's SQLite database: only its path is used, to open a connection of our own. */
import { closeSync, openSync, readSync } from 'node:fs'
import { InvalidInputError } from '../../errors.ts'
import type { DatabaseTarget, SqliteTarget } from '../database.ts'

const HEADER = 'SQLite format 3\0'
const ATTACHED = 'PRAGMA database_list'

export function isSqlite(target: Exclude<DatabaseTarget, string>): target is SqliteTarget {
  const client: object = clientIn(target)
  return 'prepare' in client || ('protocol' in client && 'execute' in client)
}

/** @throws InvalidInputError when the database is in memory, remote or encrypted */
export async function fileOf(target: SqliteTarget): Promise<string> {
  const client = clientIn(target)
  if ('protocol' in client && client.protocol !== 'file')
    throw refused(`the database is remote (${client.protocol}); Kalends needs a file on this machine`)
  const file = mainFile(
    'protocol' in client ? (await client.execute(ATTACHED)).rows : client.prepare(ATTACHED).all(),
  )
  if (file === '')
    throw refused('the database is in memory, where no other connection can read it; Kalends needs a file')
  if (!isReadable(file))
    throw refused(
      `the file '${file}' is encrypted, or is no SQLite database; Kalends needs one without a key`,
    )
  return file
}

function clientIn<Client extends object>(target: Client | { readonly $client: Client }): Client {
  return '$client' in target ? target.$client : target
}

/** The file of the database `main`; empty: none. */
function mainFile(rows: unknown): string {
  const attached: readonly unknown[] = Array.isArray(rows) ? rows : []
  for (const row of attached)
    if (typeof row === 'object' && row !== null && Reflect.get(row, 'name') === 'main')
      return String(Reflect.get(row, 'file') ?? '')
  return ''
}

/** An encrypted file has no readable header. A new one is empty. */
function isReadable(file: string): boolean {
  const descriptor = openSync(file, 'r')
  try {
    const header = Buffer.alloc(HEADER.length)
    const bytes = readSync(descriptor, header, 0, HEADER.length, 0)
    return bytes === 0 || header.toString('latin1') === HEADER
  } finally {
    closeSync(descriptor)
  }
}

function refused(why: string): InvalidInputError {
  return new InvalidInputError('database', why)
}
