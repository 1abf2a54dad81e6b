/**
 * The session variables that change what statements write or read, and the values that Kalends needs. Our own sessions
 * are set up with them. A caller-supplied session gets them for each piece of work and is then restored. Most sessions
 * need no change, and each connection is checked once. In a transaction of the application nothing can be set, so
 * unsuitable values are rejected.
 *
 * The time zone is not included: no statement depends on it.
 */
import { InvalidInputError } from '../../errors.ts'

export interface SessionVariable {
  readonly name: string
  /** The server that has this variable; default: both. */
  readonly on?: 'mysql' | 'mariadb'
  /** The value to set, as SQL. */
  readonly ours: string
  /** Whether this value works as well; null stands for NULL. */
  readonly accepts: (value: string | null) => boolean
  /** Whether it also matters for a single INSERT in a transaction of the application. */
  readonly inTransactions?: true
}

/** Read as text, MariaDB returns ON and OFF, and MySQL 1 and 0. */
const ON: Pick<SessionVariable, 'ours' | 'accepts'> = {
  ours: '1',
  accepts: (value) => value === '1' || value === 'ON',
}
const OFF: Pick<SessionVariable, 'ours' | 'accepts'> = {
  ours: '0',
  accepts: (value) => value === '0' || value === 'OFF',
}
const NO_LIMIT = '18446744073709551615'
/** How many bytes sorting compares; no id is longer. */
const SORTED_BYTES = 1024

export const SESSION_VARIABLES: readonly SessionVariable[] = [
  // Without it, single statements stay uncommitted and read an old snapshot. It has no effect within a transaction.
  { name: 'autocommit', ...ON },
  // CHAIN starts a transaction after each COMMIT, which nothing ends. RELEASE closes the connection.
  { name: 'completion_type', ours: `'NO_CHAIN'`, accepts: (value) => value === 'NO_CHAIN' },
  // Without a strict mode, values that are too long are truncated.
  {
    name: 'sql_mode',
    ours: `'STRICT_TRANS_TABLES'`,
    accepts: (value) => value !== null && isSafeMode(value),
    inTransactions: true,
  },
  // Characters outside the session's character set would arrive as question marks.
  {
    name: 'character_set_results',
    ours: 'utf8mb4',
    accepts: (value) => value === null || value === 'utf8mb4',
  },
  // Our literals would not mix with texts in the database's own character set. Also sets character_set_connection.
  {
    name: 'collation_connection',
    ours: 'utf8mb4_bin',
    accepts: (value) => value?.startsWith('utf8mb4_') === true,
  },
  // Rows beyond the limit would look as if they did not exist.
  { name: 'sql_select_limit', ours: NO_LIMIT, accepts: (value) => value === NO_LIMIT },
  // These reject statements that the server considers large.
  { name: 'sql_safe_updates', ...OFF },
  { name: 'sql_big_selects', ...ON },
  // `id IS NULL` would find the last row that was inserted.
  { name: 'sql_auto_is_null', ...OFF },
  // Ids that differ only in their last characters would be sorted, and locked, in any order.
  { name: 'max_sort_length', ours: String(SORTED_BYTES), accepts: (value) => Number(value) >= SORTED_BYTES },
  // Unique keys and checks ensure that each occurrence has exactly one job.
  { name: 'unique_checks', ...ON, inTransactions: true },
  { name: 'check_constraint_checks', on: 'mariadb', ...ON, inTransactions: true },
  { name: 'tx_read_only', on: 'mariadb', ...OFF },
  { name: 'transaction_read_only', on: 'mysql', ...OFF },
]

/** The depth of `[[{ '': { state } }], fields]`, which drivers return with `nestTables`. */
const DEEPEST_VALUE = 4

/** One statement each; null: nothing to do. */
export interface Borrowing {
  readonly before: string | null
  readonly after: string | null
  /** The session has a frozen clock, which the application can change: read the state again before the next use. */
  readonly setsClock: boolean
}

/** The session variables by name, and the time limit of statements. */
export type SessionState = Readonly<Record<string, string | number | null>>

/** Wraps the text in a comment that only this server executes. */
function forServer(on: SessionVariable['on'], text: string): string {
  if (on === undefined) return text
  return on === 'mysql' ? `/*!80000 ${text} */` : `/*M! ${text} */`
}

// Read as text, because some values are not safe integers.
const READ = SESSION_VARIABLES.map(({ name, on }) =>
  forServer(on, `, CAST(@@SESSION.${name} AS CHAR) AS ${name}`),
).join(' ')

// The explicit LIMIT overrides sql_select_limit. MySQL limits the time of a SELECT, MariaDB that of any statement.
export const SESSION_STATE = `SELECT 0 AS kalends,
  CAST(@@SESSION.timestamp AS CHAR) AS timestamp,
  CONCAT_WS(' ', @@server_id, @@hostname, @@port /*!80000 , @@server_uuid */) AS server
  ${READ}
  /*!80000 , @@SESSION.max_execution_time AS max_execution_time */
  /*M! , @@SESSION.max_statement_time AS max_statement_time */
LIMIT 1`

