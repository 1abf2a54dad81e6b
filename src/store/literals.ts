import type { SqlValue } from './database.ts'

/** Placeholders on servers: for a job id, and for a value that is only stored, not compared. */
export const JOB_ID = '{job id}?'
export const STORED_VALUE = '{value}?'

/** Quotes the name of a table or an index. */
export const quoted = (name: string): string => `\`${name}\``

type TextLiteral = (value: string, placeholder: string) => string

/** Replaces each `?` of a statement with its value. */
export function withLiterals(text: string, params: readonly SqlValue[], textLiteral: TextLiteral): string {
  if (params.length === 0) return text
  let index = 0
  const statement = text.replaceAll(/(?:\{job id\}|\{value\})?\?/g, (placeholder) => {
    if (index >= params.length)
      throw new RangeError(`More placeholders than values (${params.length}): ${text}`)
    return literal(params[index++] ?? null, (value) => textLiteral(value, placeholder))
  })
  if (index !== params.length)
    throw new RangeError(`${params.length} values for ${index} placeholders: ${text}`)
  return statement
}

function literal(value: SqlValue, textLiteral: (value: string) => string): string {
  if (value === null) return 'NULL'
  if (typeof value === 'string') return textLiteral(value)
  if (!Number.isFinite(value)) throw new RangeError(`SQL has no literal for ${shown(value)}`)
  return String(value)
}

/**
 * A number for places where some dialects accept no parameter, such as LIMIT. The value may come from a request or from
 * the args of a job, so it could be of another type at run time: only an integer becomes SQL text.
 *
 * @throws RangeError for any other value; the message never quotes a string, because the string may be SQL
 */
export function integerLiteral(value: number): string {
  if (!Number.isSafeInteger(value) || value < 0) {
    throw new RangeError(
      `SQL takes an integer between 0 and ${Number.MAX_SAFE_INTEGER} here, got ${shown(value)}`,
    )
  }
  return String(value)
}

function shown(value: unknown): string {
  return typeof value === 'number' ? String(value) : `a value of type ${typeof value}`
}

/** Selected columns as the arguments of JSON_OBJECT. @param columns  each is a name, or `… AS name` */
export function jsonPairs(columns: readonly string[]): string {
  return columns
    .map((column) => {
      const [, expression = column, name = column] = /^(.*) AS (\w+)$/su.exec(column) ?? []
      return `'${name}', ${expression}`
    })
    .join(', ')
}

/**
 * Placeholders for a list of values: `?, ?, ?`.
 *
 * @param one  the placeholder for one value; for job ids, `Dialect.jobId`
 */
export function placeholders({ length }: { readonly length: number }, one = '?'): string {
  return Array.from({ length }, () => one).join(', ')
}
