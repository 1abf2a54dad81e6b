/**
 * The interface of every database: statements, transactions with retries, and the SQL dialect. Instants are UTC text,
 * `YYYY-MM-DD HH:MM:SS.mmm`, in parameters and results.
 */
import type { Logger } from '../logger.ts'
import type { DatabaseWarning } from '../model/diagnosis.ts'
import type { OnLeftBehind, PlacedTurn } from './executing-store.ts'

/** The package, or the module of Node.js, that opens SQLite files. */
export type SqliteDriver = 'better-sqlite3' | 'libsql' | 'node:sqlite'

export const SQLITE_DRIVERS: readonly SqliteDriver[] = ['better-sqlite3', 'libsql', 'node:sqlite']

/** A pool of mysql2, with promises or with callbacks. The pool's types differ between versions of the driver. */
export interface MysqlPool {
  /** Never called: Kalends opens its own connections. */
  readonly getConnection: (...args: never[]) => unknown
}

/** A connection of better-sqlite3, libsql or node:sqlite to a file. */
export interface SqliteConnection {
  /** Never called: it distinguishes SQLite's connections from others. */
  readonly exec: (...args: never[]) => unknown
  /** Called with statements that read the path of the file. */
  readonly prepare: (statement: string) => { all(): unknown }
}

export type MysqlTarget = MysqlPool | { readonly $client: MysqlPool }
export type SqliteTarget = SqliteConnection | { readonly $client: SqliteConnection }

/**
 * `mysql://user:password@host:port/database` (also `mariadb://`, and several hosts, `h1:3306,h2`), `sqlite:./file.db`,
 * `sqlite::memory:`, a mysql2 pool, a connection of better-sqlite3, libsql or node:sqlite, or a drizzle database on one
 * of these. Kalends only reads their connection settings, and opens its own connections: those of SQLite with the
 * constructor of the given connection.
 */
export type DatabaseTarget =
  | string
  | MysqlPool
  | SqliteConnection
  | { readonly $client: MysqlPool | SqliteConnection }

export type SqlValue = string | number | null

/**
 * The purpose of a connection: the loops and the heartbeat, the application's calls, or the API. On a server, each use
 * has its own connections, so that no use waits for another.
 */
export type Use = 'loops' | 'calls' | 'api'

/** Runs statements. The caller states the row type that the statement selects. */
export interface Sql {
  rows<Row>(text: string, params?: readonly SqlValue[]): Promise<Row[]>
  /** @returns the number of matched rows */
  run(text: string, params?: readonly SqlValue[]): Promise<number>
}

/**
 * Runs statements on a connection of Kalends or in a transaction of the application. The driver of the application may
 * return rows in any form and without their number, so there is no other way to read, and `run` has no result.
 *
 * @template Count  the result of `run`
 */
export interface AnySql<Count = unknown> {
  /** Runs a SELECT. Each column is a name, or `… AS name`. @param rest  the statement after the columns: `FROM …` */
  readonly select: <Row>(
    columns: readonly string[],
    rest: string,
    params?: readonly SqlValue[],
  ) => Promise<Row[]>
  readonly run: (text: string, params?: readonly SqlValue[]) => Promise<Count>
}

/**
 * Lends the connection of an open transaction to application code.
 *
 * @param use  receives the driver's connection, and a signal that is aborted when the time is up
 * @param onLeftBehind  receives the names of settings of the connection that `use` has changed; they are restored
 * @throws CallbackError, CallbackTooSlowError, TransactionEndedError
 */
export type Lend = <Result>(
  use: (connection: object, signal: AbortSignal) => Promise<Result>,
  timeoutMs: number,
  onLeftBehind?: OnLeftBehind,
) => Promise<Result>

export interface Database extends Sql {
  readonly dialect: Dialect
  /**
   * Runs at READ COMMITTED or stricter. Rolls back if `work` throws. Retries after a temporary failure (deadlock, lock
   * wait, busy), so `work` must have no effects outside the transaction.
   *
   * @throws StoreUnavailableError when the database cannot be reached
   */
  transaction<Result>(work: (sql: Sql, lend: Lend) => Promise<Result>): Promise<Result>
  /** Runs the work while no other process runs work under the same name. */
  exclusively<Result>(name: string, work: (sql: Sql) => Promise<Result>): Promise<Result>
  /** Maximum number of rows that one transaction should write; Infinity means no limit. */
  mostAtOnce(): number
  /** See `Store`. */
  longestWaitMs(): number
  serverChanges(): number
  warnings(): readonly DatabaseWarning[]
  close(): Promise<void>
}

