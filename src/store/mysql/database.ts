/**
 * MySQL and MariaDB through mysql2, on our own connections.
 *
 * Nothing depends on the time zone of the session or on the driver's type casts. The isolation level is READ COMMITTED,
 * because REPEATABLE READ locks the gaps that inserts need.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type mysql from 'mysql2/promise'
import { ConflictError, messageOf, StoreUnavailableError, TooSlowError } from '../../errors.ts'
import type { DatabaseWarning } from '../../model/diagnosis.ts'
import { CLOSED, type Database, type Dialect, type Lend, type Sql, type SqlValue } from '../database.ts'
import { TransactionEndedError } from '../executing-store.ts'
import { lender } from '../lend.ts'
import type { CreatePool } from './application-pool.ts'
import { Connections, type Host } from './connections.ts'
import { mysqlDialect } from './dialect.ts'
import { mysqlDriver } from './driver.ts'
import {
  advice,
  isLockWait,
  isNoSavepoint,
  isRefusedByGroup,
  isTooSlow,
  isTransient,
  isUnavailable,
} from './errors.ts'
import { NotInGroupError } from './group.ts'
import { connectTimeoutOf, groupOf, hostsOf } from './hosts.ts'
import { MysqlLentSession } from './lent-session.ts'
import { examine, type Server, session } from './session.ts'
import { limitStatements, OWN_SESSION } from './session-variables.ts'
import { abandon, withTimeout } from './timeout.ts'

/** Maximum number of attempts, including the first, if transactions deadlock or conflict. */
const MAX_TRIES = 10
/** For the application's calls. Fewer attempts than after a deadlock, because each may wait for the full time. */
const PATIENT: LockWaits = { seconds: 5, tries: 3 }
/**
 * A loop retries a locked row in a later pass, so that the row does not delay other rows. Servers accept only whole
 * seconds.
 */
export const IMPATIENT: LockWaits = { seconds: 1, tries: 1 }
/**
 * A connection that is busy with one piece of work for longer than this is destroyed. Otherwise a connection that died
 * silently, for example when an address moved to another machine, would block its loop for a quarter of an hour.
 */
const LONGEST_USE_MS = 60_000
/** How long a host may take to provide a usable connection if there are several hosts. */
const HOST_TIMEOUT_MS = 3000
/** How long the host may take if there is only one; the driver's default. */
const ONLY_HOST_TIMEOUT_MS = 10_000
const EXCLUSIVE_WAIT_SECONDS = 600
/** In a cluster, larger transactions conflict more often with those of other nodes, and are rolled back as a whole. */
const MAX_AT_ONCE_IN_A_CLUSTER = 100
/** The methods of mysql2's connections and prepared statements that return promises. */
const ASYNCHRONOUS: ReadonlySet<string> = new Set([
  'beginTransaction',
  'changeUser',
  'commit',
  'connect',
  'end',
  'execute',
  'ping',
  'prepare',
  'query',
  'reset',
  'rollback',
])

/** How long, and how many times, work waits for row and table locks that other transactions hold. */
export interface LockWaits {
  readonly seconds: number
  readonly tries: number
}

export interface MysqlOptions {
  readonly longestUseMs?: number | undefined
  /** The database that contains the tables; default: that of the target. */
  readonly schema?: string | undefined
  /** The server ends a SELECT (on MariaDB, any statement) that takes longer than this; default: no limit. */
  readonly statementLimitMs?: number | undefined
  /** Default: three tries of five seconds each. */
  readonly lockWaits?: LockWaits | undefined
}

export class MysqlDatabase implements Database {
  readonly dialect: Dialect
  readonly #connections: Connections
  readonly #longestUseMs: number
  readonly #statementLimitMs: number | null
  readonly #lockWaits: LockWaits
  /** When each piece of waiting work began to wait for a connection, oldest first. */
  readonly #waiting = new Set<{ readonly since: number }>()
  #server: Server | null = null
  #isClosed = false

