/**
 * SQLite through libsql, in one file on one machine, for any number of processes and one writer at a time.
 *
 * The driver is synchronous and there is one connection, so transactions of this process queue up (see turns.ts).
 * Waiting for another process's write lock happens outside the driver, whose busy timeout would block the event loop.
 */
import { setTimeout as delay } from 'node:timers/promises'
import Libsql from 'libsql'
import { ConflictError, InvalidInputError, messageOf, StoreUnavailableError } from '../../errors.ts'
import { betweenParts } from '../../event-loop.ts'
import {
  CLOSED,
  type Database,
  type Databases,
  type Dialect,
  type Lend,
  type OpenOptions,
  type Sql,
  type SqlValue,
  type Use,
} from '../database.ts'
import { lender } from '../lend.ts'
import { sqliteDialect } from './dialect.ts'
import { isBusy, isNoSavepoint, isUnavailable } from './errors.ts'
import { fileCheck, makePrivate } from './file.ts'
import { Turns } from './turns.ts'
import { admitted } from '../admission.ts'

/**
 * Maximum time for which one locking attempt blocks the event loop. [Several connections of this process may wait at
 * once. With 5 ms each, they delayed the next statement of the transaction that held the lock: six stores that opened a
 * new file at the same time took up to 30 s on a busy machine. Without a timeout, processes wait longer for the lock;
 * with 1 ms, the slowest 1 % of the transactions of eight competing processes took a quarter longer than with 5 ms.]
 */
const BUSY_TIMEOUT_MS = 1
/** How long to keep trying to get the lock. */
const LOCK_TIMEOUT_MS = 30_000
const MAX_STATEMENTS = 300

export class SqliteDatabase implements Database {
  readonly dialect: Dialect
  readonly #connection: Libsql.Database
  readonly #statements = new Map<string, Libsql.Statement>()
  readonly #turns: Turns
  readonly #use: Use
  readonly #checkFile: () => void
  readonly #direct: Sql

