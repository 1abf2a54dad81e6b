import type { SqlValue } from '../database.ts'
import { withLiterals as fill } from '../literals.ts'

/** Texts of these characters mean the same in every character set and under every sql_mode. */
const PLAIN = /^[\x20-\x26\x28-\x5b\x5d-\x7e]*$/

/**
 * Puts values into a statement as literals that do not depend on the session: applications lend connections
 * with their own character set and sql_mode (NO_BACKSLASH_ESCAPES would turn a driver's escaping into a hole),
 * so anything but plain ASCII travels as hexadecimal UTF-8.
 *
 * The collation is said too: with that of the session, MariaDB does not take a column that equals a literal for
 * constant, and sorts, and so locks, all jobs of a group where the index has them in order.
 */
export function withLiterals(text: string, params: readonly SqlValue[]): string {
  return fill(text, params, (value) => {
    const quoted = PLAIN.test(value) ? `'${value}'` : ` x'${Buffer.from(value, 'utf8').toString('hex')}'`
    return `_utf8mb4${quoted} COLLATE utf8mb4_bin`
  })
}
