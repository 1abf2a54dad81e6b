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
const LARGEST_OFFSET = 100_000

/** Rejected input as error messages quote it: escaped, and not longer than a line or two. */
export function shownInput(value: unknown): string {
  // JSON.stringify gives undefined for a function or a symbol, which its type does not say.
  const text: string = JSON.stringify(value) ?? typeof value
  return text.length > 200 ? `${text.slice(0, 197)}...` : text
}

/**
 * Whether every database stores the text as it is. SQLite's driver ends a text at NUL. UTF-8 cannot express half a
 * surrogate pair: the drivers would silently store U+FFFD in its place.
 */
export function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed()
}

/** Two names that differ by one of these can look the same. Joiners and variation selectors are among them. */
const INVISIBLE = /[\p{Default_Ignorable_Code_Point}\u2028\u2029\ufff9-\ufffb]/u

/**
 * Whether a text can be a name, which decides who runs what: every database stores and compares it as it is.
 * Blanks around a name, and control and invisible characters within it, only ever come from a mistake.
 */
export function isName(value: unknown, limit: number): value is string {
  return (
    typeof value === 'string' &&
    value !== '' &&
    value.length <= limit &&
    value === value.trim() &&
    value.isWellFormed() &&
    !/\p{Cc}/u.test(value) &&
    !INVISIBLE.test(value)
  )
}

/** @throws InvalidInputError when it cannot be a name */
export function checkedName(field: string, value: unknown, limit: number): string {
  if (isName(value, limit)) return value
  const [invisible] = (typeof value === 'string' && INVISIBLE.exec(value)) || []
  if (invisible !== undefined)
    throw new InvalidInputError(
      field,
      `a name without invisible characters is needed, not ${shownInput(value)} with ${codePoint(invisible)}; leave it out`,
    )
  throw new InvalidInputError(
    field,
    `a name of 1 to ${limit} characters without blanks around it, control characters or lone surrogates is needed, not ${shownInput(value)}`,
  )
}

/** Such as U+200B. */
function codePoint(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
}

/** The texts that name the owner of a row; an empty one names none. */
const NAMES: ReadonlySet<string> = new Set(['group', 'submitter'])

/** @throws InvalidInputError when it is not text, too long for its column, not storable, or no name where one is needed */
export function checkedText<Value extends string | null | undefined>(
  field: keyof typeof TEXT_LIMITS,
  value: Value,
): Value {
  const limit = TEXT_LIMITS[field]
  if (value === undefined || value === null) return value
  if (NAMES.has(field) && value !== '') checkedName(field, value, limit)
  if (typeof value !== 'string' || value.length > limit || !isStorable(value)) {
    throw new InvalidInputError(
      field,
      `a text of at most ${limit} characters without NUL or lone surrogates is needed, not ${shownInput(value)}`,
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
    offset: checkedWhole('offset', query.offset, 0, LARGEST_OFFSET) ?? 0,
  }
}
