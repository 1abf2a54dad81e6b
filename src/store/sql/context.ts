import type { Database, Dialect, Sql, SqlValue } from '../database.ts'
import { type Tables, tables } from './tables.ts'

/** Where statements run: the tables, their dialect, and the transaction if there is one. */
export interface Context extends Sql {
  readonly dialect: Dialect
  readonly tables: Tables
}

/** The tables of a store. Each transaction gets its own context. */
export class TablesContext implements Context {
  readonly database: Database
  readonly tables: Tables

  constructor(database: Database, prefix: string) {
    this.database = database
    this.tables = tables(prefix, database.dialect)
  }

  get dialect(): Dialect {
    return this.database.dialect
  }

  rows<Row>(text: string, params?: readonly SqlValue[]): Promise<Row[]> {
    return this.database.rows<Row>(text, params)
  }

  run(text: string, params?: readonly SqlValue[]): Promise<number> {
    return this.database.run(text, params)
  }

  /** See `Database.transaction`. */
  transaction<Result>(work: (tx: Context) => Promise<Result>): Promise<Result> {
    return this.database.transaction((sql) =>
      work({
        dialect: this.dialect,
        tables: this.tables,
        rows: (text, params) => sql.rows(text, params),
        run: (text, params) => sql.run(text, params),
      }),
    )
  }

  /** A transaction that runs again when it met a unique key: by then it reads the row that has the key. */
  async transactionOnKeys<Result>(work: (tx: Context) => Promise<Result>): Promise<Result> {
    try {
      return await this.transaction(work)
    } catch (error) {
      if (!this.dialect.isDuplicate(error)) throw error
      return await this.transaction(work)
    }
  }
}
