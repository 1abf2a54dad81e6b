import type { Database, Dialect, Sql } from '../database.ts'
import { fromStored } from '../../model/instant.ts'
import { type Tables, tables } from './tables.ts'

/** What statements need: the tables, the dialect, and the connection or transaction that runs them. */
export interface Context {
  readonly rows: Sql['rows']
  readonly run: Sql['run']
  readonly dialect: Dialect
  readonly tables: Tables
}

/** The tables of a store. Each transaction gets its own context. */
export interface TablesContext extends Context {
  readonly database: Database
  /** See `Database.transaction`. */
  readonly transaction: <Result>(work: (tx: Context) => Promise<Result>) => Promise<Result>
  /** A transaction that runs again after a unique key conflict. By then, it reads the row that has the key. */
  readonly transactionOnKeys: <Result>(work: (tx: Context) => Promise<Result>) => Promise<Result>
}

export function tablesContext(database: Database, prefix: string): TablesContext {
  const { dialect } = database
  const on = (sql: Sql): Context => ({
    dialect,
    tables: names,
    rows: (text, params) => sql.rows(text, params),
    run: (text, params) => sql.run(text, params),
  })
  const names = tables(prefix, dialect)
  const transaction = <Result>(work: (tx: Context) => Promise<Result>) =>
    database.transaction((sql) => work(on(sql)))
  return {
    ...on(database),
    database,
    transaction,
    transactionOnKeys: (work) =>
      transaction(work).catch((error: unknown) => {
        if (!dialect.isDuplicate(error)) throw error
        return transaction(work)
      }),
  }
}

/** The database's clock. */
export async function readClock({ rows, dialect }: Context): Promise<Date> {
  const [row] = await rows<{ clock: string }>(`SELECT ${dialect.now} AS clock`)
  return fromStored(row?.clock ?? '')
}
