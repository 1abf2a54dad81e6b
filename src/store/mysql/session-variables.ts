/**
 * The session variables that change what statements write or read, and the values that Kalends needs. Sessions of our
 * own are set up with them. A session that the application lends gets them for each piece of work and is given back
 * as it was; most need nothing, and each connection is asked once. In a transaction of the application nothing can be
 * set, so a value that will not do is refused.
 *
 * The time zone is not here: no statement depends on it.
 */
import { InvalidInputError } from '../../errors.ts'

export interface SessionVariable {
  readonly name: string
  /** The server that has it; default: both. */
  readonly on?: 'mysql' | 'mariadb'
  /** As SET takes it. */
  readonly ours: string
  /** Whether work goes as well with this value. null: NULL. */
  readonly accepts: (value: string | null) => boolean
  /** It also matters to a single INSERT in a transaction of the application. */
  readonly inTransactions?: true
}

/** As text, MariaDB has ON and OFF, and MySQL 1 and 0. */
const ON: Pick<SessionVariable, 'ours' | 'accepts'> = {
  ours: '1',
  accepts: (value) => value === '1' || value === 'ON',
}
const OFF: Pick<SessionVariable, 'ours' | 'accepts'> = {
  ours: '0',
  accepts: (value) => value === '0' || value === 'OFF',
}
const NO_LIMIT = '18446744073709551615'
/** Sorting compares so many bytes; no id has more. */
const SORTED_BYTES = 1024

export const SESSION_VARIABLES: readonly SessionVariable[] = [
  // Without it, single statements stay uncommitted and read an old snapshot. In a transaction it means nothing.
  { name: 'autocommit', ...ON },
  // CHAIN begins a transaction after each COMMIT, which nothing ends; RELEASE closes the connection.
  { name: 'completion_type', ours: `'NO_CHAIN'`, accepts: (value) => value === 'NO_CHAIN' },
  // Without a strict mode, what is too long is cut off.
  {
    name: 'sql_mode',
    ours: `'STRICT_TRANS_TABLES'`,
    accepts: (value) => value !== null && isSafeMode(value),
    inTransactions: true,
  },
  // What cannot be said in the session's character set would arrive as question marks.
  {
    name: 'character_set_results',
    ours: 'utf8mb4',
    accepts: (value) => value === null || value === 'utf8mb4',
  },
  // Literals of ours would not mix with texts of the database's own character set. Sets character_set_connection too.
  {
    name: 'collation_connection',
    ours: 'utf8mb4_bin',
    accepts: (value) => value?.startsWith('utf8mb4_') === true,
  },
  // Rows beyond the limit would be taken for rows that do not exist.
  { name: 'sql_select_limit', ours: NO_LIMIT, accepts: (value) => value === NO_LIMIT },
  // They refuse statements that the server believes to be large.
  { name: 'sql_safe_updates', ...OFF },
  { name: 'sql_big_selects', ...ON },
  // `id IS NULL` would find the last row that was inserted.
  { name: 'sql_auto_is_null', ...OFF },
  // Ids that differ in their last characters would be in any order, and locked in any order.
  { name: 'max_sort_length', ours: String(SORTED_BYTES), accepts: (value) => Number(value) >= SORTED_BYTES },
  // Each occurrence has one job because of unique keys and checks.
  { name: 'unique_checks', ...ON, inTransactions: true },
  { name: 'check_constraint_checks', on: 'mariadb', ...ON, inTransactions: true },
  { name: 'tx_read_only', on: 'mariadb', ...OFF },
  { name: 'transaction_read_only', on: 'mysql', ...OFF },
]

/** `[[{ '': { state } }], fields]`, with `nestTables`. */
const DEEPEST_VALUE = 4

/** One statement each; null: nothing to do. */
export interface Borrowing {
  readonly before: string | null
  readonly after: string | null
  /** The session has a frozen clock, which the application can change: read the state again before the next use. */
  readonly setsClock: boolean
}

/** By the name of the variable; and the limit of the time of a statement. */
export type SessionState = Readonly<Record<string, string | number | null>>

/** Each server executes only its own comments. */
function forServer(on: SessionVariable['on'], text: string): string {
  if (on === undefined) return text
  return on === 'mysql' ? `/*!80000 ${text} */` : `/*M! ${text} */`
}

// MySQL limits the time of a SELECT, MariaDB that of any statement. As text: some values are no safe integers.
const READ = SESSION_VARIABLES.map(({ name, on }) =>
  forServer(on, `, CAST(@@SESSION.${name} AS CHAR) AS ${name}`),
).join(' ')

// With a LIMIT, or that of the session would hold.
export const SESSION_STATE = `SELECT 0 AS kalends,
  CAST(@@SESSION.timestamp AS CHAR) AS timestamp,
  CONCAT_WS(' ', @@server_id, @@hostname, @@port /*!80000 , @@server_uuid */) AS server
  ${READ}
  /*!80000 , @@SESSION.max_execution_time AS max_execution_time */
  /*M! , @@SESSION.max_statement_time AS max_statement_time */
LIMIT 1`

/** The clock of the session, to the microsecond: one that reads the same in the next statement stands still. */
export const SESSION_CLOCK = 'SELECT CAST(@@SESSION.timestamp AS CHAR) AS timestamp LIMIT 1'

/**
 * A transaction may set its clock to the time at which it began, and servers stall. What is off by less makes no
 * difference to one job.
 */
const CLOCK_OFF_SECONDS = 60

/** Of a transaction of the application, as one value: how its driver returns rows is not known. */
export const TRANSACTION_STATE = `SELECT CAST(JSON_OBJECT(
  'kalends', 0,
  'clock off', ABS(TIMESTAMPDIFF(SECOND, NOW(6), SYSDATE(6)))
  ${SESSION_VARIABLES.filter(({ inTransactions }) => inTransactions === true)
    .map(({ name, on }) => forServer(on, `, '${name}', CAST(@@SESSION.${name} AS CHAR)`))
    .join(' ')}) AS CHAR) AS state LIMIT 1`

/** For sessions of our own. */
export const OWN_SESSION = `SET @kalends = NULL ${SESSION_VARIABLES.map(({ name, on, ours }) =>
  forServer(on, `, SESSION ${name} = ${ours}`),
).join(' ')}`

/** For sessions of our own. */
export function limitStatements(limitMs: number): string {
  return `SET @kalends = NULL /*!80000 , SESSION max_execution_time = ${limitMs} */ /*M! , SESSION max_statement_time = ${limitMs / 1000} */`
}

/**
 * @param clock  the answer to SESSION_CLOCK after that
 * @param statementLimitMs  null: statements may take as long as the application's settings allow
 */
export function borrowing(
  state: SessionState,
  clock: SessionState,
  statementLimitMs: number | null,
): Borrowing {
  const changes = unfit(state).map(({ name, ours, value }) => ({ name, ours, theirs: literal(value) }))
  // Frozen by SET timestamp: nothing would ever be due.
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

/** @throws InvalidInputError when a statement could write something else there than it says */
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
 * The state from the answer to TRANSACTION_STATE. Drivers and what is built on them return `[rows, fields]` or `rows`,
 * and each row as an object or an array: it is the first value of the first of all.
 *
 * @returns null: it is not there, for a function of the application may return what it likes
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
    // The other server's.
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
