import { InvalidInputError } from '../errors.ts'
import type { AnySql, Dialect, SqlValue } from './database.ts'
import type { Transaction } from './job-store.ts'

type Execute = (statement: string, reads: boolean) => unknown

/** The only value in each row: a JSON object in hexadecimal digits; see `Dialect.encoded`. */
const ROW = /^7B22[\dA-F]*$/i
/** With some options, drivers return `[{ '': { text } }]`. */
const DEEPEST_TEXT = 3
const NEEDED =
  'must be a drizzle transaction, a connection of mysql2 or SQLite, or a function (sql, params) => Promise'

/**
 * Runs statements in a transaction that the application has started and will commit or roll back.
 *
 * Drivers return rows in different forms, and convert dates, numbers and characters according to their options. So each
 * row is returned as a single ASCII string, which can be found anywhere in the result.
 *
 * @throws InvalidInputError when `transaction` cannot run statements or is not open in this database, or when its
 *   session might store different values
 */
export function callerTransaction(transaction: Transaction, dialect: Dialect): AnySql {
  const execute = executorOf(transaction)
  let checked: Promise<void> | undefined
  const executed = async (text: string, params: readonly SqlValue[], reads: boolean) => {
    checked ??= dialect.checkTransaction?.((statement) => execute(statement, true))
    await checked
    // With a synchronous driver, the application may have ended the transaction since the previous statement.
    if (isIdle(transaction)) throw noTransaction()
    try {
      // Uses literals, because drivers pass parameters in different ways.
      return await execute(dialect.withLiterals(text, params), reads)
    } catch (error) {
      // Query builders wrap the errors of their driver, and some wrap them twice.
      const isKnown = (cause: unknown) => dialect.isDuplicate(cause) || dialect.missingTable(cause) !== null
      throw withCauses(error).find(isKnown) ?? error
    }
  }
  return {
    select: async <Row>(columns: readonly string[], rest: string, params: readonly SqlValue[] = []) => {
      const text = `SELECT ${dialect.encoded(columns)} AS kalends ${rest}`
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the caller states the type
      return rowsIn(await executed(text, params, true)).map(decoded) as Row[]
    },
    // Drivers report the number of rows in different forms.
    run: async (text, params = []) => {
      await executed(text, params, false)
    },
  }
}

const turns = new WeakMap<object, Promise<unknown>>()

/**
 * Runs the writes of one transaction one at a time. Otherwise, a call that is not awaited could undo writes that other
 * calls made after its savepoint.
 */
export function inTurn<Result>(transaction: Transaction, write: () => Promise<Result>): Promise<Result> {
  const turn = (turns.get(transaction) ?? Promise.resolve()).then(write)
  turns.set(
    transaction,
    turn.catch(() => undefined),
  )
  return turn
}

/** Runs all statements of the work or none, so that the transaction can continue if one of them fails. */
export async function wholly<Result>(
  { run }: Pick<AnySql, 'run'>,
  work: () => Promise<Result>,
): Promise<Result> {
  await run('SAVEPOINT kalends')
  let result: Result
  try {
    result = await work()
  } catch (error) {
    // These fail after a deadlock, which has already ended the transaction and its savepoint.
    await run('ROLLBACK TO SAVEPOINT kalends').catch(() => undefined)
    await run('RELEASE SAVEPOINT kalends').catch(() => undefined)
    throw error
  }
  await run('RELEASE SAVEPOINT kalends')
  return result
}

function executorOf(transaction: unknown): Execute {
  if (typeof transaction === 'function')
    return (statement): unknown => Reflect.apply(transaction, undefined, [statement, []])
  if (typeof transaction === 'object' && transaction !== null && !isPool(transaction)) {
    // With a callback-style mysql2 connection, the result of `query` cannot be awaited.
    const promise = methodOf(transaction, 'promise')
    if (promise !== null) return executorOf(promise())
    // mysql2 has `query` and `execute`, but `execute` would prepare each of these statements on the server. drizzle
    // also has a `query`, which is not a function.
    const execute = methodOf(transaction, 'query') ?? methodOf(transaction, 'execute')
    if (execute !== null) return (statement) => execute(statement)
    const run = methodOf(transaction, 'run')
    const all = methodOf(transaction, 'all')
    if (run !== null) return (statement, reads) => (reads && all !== null ? all(statement) : run(statement))
    const exec = methodOf(transaction, 'exec')
    const prepare = methodOf(transaction, 'prepare')
    if (exec !== null)
      return (statement, reads) =>
        reads && prepare !== null ? methodOf(prepare(statement), 'all')?.() : exec(statement)
  }
  throw new InvalidInputError('tx', `${NEEDED}; a pool is not a transaction`)
}

function methodOf(value: unknown, name: string): ((...given: unknown[]) => unknown) | null {
  const method = propertyOf(value, name)
  return typeof method === 'function' ? (...given): unknown => Reflect.apply(method, value, given) : null
}

/** @throws InvalidInputError when the result is not a list of rows, for example because the function returned nothing */
function rowsIn(result: unknown): readonly unknown[] {
  if (!Array.isArray(result)) {
    if (typeof result === 'object' && result !== null && 'rows' in result) return rowsIn(result.rows)
    throw new InvalidInputError(
      'tx',
      'the function must return the rows of a SELECT as the driver does; on SQLite, run it with all()',
    )
  }
  const [first]: unknown[] = result
  // `[rows, fields]`, where a row is an object or an array.
  return Array.isArray(first) && typeof first[0] !== 'string' ? rowsIn(first) : result
}

function decoded(row: unknown): object {
  const values: object = JSON.parse(Buffer.from(textIn(row), 'hex').toString('utf8'))
  // MariaDB nests the value of a column whose CHECK requires JSON, instead of quoting it as text.
  const columns = Object.entries(values).map(([name, value]: [string, unknown]) =>
    typeof value === 'object' && value !== null ? [name, JSON.stringify(value)] : [name, value],
  )
  return Object.fromEntries(columns)
}

function textIn(row: unknown, depth = DEEPEST_TEXT): string {
  const text = row instanceof Uint8Array ? Buffer.from(row).toString('latin1') : row
  if (typeof text === 'string' && ROW.test(text)) return text
  if (typeof row !== 'object' || row === null || depth === 0)
    throw new InvalidInputError('tx', 'the function must return the rows of the driver unchanged')
  return textIn(Object.values(row)[0], depth - 1)
}

function withCauses(error: unknown, most = 10): unknown[] {
  if (error === undefined || most === 0) return []
  return [error, ...withCauses(error instanceof Error ? error.cause : undefined, most - 1)]
}

/** Without an open transaction, a later rollback would leave the change in the database. */
export function noTransaction(): InvalidInputError {
  return new InvalidInputError(
    'tx',
    'the connection has no open transaction, so the change would be stored at once: begin one and await the call before you end it, or omit tx',
  )
}

/**
 * Whether a connection of better-sqlite3, libsql (`inTransaction`) or node:sqlite (`isTransaction`), or of a drizzle
 * database that uses one, reports that there is no transaction.
 */
function isIdle(given: Transaction): boolean {
  return [given, propertyOf(given, '$client'), propertyOf(propertyOf(given, 'session'), 'client')].some(
    (connection) =>
      propertyOf(connection, 'inTransaction') === false || propertyOf(connection, 'isTransaction') === false,
  )
}

function propertyOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}

/** A pool, or a drizzle database on one, may run each statement on a different connection. */
function isPool(given: object): boolean {
  const client = '$client' in given ? given.$client : given
  return typeof client === 'object' && client !== null && 'getConnection' in client
}
