import type { SqlValue } from './database.ts'

/** Puts values into a statement in place of its `?`. */
export function withLiterals(
  text: string,
  params: readonly SqlValue[],
  textLiteral: (value: string) => string,
): string {
  if (params.length === 0) return text
  let index = 0
  const statement = text.replaceAll('?', () => {
    if (index >= params.length)
      throw new RangeError(`More placeholders than the ${params.length} values: ${text}`)
    return literal(params[index++] ?? null, textLiteral)
  })
  if (index !== params.length)
    throw new RangeError(`${params.length} values for ${index} placeholders: ${text}`)
  return statement
}

function literal(value: SqlValue, textLiteral: (value: string) => string): string {
  if (value === null) return 'NULL'
  if (typeof value === 'string') return textLiteral(value)
  if (!Number.isFinite(value)) throw new RangeError(`${value} is no SQL number`)
  return String(value)
}
