/**
 * MySQL and MariaDB through mysql2: on a pool of our own, or on one that the application lends.
 *
 * Nothing depends on the session: time zone, character set, sql_mode and the driver's type casts may be
 * whatever the application likes. Isolation is READ COMMITTED, for REPEATABLE READ locks the gaps that
 * inserts need.
 */
import { setTimeout as delay } from 'node:timers/promises'
import mysql from 'mysql2/promise'
import { StoreUnavailableError } from '../../errors.ts'
import type { Database, Sql, SqlValue } from '../database.ts'
import { mysqlDialect } from './dialect.ts'
import { isTransient, isUnavailable } from './errors.ts'
import { withLiterals } from './literal.ts'

/** How often a transaction is begun anew after a deadlock or a lock wait. */
const MOST_TRIES = 10
/** Seconds that another process may take to migrate the tables. */
const EXCLUSIVE_WAIT_SECONDS = 600
const NUMBERS: ReadonlySet<string> = new Set(['TINY', 'SHORT', 'LONG', 'INT24', 'LONGLONG', 'FLOAT', 'DOUBLE', 'NEWDECIMAL'])

export class MysqlDatabase implements Database {
  readonly dialect = mysqlDialect
  readonly #pool: mysql.Pool
  readonly #lent: boolean
  /** What a lent connection's results are converted to, where that is not utf8mb4 already. */
  readonly #resultCharset = new WeakMap<object, string>()

  constructor(pool: mysql.Pool, options: { lent: boolean }) {
    this.#pool = pool
    this.#lent = options.lent
  }

  /** Opens a pool of our own. @param url  `mysql://user:password@host:port/database` */
  static open(url: string, connections: number): MysqlDatabase {
    const pool = mysql.createPool({
      uri: url,
      timezone: 'Z',
      charset: 'utf8mb4_bin',
      connectionLimit: connections,
      maxIdle: connections,
      enableKeepAlive: true,
    })
    return new MysqlDatabase(pool, { lent: false })
  }

  rows<Row>(text: string, params: readonly SqlValue[] = []): Promise<Row[]> {
    return this.#connected((connection) => session(connection).rows<Row>(text, params))
  }

  run(text: string, params: readonly SqlValue[] = []): Promise<number> {
    return this.#connected((connection) => session(connection).run(text, params))
  }

  async transaction<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#connected((connection) => inTransaction(connection, work))
      } catch (error) {
        if (!isTransient(error) || attempt === MOST_TRIES) throw error
        // At random, so that those who met once do not meet again.
        await delay(Math.random() * 5 * 2 ** Math.min(attempt, 6))
      }
    }
  }

  exclusively<Result>(name: string, work: (sql: Sql) => Promise<Result>): Promise<Result> {
    return this.#connected(async (connection) => {
      const sql = session(connection)
      const [lock] = await sql.rows<{ got: number | null }>('SELECT GET_LOCK(LEFT(CONCAT(DATABASE(), ?), 64), ?) AS got', [`:${name}`, EXCLUSIVE_WAIT_SECONDS])
      if (lock?.got !== 1) throw new StoreUnavailableError(`Another process has held the lock '${name}' for ${EXCLUSIVE_WAIT_SECONDS} s`)
      try {
        return await work(sql)
      } finally {
        await sql.rows('SELECT RELEASE_LOCK(LEFT(CONCAT(DATABASE(), ?), 64))', [`:${name}`])
      }
    })
  }

  async close(): Promise<void> {
    if (!this.#lent) await this.#pool.end()
  }

  async #connected<Result>(work: (connection: mysql.PoolConnection) => Promise<Result>): Promise<Result> {
    let connection: mysql.PoolConnection | null = null
    try {
      connection = await this.#pool.getConnection()
      const restore = await this.#prepare(connection)
      const result = await work(connection)
      if (restore !== null) await connection.query(restore)
      connection.release()
      return result
    } catch (error) {
      const unavailable = isUnavailable(error)
      // A connection in doubt is not given back: the next to use it would inherit the doubt.
      if (unavailable) connection?.destroy()
      else connection?.release()
      if (!unavailable) throw error
      throw new StoreUnavailableError(`The database does not answer or refuses to work: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
    }
  }

  /** @returns the statement that gives a lent connection back as it was, where something had to be changed */
  async #prepare(connection: mysql.PoolConnection): Promise<string | null> {
    if (!this.#lent) return null
    const key = connection.connection
    let charset = this.#resultCharset.get(key)
    if (charset === undefined) {
      const [row] = await session(connection).rows<{ charset: string | null }>('SELECT @@character_set_results AS charset')
      charset = row?.charset ?? 'utf8mb4'
      this.#resultCharset.set(key, charset)
    }
    if (charset === 'utf8mb4') return null
    await connection.query('SET character_set_results = utf8mb4')
    return `SET character_set_results = ${charset}`
  }
}

function session(connection: mysql.PoolConnection): Sql {
  const query = async (text: string, params: readonly SqlValue[]) => {
    // Every option that a lent pool may have set otherwise is set here, for this statement.
    const [result] = await connection.query({
      sql: withLiterals(text, params),
      rowsAsArray: false,
      nestTables: false,
      typeCast: castField,
    })
    return result
  }
  return {
    // The rows are what the statement selects; see Sql.
    rows: async <Row>(text: string, params: readonly SqlValue[] = []) => (await query(text, params)) as Row[],
    run: async (text, params = []) => {
      const result = await query(text, params)
      return 'affectedRows' in result ? result.affectedRows : 0
    },
  }
}

interface TypedField {
  readonly type: string
  string(encoding?: BufferEncoding): string | null
}

/** Numbers as numbers, all else as the text that the server sent: instants must not pass through a Date in some zone. */
function castField(field: TypedField): SqlValue {
  const text = field.string()
  return text !== null && NUMBERS.has(field.type) ? Number(text) : text
}

async function inTransaction<Result>(connection: mysql.PoolConnection, work: (sql: Sql) => Promise<Result>): Promise<Result> {
  await connection.query('SET TRANSACTION ISOLATION LEVEL READ COMMITTED')
  await connection.query('START TRANSACTION')
  try {
    const result = await work(session(connection))
    await connection.query('COMMIT')
    return result
  } catch (error) {
    // Always: after a lock wait only the statement is undone, and a COMMIT would keep the half before it.
    await connection.query('ROLLBACK').catch(() => connection.destroy())
    throw error
  }
}
