import { messageOf } from '../../errors.ts'

/**
 * node:sqlite reports numbers (https://sqlite.org/rescode.html), the other drivers names, and libsql a number for a name
 * that it does not know. The lowest eight bits of a number are the kind of the error.
 */
const NAMES: Readonly<Record<number, string>> = {
  1: 'SQLITE_ERROR',
  3: 'SQLITE_PERM',
  5: 'SQLITE_BUSY',
  6: 'SQLITE_LOCKED',
  7: 'SQLITE_NOMEM',
  8: 'SQLITE_READONLY',
  10: 'SQLITE_IOERR',
  11: 'SQLITE_CORRUPT',
  13: 'SQLITE_FULL',
  14: 'SQLITE_CANTOPEN',
  15: 'SQLITE_PROTOCOL',
  18: 'SQLITE_TOOBIG',
  19: 'SQLITE_CONSTRAINT',
  20: 'SQLITE_MISMATCH',
  26: 'SQLITE_NOTADB',
  1555: 'SQLITE_CONSTRAINT_PRIMARYKEY',
  2067: 'SQLITE_CONSTRAINT_UNIQUE',
}

function code(error: unknown): string {
  if (typeof error !== 'object' || error === null) return ''
  const name = 'code' in error && typeof error.code === 'string' ? error.code : ''
  const unnamed = /^UNKNOWN_SQLITE_ERROR_(\d+)$/.exec(name)?.[1]
  const number = 'errcode' in error ? error.errcode : unnamed && Number(unnamed)
  return typeof number === 'number' ? (NAMES[number] ?? NAMES[number % 256] ?? '') : name
}

/** Whether the error means that another connection holds the lock. */
export function isBusy(error: unknown): boolean {
  return (
    code(error).startsWith('SQLITE_BUSY') ||
    code(error).startsWith('SQLITE_LOCKED') ||
    messageOf(error).includes('database is locked')
  )
}

export function isUnavailable(error: unknown): boolean {
  return /^SQLITE_(IOERR|FULL|CANTOPEN|READONLY|CORRUPT|NOTADB|NOMEM|PERM|PROTOCOL)/.test(code(error))
}

/** Whether the reason may be what the operating system permits. */
export function isAccess(error: unknown): boolean {
  return /^SQLITE_(IOERR|CANTOPEN|READONLY|PERM)/.test(code(error))
}

export function isDuplicate(error: unknown): boolean {
  return (
    code(error) === 'SQLITE_CONSTRAINT_UNIQUE' ||
    code(error) === 'SQLITE_CONSTRAINT_PRIMARYKEY' ||
    messageOf(error).includes('UNIQUE constraint failed')
  )
}

/** Whether SQLite rejected a written row, because of a trigger, a constraint or a value. */
export function isRejection(error: unknown): boolean {
  return /^SQLITE_(CONSTRAINT|TOOBIG|MISMATCH|ERROR)/.test(code(error))
}

/** With the name of a database in front if a trigger names it. */
export function missingTable(error: unknown): string | null {
  return /no such table: (?:main\.)?(.+)$/.exec(messageOf(error))?.[1] ?? null
}

export function isNoSavepoint(error: unknown): boolean {
  return messageOf(error).includes('no such savepoint')
}

export function isAlreadyApplied(error: unknown): boolean {
  return /already exists|duplicate column name/.test(messageOf(error))
}

/** Whether the file is encrypted, or not a database. */
export function isNotADatabase(error: unknown): boolean {
  return code(error) === 'SQLITE_NOTADB'
}