/** The message of the ConflictError that every use after `close` throws. */
export const CLOSED = 'This Kalends instance was stopped, so its connections are closed; open another one'

export interface Databases extends Readonly<Record<Use, Database>> {
  /** Undefined if a transaction locks the whole database. @throws SchemaError when the server does not lock rows */
  readonly proveLocks?: (proof: LockProof) => Promise<void>
  readonly close: () => Promise<void>
}

/** What a server needs to prove that it locks rows. */
export interface LockProof {
  readonly table: string
  /** The `name` of a row that every migrated database has. */
  readonly row: string
  readonly logger: Pick<Logger, 'info' | 'warn'>
}

/** A database that Kalends supports. */
export interface DatabaseKind {
  /** An example of a URL. */
  readonly example: string
  readonly isUrl: (url: string) => boolean
  /** Whether this object of the application leads to such a database. */
  readonly isObject: (target: object) => boolean
  /** What `isObject` accepts, for messages. */
  readonly objects: string
  /** The options that do not apply, and why. */
  readonly unsupported: Readonly<Partial<Record<keyof OpenOptions, string>>>
  /** The URL of an empty database to read instead, if opening this one would create it. */
  readonly insteadOfMissing?: (url: string) => string | null
  readonly open: (target: DatabaseTarget, options: OpenOptions) => Promise<Databases>
}

export interface OpenOptions {
  /** Milliseconds after which a connection that is busy with one piece of work is destroyed; default: one minute. */
  readonly longestUseMs?: number | undefined
  readonly connections?: number | undefined
  readonly schema?: string | undefined
  readonly createsSchema?: boolean | undefined
  readonly driver?: SqliteDriver | undefined
  readonly clock?: (() => Date) | null | undefined
  /** For dangers that concern the connections; default: no logging. */
  readonly logger?: Pick<Logger, 'info' | 'warn'> | undefined
}

/** Column types of a batch that is passed as one JSON parameter. */
export type BatchColumn = 'schedule id' | 'job id' | 'text' | 'long text' | 'integer' | 'instant'

/** A group and a task with claimable jobs, and the lowest rank among these jobs: the columns of `Dialect.turns`. */
export type Turn = Omit<PlacedTurn, 'behind'>

export interface TurnSelection {
  /** Whether the given group itself is included (`>=`), or only later groups (`>`). */
  readonly from: '>' | '>='
  /** The number of tasks; at least one. */
  readonly tasks: number
  readonly limit: number
}

export interface Dialect {
  /** In order, as drizzle-kit has generated them. Names of tables, indexes and constraints start with `{prefix}`. */
  readonly migrations: readonly { readonly tag: string; readonly statements: readonly string[] }[]
  /** The columns, indexes and CHECKs after the last migration. */
  readonly parts: readonly string[]
  /** Quotes the name of a table. If the tables have their own schema, its name comes first. */
  readonly table: (name: string) => string

  /**
   * The placeholder for a job id in a comparison. The column may have its own character set, and a comparison with a
   * value in another character set could not use the index.
   */
  readonly jobId: string
  /** The placeholder for a value that is only stored, not compared. */
  readonly storedValue: string
  /** Expression: the database's clock. */
  readonly now: string
  readonly nowPlus: (ms: number) => string
  /** Expression: an instant as normalised text, even if it was written manually in another format. */
  readonly instant: (column: string) => string

