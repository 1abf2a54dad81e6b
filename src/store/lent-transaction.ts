import type { Dialect, Sql } from './database.ts'
import type { Transaction } from './job-store.ts'

/** Runs statements in a transaction that the application has begun, and ends or undoes. */
export function lentTransaction(transaction: Transaction, dialect: Dialect): Pick<Sql, 'run'> {
  return {
    run: async (text, params = []) => {
      // Values become literals, for each driver has its own way with parameters.
      const statement = dialect.withLiterals(text, params)
      if (typeof transaction === 'function') await transaction(statement, [])
      // mysql2 has `query` and `execute`; the latter would prepare each of these statements on the server.
      else if ('query' in transaction && typeof transaction.query === 'function')
        await transaction.query(statement)
      else if ('execute' in transaction) await transaction.execute(statement)
      else if ('run' in transaction) await transaction.run(statement)
      return 0
    },
  }
}
