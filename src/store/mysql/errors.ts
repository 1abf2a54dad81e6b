/** The errors of MySQL, MariaDB and their connections, classified by number, because their messages are translated. */
import { messageOf } from '../../errors.ts'
import { RowsChangedError } from '../rows-changed.ts'

const REFUSED_BY_GROUP = 3101

/** Temporary: the transaction is rolled back and retried. */
const TRANSIENT: ReadonlySet<number> = new Set([
  1205, // lock wait timeout: undoes only its statement, so Kalends must roll back
  1213, // deadlock
  1020, // MariaDB with innodb_snapshot_isolation: the row has changed since it was read
  REFUSED_BY_GROUP, // certification failed at COMMIT
  1180, // Galera: COMMIT refused
])

/** The host is at fault, so the connection is dropped, and the work is tried again later. */
const HOST_FAILED: ReadonlySet<number> = new Set([
  // the server is shutting down, or has closed or killed the connection
  1053, 1077, 1079, 1152, 1158, 1159, 1160, 1161, 1184, 1927, 2006, 2013, 3032, 4031,
  // Galera: node not ready
  1047,
  // read-only option or mode; 1665: binlog_format=STATEMENT rejects writes at READ COMMITTED
  1290, 1665, 1836,
  // group replication: the member has left its group (3100), timed out while waiting (3781 to 3783, 3797, 3798), is not
  // ONLINE (3796) or is stopping (3799)
  3100,
  3781, 3782, 3783, 3796, 3797, 3798, 3799,
])

/** The work is also tried again later, but the host does not count as failed, so it stays in use. */
const PASSING: ReadonlySet<number> = new Set([
  // too many connections, or another resource limit of the user
  1040, 1203, 1226,
  // read-only table or transaction
  1036, 1792,
  // files, disks and memory: a file cannot be opened or written, or the disk, a table or the memory is full
  1016, 1017, 1021, 1023, 1024, 1026, 1037, 1041, 1114, 1206, 1878,
  // KILL QUERY, and the time limits: max_statement_time of MariaDB, max_execution_time of MySQL
  1317, 1969, 3024,
])

/** Numbers up to this one are errors of the server's file system calls: 3 means a failed write, 20 a full disk. */
const LAST_FILE_ERROR = 99
/** "Got error 28 from storage engine": numbers below FIRST_OF_ENGINE are errors of the operating system. */
const ENGINE_ERROR = 1030
const FIRST_OF_ENGINE = 120

/** A table, column or index already exists because a migration was interrupted. */
const ALREADY_APPLIED: ReadonlySet<number> = new Set([1050, 1060, 1061])

export function errorNumber(error: unknown): number | null {
  if (typeof error !== 'object' || error === null || !('errno' in error)) return null
  return typeof error.errno === 'number' ? error.errno : null
}

export function isTooSlow(error: unknown): boolean {
  const number = errorNumber(error)
  return number === 1969 || number === 3024
}

const has =
  (number: number) =>
  (error: unknown): boolean =>
    errorNumber(error) === number

/** Whether a statement waited for a lock until its timeout, or a lock was not kept. */
export const isLockWait = (error: unknown): boolean =>
  errorNumber(error) === 1205 || error instanceof RowsChangedError
/** Whether the group refused a COMMIT, after a conflict or because the member lost its group. */
export const isRefusedByGroup = has(REFUSED_BY_GROUP)
export const isNoSavepoint = has(1305)
export const isSyntaxError = has(1064)
/** Whether the user may not run the statement on the table. */
export const isDenied = has(1142)

/** The user may not use the table (1142), or one of its columns (1143). */
const DENIED: ReadonlySet<number> = new Set([1142, 1143])

/**
 * Whether the user may not run a statement on one of these tables, so that no row can be written. A trigger may also
 * write to other tables, for some rows only.
 */
export function isDeniedOn(error: unknown, tables: readonly string[]): boolean {
  return DENIED.has(errorNumber(error) ?? 0) && quotedNames(error).some((name) => tables.includes(name))
}

export function missingTable(error: unknown): string | null {
  const [name] = errorNumber(error) === 1146 ? quotedNames(error) : []
  return name === undefined ? null : name.slice(name.indexOf('.') + 1)
}

/** The text around the names is translated. */
function quotedNames(error: unknown): string[] {
  return [...messageOf(error).matchAll(/[`'"]([^`'"]+)[`'"]/g)].map(([, name = '']) => name)
}

/** Whether the server rejected a written row, because of a trigger, a constraint or a value. */
export const isRejection = (error: unknown): boolean =>
  errorNumber(error) !== null && !isUnavailable(error) && !isTransient(error)

/** Whether the server, or the transaction, is read-only. */
export function isReadOnly(error: unknown): boolean {
  return [1290, 1792, 1836].includes(errorNumber(error) ?? 0)
}
export const isDuplicate = has(1062)

export function isTransient(error: unknown): boolean {
  return TRANSIENT.has(errorNumber(error) ?? 0) || error instanceof RowsChangedError
}

export function isUnavailable(error: unknown): boolean {
  const number = errorNumber(error) ?? 0
  if (HOST_FAILED.has(number) || PASSING.has(number) || isFileError(error)) return true
  if (!(error instanceof Error)) return false
  // Errors of the driver: PROTOCOL_CONNECTION_LOST, ECONNREFUSED, ETIMEDOUT, a closed pool, …
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  return (
    ('fatal' in error && error.fatal === true) ||
    /^(PROTOCOL_|ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_|EHOST|ENET|POOL_|ENOENT$)/.test(code)
  )
}

/** What to do about an error whose message does not say so; null for all other errors. */
export function advice(error: unknown): string | null {
  const code = error instanceof Error && 'code' in error ? error.code : null
  if (code === 'ECONNREFUSED') return 'start the server, or correct the host and port of the URL'
  if (code === 'ENOTFOUND') return 'correct the host of the URL'
  switch (errorNumber(error)) {
    case 1040:
      return 'raise max_connections on the server, or set a smaller `connections` in Kalends.open'
    case 1203:
    case 1226:
      return 'raise this limit of the database user, or set a smaller `connections` in Kalends.open'
    case 1665:
      return 'set binlog_format = ROW or MIXED on the server (SET GLOBAL, and in its configuration), then reconnect'
    default:
      return null
  }
}

/** Whether the host may be down, restarted, read-only, cut off from its cluster, or a different server now. */
export function condemnsHost(error: unknown): boolean {
  if (isRefusedByGroup(error)) return true
  return isUnavailable(error) && !PASSING.has(errorNumber(error) ?? 0) && !isFileError(error)
}

/** Whether the disk is full or broken, which is a server error, regardless of the row that was written. */
function isFileError(error: unknown): boolean {
  const number = errorNumber(error) ?? 0
  if (number !== ENGINE_ERROR) return number > 0 && number <= LAST_FILE_ERROR
  const [cause] = (error instanceof Error && /\d+/.exec(error.message)) || []
  return cause !== undefined && Number(cause) < FIRST_OF_ENGINE
}

export function isAlreadyApplied(error: unknown): boolean {
  return ALREADY_APPLIED.has(errorNumber(error) ?? 0)
}
