/** Checks input from people and code. Each error names the invalid field. */
import { asInput, InvalidInputError } from '../errors.ts'
import { checkKeys } from '../keys.ts'
import { timeSpan } from '../timer/index.ts'
import type { Filter } from './filters.ts'
import { isUpTo, wholeNeeded } from './settings.ts'

/** The latest instant that the columns can store, which is also the last with a four-digit year. */
const LATEST = Date.UTC(9999, 11, 31, 23, 59, 59, 999)
const DEFAULT_LIMIT = 100
const MAX_AT_ONCE = 1000
export const PAGE_POSITION = { kind: 'text' } as const

/** Rejected input as error messages quote it: escaped, and cut to 200 characters. */
export function shownInput(value: unknown): string {
  const text = textOf(value)
  return text.length > 200 ? `${text.slice(0, 197)}...` : text
}

function textOf(value: unknown): string {
  // JSON would write NaN as null, and cannot write a bigint.
  if (['number', 'bigint', 'undefined'].includes(typeof value)) return String(value)
  try {
    // JSON.stringify returns undefined for a function or a symbol, although its type does not say so.
    return JSON.stringify(value) ?? typeof value
  } catch {
    return 'an object that cannot be written as JSON'
  }
}

/** SQLite's driver truncates text at NUL, and drivers silently store U+FFFD instead of a lone surrogate. */
export function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed()
}

/** Joiners, variation selectors and similar characters: names that differ only in these can look the same. */
const INVISIBLE = /[\p{Default_Ignorable_Code_Point}\u2028\u2029\ufff9-\ufffb]/u

/** Names decide who runs what, so every database must store and compare them unchanged. */
export function isName(value: unknown, limit: number): value is string {
  return (
    typeof value === 'string' &&
    value !== '' &&
    isUpTo(value, limit) &&
    value === value.trim() &&
    value.isWellFormed() &&
    !/\p{Cc}/u.test(value) &&
    !INVISIBLE.test(value)
  )
}

/** @throws InvalidInputError when the text is not a valid name */
export function checkedName(field: string, value: unknown, limit: number): string {
  if (isName(value, limit)) return value
  const [invisible] = (typeof value === 'string' && INVISIBLE.exec(value)) || []
  if (invisible !== undefined)
    throw new InvalidInputError(
      field,
      `must be a name without invisible characters, got ${shownInput(value)}, which contains ${codePoint(invisible)}: remove this character`,
    )
  throw new InvalidInputError(
    field,
    `must be a name of 1 to ${limit} characters without leading or trailing blanks, control characters or lone surrogates, got ${shownInput(value)}`,
  )
}

/** Such as U+200B. */
function codePoint(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
}

/** @param otherwise  the meaning of null, if it is allowed @throws InvalidInputError */
export function checkedWhole<Value>(
  field: string,
  value: Value,
  least: number,
  most: number,
  otherwise?: string,
  unlimited?: true,
): Value {
  if (value === undefined || (unlimited === true && value === 'unlimited')) return value
  if (typeof value !== 'number' || !Number.isInteger(value) || value < least || value > most) {
    throw new InvalidInputError(
      field,
      `${wholeNeeded(least, most, otherwise, unlimited)}, got ${shownInput(value)}`,
    )
  }
  return value
}

/** Converts a time span such as `10min`, or a number, to milliseconds. @throws InvalidInputError naming the option */
export function spanOption(
  field: string,
  value: unknown,
  otherwise: number,
  limits: { readonly least: number; readonly most: number },
): number {
  if (value === undefined) return otherwise
  if (typeof value !== 'number' && typeof value !== 'string')
    throw new InvalidInputError(
      field,
      `must be milliseconds, or a time span such as '10min', got ${shownInput(value)}`,
    )
  return asInput(field, () => {
    const milliseconds = timeSpan(value)
    if (milliseconds < limits.least || milliseconds > limits.most)
      throw new RangeError(`'${value}' is not between ${limits.least} and ${limits.most} ms`)
    return milliseconds
  })
}

