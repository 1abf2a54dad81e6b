/** The errors of MySQL, MariaDB and the connection to them, classified by number: texts are translated. */

const REFUSED_BY_GROUP = 3101

/** Temporary: the transaction is rolled back and tried again. */
const TRANSIENT: ReadonlySet<number> = new Set([
  1205, // lock wait timeout: undoes only its statement, so the ROLLBACK must come from us
  1213, // deadlock
  1020, // MariaDB with innodb_snapshot_isolation: the row has changed since it was read
  REFUSED_BY_GROUP, // certification failed at COMMIT
  1180, // Galera: COMMIT refused
])

/** The server or the way to it is at fault: this connection is dropped, and the work is tried again later. */
const UNAVAILABLE: ReadonlySet<number> = new Set([
  1040, // too many connections
  1047, // Galera: node not ready
  1053, // shutdown in progress
  1077,
  1079,
  1152,
  1158,
  1159,
  1160,
  1161,
  1184,
  1203, // user has too many connections
  1226, // user resource limit
  1290, // read-only by option
  1665, // binlog_format=STATEMENT, which takes no write of READ COMMITTED
  1836, // read-only mode
  1927, // MariaDB: connection was killed
  1016, // a file of a table cannot be opened
  1017,
  1021, // disk full
  1023,
  1024,
  1026, // error writing a file
  1036, // the table is read-only
  1037, // out of memory
  1041,
  1114, // table full
  1206, // no memory for locks
  1317, // KILL QUERY
  1792, // read-only transaction
  1878, // error writing a temporary file
  1969, // MariaDB: max_statement_time
  2006,
  2013,
  3024, // max_execution_time
  3032,
  3781, // group replication: the wait for the backlog of a new primary failed
  3782,
  3783,
  3100, // group replication: the member has left the group, or does not reach it
  3796, // group replication: the member is not ONLINE
  3797, // group replication: the wait for what other members have committed failed
  3798,
  3799, // group replication is stopping
  4031, // disconnected by inactivity
])

/** Errors of the server's file system calls: 3 is a write that failed, 20 a full disk. */
const LAST_FILE_ERROR = 99
/** "Got error 28 from storage engine": the number is one of the operating system, or from here on one of the engine. */
const ENGINE_ERROR = 1030
const FIRST_OF_ENGINE = 120

/** Of those, what is about the one statement or the load, and says nothing about the host. */
const PASSING: ReadonlySet<number> = new Set([
  1016, 1017, 1021, 1023, 1024, 1026, 1036, 1037, 1040, 1041, 1114, 1203, 1206, 1226, 1317, 1792, 1878, 1969,
  3024,
])

const DUPLICATE = 1062

/** A table, column or index exists already: what a migration that was cut short had done. */
const ALREADY_APPLIED: ReadonlySet<number> = new Set([1050, 1060, 1061])

export function errorNumber(error: unknown): number | null {
  if (typeof error !== 'object' || error === null || !('errno' in error)) return null
  return typeof error.errno === 'number' ? error.errno : null
}

/** The statement took longer than the session allows. */
export function isTooSlow(error: unknown): boolean {
  const number = errorNumber(error)
  return number === 1969 || number === 3024
}

/** Has cost the time of the wait already. */
export function isLockWait(error: unknown): boolean {
  return errorNumber(error) === 1205
}

/** Group replication undid the transaction at COMMIT: after a conflict, or because the member lost its group. */
export function isRefusedByGroup(error: unknown): boolean {
  return errorNumber(error) === REFUSED_BY_GROUP
}

export function isTransient(error: unknown): boolean {
  return TRANSIENT.has(errorNumber(error) ?? 0)
}

export function isUnavailable(error: unknown): boolean {
  if (UNAVAILABLE.has(errorNumber(error) ?? 0) || isFileError(error)) return true
  if (!(error instanceof Error)) return false
  // The driver's own: PROTOCOL_CONNECTION_LOST, ECONNREFUSED, ETIMEDOUT, a pool that was closed, …
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  return (
    ('fatal' in error && error.fatal === true) ||
    /^(PROTOCOL_|ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_|EHOST|ENET|POOL_|ENOENT$)/.test(code)
  )
}

/** What the server's own text does not say: how to mend it. */
export function advice(error: unknown): string | null {
  switch (errorNumber(error)) {
    case 1040:
      return 'raise max_connections of the server; a worker has up to 22 connections'
    case 1665:
      return 'set binlog_format = ROW or MIXED on the server (SET GLOBAL, and in its configuration), then reconnect'
    default:
      return null
  }
}

/** The host may have become another since its connections were made: restarted, read-only, cut off from its cluster. */
export function condemnsHost(error: unknown): boolean {
  if (isRefusedByGroup(error)) return true
  return isUnavailable(error) && !PASSING.has(errorNumber(error) ?? 0) && !isFileError(error)
}

/** A disk that is full or broken: an error of the server, whichever row was to be written. */
function isFileError(error: unknown): boolean {
  const number = errorNumber(error) ?? 0
  if (number !== ENGINE_ERROR) return number > 0 && number <= LAST_FILE_ERROR
  const [cause] = (error instanceof Error && /\d+/.exec(error.message)) || []
  return cause !== undefined && Number(cause) < FIRST_OF_ENGINE
}

export function isDuplicate(error: unknown): boolean {
  return errorNumber(error) === DUPLICATE
}

export function isAlreadyApplied(error: unknown): boolean {
  return ALREADY_APPLIED.has(errorNumber(error) ?? 0)
}
