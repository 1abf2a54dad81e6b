/**
 * Small changes to an SQL statement: a condition that always or never holds, a comparison with or without its bound,
 * or the opposite operator or order. Stryker can only empty a whole statement.
 */

export interface Change {
  readonly from: number
  readonly to: number
  readonly put: string
  /**
   * Equal for all statements with the same beginning and the same condition or comparison, because they come from the
   * same code.
   */
  readonly key: string
}

const TOKEN = /'(?:[^']|'')*'|"[^"]*"|NOT (?:EXISTS|IN)\b|<>|[<>]=?|[(),]|\b\w+\b/g
const OPPOSITE: Readonly<Record<string, string>> = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '<>': '=',
  'NOT EXISTS': 'EXISTS',
  'NOT IN': 'IN',
  DESC: 'ASC',
  MIN: 'MAX',
  MAX: 'MIN',
}
const BEFORE_CONDITION = new Set(['WHERE', 'AND', 'WHEN'])
const AFTER_CONDITION = new Set(['AND', 'OR', 'THEN', 'ORDER', 'GROUP', 'LIMIT', 'UNION', 'RETURNING', ','])

interface Token {
  readonly text: string
  readonly from: number
  readonly to: number
}

/** All changes of a statement, in order; none for statements that create or find tables. */
export function changesOf(statement: string): Change[] {
  if (!/^\s*(?:WITH|SELECT|INSERT|UPDATE|DELETE)\b/.test(statement)) return []
  if (/\b(?:sqlite_master|pragma_\w+|kalends_migration)\b/.test(statement)) return []
  const head = shapeOf(statement).slice(0, 32)
  const tokens = [...statement.matchAll(TOKEN)].map(
    ({ 0: text, index }): Token => ({ text, from: index, to: index + text.length }),
  )
  return tokens.flatMap(({ text, from, to }, index) => {
    const opposite = OPPOSITE[text]
    if (opposite !== undefined) {
      const [before = ''] = /\S+\s*$/.exec(statement.slice(0, from)) ?? []
      const [after = ''] = /^\s*\S+/.exec(statement.slice(to)) ?? []
      const key = `${head} … ${shapeOf(before)} ${text} ${shapeOf(after)} → ${opposite}`
      return [{ from, to, put: opposite, key }]
    }
    if (!BEFORE_CONDITION.has(text) || isOfBetween(tokens, index)) return []
    const end = endOfCondition(tokens, index + 1)
    const condition = statement.slice(to, end)
    const shape = shapeOf(condition)
    // `0 = 0` is only a placeholder before optional conditions.
    if (shape === '0 = 0') return []
    const place = { from: to, to: end ?? statement.length }
    // The condition stays in the statement, because its values are still bound.
    const always = {
      ...place,
      put: ` (1 = 1 OR (${condition})) `,
      key: `${head} … ${text} ${shape} → always`,
    }
    const never = { ...place, put: ` (1 = 0 AND (${condition})) `, key: `${head} … ${text} ${shape} → never` }
    return text === 'WHEN' ? [always, never] : [always]
  })
}

export function changed(statement: string, { from, to, put }: Omit<Change, 'key'>): string {
  return statement.slice(0, from) + put + statement.slice(to)
}

const UNION = ' UNION ALL '

/** The parts of a UNION, which often differ only in their values. */
export function partsOf(statement: string): string[] {
  return statement.split(/\sUNION ALL\s/)
}

export function together(parts: readonly string[]): string {
  return parts.join(UNION)
}

/** A string that is equal for statements that differ only in numbers and in the lengths of lists. */
export function shapeOf(statement: string): string {
  return statement
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/\?(?:, \?)+/g, '?, …')
    .replaceAll(/(\([^()]*\))(?: OR \1)+/g, '$1 OR …')
    .replaceAll(/\b\d+\b/g, '0')
    .trim()
}

/** Whether the token is the AND of `x BETWEEN a AND b`. */
function isOfBetween(tokens: readonly Token[], at: number): boolean {
  const before = tokens.slice(0, at).map(({ text }) => text)
  return tokens[at]?.text === 'AND' && before.lastIndexOf('BETWEEN') > before.lastIndexOf('AND')
}

/** The end of the condition that begins with this token; undefined if it is the end of the statement. */
function endOfCondition(tokens: readonly Token[], first: number): number | undefined {
  let depth = 0
  for (let at = first; at < tokens.length; at += 1) {
    const { text = '', from } = tokens[at] ?? {}
    if (depth === 0 && (text === ')' || (AFTER_CONDITION.has(text) && !isOfBetween(tokens, at)))) return from
    if (text === '(' || text === 'CASE') depth += 1
    if (text === ')' || text === 'END') depth -= 1
  }
  return undefined
}
