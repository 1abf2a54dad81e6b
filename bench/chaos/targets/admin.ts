/** An administrator with separate connections that bypass all proxies, for tasks that a pool cannot perform. */
import { setTimeout as delay } from 'node:timers/promises'
import mysql, { type Connection, type RowDataPacket } from 'mysql2/promise'
import { errorNumber, isTransient, isUnavailable } from '../../../src/store/mysql/errors.ts'

/** Longer than a server takes to restart. */
const PATIENCE_MS = 60_000
const AGAIN_MS = 100
const DEADLOCK = 1213

export class Admin {
  /** The administrator's URL, with the run's database. */
  readonly url: string
  /** How many of its own transactions were victims of a deadlock or of another node's commit. */
  deadlocks = 0
  readonly #urls: readonly string[]
  #next = 0

  /** @param more  URLs of the other nodes. Each new connection uses the next node that responds */
  constructor(url: string, ...more: readonly string[]) {
    this.url = url
    this.#urls = [url, ...more]
  }

  /** An administrator on a single node; each call selects the next node. */
  onOneNode(): Admin {
    this.#next += 1
    return new Admin(this.#urls[this.#next % this.#urls.length] ?? this.url)
  }

  /** Opens one connection for `work`, and retries until the server accepts it. */
  async connected<Result>(work: (connection: Connection) => Promise<Result>): Promise<Result> {
    const connection = await this.connect()
    try {
      return await work(connection)
    } finally {
      connection.destroy()
    }
  }

  async connect(patienceMs = PATIENCE_MS): Promise<Connection> {
    const deadline = performance.now() + patienceMs
    for (;;) {
      try {
        const uri = this.#urls[this.#next % this.#urls.length] ?? this.url
        this.#next += 1
        const connection = await mysql.createConnection({ uri, connectTimeout: 3000 })
        // Needs no handling: if a fault closes the connection, its next statement fails.
        connection.on('error', () => {})
        return connection
      } catch (error) {
        if (!isUnavailable(error) || performance.now() > deadline) throw error
        await delay(AGAIN_MS)
      }
    }
  }

  /** Executes a single statement, and retries it on a new connection after a transient error or a lost connection. */
  async query(text: string): Promise<RowDataPacket[]> {
    const deadline = performance.now() + PATIENCE_MS
    for (;;) {
      try {
        return await this.connected(async (connection) => {
          const [rows] = await connection.query<RowDataPacket[]>(text)
          return rows
        })
      } catch (error) {
        if (!(isUnavailable(error) || isTransient(error)) || performance.now() > deadline) throw error
        await delay(AGAIN_MS)
      }
    }
  }

  /**
   * Opens a transaction, runs `work` in it, and rolls it back.
   *
   * @returns null if it was the victim of a deadlock or of another node's commit
   */
  async rolledBack<Result>(work: (connection: Connection) => Promise<Result>): Promise<Result | null> {
    return await this.connected(async (connection) => {
      await connection.query('SET TRANSACTION ISOLATION LEVEL READ COMMITTED')
      await connection.query('BEGIN')
      try {
        return await work(connection)
      } catch (error) {
        if (errorNumber(error) === DEADLOCK) {
          this.deadlocks += 1
          return null
        }
        throw error
      } finally {
        // If the connection is closed, the server has already rolled the transaction back.
        await connection.query('ROLLBACK').catch(() => {})
      }
    })
  }
}

/** An administrator on the server that currently accepts writes. */
export class PrimaryAdmin extends Admin {
  readonly #primary: () => Promise<string | undefined>

  /** @param primary  returns the URL of that server, with the run's database; undefined if there is currently none */
  constructor(url: string, primary: () => Promise<string | undefined>) {
    super(url)
    this.#primary = primary
  }

  override onOneNode(): Admin {
    return new PrimaryAdmin(this.url, this.#primary)
  }

  override async connect(patienceMs = PATIENCE_MS): Promise<Connection> {
    const deadline = performance.now() + patienceMs
    for (;;) {
      const uri = await this.#primary()
      try {
        if (uri === undefined) throw new Error('no server accepts writes')
        const connection = await mysql.createConnection({ uri, connectTimeout: 3000 })
        // Needs no handling: if a fault closes the connection, its next statement fails.
        connection.on('error', () => {})
        return connection
      } catch (error) {
        if (performance.now() > deadline) throw error
        await delay(AGAIN_MS)
      }
    }
  }
}
