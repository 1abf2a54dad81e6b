/**
 * What every dialect provides: statements, transactions that are retried, and the few places where the
 * dialects differ. Instants are text in UTC, `YYYY-MM-DD HH:MM:SS.mmm`, in both directions.
 */

export type SqlValue = string | number | null

/**
 * What connections are for. Each use has its own, so that none waits for another: the loops and the heartbeat, the
 * application's calls, and the API.
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
   * READ COMMITTED or stricter. Rolled back when the work throws; begun anew when the database gave up for a
   * reason that passes (deadlock, lock wait, busy), so the work must have no effect outside of it.
   *
   * @throws StoreUnavailableError when the database cannot be reached
   */
  transaction<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result>
  /** Runs the work while no other process does work under the same name. */
  exclusively<Result>(name: string, work: (sql: Sql) => Promise<Result>): Promise<Result>
  /** Rows that one transaction should write at most, as far as is known by now; without it, any number. */
  mostAtOnce?(): number
  /** How long the work that has waited longest for a connection has waited; 0: none waits. */
  longestWaitMs?(): number
  /** See `Store.serverChanges`; without it, the server never changes. */
  serverChanges?(): number
  close(): Promise<void>
}

/** Types of the columns of a batch that travels as one JSON parameter. */
export type BatchColumn = 'id' | 'text' | 'long text' | 'integer' | 'instant'

/** Which turns are asked for. */
export interface Turns {
  /** How they lie to the group that is given. */
  readonly from: '>' | '>='
  /** How many tasks are given, one or more. */
  readonly tasks: number
  readonly limit: number
}

export interface Dialect {
  readonly name: 'mysql' | 'sqlite'
  /** The database's clock. */
  readonly now: string
  /** What the database's clock will show in so many ms. */
  readonly nowPlus: (ms: number) => string
  readonly forUpdate: string
  /** Ends a condition, and leaves out rows that cannot be found by their id. */
  readonly andFindable: string
  readonly skipLocked: string
  /** Two transactions may write different rows at the same time; else one waits for the other to end. */
  readonly writesInParallel: boolean
  /**
   * Rows are found by their key. Where an optimizer may think a scan of a small table cheaper, it must be told:
   * a scan waits for every row that somebody has locked, and in another order.
   */
  readonly byKey: string
  /** Rows are found and ordered by this index, for the same reason. */
  readonly byIndex: (index: string) => string
  /** Rows are found by this index, on every database; an error where it does not serve the conditions. */
  readonly onlyByIndex: (index: string) => string
  /** An instant as normalised text, whatever somebody may have written there by hand. */
  readonly instant: (column: string) => string
  /** A batch of objects, given as one JSON parameter, as a table. */
  readonly batch: (columns: Readonly<Record<string, BatchColumn>>) => string
  /** Keeps the join order as it is written: the batch first, then the table by its key. */
  readonly straightJoin: string
  /** Whether `updateFromBatch` writes in the order of the batch, so that a row may take a unique key from one before it. */
  readonly updatesInOrder: boolean
  /** UPDATE of the rows that a batch names by `id`; the assignments may read the row as `t`, the batch as `b`. */
  readonly updateFromBatch: (
    table: string,
    batch: string,
    assignments: Readonly<Record<string, string>>,
  ) => string
  /** Ends each CREATE TABLE: nothing is left to the defaults of a server. */
  readonly tableOptions: string
  /**
   * Looks whether the session of a transaction that the application has begun stores what it is given.
   *
   * @throws InvalidInputError naming the setting
   */
  readonly checkTransaction?: (execute: (statement: string) => unknown) => Promise<void>
  /** Values as literals that mean the same in every session. */
  readonly withLiterals: (text: string, params: readonly SqlValue[]) => string
  /**
   * The first groups and tasks that have claimable jobs, each with the smallest rank, as a table: a loose scan of
   * the claim index, which costs a probe per group and task, however many jobs there are.
   * Its parameters are a group, and then the tasks.
   */
  readonly turns: (job: string, claimIndex: string, of: Turns) => string
  /** Several ordered, limited selections as one statement. */
  readonly union: (selections: readonly string[]) => string
  /**
   * Reads for each table, given by its quoted name, a text that differs when anything in it has changed. The text
   * may be as coarse as a second: whoever saw a change looks once more.
   */
  readonly revisions: (database: Database, tables: readonly string[]) => Promise<string[]>
  /** Selects the `name` of each table there is among the given number of names. */
  readonly tablesAmong: (count: number) => string
  /** Selects the `name` and `engine` of each table among the given number of names that has no transactions; null: all have. */
  readonly withoutTransactions: ((count: number) => string) | null
  /** Selects a `part` for each column and index of a number of tables, whose names are given twice. */
  readonly partsOf: (count: number) => string
  /** The error says that a row with that key exists. */
  readonly isDuplicate: (error: unknown) => boolean
  /** It was given up because others held rows, not because the database is away: fewer rows may do. */
  readonly isContended: (error: unknown) => boolean
  /** Migrations: which statement errors say that it had been run already. */
  readonly isAlreadyApplied: (error: unknown) => boolean
}
