import { NAME_LIMIT } from '../../model/settings.ts'
import type { SqlValue } from '../database.ts'
import { JOB_ID, STORED_VALUE, withLiterals as fill } from '../literals.ts'

/** Text that consists of these characters has the same meaning in every character set and under every sql_mode. */
const PLAIN = /^[\x20-\x26\x28-\x5b\x5d-\x7e]*$/

const ASCII = /^\p{ASCII}*$/u
/** The id is too long for the column, so no job has it. */
const NO_JOB_ID = '~'.repeat(NAME_LIMIT + 1)

/** The collation that compares byte by byte and does not pad with blanks. Neither server has the other's collation. */
export type ExactCollation = 'utf8mb4_nopad_bin' | 'utf8mb4_0900_bin'

export function exactCollation(version: string): ExactCollation {
  return /mariadb/i.test(version) ? 'utf8mb4_nopad_bin' : 'utf8mb4_0900_bin'
}

/**
 * Puts values into a statement as literals that do not depend on the session. A caller-supplied connection has its own
 * character set and sql_mode (NO_BACKSLASH_ESCAPES would make a driver's escaping unsafe), so everything but plain
 * ASCII is written as hexadecimal UTF-8.
 *
 * Each literal names its collation. With the session's collation, MariaDB does not treat a column that equals a literal
 * as constant. It then sorts, and therefore locks, all jobs of a group, although the index has them in order.
 *
 * A value that is only stored needs no collation. [With a collation, an INSERT of many rows takes 25 % longer on
 * MariaDB.]
 *
 * Job ids are ASCII, and so are their literals: for a literal in another character set, the server would convert the
 * column, so it could not use the column's index.
 */
export function withLiterals(text: string, params: readonly SqlValue[], exact: ExactCollation): string {
  return fill(text.replaceAll('{exact}', exact), params, (value, placeholder) => {
    if (placeholder === STORED_VALUE) return `_utf8mb4${quoted(value)}`
    if (placeholder === JOB_ID)
      return `_ascii${quoted(ASCII.test(value) ? value : NO_JOB_ID)} COLLATE ascii_bin`
    return `_utf8mb4${quoted(value)} COLLATE ${exact}`
  })
}

function quoted(text: string): string {
  return PLAIN.test(text) ? `'${text}'` : ` x'${Buffer.from(text, 'utf8').toString('hex')}'`
}
