/** Checks of what comes in from people and code; each names the field that is wrong. */
import { InvalidInputError } from '../errors.ts'

/** The longest texts that the columns hold, in characters. */
export const TEXT_LIMITS = { group: 100, subject: 255, submitter: 190, summary: 1000 } as const
/** The columns are signed, and the queue orders by the negative. */
export const LARGEST_PRIORITY = 2 ** 31 - 1
/** Of the columns, and of a four-digit year. */
const LATEST = Date.UTC(9999, 11, 31, 23, 59, 59, 999)
const DEFAULT_LIMIT = 100
const MOST_AT_ONCE = 1000

/** @throws InvalidInputError when it is no text, too long for its column, or has a NUL, where SQLite's driver ends it */
export function checkedText<Value extends string | null | undefined>(
  field: keyof typeof TEXT_LIMITS,
  value: Value,
): Value {
  const limit = TEXT_LIMITS[field]
  if (value === undefined || value === null) return value
  if (typeof value !== 'string' || value.length > limit || value.includes('\0')) {
    throw new InvalidInputError(
      field,
      `a text of at most ${limit} characters without NUL is needed, not ${JSON.stringify(value)}`,
    )
  }
  return value
}

/** @throws InvalidInputError when it is no whole number, or out of range */
export function checkedWhole<Value extends number | undefined>(
  field: string,
  value: Value,
  least: number,
  most: number,
): Value {
  if (value !== undefined && (!Number.isInteger(value) || value < least || value > most)) {
    throw new InvalidInputError(
      field,
      `a whole number from ${least} to ${most} is needed, not ${JSON.stringify(value)}`,
    )
  }
  return value
}

/** @throws InvalidInputError when it is no instant that the database can hold */
export function checkedInstant<Value extends Date | null | undefined>(field: string, value: Value): Value {
  if (value === undefined || value === null) return value
  if (!(value instanceof Date) || Number.isNaN(value.getTime()))
    throw new InvalidInputError(field, `a valid Date is needed, not ${String(value)}`)
  if (value.getTime() < 0 || value.getTime() > LATEST)
    throw new InvalidInputError(field, `an instant from 1970 to 9999 is needed, not ${value.toISOString()}`)
  return value
}

/** Which part of a list is wanted. @throws InvalidInputError */
export function checkedPage(query: { limit?: number | undefined; offset?: number | undefined }): {
  limit: number
  offset: number
} {
  return {
    limit: checkedWhole('limit', query.limit, 1, MOST_AT_ONCE) ?? DEFAULT_LIMIT,
    offset: checkedWhole('offset', query.offset, 0, Number.MAX_SAFE_INTEGER) ?? 0,
  }
}
