/** An administrator beside the workers: connections of its own, past all proxies, for what pools cannot do. */
import { setTimeout as delay } from 'node:timers/promises'
import mysql, { type Connection, type RowDataPacket } from 'mysql2/promise'
import { errorNumber, isTransient, isUnavailable } from '../../../src/store/mysql/errors.ts'

/** Longer than a server takes to come up again. */
const PATIENCE_MS = 60_000
const AGAIN_MS = 100
const DEADLOCK = 1213

export class Admin {
  /** Of the root user, with the run's database. */
  readonly url: string
  /** Deadlocks and refused commits that its own transactions met. */
  deadlocks = 0
  readonly #urls: readonly string[]
  #next = 0

  /** @param more  the same on the other nodes: each connection is to another one, of those that answer */
  constructor(url: string, ...more: readonly string[]) {
    this.url = url
    this.#urls = [url, ...more]
  }

  /** An administrator on one node alone, another one each time. */
  onOneNode(): Admin {
    this.#next += 1
    return new Admin(this.#urls[this.#next % this.#urls.length] ?? this.url)
  }

  /** One connection for `work`; tried again until the server lets it in. */
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
        // One that a fault has cut is seen by its next statement.
        connection.on('error', () => {})
        return connection
      } catch (error) {
        if (!isUnavailable(error) || performance.now() > deadline) throw error
        await delay(AGAIN_MS)
      }
    }
  }

  /** A statement of its own; begun anew on a new connection when that one broke. */
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
   * Opens a transaction, does `work` in it, and rolls it back.
   *
   * @returns null when it was the victim of a deadlock, or of another node's commit
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
        // A connection that is gone has rolled back by itself.
        await connection.query('ROLLBACK').catch(() => {})
      }
    })
  }
}

/** An administrator who works on the server that takes writes, whichever it is by then. */
export class PrimaryAdmin extends Admin {
  readonly #primary: () => Promise<string | undefined>

  /** @param primary  its URL, with the run's database; undefined: there is none just now */
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
        if (uri === undefined) throw new Error('no server takes writes')
        const connection = await mysql.createConnection({ uri, connectTimeout: 3000 })
        // One that a fault has cut is seen by its next statement.
        connection.on('error', () => {})
        return connection
      } catch (error) {
        if (performance.now() > deadline) throw error
        await delay(AGAIN_MS)
      }
    }
  }
}