/** The session's clock, to the microsecond. If the next statement reads the same value, the clock is frozen. */
export const SESSION_CLOCK = 'SELECT CAST(@@SESSION.timestamp AS CHAR) AS timestamp LIMIT 1'

/**
 * A transaction may set its clock to the time at which it began, and servers stall. A smaller difference does not
 * matter for one job.
 */
const CLOCK_OFF_SECONDS = 60

/** The state of the application's transaction, as a single value, because it is unknown how its driver returns rows. */
export const TRANSACTION_STATE = `SELECT CAST(JSON_OBJECT(
  'kalends', 0,
  'clock off', ABS(TIMESTAMPDIFF(SECOND, NOW(6), SYSDATE(6)))
  ${SESSION_VARIABLES.filter(({ inTransactions }) => inTransactions === true)
    .map(({ name, on }) => forServer(on, `, '${name}', CAST(@@SESSION.${name} AS CHAR)`))
    .join(' ')}) AS CHAR) AS state LIMIT 1`

/** The statement that sets up our own sessions. */
export const OWN_SESSION = `SET @kalends = NULL ${SESSION_VARIABLES.map(({ name, on, ours }) =>
  forServer(on, `, SESSION ${name} = ${ours}`),
).join(' ')}`

/** The statement that limits the time of statements in our own sessions. */
export function limitStatements(limitMs: number): string {
  return `SET @kalends = NULL /*!80000 , SESSION max_execution_time = ${limitMs} */ /*M! , SESSION max_statement_time = ${limitMs / 1000} */`
}

/**
 * @param clock  the result of SESSION_CLOCK, read after `state`
 * @param statementLimitMs  null: the application's own limit applies
 */
export function borrowing(
  state: SessionState,
  clock: SessionState,
  statementLimitMs: number | null,
): Borrowing {
  const changes = unfit(state).map(({ name, ours, value }) => ({ name, ours, theirs: literal(value) }))
  // Frozen by SET timestamp: no schedule would ever become due.
  const { timestamp = null } = state
  const setsClock = timestamp !== null && timestamp === clock['timestamp']
  if (setsClock) changes.push({ name: 'timestamp', ours: 'DEFAULT', theirs: literal(String(timestamp)) })
  if (statementLimitMs !== null) {
    for (const [name, unit] of [
      ['max_execution_time', 1],
      ['max_statement_time', 1000],
    ] as const)
      if (name in state)
        changes.push({ name, ours: String(statementLimitMs / unit), theirs: String(state[name]) })
  }
  if (changes.length === 0) return { before: null, after: null, setsClock }
  return {
    before: `SET ${changes.map(({ name, ours }) => `${name} = ${ours}`).join(', ')}`,
    after: `SET ${changes.map(({ name, theirs }) => `${name} = ${theirs}`).join(', ')}`,
    setsClock,
  }
}

/** @throws InvalidInputError when the session could store other values than those given */
export function checkTransaction(state: SessionState): void {
  if (Number(state['clock off'] ?? 0) >= CLOCK_OFF_SECONDS)
    throw new InvalidInputError(
      'tx',
      `the session of the transaction has timestamp = a time that is ${state['clock off']} s off, so the database would store a wrong time: run SET SESSION timestamp = DEFAULT before the transaction begins`,
    )
  const [first] = unfit(state)
  if (first === undefined) return
  throw new InvalidInputError(
    'tx',
    `the session of the transaction has ${first.name} = '${first.value}', so the database might store something other than the given value: run SET SESSION ${first.name} = ${first.ours} before the transaction begins`,
  )
}

/**
 * Extracts the state from the result of TRANSACTION_STATE. Drivers and their wrappers return `[rows, fields]` or
 * `rows`, and each row as an object or an array. The state is always the first value at the deepest level.
 *
 * @returns null when there is no state: a function of the application may return anything
 */
export function stateIn(result: unknown, depth = DEEPEST_VALUE): SessionState | null {
  if (typeof result === 'object' && result !== null && depth > 0)
    return stateIn(Object.values(result)[0], depth - 1)
  if (typeof result !== 'string' || !result.startsWith('{"kalends"')) return null
  const state: SessionState = JSON.parse(result)
  return state
}

function unfit(state: SessionState): (SessionVariable & { readonly value: string | null })[] {
  return SESSION_VARIABLES.flatMap((variable) => {
    const found = state[variable.name]
    // A variable of the other server.
    if (found === undefined) return []
    const value = found === null ? null : String(found)
    return variable.accepts(value) ? [] : [{ ...variable, value }]
  })
}

function literal(value: string | null): string {
  if (value === null) return 'NULL'
  return /^\d+(\.\d+)?$/.test(value) ? value : `'${value}'`
}

/** Some modes of MariaDB give '' another meaning, or evaluate the assignments of an UPDATE in another order. */
function isSafeMode(mode: string): boolean {
  return (
    /\bSTRICT_(TRANS|ALL)_TABLES\b/.test(mode) &&
    !/\b(EMPTY_STRING_IS_NULL|SIMULTANEOUS_ASSIGNMENT|ORACLE|MSSQL|DB2)\b/.test(mode)
  )
}