  /**
   * Connects when work first needs a connection.
   *
   * @param target  a URL (see hosts.ts), or a function that creates a pool
   * @param connections  maximum number of connections to one host
   */
  constructor(
    target: string | CreatePool,
    connections: number,
    { longestUseMs = LONGEST_USE_MS, statementLimitMs, lockWaits = PATIENT, schema }: MysqlOptions = {},
  ) {
    const inSchema = schema === undefined ? {} : { database: schema }
    const hosts: Host[] =
      typeof target === 'string'
        ? hostsOf(target).map(({ name, url }) => ({
            name,
            createPool: async (options) => {
              const driver = await mysqlDriver()
              return driver.createPool({ ...options, ...inSchema, uri: url })
            },
          }))
        : [{ name: '', createPool: (options) => target({ ...options, ...inSchema }) }]
    this.dialect = mysqlDialect(() => {
      if (this.#server === null) throw new Error('not connected yet')
      return this.#server
    }, schema ?? null)
    this.#longestUseMs = longestUseMs
    this.#statementLimitMs = statementLimitMs ?? null
    this.#lockWaits = lockWaits
    this.#connections = new Connections(hosts, {
      connections,
      setup: [
        'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED',
        OWN_SESSION,
        waitForLocks(lockWaits.seconds),
        ...(statementLimitMs === undefined ? [] : [limitStatements(statementLimitMs)]),
      ],
      group: typeof target === 'string' ? groupOf(target) : null,
      timeoutMs: Math.min(
        (typeof target === 'string' ? connectTimeoutOf(target) : null) ??
          (hosts.length > 1 ? HOST_TIMEOUT_MS : ONLY_HOST_TIMEOUT_MS),
        longestUseMs,
      ),
    })
  }

  /** @throws StoreUnavailableError */
  async connect(): Promise<void> {
    await this.#connected(async () => {})
  }

  serverChanges(): number {
    return this.#connections.serverChanges()
  }

  warnings(): readonly DatabaseWarning[] {
    return []
  }

  /** The server of the newest connection, with its version, and whether several servers may commit at the same time. */
  server(): { readonly name: string; readonly isClustered: boolean } {
    return { name: this.#connections.serverName(), isClustered: this.#connections.clustered() }
  }

  longestWaitMs(): number {
    const [first] = this.#waiting
    return first === undefined ? 0 : performance.now() - first.since
  }

  mostAtOnce(): number {
    return this.#connections.clustered() ? MAX_AT_ONCE_IN_A_CLUSTER : Number.POSITIVE_INFINITY
  }

  rows<Row>(text: string, params: readonly SqlValue[] = []): Promise<Row[]> {
    return this.#withRetries((sql) => sql.rows<Row>(text, params))
  }

  run(text: string, params: readonly SqlValue[] = []): Promise<number> {
    return this.#withRetries((sql) => sql.run(text, params))
  }

  transaction<Result>(work: (sql: Sql, lend: Lend) => Promise<Result>): Promise<Result> {
    return this.#withRetries((sql, connection) => this.#inTransaction(sql, connection, work))
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
      const release = async () => {
        // Release the lock first: if a connection in the pool kept it, all other processes would be blocked.
        await sql.rows('SELECT RELEASE_LOCK(LEFT(CONCAT(DATABASE(), ?), 64))', [`:${name}`])
        await sql.run(waitForLocks(this.#lockWaits.seconds))
      }
      let result: Result
      try {
        // A migration waits for locks as long as the server does by default.
        await sql.run(waitForLocks('DEFAULT'))
        result = await work(sql)
      } catch (error) {
        // If the connection is lost, this fails, too, but the error of the work says more.
        await release().catch(() => {})
        throw error
      }
      await release()
      return result
    }, null)
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    await this.#connections.end()
  }

  async #withRetries<Result>(
    work: (sql: Sql, connection: mysql.PoolConnection) => Promise<Result>,
  ): Promise<Result> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#connected(work)
      } catch (error) {
        const most = isLockWait(error) ? this.#lockWaits.tries : MAX_TRIES
        if (!isTransient(error)) throw error
        if (attempt >= most) {
          const often = attempt === 1 ? '' : ` ${attempt} times`
          throw new StoreUnavailableError(`Blocked by another transaction${often}: ${messageOf(error)}`, {
            cause: error,
            isLockWait: isLockWait(error),
          })
        }
        // A random delay, so that transactions that collided do not collide again.
        await delay(Math.random() * 5 * 2 ** Math.min(attempt, 6))
      }
    }
  }

  async #inTransaction<Result>(
    sql: Sql,
    connection: mysql.PoolConnection,
    work: (sql: Sql, lend: Lend) => Promise<Result>,
  ): Promise<Result> {
    await connection.query('START TRANSACTION')
    const lent = new MysqlLentSession(connection)
    const lend = lender(sql, {
      connection,
      session: lent,
      asynchronous: ASYNCHRONOUS,
      isNoSavepoint,
      abandon: () => abandon(connection, new Error('The callback took too long')),
    })
    try {
      const result = await work(sql, lend)
      await connection.query('COMMIT')
      return result
    } catch (error) {
      // Always roll back: a lock wait timeout rolls back only its own statement, so a COMMIT would keep the statements
      // before it.
      await connection.query('ROLLBACK').catch(() => connection.destroy())
      // DDL in the callback may also have taken locks that outlive the transaction.
      if (error instanceof TransactionEndedError) connection.destroy()
      throw error
    } finally {
      if (lent.isChanged) connection.destroy()
    }
  }

  /** @param timeoutMs  null means no limit */
  async #connected<Result>(
    work: (sql: Sql, connection: mysql.PoolConnection) => Promise<Result>,
    timeoutMs: number | null = this.#longestUseMs,
  ): Promise<Result> {
    if (this.#isClosed) throw new ConflictError(CLOSED)
    let connection: mysql.PoolConnection | null = null
    try {
      const taken = await this.#take()
      connection = taken
      return await withTimeout(taken, timeoutMs, async () => {
        this.#server ??= await examine(taken)
        return await work(session(taken, this.#server), taken)
      })
    } catch (error) {
      if (this.#statementLimitMs !== null && isTooSlow(error)) {
        throw new TooSlowError(
          `The database took longer than ${this.#statementLimitMs / 1000} s; narrow the filter, or request less`,
          { cause: error },
        )
      }
      if (connection === null) throw error
      const isRefused = isRefusedByGroup(error)
      if (isRefused ? await this.#connections.isFit(connection) : !isUnavailable(error)) throw error
      // The state of this connection is uncertain, so it must not be used again.
      this.#connections.drop(connection, error)
      connection = null
      // The work may have been committed, so do not report a conflict, which would be retried.
      throw unavailable(
        isRefused ? new NotInGroupError('the server lost its group', { cause: error }) : error,
      )
    } finally {
      // This has no effect on a connection that was destroyed.
      if (connection !== null) this.#connections.give(connection)
    }
  }

  async #take(): Promise<mysql.PoolConnection> {
    const waiting = { since: performance.now() }
    this.#waiting.add(waiting)
    try {
      return await this.#connections.take()
    } catch (error) {
      throw unavailable(error)
    } finally {
      this.#waiting.delete(waiting)
    }
  }
}

function waitForLocks(seconds: number | 'DEFAULT'): string {
  return `SET SESSION innodb_lock_wait_timeout = ${seconds}, lock_wait_timeout = ${seconds}`
}

function unavailable(error: unknown): StoreUnavailableError {
  if (error instanceof StoreUnavailableError) return error
  const whatToDo = advice(error)
  return new StoreUnavailableError(
    `The database does not respond or cannot be used: ${messageOf(error)}${whatToDo === null ? '' : `; ${whatToDo}`}`,
    { cause: error },
  )
}
