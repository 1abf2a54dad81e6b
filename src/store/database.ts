/**
 * What every database provides: statements, transactions that are retried, and the dialect of its SQL. Instants are
 * text in UTC, `YYYY-MM-DD HH:MM:SS.mmm`, in both directions.
 */

import type { Pool as CallbackPool } from 'mysql2'
import type { Pool } from 'mysql2/promise'

/**
 * `mysql://user:password@host:port/database` (also `mariadb://`, and several hosts, `h1:3306,h2`), `sqlite:./file.db`,
 * `sqlite::memory:`, a mysql2 pool, or a drizzle database on one. A pool stays the application's: it is not closed.
 */
export type DatabaseTarget = string | Pool | CallbackPool | { readonly $client: Pool | CallbackPool }

export type SqlValue = string | number | null

/**
 * What a connection is used for. Each use has its own connections, so that none waits for another: the loops and the
 * heartbeat, the application's calls, and the API.
 */
export type Use = 'loops' | 'calls' | 'api'

/** Runs statements. The type of the rows is what the statement selects: the one place where SQL meets types. */
export interface Sql {
  rows<Row>(text: string, params?: readonly SqlValue[]): Promise<Row[]>
  /** @returns how many rows were matched */
  run(text: string, params?: readonly SqlValue[]): Promise<number>
}

export interface Database extends Sql {
  readonly dialect: Dialect
  /**
   * READ COMMITTED or stricter. Rolls back when the work throws. Retries after a temporary failure (deadlock, lock wait,
   * busy), so the work must have no effect outside of the transaction.
   *
   * @throws StoreUnavailableError when the database cannot be reached
   */
  transaction<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result>
  /** Runs the work while no other process runs work under the same name. */
  exclusively<Result>(name: string, work: (sql: Sql) => Promise<Result>): Promise<Result>
  /** The most rows that one transaction should write; Infinity: any number. */
  mostAtOnce(): number
  /** The longest time that waiting work has waited for a connection; 0: none waits. */
  longestWaitMs(): number
  /** See `Store.serverChanges`. */
  serverChanges(): number
  close(): Promise<void>
}

/** The same database for each use. */
export interface Databases extends Readonly<Record<Use, Database>> {
  readonly close: () => Promise<void>
}

/** Options of a dialect when it opens a database. */
export interface OpenOptions {
  /** Milliseconds after which a connection that is busy with one piece of work is destroyed. */
  readonly longestUseMs?: number | undefined
  /** The database's clock, for tests that make time pass: only on SQLite. */
  readonly clock?: (() => Date) | null | undefined
}

/** Types of the columns of a batch that travels as one JSON parameter. */
export type BatchColumn = 'id' | 'text' | 'long text' | 'integer' | 'instant'

/** A group and a task that have claimable jobs, with the smallest rank of those: the columns of `Dialect.turns`. */
export interface Turn {
  readonly claim_group: string
  readonly claim_task: string
  readonly claim_rank: number
}

/** Which turns are selected. */
export interface TurnSelection {
  /** Groups after the given one, or from it on. */
  readonly from: '>' | '>='
  /** How many tasks are given, one or more. */
  readonly tasks: number
  readonly limit: number
}

/** An UPDATE of rows that a batch names by `id`; the assignments may read the row as `t`, the batch as `b`. */
export interface BatchUpdate {
  /** Quoted. */
  readonly table: string
  /** A table expression, see `batch`. */
  readonly batch: string
  readonly assignments: Readonly<Record<string, string>>
}

/** A dialect of SQL: how it writes what the shared statements need, and its own version of some operations. */
export interface Dialect {
  readonly name: 'mysql' | 'sqlite'
  /** The name of a table or an index. */
  readonly quoted: (name: string) => string

  /** Expression: the database's clock. */
  readonly now: string
  /** Expression: what the database's clock will show in so many ms. */
  readonly nowPlus: (ms: number) => string
  /** Expression: an instant as normalised text, also where it was written manually in another form. */
  readonly instant: (column: string) => string
  /** Expression: the first 13 characters of an instant, `YYYY-MM-DD HH`. */
  readonly hour: (column: string) => string
  /** Expression: the position of a text in another, from 1; 0 when it is not there. */
  readonly position: (text: string, part: string) => string

  /**
   * A table in a FROM or an UPDATE whose rows are found by their key, or by an index. An optimizer may think a scan of
   * a small table cheaper; but a scan waits for every row that another transaction has locked.
   */
  readonly found: (table: string, by: { readonly index: string } | 'key') => string
  /** The rows of a table expression, each with the row of a table that has this key, in the order of the former. */
  readonly joinedByKey: (rows: string, table: string, as: string, key: string) => string
  /** Ends a SELECT: locks its rows. `skip` leaves out rows that are locked, instead of waiting for them. */
  readonly locked: (how: 'wait' | 'skip') => string
  /** Several ordered, limited selections as one statement. */
  readonly union: (selections: readonly string[]) => string
  /** A batch of objects, given as one JSON parameter, as a table. */
  readonly batch: (columns: Readonly<Record<string, BatchColumn>>) => string
  readonly updateFromBatch: (update: BatchUpdate) => string
  /**
   * The statements that update rows when one of them takes a unique key from another. A row of a later stage may take
   * a key that a row of an earlier stage gives up.
   */
  readonly updateStages: <Row extends { readonly stage: number }>(rows: readonly Row[]) => Row[][]
  /**
   * The first groups and tasks that have claimable jobs, as a table: a loose scan of the claim index, which costs a
   * probe for each group and task, however many jobs there are. Its parameters are a group, and then the tasks.
   */
  readonly turns: (job: string, claimIndex: string, selection: TurnSelection) => string
  /** Values as literals that mean the same in every session. */
  readonly withLiterals: (text: string, params: readonly SqlValue[]) => string

  /** Two transactions may write different rows at the same time; otherwise one waits for the other to end. */
  readonly writesInParallel: boolean
  /** The error says that a row with that key exists. */
  readonly isDuplicate: (error: unknown) => boolean
  /** The statement failed because others hold rows, not because the database is away: fewer rows may do. */
  readonly isContended: (error: unknown) => boolean
  /** The statement, alone in its transaction, waited too long for a lock. */
  readonly isLockWait: (error: unknown) => boolean
  /**
   * Checks whether the session of a transaction that the application has begun stores what it is given.
   *
   * @throws InvalidInputError naming the setting
   */
  readonly checkTransaction?: (execute: (statement: string) => unknown) => Promise<void>
  /**
   * A text for each table, given by its quoted name, that is different after each change of the table. Two changes within
   * a second may have the same text: read again a second after a change.
   */
  readonly changeTokens: (database: Database, tables: readonly string[]) => Promise<string[]>

  readonly schema: SchemaDialect
}

/** What migrations and checks of the tables need. Names are without quotes. */
export interface SchemaDialect {
  /** Ends each CREATE TABLE, so that nothing depends on the defaults of a server. */
  readonly tableOptions: string
  /** The tables and views that exist among these. */
  readonly existing: (sql: Sql, names: readonly string[]) => Promise<string[]>
  /** Those among these that have no transactions, with their engine. */
  readonly withoutTransactions: (
    sql: Sql,
    names: readonly string[],
  ) => Promise<{ readonly name: string; readonly engine: string }[]>
  /** The columns and indexes of these tables: `column job.state`, `index job_claim`. */
  readonly parts: (sql: Sql, names: readonly string[]) => Promise<string[]>
  /** Whether the error of a migration statement means that the statement has already been applied. */
  readonly isAlreadyApplied: (error: unknown) => boolean
}
