import type { SqlValue } from '../database.ts'
import { withLiterals as fill } from '../literals.ts'

/** Texts of these characters mean the same in every character set and under every sql_mode. */
const PLAIN = /^[\x20-\x26\x28-\x5b\x5d-\x7e]*$/

/** Compares byte by byte and does not pad with blanks. Each server has its own, and neither has that of the other. */
export type ExactCollation = 'utf8mb4_nopad_bin' | 'utf8mb4_0900_bin' | typeof EITHER_EXACT

/** Before the server is known, as in a transaction of the application: each server reads the comment that is for it. */
export const EITHER_EXACT = '/*!80000 utf8mb4_0900_bin */ /*M! utf8mb4_nopad_bin */'

/** @param version  as the server states it */
export function exactCollation(version: string): ExactCollation {
  return /mariadb/i.test(version) ? 'utf8mb4_nopad_bin' : 'utf8mb4_0900_bin'
}

/**
 * Puts values into a statement as literals that do not depend on the session: applications lend connections
 * with their own character set and sql_mode (NO_BACKSLASH_ESCAPES would turn a driver's escaping into a hole),
 * so anything but plain ASCII travels as hexadecimal UTF-8.
 *
 * Each literal names its collation: with that of the session, MariaDB does not take a column that equals a literal for
 * constant, and sorts, and so locks, all jobs of a group where the index has them in order.
 *
 * @param exact  takes the place of `{exact}`, and is the collation of the literals
 */
export function withLiterals(text: string, params: readonly SqlValue[], exact: ExactCollation): string {
  return fill(text.replaceAll('{exact}', exact), params, (value) => {
    const quoted = PLAIN.test(value) ? `'${value}'` : ` x'${Buffer.from(value, 'utf8').toString('hex')}'`
    return `_utf8mb4${quoted} COLLATE ${exact}`
  })
}
