import { callerTransaction, inTurn, wholly } from '../caller-transaction.ts'
import type { Database, Dialect, Lend, Sql } from '../database.ts'
import type { Transaction } from '../job-store.ts'
import { fromStored } from '../../model/instant.ts'
import { type Tables, tables } from './tables.ts'

export interface Context {
  /** Begins a SELECT that may run in a transaction of the application. Each column is a name, or `… AS name`. */
  readonly select: (columns: readonly string[]) => string
  /** Ends a SELECT that must see rows committed after the snapshot of this transaction; empty without a snapshot. */
  readonly current: string
  /** Ends a SELECT of jobs whose schedule is already locked. */
  readonly locking: string
  readonly rows: Sql['rows']
  readonly run: Sql['run']
  readonly dialect: Dialect
  readonly tables: Tables
}

export interface TablesContext extends Context {
  readonly database: Database
  readonly transaction: <Result>(work: (tx: Context) => Promise<Result>) => Promise<Result>
  readonly lendingTransaction: <Result>(work: (tx: Context, lend: Lend) => Promise<Result>) => Promise<Result>
  /** Runs the transaction again after a unique key conflict; it then reads the row that has the key. */
  readonly transactionOnKeys: <Result>(work: (tx: Context) => Promise<Result>) => Promise<Result>
}

export function tablesContext(database: Database, prefix: string): TablesContext {
  const { dialect } = database
  const on = (sql: Sql): Context => ({
    dialect,
    tables: names,
    select: (columns) => `SELECT ${columns.join(', ')}`,
    current: '',
    locking: '',
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
    lendingTransaction: (work) => database.transaction((sql, lend) => work(on(sql), lend)),
    transactionOnKeys: onKeys(dialect, transaction),
  }
}

/** @throws InvalidInputError when the transaction cannot run statements */
export function inTransactionOf(context: TablesContext, given: Transaction): TablesContext {
  const { dialect } = context
  const locking = dialect.locked('wait')
  const tx: Context = { ...context, ...callerTransaction(given, dialect), locking }
  const transaction =
    (of: Context) =>
    <Result>(work: (of: Context) => Promise<Result>) =>
      inTurn(given, () => wholly(of, () => work(of)))
  return {
    ...context,
    ...tx,
    run: (text, params) => inTurn(given, () => tx.run(text, params)),
    transaction: transaction(tx),
    // The first attempt may have missed the row that has the key, because the row is newer than the snapshot.
    transactionOnKeys: onKeys(dialect, transaction(tx), transaction({ ...tx, current: locking })),
  }
}

function onKeys(
  { isDuplicate }: Dialect,
  first: TablesContext['transaction'],
  again = first,
): TablesContext['transactionOnKeys'] {
  return (work) =>
    first(work).catch((error: unknown) => {
      if (!isDuplicate(error)) throw error
      return again(work)
    })
}

export async function readClock({ select, rows, dialect }: Context): Promise<Date> {
  const [row] = await rows<{ clock: string }>(select([`${dialect.now} AS clock`]))
  return fromStored(row?.clock ?? '')
}
