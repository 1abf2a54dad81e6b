import { existsSync } from 'node:fs'
import type { DatabaseKind, SqliteTarget } from '../database.ts'
import { isSqlite } from './application-connection.ts'

const SCHEME = 'sqlite:'

export const sqliteKind: DatabaseKind = {
  example: 'sqlite:./file.db',
  isUrl: (url) => url.startsWith(SCHEME),
  isObject: isSqlite,
  objects: 'a connection of better-sqlite3, libsql or node:sqlite',
  unsupported: {
    schema:
      'a SQLite file has only one; to keep the tables apart, open a separate file, such as sqlite:./kalends.db',
  },
  insteadOfMissing: (url) => (existsSync(pathIn(url)) ? null : 'sqlite::memory:'),
  async open(target, options) {
    const { openSqlite } = await import('./database.ts')
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see isObject
    return openSqlite(typeof target === 'string' ? pathIn(target) : (target as SqliteTarget), options)
  },
}

function pathIn(url: string): string {
  return url.slice(SCHEME.length).replace(/^\/\//, '')
}
