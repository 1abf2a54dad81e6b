import { SchemaError } from '../../errors.ts'
import { callerTransaction, inTurn, wholly } from '../caller-transaction.ts'
import type { AnySql, Database, Dialect, Lend, Sql } from '../database.ts'
import type { Transaction } from '../job-store.ts'
import { fromStored } from '../../model/instant.ts'
import { Isolations } from './isolations.ts'
import { type Tables, tables } from './tables.ts'

/** A connection of Kalends, or a transaction of the application. */
export interface AnyContext<Count = unknown> extends AnySql<Count> {
  /** Ends a SELECT that must see rows committed after the snapshot of this transaction; empty without a snapshot. */
  readonly current: string
  /** Ends a SELECT of jobs whose schedule is already locked. */
  readonly locking: string
  readonly dialect: Dialect
  readonly tables: Tables
}

/** A connection of Kalends. `run` returns the number of matched rows. */
export interface Context extends AnyContext<number> {
  readonly rows: Sql['rows']
}

type Begin<Of> = <Result>(work: (tx: Of) => Promise<Result>) => Promise<Result>

/** Begins a transaction of Kalends, or continues one of the application. */
export interface WriteContext extends AnyContext {
  readonly transaction: Begin<AnyContext>
  /** Runs the transaction again after a unique key conflict; it then reads the row that has the key. */
  readonly transactionOnKeys: Begin<AnyContext>
  /** Undefined in a transaction of the application, in which nothing is isolated. */
  readonly isolations?: Isolations
}

export interface TablesContext extends Context {
  readonly database: Database
  readonly isolations: Isolations
  readonly transaction: Begin<Context>
  readonly lendingTransaction: <Result>(work: (tx: Context, lend: Lend) => Promise<Result>) => Promise<Result>
  /** See `WriteContext`. */
  readonly transactionOnKeys: Begin<Context>
}

export function tablesContext(
  database: Database,
  prefix: string,
  isolations = new Isolations(database.dialect, prefix),
): TablesContext {
  const { dialect } = database
  const names = tables(prefix, dialect)
  const explained = explainer(dialect, names)
  const on = (sql: Sql): Context => ({
    dialect,
    tables: names,
    select: (columns, rest, params) =>
      sql.rows<never>(`SELECT ${columns.join(', ')} ${rest}`, params).catch(explained),
    current: '',
    locking: '',
    rows: (text, params) => sql.rows<never>(text, params).catch(explained),
    run: (text, params) => sql.run(text, params).catch(explained),
  })
  const transaction = <Result>(work: (tx: Context) => Promise<Result>) =>
    database.transaction((sql) => work(on(sql)))
  return {
    ...on(database),
    database,
    isolations,
    transaction,
    lendingTransaction: (work) => database.transaction((sql, lend) => work(on(sql), lend)),
    transactionOnKeys: onKeys(dialect, transaction),
  }
}

/** @throws InvalidInputError when the transaction cannot run statements */
export function inTransactionOf(context: WriteContext, given: Transaction): WriteContext {
  const { dialect, tables: names } = context
  const locking = dialect.locked('wait')
  const explained = explainer(dialect, names)
  const sql = callerTransaction(given, dialect)
  const tx: AnyContext = {
    dialect,
    tables: names,
    current: '',
    locking,
    select: (...of) => sql.select<never>(...of).catch(explained),
    run: (...of) => sql.run(...of).catch(explained),
  }
  const transaction =
    (of: AnyContext) =>
    <Result>(work: (of: AnyContext) => Promise<Result>) =>
      inTurn(given, () => wholly(of, () => work(of)))
  return {
    ...tx,
    run: (text, params) => inTurn(given, () => tx.run(text, params)),
    transaction: transaction(tx),
    // The first attempt may have missed the row that has the key, because the row is newer than the snapshot.
    transactionOnKeys: onKeys(dialect, transaction(tx), transaction({ ...tx, current: locking })),
  }
}

/** A missing table concerns every row, so the error must not look like the rejection of one. */
function explainer(dialect: Dialect, names: Tables) {
  return (error: unknown): never => {
    const missing = dialect.missingTable(error)
    if (missing === null || !Object.values(names).includes(dialect.table(missing))) throw error
    throw new SchemaError(
      `The table '${missing}' does not exist: restore it from a backup; or, if no table of Kalends is left, run 'kalends migrate'`,
      { cause: error },
    )
  }
}

function onKeys<Of>({ isDuplicate }: Dialect, first: Begin<Of>, again = first): Begin<Of> {
  return (work) =>
    first(work).catch((error: unknown) => {
      if (!isDuplicate(error)) throw error
      return again(work)
    })
}

export async function readClock({ select, dialect }: AnyContext): Promise<Date> {
  const [row] = await select<{ clock: string }>([`${dialect.now} AS clock`], '')
  return fromStored(row?.clock ?? '')
}
