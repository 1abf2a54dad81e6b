/**
 * SQLite in one file on one machine, for any number of processes and one writer at a time.
 *
 * The driver is synchronous and there is one connection, so transactions of this process queue up (see turns.ts).
 * Waiting for another process's write lock happens outside the driver, whose busy timeout would block the event loop.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { ConflictError, InvalidInputError, messageOf, StoreUnavailableError } from '../../errors.ts'
import { betweenParts } from '../../event-loop.ts'
import { silentLogger } from '../../logger.ts'
import type { DatabaseWarning } from '../../model/diagnosis.ts'
import {
  CLOSED,
  type Database,
  type Databases,
  type Dialect,
  type Lend,
  type OpenOptions,
  type Sql,
  type SqliteTarget,
  type SqlValue,
  type Use,
} from '../database.ts'
import { lender } from '../lend.ts'
import { connectionOf } from './application-connection.ts'
import { SqliteConnection } from './connection.ts'
import { CopiesCheck } from './copies.ts'
import { sqliteDialect } from './dialect.ts'
import { type Connect, driverNamed } from './driver.ts'
import { isAccess, isBusy, isNoSavepoint, isNotADatabase, isUnavailable } from './errors.ts'
import { checkIsFile, checkReading, fileCheck, isWritable, makePrivate, MEMORY, obstacleAt } from './file.ts'
import { SqliteLentSession } from './lent-session.ts'
import { Turns } from './turns.ts'
import { admitted } from '../admission.ts'

/** How long to keep trying to get the lock. */
const LOCK_TIMEOUT_MS = 30_000

export interface SqliteOptions extends Pick<OpenOptions, 'clock' | 'logger'> {
  /** Opens the file; default: the driver that is loaded or installed. */
  readonly connect?: Connect | undefined
}

export class SqliteDatabase implements Database {
  readonly dialect: Dialect
  readonly #path: string
  readonly #connection: SqliteConnection
  readonly #turns: Turns
  readonly #use: Use
  readonly #checkFile: () => void
  /** Null for a database in memory. */
  readonly #copies: CopiesCheck | null
  readonly #direct: Sql

  private constructor(
    path: string,
    connection: SqliteConnection,
    dialect: Dialect,
    checkFile: () => void,
    copies: CopiesCheck | null,
    turns = new Turns(),
    use: Use = 'loops',
  ) {
    this.#path = path
    this.dialect = dialect
    this.#connection = connection
    this.#checkFile = checkFile
    this.#copies = copies
    this.#turns = turns
    this.#use = use
    this.#direct = {
      rows: async <Row>(text: string, params: readonly SqlValue[] = []) =>
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the rows are what the statement selects; see Sql
        connection.rows(text, params) as Row[],
      run: async (text, params = []) => connection.run(text, params),
    }
  }

  /**
   * @param path  a file, created if it is missing, or `:memory:`
   * @throws InvalidInputError when the file is not a database; StoreUnavailableError
   */
  static async open(
    path: string,
    { clock = null, connect, logger = silentLogger }: SqliteOptions = {},
  ): Promise<SqliteDatabase> {
    const connecting = connect ?? (await driverNamed(undefined, path !== MEMORY))
    checkIsFile(path)
    makePrivate(path)
    checkReading(path)
    const connection = connected(path, connecting)
    const database = new SqliteDatabase(
      path,
      connection,
      sqliteDialect(clock),
      fileCheck(path),
      path === MEMORY ? null : new CopiesCheck(logger),
    )
    try {
      await database.#retryWhileBusy(async () => connection.configure())
      const encoding = await database.#retryWhileBusy(async () => connection.pragma('encoding'))
      if (encoding !== 'UTF-8')
        throw new InvalidInputError(
          'database',
          `the file '${path}' stores text as ${String(encoding)}, but Kalends needs UTF-8: copy it to a new file with \`sqlite3 old.db .dump | sqlite3 new.db\``,
        )
      // A file that cannot be written can be read, without a log of its writes.
      if (isWritable(path)) await database.#useWal()
      database.#copies?.check()
      return database
    } catch (error) {
      connection.close()
      if (!(error instanceof StoreUnavailableError) || !isNotADatabase(error.cause)) throw error
      throw new InvalidInputError(
        'database',
        `the file '${path}' is encrypted, or is not a SQLite database; Kalends needs an unencrypted database file`,
        { cause: error },
      )
    }
  }

  /** Switching to WAL, which several processes may attempt at once, locks the whole file for a moment. */
  async #useWal(): Promise<void> {
    const mode = await this.#retryWhileBusy(async () => this.#connection.pragma('journal_mode = WAL'))
    if (mode === 'wal' || mode === 'memory') return
    throw new StoreUnavailableError(
      `The database file '${this.#path}' cannot use a write-ahead log: its journal mode stays '${String(mode)}'; the file must be on a local disk`,
    )
  }

  /** The same connection for another use. `Turns` decides which use is next. Closing either one closes both. */
  beside(use: Use): SqliteDatabase {
    return new SqliteDatabase(
      this.#path,
      this.#connection,
      this.dialect,
      this.#checkFile,
      this.#copies,
      this.#turns,
      use,
    )
  }

  mostAtOnce(): number {
    return Number.POSITIVE_INFINITY
  }

  serverChanges(): number {
    return 0
  }

  warnings(): readonly DatabaseWarning[] {
    return this.#copies?.warnings() ?? []
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
        const connection = this.#connection.client
        const session = new SqliteLentSession(this.#connection)
        const lend = lender(sql, {
          connection,
          session,
          asynchronous: new Set(),
          isNoSavepoint,
          // The connection stays in use.
          abandon: () => void session.leftBehind(),
        })
        const result = await work(sql, lend)
        this.#checkFile()
        await this.#retryWhileBusy(async () => this.#connection.exec('COMMIT'))
        return result
      } catch (error) {
        if (this.#connection.inTransaction) this.#connection.exec('ROLLBACK')
        throw isUnavailable(error) ? unavailable(this.#path, error) : error
      }
    })
  }

  /** On SQLite, a single transaction already excludes all others. */
  exclusively<Result>(_name: string, work: (sql: Sql) => Promise<Result>): Promise<Result> {
    return this.transaction(work)
  }

  async close(): Promise<void> {
    await this.#turns.take(this.#use, async () => {
      this.#connection.close()
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

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#turns.take(this.#use, () => {
      if (!this.#connection.isOpen) throw new ConflictError(CLOSED)
      this.#copies?.check()
      return work()
    })
  }

  async #retryWhileBusy<Result>(work: () => Promise<Result>): Promise<Result> {
    const deadline = performance.now() + LOCK_TIMEOUT_MS
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await work()
      } catch (error) {
        if (isUnavailable(error)) throw unavailable(this.#path, error)
        if (!isBusy(error)) throw error
        if (performance.now() > deadline) throw locked(error)
        await delay(Math.random() * Math.min(2 ** attempt, 25))
      }
    }
  }
}