/** @throws InvalidInputError when the value cannot be an id */
export function checkedId(kind: 'schedule' | 'job', id: unknown, field = 'id'): string {
  if (typeof id === 'string') return id
  throw new InvalidInputError(field, `must be the id of a ${kind}, got ${shownInput(id)}`)
}

/** @returns a copy without holes, which `map` would skip @throws InvalidInputError when the value is not an array */
export function checkedList<Item>(field: string, value: readonly Item[], what: string): readonly Item[] {
  if (Array.isArray(value)) return Array.from(value)
  throw new InvalidInputError(field, `must be a list of ${what}, got ${shownInput(value)}`)
}

/** @throws InvalidInputError when the value is not an AbortSignal */
export function checkedSignal(signal: unknown): void {
  if (signal === undefined || signal instanceof AbortSignal) return
  throw new InvalidInputError('signal', `must be an AbortSignal, got ${shownInput(signal)}`)
}

/** @throws InvalidInputError when the value is neither true nor false */
export function checkedFlag(field: string, value: unknown): boolean {
  if (typeof value === 'boolean') return value
  throw new InvalidInputError(field, `must be true or false, got ${shownInput(value)}`)
}

/** @throws InvalidInputError when the value is not a function */
export function checkedFunction<Value>(field: string, value: Value): Value {
  if (typeof value === 'function') return value
  throw new InvalidInputError(field, `must be a function, got ${shownInput(value)}`)
}

/** @throws InvalidInputError when the value is not one of those allowed */
export function oneOf<Value extends string>(
  field: string,
  value: unknown,
  values: readonly Value[],
): Value | undefined {
  if (value === undefined) return value
  const found = values.find((one) => one === value)
  if (found !== undefined) return found
  throw new InvalidInputError(
    field,
    `must be one of ${values.map((one) => `'${one}'`).join(', ')}, got ${shownInput(value)}`,
  )
}

/** @throws InvalidInputError when there is no value, or the database cannot store it as an instant */
export function requiredInstant(field: string, value: unknown): Date {
  const instant = checkedInstant(field, value)
  if (instant instanceof Date) return instant
  throw new InvalidInputError(field, `must be a valid Date, got ${shownInput(value)}`)
}

/** @throws InvalidInputError when the database cannot store the value as an instant */
export function checkedInstant<Value>(field: string, value: Value): Value {
  if (value === undefined || value === null) return value
  if (!(value instanceof Date) || Number.isNaN(value.getTime()))
    throw new InvalidInputError(
      field,
      `must be a valid Date, got ${value instanceof Date ? 'Invalid Date' : shownInput(value)}`,
    )
  if (value.getTime() < 0 || value.getTime() > LATEST)
    throw new InvalidInputError(field, `must be an instant from 1970 to 9999, got ${value.toISOString()}`)
  return value
}

/**
 * Rejects misspelt and null conditions, which would otherwise match everything.
 *
 * @throws InvalidInputError naming the condition, preceded by `path`
 */
export function checkedConditions(
  path: string,
  conditions: object,
  known: Readonly<Record<string, Pick<Filter, 'kind'>>>,
): void {
  checkKeys(conditions, Object.keys(known), path)
  for (const [name, value] of Object.entries(conditions)) {
    if (value === undefined) continue
    const field = `${path}${name}`
    if (known[name]?.kind !== 'instant') {
      if (typeof value !== 'string')
        throw new InvalidInputError(field, `must be a string, got ${shownInput(value)}`)
    } else if (checkedInstant(field, value) === null)
      throw new InvalidInputError(field, 'must be a valid Date, got null')
  }
}

/** @throws InvalidInputError when a list cannot return that many rows at once */
export function checkedLimit(limit: number | undefined, otherwise = DEFAULT_LIMIT): number {
  return checkedWhole('limit', limit, 1, MAX_AT_ONCE) ?? otherwise
}
