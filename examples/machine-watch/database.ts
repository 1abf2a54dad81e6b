/**
 * The application's own access to the database, which Kalends also uses. Any client works; this example uses mysql2 and
 * libsql.
 */
import { setTimeout as pause } from 'node:timers/promises'
import Libsql from 'libsql'
import { createPool } from 'mysql2/promise'

export type Value = string | number

export interface AppDatabase {
  rows<Row>(sql: string, params?: readonly Value[]): Promise<Row[]>
  close(): Promise<void>
}

export function openDatabase(url: string): AppDatabase {
  return url.startsWith('sqlite:') ? openSqlite(url.slice('sqlite:'.length)) : openMysql(url)
}

function openMysql(url: string): AppDatabase {
  const pool = createPool({ uri: url.replace(/^mariadb:/, 'mysql:'), connectionLimit: 2 })
  return {
    async rows<Row>(sql: string, params: readonly Value[] = []) {
      const [rows] = await pool.query(sql, [...params])
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the rows are what the statement selects
      return Array.isArray(rows) ? (rows as Row[]) : []
    },
    close: () => pool.end(),
  }
}

function openSqlite(path: string): AppDatabase {
  const database = new Libsql(path, { timeout: 5 })
  return {
    async rows<Row>(sql: string, params: readonly Value[] = []) {
      // If another connection is writing, wait here, because a wait in the driver would block the event loop.
      for (let tries = 1; ; tries += 1) {
        try {
          const statement = database.prepare(sql)
          // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the rows are what the statement selects
          if (statement.reader) return statement.all(...params) as Row[]
          statement.run(...params)
          return []
        } catch (error) {
          if (!isBusy(error) || tries === 1000) throw error
          await pause(5)
        }
      }
    },
    close: async () => {
      database.close()
    },
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_BUSY')
}