  /**
   * A table, in a FROM or an UPDATE, whose rows are found by key or through an index. An optimizer may prefer to scan a
   * small table, but a scan waits for every row that another transaction has locked.
   */
  readonly found: (table: string, by: { readonly index: string } | 'key') => string
  /** Joins each row of a table expression with the table's row that has this key, and keeps the order of the rows. */
  readonly joinedByKey: (rows: string, table: string, as: string, key: string) => string
  /** The end of a SELECT that locks its rows; `skip` leaves out locked rows instead of waiting for them. */
  readonly locked: (how: 'wait' | 'skip') => string
  /** Combines several ordered, limited selections into one statement. */
  readonly union: (selections: readonly string[]) => string
  /** A batch of objects, passed as one JSON parameter, as a table. */
  readonly batch: (columns: Readonly<Record<string, BatchColumn>>) => string
  /**
   * An UPDATE of the rows whose `id` is in a batch. In the assignments and the condition, `t` is the row and `b` is the
   * batch.
   */
  readonly updateFromBatch: (
    table: string,
    batch: string,
    assignments: Readonly<Record<string, string>>,
    where?: string,
  ) => string
  /**
   * Whether a CASE with several hundred keys is cheaper than a batch with one value for each key. [On MariaDB, a CASE
   * saves 6 of 90 µs per outcome; on SQLite, it costs 3 µs more.]
   */
  readonly prefersCase: boolean
  /**
   * Splits updates into several statements where one statement could violate a unique key: a row of a later stage may
   * take a key that a row of an earlier stage gives up.
   */
  readonly updateStages: <Row extends { readonly stage: number }>(rows: readonly Row[]) => Row[][]
  /**
   * The first groups and tasks with claimable jobs, as a table: a loose scan of the claim index, which costs one probe
   * per group and task, however many jobs there are. The parameters are a group, followed by the tasks.
   */
  readonly turns: (job: string, claimIndex: string, selection: TurnSelection) => string
  /** Expression: the columns of a row as a JSON object, keyed by column name and encoded as a hexadecimal string. */
  readonly encoded: (columns: readonly string[]) => string
  /** Replaces parameters with literals that have the same meaning in every session. */
  readonly withLiterals: (text: string, params: readonly SqlValue[]) => string

  /** Expression: where a text begins in another one, counted from 1; 0 if it does not occur there. */
  readonly position: (text: string, part: string) => string
  /** Expression: an instant as text, to the millisecond. */
  readonly instantText: (instant: string) => string
  /** Expression: the different values of a column of text, separated by commas. */
  readonly listed: (column: string) => string
  /** The end of an INSERT that overwrites these columns of a row with the same key. */
  readonly orOverwrite: (key: readonly string[], columns: readonly string[]) => string
  /** Whether two transactions can write different rows at the same time. */
  readonly writesInParallel: boolean
  readonly isDuplicate: (error: unknown) => boolean
  /** Whether the statement failed only because other transactions have locked rows. With fewer rows, it may succeed. */
  readonly isContended: (error: unknown) => boolean
  /** Whether a statement waited for a lock until its timeout. */
  readonly isLockWait: (error: unknown) => boolean
  /** Whether the user may not write to one of these tables, whatever the rows contain. @param tables  unquoted names */
  readonly isDeniedOn: (error: unknown, tables: readonly string[]) => boolean
  /** The unquoted name of the table that does not exist, or null for all other errors. */
  readonly missingTable: (error: unknown) => string | null
  /** Whether the database rejected a written row, because of a trigger, a constraint or a value. */
  readonly isRejection: (error: unknown) => boolean
  /** @throws InvalidInputError unless a transaction is open in this database and its session stores values unchanged */
  readonly checkTransaction?: (execute: (statement: string) => unknown) => Promise<void>
  /**
   * A token for each of these tables, whose names are quoted; a token changes whenever its table changes. Two changes
   * within one second may produce the same token, so read it again one second after a change.
   */
  readonly changeTokens: (database: Database, tables: readonly string[]) => Promise<string[]>

  readonly schema: SchemaDialect
}

/** The operations that migrations and schema checks need. Names are unquoted. */
export interface SchemaDialect {
  /** The statements that create a schema for the tables and select it; none if the database has no schemas. */
  readonly create: (name: string) => string[]
  /** The end of each CREATE TABLE, so that nothing depends on the server's defaults. */
  readonly tableOptions: string
  /** Which of these tables or views exist. */
  readonly existing: (sql: Sql, names: readonly string[]) => Promise<string[]>
  /** Which of these tables do not support transactions, with their engines. */
  readonly withoutTransactions: (
    sql: Sql,
    names: readonly string[],
  ) => Promise<{ readonly name: string; readonly engine: string }[]>
  /** The parts of these tables, such as `column job.state`, `index job_claim` and `check job_state`. */
  readonly parts: (sql: Sql, names: readonly string[]) => Promise<string[]>
  /** Whether this error of a migration statement means that the statement has already been applied. */
  readonly isAlreadyApplied: (error: unknown) => boolean
}
