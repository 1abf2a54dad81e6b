/**
 * The session variables that change what statements write or read. Our own sessions are set up with the values that
 * Kalends needs. In a transaction of the application, Kalends changes no variables, but rejects unsuitable values.
 *
 * The time zone is not included, because no statement depends on it.
 */
import { InvalidInputError } from '../../errors.ts'
import { noTransaction } from '../caller-transaction.ts'

/** Comments that only the named server executes. */
const onMysql = (text: string) => `/*!80000 ${text} */`
const onMariadb = (text: string) => `/*M! ${text} */`

const OWN = [
  // Without autocommit, single statements would stay uncommitted.
  ', SESSION autocommit = 1',
  // CHAIN starts a transaction after each COMMIT, and nothing ends it. RELEASE closes the connection.
  ", SESSION completion_type = 'NO_CHAIN'",
  // Without a strict mode, values that are too long are truncated.
  ", SESSION sql_mode = 'STRICT_TRANS_TABLES'",
  // Characters outside the session's character set would arrive as question marks.
  ', SESSION character_set_results = utf8mb4',
  // Otherwise, our literals could not be combined with strings in the database's own character set. This also sets
  // character_set_connection.
  ', SESSION collation_connection = utf8mb4_bin',
  // Rows beyond the limit would look as if they did not exist.
  ', SESSION sql_select_limit = 18446744073709551615',
  // Otherwise, the server could reject statements that it considers unsafe or large.
  ', SESSION sql_safe_updates = 0, SESSION sql_big_selects = 1',
  // Otherwise, `id IS NULL` would find the last row that was inserted.
  ', SESSION sql_auto_is_null = 0',
  // Otherwise, ids that differ only in their last characters would be sorted, and locked, in any order.
  ', SESSION max_sort_length = 1024',
  // The server must check unique keys and CHECKs, because they ensure that each occurrence has exactly one job.
  `, SESSION unique_checks = 1 ${onMariadb(', SESSION check_constraint_checks = 1')}`,
  onMariadb(', SESSION tx_read_only = 0'),
  onMysql(', SESSION transaction_read_only = 0'),
  // Otherwise, the reported times of the last change to each table could be a day out of date.
  onMysql(', SESSION information_schema_stats_expiry = 0'),
]

export const OWN_SESSION = `SET @kalends = NULL ${OWN.join(' ')}`

export function limitStatements(limitMs: number): string {
  const limits = [
    onMysql(`, SESSION max_execution_time = ${limitMs}`),
    onMariadb(`, SESSION max_statement_time = ${limitMs / 1000}`),
  ]
  return `SET @kalends = NULL ${limits.join(' ')}`
}

/** Expression: the current database, in lower case where the server ignores the case of names. */
export const CURRENT_DATABASE = 'IF(@@lower_case_table_names = 0, DATABASE(), LOWER(DATABASE()))'

/** The state of the application's transaction, as a single value, because the form of its driver's rows is unknown. */
export const TRANSACTION_STATE = `SELECT CAST(JSON_OBJECT(
  'kalends', 0,
  'database', ${CURRENT_DATABASE},
  'secondsOff', ABS(TIMESTAMPDIFF(SECOND, NOW(6), SYSDATE(6))),
  'sql_mode', @@SESSION.sql_mode,
  'unique_checks', CAST(@@SESSION.unique_checks AS SIGNED)
  ${onMariadb(", 'check_constraint_checks', CAST(@@SESSION.check_constraint_checks AS SIGNED)")}
) AS CHAR) AS state LIMIT 1`

/** The driver's result for this statement shows whether a transaction is open. */
export const TRANSACTION_STATUS = 'DO 0'
/** SERVER_STATUS_IN_TRANS and SERVER_STATUS_AUTOCOMMIT of the protocol. */
const IN_TRANSACTION = 1
const AUTOCOMMIT = 2

/** The depth of `[[{ '': { state } }], fields]`, which drivers return with `nestTables`. */
const DEEPEST_VALUE = 4

/**
 * A smaller difference is accepted: a transaction may set its clock to the time at which it began, servers may stall,
 * and for a single job the difference does not matter.
 */
const CLOCK_OFF_SECONDS = 60

interface TransactionState {
  readonly database: string | null
  readonly secondsOff: number | null
  readonly sql_mode: string
  readonly unique_checks: number
  readonly check_constraint_checks?: number
}

/**
 * @param database  the database that Kalends uses, or null if its statements name it
 * @param state  the result of TRANSACTION_STATE; an application's function may return anything
 * @param status  the result of TRANSACTION_STATUS; likewise
 * @throws InvalidInputError if no transaction of this database is open, or if its session could change stored values
 */
export function checkTransaction(database: string | null, state: unknown, status: unknown): void {
  const open = statusIn(status)
  if (open !== null && (open & (IN_TRANSACTION | AUTOCOMMIT)) === AUTOCOMMIT) throw noTransaction()
  const found = stateIn(state)
  if (found === null) return
  if (database !== null && found.database !== database)
    throw new InvalidInputError(
      'tx',
      `the connection of the transaction uses ${found.database === null ? 'no database' : `the database '${found.database}'`}, but Kalends uses '${database}': run USE ${database} first`,
    )
  if ((found.secondsOff ?? 0) >= CLOCK_OFF_SECONDS)
    throw new InvalidInputError(
      'tx',
      `the session of the transaction has timestamp = a value that is ${found.secondsOff} s off, so the database would store a wrong time: run SET SESSION timestamp = DEFAULT before the transaction begins`,
    )
  if (!isSafeMode(found.sql_mode)) throw unfit('sql_mode', found.sql_mode, "'STRICT_TRANS_TABLES'")
  if (found.unique_checks === 0) throw unfit('unique_checks', 0, '1')
  if (found.check_constraint_checks === 0) throw unfit('check_constraint_checks', 0, '1')
}

function unfit(name: string, value: string | number, ours: string): InvalidInputError {
  return new InvalidInputError(
    'tx',
    `the session of the transaction has ${name} = '${value}', so the database might store something other than the given value: run SET SESSION ${name} = ${ours} before the transaction begins`,
  )
}

/**
 * Drivers and their wrappers return `[rows, fields]` or `rows`, and each row as an object or an array. The state is
 * always the first value at the deepest level.
 */
function stateIn(result: unknown, depth = DEEPEST_VALUE): TransactionState | null {
  if (typeof result === 'object' && result !== null && depth > 0)
    return stateIn(Object.values(result)[0], depth - 1)
  if (typeof result !== 'string' || !result.startsWith('{"kalends"')) return null
  const state: TransactionState = JSON.parse(result)
  return state
}

/** The status flags in a result of mysql2 (`header` or `[header, fields]`), or null if there are none. */
function statusIn(result: unknown): number | null {
  const header: unknown = Array.isArray(result) ? result[0] : result
  if (typeof header !== 'object' || header === null || !('serverStatus' in header)) return null
  return typeof header.serverStatus === 'number' ? header.serverStatus : null
}

/** Some modes of MariaDB give '' a different meaning, or evaluate the assignments of an UPDATE in a different order. */
function isSafeMode(mode: string): boolean {
  return (
    /\bSTRICT_(TRANS|ALL)_TABLES\b/.test(mode) &&
    !/\b(EMPTY_STRING_IS_NULL|SIMULTANEOUS_ASSIGNMENT|ORACLE|MSSQL|DB2)\b/.test(mode)
  )
}
