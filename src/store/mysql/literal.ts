import type { SqlValue } from '../database.ts'
import { withLiterals as fill } from '../literals.ts'

/** Text of these characters means the same in every character set and under every sql_mode. */
const PLAIN = /^[\x20-\x26\x28-\x5b\x5d-\x7e]*$/

/** Compares byte by byte and does not pad with blanks. Neither server has the other's collation. */
export type ExactCollation = 'utf8mb4_nopad_bin' | 'utf8mb4_0900_bin'

/** @param version  as the server reports it */
export function exactCollation(version: string): ExactCollation {
  return /mariadb/i.test(version) ? 'utf8mb4_nopad_bin' : 'utf8mb4_0900_bin'
}

/**
 * Puts values into a statement as literals that do not depend on the session. A caller-supplied connection has its own
 * character set and sql_mode (NO_BACKSLASH_ESCAPES would make a driver's escaping unsafe), so everything but plain
 * ASCII is written as hexadecimal UTF-8.
 *
 * Each literal names its collation. With that of the session, MariaDB does not treat a column that equals a literal as
 * constant. It then sorts, and so locks, all jobs of a group, although the index has them in order.
 *
 * @param exact  replaces `{exact}`, and is the collation of the literals
 */
export function withLiterals(text: string, params: readonly SqlValue[], exact: ExactCollation): string {
  return fill(text.replaceAll('{exact}', exact), params, (value) => {
    const quoted = PLAIN.test(value) ? `'${value}'` : ` x'${Buffer.from(value, 'utf8').toString('hex')}'`
    return `_utf8mb4${quoted} COLLATE ${exact}`
  })
}
