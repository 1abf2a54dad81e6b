/**
 * The application's own access to its database, with transactions. Any client works; this example uses mysql2 and
 * libsql.
 */
import { setTimeout as pause } from 'node:timers/promises'
import Libsql from 'libsql'
import { createPool, type PoolConnection, type Pool } from 'mysql2/promise'

export type Value = string | number | null
export type Rows = <Row>(sql: string, params?: readonly Value[]) => Promise<Row[]>

export interface AppDatabase {
  readonly kind: 'mysql' | 'sqlite'
  readonly rows: Rows
  /** Commits the statements of `work` together, or rolls them back if it throws. */
  transaction<Result>(work: (rows: Rows) => Promise<Result>): Promise<Result>
  close(): Promise<void>
}

export function openDatabase(url: string): AppDatabase {
  return url.startsWith('sqlite:') ? openSqlite(url.slice('sqlite:'.length)) : openMysql(url)
}

function openMysql(url: string): AppDatabase {
  const pool = createPool({ uri: url.replace(/^mariadb:/, 'mysql:'), connectionLimit: 4 })
  return {
    kind: 'mysql',
    rows: rowsOf(pool),
    async transaction(work) {
      const connection = await pool.getConnection()
      try {
        await connection.beginTransaction()
        const result = await work(rowsOf(connection))
        await connection.commit()
        return result
      } catch (error) {
        await connection.rollback()
        throw error
      } finally {
        connection.release()
      }
    },
    close: () => pool.end(),
  }
}

function rowsOf(client: Pool | PoolConnection): Rows {
  return async <Row>(sql: string, params: readonly Value[] = []) => {
    const [rows] = await client.query(sql, [...params])
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the rows are what the statement selects
    return Array.isArray(rows) ? (rows as Row[]) : []
  }
}

/** Uses the connection that `submit` receives. */
export function rowsOn(tx: unknown): Rows {
  if (tx instanceof Libsql) return async (sql, params = []) => select(tx.prepare(sql), params)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- on MySQL, tx is a mysql2 connection
  return rowsOf(tx as PoolConnection)
}

function select<Row>(statement: Libsql.Statement, params: readonly Value[]): Row[] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the rows are what the statement selects
  if (statement.reader) return statement.all(...params) as Row[]
  statement.run(...params)
  return []
}

function openSqlite(path: string): AppDatabase {
  return {
    kind: 'sqlite',
    rows: (sql, params) => onConnection(path, (rows) => rows(sql, params)),
    transaction: (work) =>
      onConnection(path, async (rows) => {
        await rows('BEGIN IMMEDIATE')
        try {
          const result = await work(rows)
          await rows('COMMIT')
          return result
        } catch (error) {
          await rows('ROLLBACK')
          throw error
        }
      }),
    close: async () => {},
  }
}

/** Connections are cheap. With one connection per transaction, no statement can end up in a different transaction. */
async function onConnection<Result>(path: string, work: (rows: Rows) => Promise<Result>): Promise<Result> {
  const connection = new Libsql(path, { timeout: 5 })
  try {
    return await work(async <Row>(sql: string, params: readonly Value[] = []) => {
      // Prepare once, because after SQLITE_BUSY this driver leaves the write pending until the same statement runs
      // again.
      const statement = connection.prepare(sql)
      // If another connection is writing, wait here, because a wait in the driver would block the event loop.
      for (let tries = 1; ; tries += 1) {
        try {
          return select<Row>(statement, params)
        } catch (error) {
          if (!isBusy(error) || tries === 1000) throw error
          await pause(5)
        }
      }
    })
  } finally {
    connection.close()
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_BUSY')
}