  private constructor(
    connection: Libsql.Database,
    dialect: Dialect,
    checkFile: () => void,
    turns = new Turns(),
    use: Use = 'loops',
  ) {
    this.dialect = dialect
    this.#connection = connection
    this.#checkFile = checkFile
    this.#turns = turns
    this.#use = use
    this.#direct = {
      rows: async <Row>(text: string, params: readonly SqlValue[] = []) => {
        const rows = this.#prepared(text).all(...bindable(params))
        for (const row of rows) blobsToText(row)
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the rows are what the statement selects; see Sql
        return rows as Row[]
      },
      run: async (text, params = []) => this.#prepared(text).run(...bindable(params)).changes,
    }
  }

  /** @param path  a file, created if it is missing, or `:memory:` */
  static async open(path: string, clock: (() => Date) | null = null): Promise<SqliteDatabase> {
    let connection: Libsql.Database
    makePrivate(path)
    try {
      connection = new Libsql(path)
    } catch (error) {
      throw new StoreUnavailableError(`The database file '${path}' cannot be opened: ${messageOf(error)}`, {
        cause: error,
      })
    }
    const database = new SqliteDatabase(connection, sqliteDialect(clock), fileCheck(path))
    connection.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
    // Switching to WAL, which several processes may attempt at once, locks the whole file for a moment.
    await database.#retryWhileBusy(async () => connection.exec('PRAGMA journal_mode = WAL'))
    // Every commit is on disk when it returns, because a finished job must not run again after a power failure.
    connection.exec('PRAGMA synchronous = FULL')
    return database
  }

  /** The same connection for another use. `Turns` decides which use is next. Closing either one closes both. */
  beside(use: Use): SqliteDatabase {
    return new SqliteDatabase(this.#connection, this.dialect, this.#checkFile, this.#turns, use)
  }

  mostAtOnce(): number {
    return Number.POSITIVE_INFINITY
  }

  serverChanges(): number {
    return 0
  }

  longestWaitMs(): number {
    return this.#turns.longestWaitMs(this.#use)
  }

  rows<Row>(text: string, params: readonly SqlValue[] = []): Promise<Row[]> {
    return this.#inTurn(() => {
      this.#checkFile()
      return this.#retryWhileBusy(() => this.#direct.rows<Row>(text, params))
    })
  }

  run(text: string, params: readonly SqlValue[] = []): Promise<number> {
    // Writes are always in a transaction, because BEGIN takes the lock first. A single write that finds the file busy
    // stays half done in the driver until the same statement runs again; until then, no other write on this connection
    // is committed, and there is no error.
    return this.transaction((sql) => sql.run(text, params))
  }

  transaction<Result>(work: (sql: Sql, lend: Lend) => Promise<Result>): Promise<Result> {
    return this.#inTurn(async () => {
      this.#checkFile()
      await this.#retryWhileBusy(async () => this.#connection.exec('BEGIN IMMEDIATE'))
      try {
        const sql = this.#inParts()
        const connection = this.#connection
        const lend = lender(sql, { connection, isNoSavepoint, abandon: () => {} })
        const result = await work(sql, lend)
        this.#checkFile()
        await this.#retryWhileBusy(async () => this.#connection.exec('COMMIT'))
        return result
      } catch (error) {
        if (this.#connection.inTransaction) this.#connection.exec('ROLLBACK')
        throw isUnavailable(error) ? unavailable(error) : error
      }
    })
  }

  /** On SQLite, a single transaction already excludes all others. */
  exclusively<Result>(_name: string, work: (sql: Sql) => Promise<Result>): Promise<Result> {
    return this.transaction(work)
  }

  async close(): Promise<void> {
    await this.#turns.take(this.#use, async () => {
      this.#statements.clear()
      if (this.#connection.open) this.#connection.close()
    })
  }

  /** For a transaction with many statements: the event loop runs between them, while the transaction stays open. */
  #inParts(): Sql {
    const pause = betweenParts()
    return {
      rows: (text, params) => pause().then(() => this.#direct.rows(text, params)),
      run: (text, params) => pause().then(() => this.#direct.run(text, params)),
    }
  }

  #prepared(text: string): Libsql.Statement {
    const known = this.#statements.get(text)
    if (known !== undefined) return known
    const statement = this.#connection.prepare(text)
    if (this.#statements.size >= MAX_STATEMENTS) this.#statements.clear()
    this.#statements.set(text, statement)
    return statement
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#turns.take(this.#use, () => {
      if (!this.#connection.open) throw new ConflictError(CLOSED)
      return work()
    })
  }

  async #retryWhileBusy<Result>(work: () => Promise<Result>): Promise<Result> {
    const deadline = performance.now() + LOCK_TIMEOUT_MS
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await work()
      } catch (error) {
        if (isUnavailable(error)) throw unavailable(error)
        if (!isBusy(error)) throw error
        if (performance.now() > deadline) throw locked(error)
        await delay(Math.random() * Math.min(2 ** attempt, 25))
      }
    }
  }
}

function unavailable(error: unknown): StoreUnavailableError {
  return new StoreUnavailableError(`The database file cannot be used: ${messageOf(error)}`, { cause: error })
}

/** If the application awaits a call to Kalends while its own transaction is open, each waits for the other. */
function locked(error: unknown): StoreUnavailableError {
  return new StoreUnavailableError(
    `The database file was locked for ${LOCK_TIMEOUT_MS / 1000} s: another connection holds a write transaction. If it belongs to this process, pass it as tx, or end it before the call`,
    { cause: error },
  )
}

/** Rejects objects, which untyped code may pass and with which the driver crashes the process. @throws RangeError */
function bindable(params: readonly unknown[]): readonly unknown[] {
  for (const value of params)
    if (value !== null && typeof value !== 'string' && typeof value !== 'number')
      throw new RangeError(`SQL takes strings and numbers, not a value of type ${typeof value}`)
  return params
}

/** SQLite text columns also accept manually written BLOBs, but readers expect text. */
function blobsToText(row: unknown): void {
  if (typeof row !== 'object' || row === null) return
  for (const [column, value] of Object.entries(row))
    if (value instanceof ArrayBuffer) Reflect.set(row, column, Buffer.from(value).toString('utf8'))
}

/**
 * @param path  of a file, or `:memory:`
 * @throws InvalidInputError when the path is empty
 * @throws StoreUnavailableError when the file cannot be opened
 */
export async function openSqlite(path: string, { clock = null }: OpenOptions): Promise<Databases> {
  if (path === '')
    throw new InvalidInputError(
      'database',
      'the URL does not name a file; write sqlite:./file.db or sqlite::memory:',
    )
  const loops = await SqliteDatabase.open(path, clock)
  return {
    loops,
    calls: loops.beside('calls'),
    api: admitted(loops.beside('api'), { atOnce: 1 }),
    close: () => loops.close(),
  }
}