/** @throws StoreUnavailableError */
function connected(path: string, connect: Connect): SqliteConnection {
  try {
    return SqliteConnection.open(path, connect)
  } catch (error) {
    if (error instanceof StoreUnavailableError) throw error
    const reason = obstacleAt(path) ?? messageOf(error)
    throw new StoreUnavailableError(`The database file '${path}' cannot be opened: ${reason}`, {
      cause: error,
    })
  }
}

function unavailable(path: string, error: unknown): StoreUnavailableError {
  const obstacle = isAccess(error) ? obstacleAt(path) : null
  const reason = obstacle === null ? '' : `: ${obstacle}`
  return new StoreUnavailableError(
    `The database file '${path}' cannot be used: ${messageOf(error)}${reason}`,
    { cause: error },
  )
}

/** If the application awaits a call to Kalends while its own transaction is open, each waits for the other. */
function locked(error: unknown): StoreUnavailableError {
  return new StoreUnavailableError(
    `The database file was locked for ${LOCK_TIMEOUT_MS / 1000} s: another connection holds a write transaction. If it belongs to this process, pass it as tx, or end it before the call`,
    { cause: error },
  )
}

/** Drivers trim paths, connect to servers, or read `file:` URLs, each in its own way. @throws InvalidInputError */
function checkPath(path: string): void {
  if (path.includes('?'))
    throw new InvalidInputError(
      'database',
      `the URL of a SQLite database has no options, got ${JSON.stringify(path)}; leave out the question mark and what follows, or, if it is part of the file's name, pass a connection`,
    )
  if (/^$|^[a-z][a-z0-9+.-]+:|^\s|\s$|\p{Cc}/iu.test(path))
    throw new InvalidInputError(
      'database',
      `the URL of a SQLite database must name a file, without blanks around it and without control characters, got ${JSON.stringify(path)}; write sqlite:./file.db or sqlite::memory:`,
    )
}

/**
 * @param target  the path of a file, `:memory:`, or the application's connection
 * @throws InvalidInputError when the path is empty, or the connection or the driver cannot be used
 * @throws StoreUnavailableError when the file cannot be opened
 */
export async function openSqlite(
  target: string | SqliteTarget,
  { clock, driver, logger }: OpenOptions,
): Promise<Databases> {
  if (typeof target === 'string' && target !== MEMORY) checkPath(target)
  if (typeof target !== 'string' && driver !== undefined)
    throw new InvalidInputError('driver', 'is only for URLs: a connection already has a driver')
  const { path, connect } =
    typeof target === 'string'
      ? { path: target, connect: await driverNamed(driver, target !== MEMORY) }
      : connectionOf(target)
  const loops = await SqliteDatabase.open(path, { clock, connect, logger })
  return {
    loops,
    calls: loops.beside('calls'),
    api: admitted(loops.beside('api'), { atOnce: 1 }),
    close: () => loops.close(),
  }
}
