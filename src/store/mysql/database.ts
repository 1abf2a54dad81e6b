/**
 * MySQL and MariaDB through mysql2: on a pool of our own, or on one that the application lends.
 *
 * Nothing depends on the session: time zone, character set, sql_mode and the driver's type casts may be
 * whatever the application likes. Isolation is READ COMMITTED, for REPEATABLE READ locks the gaps that
 * inserts need.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type mysql from 'mysql2/promise'
import { StoreUnavailableError } from '../../errors.ts'
import type { Database, Sql, SqlValue } from '../database.ts'
import { type Connections, LentConnections, OwnConnections } from './connections.ts'
import { mysqlDialect } from './dialect.ts'
import { isLockWait, isTransient, isUnavailable } from './errors.ts'
import { hostsOf } from './hosts.ts'
import { borrowing, type Borrowing, SESSION_STATE, type SessionState } from './lent.ts'
import { withLiterals } from './literal.ts'
import { giveUpAfter } from './patience.ts'

/** How often work is begun anew after a deadlock. */
const MOST_TRIES = 10
/** After a lock wait, which has cost its timeout already. */
const MOST_TRIES_AFTER_LOCK_WAIT = 3
/** Of sessions of our own: whoever holds a row for longer is waited for from outside, not by a statement. */
const LOCK_WAIT_SECONDS = 5
/**
 * A connection that is busy with one piece of work for longer is given up. One that died without a word, as
 * when an address moves to another machine, would else hold its loop for a quarter of an hour.
 */
const LONGEST_USE_MS = 60_000
/** Where there are several hosts: how long one of them may take until a new connection can work. */
const HOST_PATIENCE_MS = 3000
/** Where there is one: as the driver has it. */
const ONLY_HOST_PATIENCE_MS = 10_000
/** Seconds that another process may take to migrate the tables. */
const EXCLUSIVE_WAIT_SECONDS = 600
/** Larger transactions of a cluster meet those of other nodes more often, and are then undone as a whole. */
const MOST_AT_ONCE_IN_A_CLUSTER = 100
const NUMBERS: ReadonlySet<string> = new Set([
  'TINY',
  'SHORT',
  'LONG',
  'INT24',
  'LONGLONG',
  'FLOAT',
  'DOUBLE',
  'NEWDECIMAL',
])

export class MysqlDatabase implements Database {
  readonly dialect = mysqlDialect
  readonly #connections: Connections
  readonly #lent: boolean
  readonly #borrowings = new WeakMap<object, Borrowing>()
  readonly #longestUseMs: number
  #packetLimit: number | null = null

  constructor(pool: mysql.Pool | Connections, options: { lent: boolean; longestUseMs?: number }) {
    this.#connections = 'getConnection' in pool ? new LentConnections(pool) : pool
    this.#lent = options.lent
    this.#longestUseMs = options.longestUseMs ?? LONGEST_USE_MS
  }

  /**
   * Opens connections of our own.
   *
   * @param url  `mysql://user:password@host:port/database`; of several hosts, `h1:3306,h2`, one is worked with
   * @param connections  most to one host
   * @param longestUseMs  a connection that is busy with one piece of work for longer is given up
   */
  static open(url: string, connections: number, longestUseMs = LONGEST_USE_MS): MysqlDatabase {
    const hosts = hostsOf(url)
    const own = new OwnConnections(hosts, {
      connections,
      setup: [
        'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED',
        `SET SESSION sql_mode = 'STRICT_TRANS_TABLES', SESSION innodb_lock_wait_timeout = ${LOCK_WAIT_SECONDS}`,
      ],
      patienceMs: Math.min(hosts.length > 1 ? HOST_PATIENCE_MS : ONLY_HOST_PATIENCE_MS, longestUseMs),
    })
    return new MysqlDatabase(own, { lent: false, longestUseMs })
  }

  mostAtOnce(): number {
    return this.#connections.clustered() ? MOST_AT_ONCE_IN_A_CLUSTER : Number.POSITIVE_INFINITY
  }

  rows<Row>(text: string, params: readonly SqlValue[] = []): Promise<Row[]> {
    return this.#persistently((sql) => sql.rows<Row>(text, params))
  }

  run(text: string, params: readonly SqlValue[] = []): Promise<number> {
    return this.#persistently((sql) => sql.run(text, params))
  }

  transaction<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result> {
    return this.#persistently((sql, connection) => this.#inTransaction(sql, connection, work))
  }

