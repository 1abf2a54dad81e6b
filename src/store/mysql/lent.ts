/**
 * The state of a session that the application lends: what must be set for our statements, and how the session
 * is given back as it was. Most sessions need nothing; it is asked once per connection.
 */

/** One statement each; null: nothing to do. */
export interface Borrowing {
  readonly before: string | null
  readonly after: string | null
}

export interface SessionState {
  readonly charset: string | null
  readonly mode: string
  readonly autocommit: number
}

export const SESSION_STATE =
  'SELECT @@SESSION.character_set_results AS charset, @@SESSION.sql_mode AS mode, @@SESSION.autocommit AS autocommit'

export function borrowing(state: SessionState): Borrowing {
  const changes: [variable: string, ours: string, theirs: string][] = []
  // What cannot be said in the session's character set would arrive as question marks.
  if (state.charset !== null && state.charset !== 'utf8mb4') {
    changes.push(['character_set_results', 'utf8mb4', state.charset])
  }
  if (!isSafeMode(state.mode)) changes.push(['sql_mode', `'STRICT_TRANS_TABLES'`, `'${state.mode}'`])
  // Without it, single statements would stay uncommitted and read an old snapshot.
  if (state.autocommit === 0) changes.push(['autocommit', '1', '0'])
  if (changes.length === 0) return { before: null, after: null }
  return {
    before: `SET ${changes.map(([variable, ours]) => `${variable} = ${ours}`).join(', ')}`,
    after: `SET ${changes.map(([variable, , theirs]) => `${variable} = ${theirs}`).join(', ')}`,
  }
}

/** Without a strict mode, what is too long is cut off; some modes of MariaDB give '' another meaning. */
function isSafeMode(mode: string): boolean {
  return (
    /\bSTRICT_(TRANS|ALL)_TABLES\b/.test(mode) && !/\b(EMPTY_STRING_IS_NULL|ORACLE|MSSQL|DB2)\b/.test(mode)
  )
}
