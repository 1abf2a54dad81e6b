import { InvalidInputError } from '../errors.ts'
import type { Dialect, Sql } from './database.ts'
import type { Transaction } from './job-store.ts'

/**
 * Runs statements in a transaction that the application has started and will commit or roll back.
 *
 * @throws InvalidInputError when `transaction` cannot run statements, or when its session would store different values
 */
export function callerTransaction(transaction: Transaction, dialect: Dialect): Pick<Sql, 'run'> {
  const execute = executorOf(transaction)
  let checked: Promise<void> | undefined
  return {
    run: async (text, params = []) => {
      checked ??= dialect.checkTransaction?.(execute)
      await checked
      // Uses literals, because drivers pass parameters in different ways.
      await execute(dialect.withLiterals(text, params))
      return 0
    },
  }
}

function executorOf(transaction: Transaction): (statement: string) => unknown {
  if (isIdle(transaction)) throw noTransaction()
  if (typeof transaction === 'function') return (statement) => transaction(statement, [])
  if (typeof transaction === 'object' && transaction !== null && !isPool(transaction)) {
    // A mysql2 connection with callbacks: the result of its `query` cannot be awaited.
    if ('promise' in transaction && typeof transaction.promise === 'function')
      return executorOf(transaction.promise())
    // mysql2 has `query` and `execute`, but `execute` would prepare each of these statements on the server. drizzle
    // also has a `query`, which is not a function.
    if ('query' in transaction && typeof transaction.query === 'function')
      return (statement) => transaction.query(statement)
    if ('execute' in transaction && typeof transaction.execute === 'function')
      return (statement) => transaction.execute(statement)
    if ('run' in transaction && typeof transaction.run === 'function')
      return (statement) => transaction.run(statement)
    if ('exec' in transaction && typeof transaction.exec === 'function')
      return (statement) => transaction.exec(statement)
  }
  throw new InvalidInputError(
    'tx',
    'a drizzle transaction, a connection of mysql2 or SQLite, or a function (sql, params) => Promise is needed; a pool is not a transaction',
  )
}

/** The transaction would not cover the job: a rollback would leave it in the database. */
export function noTransaction(): InvalidInputError {
  return new InvalidInputError(
    'tx',
    'the connection has no open transaction, so the job would be stored at once: begin one, or leave out tx',
  )
}

/** Whether a connection of better-sqlite3, libsql (`inTransaction`) or node:sqlite (`isTransaction`) reports none. */
function isIdle(given: Transaction): boolean {
  if (typeof given !== 'object' || given === null) return false
  return Reflect.get(given, 'inTransaction') === false || Reflect.get(given, 'isTransaction') === false
}

/** A pool, or a drizzle database on one, may run each statement on another connection, so it is not a transaction. */
function isPool(given: object): boolean {
  const client = '$client' in given ? given.$client : given
  return typeof client === 'object' && client !== null && 'getConnection' in client
}