  exclusively<Result>(name: string, work: (sql: Sql) => Promise<Result>): Promise<Result> {
    return this.#connected(async (sql) => {
      const [lock] = await sql.rows<{ got: number | null }>(
        'SELECT GET_LOCK(LEFT(CONCAT(DATABASE(), ?), 64), ?) AS got',
        [`:${name}`, EXCLUSIVE_WAIT_SECONDS],
      )
      if (lock?.got !== 1) {
        throw new StoreUnavailableError(
          `Another process has held the lock '${name}' for ${EXCLUSIVE_WAIT_SECONDS} s`,
        )
      }
      try {
        return await work(sql)
      } finally {
        await sql.rows('SELECT RELEASE_LOCK(LEFT(CONCAT(DATABASE(), ?), 64))', [`:${name}`])
      }
    }, null)
  }

  async close(): Promise<void> {
    await this.#connections.end()
  }

  async #persistently<Result>(
    work: (sql: Sql, connection: mysql.PoolConnection) => Promise<Result>,
  ): Promise<Result> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#connected(work)
      } catch (error) {
        const most = isLockWait(error) ? MOST_TRIES_AFTER_LOCK_WAIT : MOST_TRIES
        if (!isTransient(error)) throw error
        if (attempt >= most) {
          throw new StoreUnavailableError(
            `Others were in the way ${attempt} times: ${error instanceof Error ? error.message : String(error)}`,
            { cause: error },
          )
        }
        // At random, so that those who met once do not meet again.
        await delay(Math.random() * 5 * 2 ** Math.min(attempt, 6))
      }
    }
  }

  async #inTransaction<Result>(
    sql: Sql,
    connection: mysql.PoolConnection,
    work: (sql: Sql) => Promise<Result>,
  ): Promise<Result> {
    // Sessions of our own have it already.
    if (this.#lent) await connection.query('SET TRANSACTION ISOLATION LEVEL READ COMMITTED')
    await connection.query('START TRANSACTION')
    try {
      const result = await work(sql)
      await connection.query('COMMIT')
      return result
    } catch (error) {
      // Always: after a lock wait only the statement is undone, and a COMMIT would keep the half before it.
      await connection.query('ROLLBACK').catch(() => connection.destroy())
      throw error
    }
  }

  /** @param limitMs  null: it takes as long as it takes */
  async #connected<Result>(
    work: (sql: Sql, connection: mysql.PoolConnection) => Promise<Result>,
    limitMs: number | null = this.#longestUseMs,
  ): Promise<Result> {
    let connection: mysql.PoolConnection | null = null
    let watchdog: NodeJS.Timeout | undefined
    try {
      connection = await this.#connections.take()
      watchdog = limitMs === null ? undefined : giveUpAfter(connection, limitMs)
      const sql = await this.#session(connection)
      const after = this.#lent ? await this.#borrow(connection, sql) : null
      try {
        return await work(sql, connection)
      } finally {
        // One that cannot be given back as it was is not given back at all.
        if (after !== null) await connection.query(after).catch(() => connection?.destroy())
      }
    } catch (error) {
      if (!isUnavailable(error)) throw error
      // The next to use a connection in doubt would inherit the doubt.
      if (connection !== null) this.#connections.drop(connection, error)
      connection = null
      throw new StoreUnavailableError(
        `The database does not answer or refuses to work: ${error instanceof Error ? error.message : String(error)}`,
        { cause: error },
      )
    } finally {
      clearTimeout(watchdog)
      // Of one that was destroyed, this does nothing.
      if (connection !== null) this.#connections.give(connection)
    }
  }

  async #session(connection: mysql.PoolConnection): Promise<Sql> {
    if (this.#packetLimit === null) {
      const [row] = await session(connection, Number.POSITIVE_INFINITY).rows<{ most: number }>(
        'SELECT @@max_allowed_packet AS most',
      )
      this.#packetLimit = row?.most ?? Number.POSITIVE_INFINITY
    }
    return session(connection, this.#packetLimit)
  }

  /** @returns the statement that gives the connection back as it was */
  async #borrow(connection: mysql.PoolConnection, sql: Sql): Promise<string | null> {
    const key = connection.connection
    let { before, after } = this.#borrowings.get(key) ?? {}
    if (before === undefined || after === undefined) {
      const [state] = await sql.rows<SessionState>(SESSION_STATE)
      const found = state === undefined ? { before: null, after: null } : borrowing(state)
      this.#borrowings.set(key, found)
      ;({ before, after } = found)
    }
    if (before !== null) await connection.query(before)
    return after
  }
}

function session(connection: mysql.PoolConnection, packetLimit: number): Sql {
  const query = async (text: string, params: readonly SqlValue[]) => {
    const statement = withLiterals(text, params)
    // The server would close the connection, and nobody could tell that from an outage.
    if (statement.length >= packetLimit) {
      throw new RangeError(
        `A statement of ${statement.length} bytes is more than the server's max_allowed_packet of ${packetLimit}`,
      )
    }
    // Every option that a lent pool may have set otherwise is set here, for this statement.
    const [result] = await connection.query({
      sql: statement,
      rowsAsArray: false,
      nestTables: false,
      typeCast: castField,
    })
    return result
  }
  return {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the rows are what the statement selects; see Sql
    rows: async <Row>(text: string, params: readonly SqlValue[] = []) => (await query(text, params)) as Row[],
    run: async (text, params = []) => matchedRows(await query(text, params)),
  }
}

/** Matched, even where a lent connection counts only the rows that were changed (without CLIENT_FOUND_ROWS). */
function matchedRows(result: mysql.QueryResult): number {
  if (!('affectedRows' in result)) return 0
  // 'Rows matched: 1  Changed: 0  Warnings: 0', in the server's language.
  const matched = 'info' in result ? /\d+/.exec(result.info) : null
  return matched === null ? result.affectedRows : Number(matched[0])
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
