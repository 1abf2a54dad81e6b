/**
 * Every database that Kalends supports. A further one needs a folder beside this file, its migrations in drizzle/, and an
 * entry here; nothing else lists the databases.
 */
import { InvalidInputError } from '../errors.ts'
import { shownInput } from '../model/input.ts'
import type { DatabaseKind, Databases, DatabaseTarget, OpenOptions } from './database.ts'
import { mysqlKind } from './mysql/kind.ts'
import { sqliteKind } from './sqlite/kind.ts'

const KINDS: readonly DatabaseKind[] = [sqliteKind, mysqlKind]
const EXAMPLES = KINDS.map(({ example }) => example).join(' or ')
const SCHEMA = /^[a-z0-9_$-]{1,64}$/i

/**
 * Loads a dialect and its driver only when they are needed.
 *
 * @throws InvalidInputError, StoreUnavailableError, SchemaError
 */
export async function openDatabase(target: DatabaseTarget, options: OpenOptions = {}): Promise<Databases> {
  const kind = kindOf(target)
  const { schema } = options
  if (schema !== undefined && (typeof schema !== 'string' || !SCHEMA.test(schema)))
    throw new InvalidInputError(
      'schema',
      `must be 1 to 64 letters, digits, '_', '$' and '-', got ${shownInput(schema)}`,
    )
  for (const [option, reason] of Object.entries(kind.unsupported))
    if (Reflect.get(options, option) != null) throw new InvalidInputError(option, reason)
  return kind.open(target, options)
}

/** The URL of an empty database to read instead, if opening this one would create it; otherwise null. */
export function insteadOfMissing(target: DatabaseTarget): string | null {
  if (typeof target !== 'string') return null
  return KINDS.find(({ isUrl }) => isUrl(target))?.insteadOfMissing?.(target) ?? null
}

function kindOf(target: DatabaseTarget): DatabaseKind {
  if (target === null || !['string', 'object', 'function'].includes(typeof target))
    throw new InvalidInputError(
      'database',
      `must be the URL of a database, such as ${EXAMPLES}, got ${target === null ? 'null' : typeof target}`,
    )
  const found = KINDS.find(({ isUrl, isObject }) =>
    typeof target === 'string' ? isUrl(target) : isObject(target),
  )
  if (found !== undefined) return found
  throw new InvalidInputError(
    'database',
    typeof target === 'string'
      ? `'${withoutPassword(target)}' is not the URL of a database that Kalends supports; write ${EXAMPLES}`
      : `must be a URL, ${KINDS.map(({ objects }) => objects).join(', ')}, or a drizzle database on one of these`,
  )
}

/** Everything before the last @ may be, or contain, a password. */
function withoutPassword(url: string): string {
  return url.replace(/^([a-z0-9+.-]+:\/\/)?.*@/is, '$1***@').replace(/(password=)[^&]*/i, '$1***')
}
