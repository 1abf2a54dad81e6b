import { messageOf } from '../../errors.ts'

function code(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string'
    ? error.code
    : ''
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

export function isDuplicate(error: unknown): boolean {
  return (
    code(error) === 'SQLITE_CONSTRAINT_UNIQUE' ||
    code(error) === 'SQLITE_CONSTRAINT_PRIMARYKEY' ||
    messageOf(error).includes('UNIQUE constraint failed')
  )
}

export function isNoSavepoint(error: unknown): boolean {
  return messageOf(error).includes('no such savepoint')
}

export function isAlreadyApplied(error: unknown): boolean {
  return /already exists|duplicate column name/.test(messageOf(error))
}
