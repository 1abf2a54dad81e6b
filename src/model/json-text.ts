/** The JSON text of args, results and progress, and what JSON would change without a word. */
import { InvalidInputError, messageOf } from '../errors.ts'
import { scanJson } from '../json-scan.ts'

/** MariaDB rejects JSON with 32 or more levels of nesting, MySQL with more than 100, and SQLite with more than 1000. */
const MAX_JSON_LEVELS = 31

/**
 * @param options.limit  maximum size of the text in bytes
 * @param options.loneSurrogates  'replace' turns them into U+FFFD, so that bad text cannot make completed work fail
 * @param options.onConverted  called with a description if JSON would not give back the same value
 * @throws InvalidInputError when the value cannot be written as JSON, is too large, or cannot be stored unchanged in
 *   every database; without `onConverted`, also when JSON would not give back the same value
 */
export function jsonText(
  field: string,
  value: unknown,
  {
    limit = Infinity,
    loneSurrogates = 'reject',
    onConverted,
  }: {
    limit?: number
    loneSurrogates?: 'reject' | 'replace'
    onConverted?: ((path: string, what: string) => void) | undefined
  } = {},
): string {
  let text: string | undefined
  try {
    text = JSON.stringify(value)
  } catch (error) {
    throw new InvalidInputError(field, `cannot be written as JSON: ${messageOf(error)}`, { cause: error })
  }
  if (text === undefined)
    throw new InvalidInputError(field, `a value of type ${typeof value} cannot be written as JSON`)
  const bytes = Buffer.byteLength(text)
  if (bytes > limit) {
    throw new InvalidInputError(
      field,
      `${bytes} bytes of JSON exceed the limit of ${limit}; store the data elsewhere and pass a reference, or raise argsLimit of Kalends.open`,
    )
  }
  const levels = text.length > 2 * MAX_JSON_LEVELS ? scanJson(text).levels : 0
  if (levels > MAX_JSON_LEVELS)
    throw new InvalidInputError(
      field,
      `must have at most ${MAX_JSON_LEVELS} levels of nesting, got ${levels}; flatten it`,
    )
  const converted = conversionOrNull(value, field)
  if (converted !== null) {
    const { path, what, remedy } = converted
    if (onConverted === undefined) throw new InvalidInputError(path, `${what}; ${remedy}`)
    onConverted(path, what)
  }
  if (!text.includes(SURROGATE)) return text
  if (loneSurrogates === 'replace') return text.replaceAll(LONE_SURROGATES, '$1\ufffd')
  const [, , lone] = text.matchAll(LONE_SURROGATES).next().value ?? []
  if (lone === undefined) return text
  throw new InvalidInputError(
    field,
    `a key or a string contains the lone surrogate ${lone}, which cannot be stored; remove it`,
  )
}

const SURROGATE = String.raw`\ud`
/** JSON.stringify escapes a lone surrogate as `\udxxx`, which may follow escaped backslashes. */
const LONE_SURROGATES = /(?<!\\)((?:\\\\)*)(\\ud[\da-f]{3})/g

/** Properties may be getters that throw the second time; JSON.stringify has read them already. */
function conversionOrNull(value: unknown, path: string): Conversion | null {
  try {
    return conversionIn(value, path)
  } catch {
    return null
  }
}

interface Conversion {
  readonly path: string
  readonly what: string
  readonly remedy: string
}

/**
 * The first part of a value that JSON would not give back. Properties that are undefined do not count: reading them
 * gives undefined too.
 *
 * @param value  JSON.stringify has accepted it, so it has no cycles
 */
function conversionIn(value: unknown, path: string): Conversion | null {
  const found = (what: string, remedy: string): Conversion => ({ path, what, remedy })
  switch (typeof value) {
    case 'number':
      return Number.isFinite(value) ? null : found(`JSON turns ${value} into null`, 'pass null or a string')
    case 'undefined':
      return found('JSON turns undefined in a list into null', 'pass null, or leave it out')
    case 'function':
    case 'symbol':
      return found(`JSON has no value for a ${typeof value}`, 'leave it out')
    case 'object':
      return value === null ? null : conversionInObject(value, path)
    default:
      return null
  }
}

function conversionInObject(value: object, path: string): Conversion | null {
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) {
      const conversion = conversionIn(value[index], `${path}.${index}`)
      if (conversion !== null) return conversion
    }
    return null
  }
  const kind = Object.prototype.toString.call(value).slice('[object '.length, -1)
  if (kind !== 'Object') {
    const isText = 'toJSON' in value && typeof value.toJSON === 'function'
    const what = `JSON turns this ${kind} into ${isText ? 'what its method toJSON returns' : 'a plain object'}`
    return { path, what, remedy: REMEDIES[kind] ?? 'pass a plain value' }
  }
  if ('toJSON' in value && typeof value.toJSON === 'function')
    return {
      path,
      what: 'JSON turns this object into what its method toJSON returns',
      remedy: 'pass that value',
    }
  for (const [name, item] of Object.entries(value)) {
    const conversion = item === undefined ? null : conversionIn(item, `${path}.${name}`)
    if (conversion !== null) return conversion
  }
  return null
}

const REMEDIES: Readonly<Record<string, string>> = {
  Date: 'pass date.toISOString()',
  Map: 'pass Object.fromEntries(map) or [...map]',
  Set: 'pass [...set]',
  Uint8Array: 'pass text, such as Buffer.from(bytes).toString("base64")',
  URL: 'pass url.href',
}
