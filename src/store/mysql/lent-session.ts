/**
 * The session of a connection while a callback of the application uses it. If a statement may have changed the session,
 * the connection is replaced: nobody can undo user variables, temporary tables and locks one by one.
 */
import type mysql from 'mysql2/promise'
import type { LentSession } from '../lend.ts'

/** Statements that only read and write rows. `DO 0` is how Kalends checks a caller-supplied transaction. */
const ROWS_ONLY =
  /^(select|with|insert|replace|update|delete|table|values|savepoint|release|rollback|explain|show|do 0)\b/i
/** Locks, user variables, and a second statement. */
const MORE = /_lock\s*\(|:=|\binto\s+@|;\s*\S/i
const ASSIGNED = /(?:^set\s+|,\s*)(?:(?:session|local)\s+)?(?:@@(?:(?:session|local)\s*\.\s*)?)?(\w+)\s*:?=/gi
/**
 * Texts and comments, which may look like statements. One expression finds both, because each may contain the start of
 * the other. Comments that the server executes are kept.
 */
const TEXT_OR_COMMENT =
  /(?<text>'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")|\/\*(?!M?!).*?\*\/|(?:--\s|#)[^\n]*/gs
const ISOLATION = '/*!80000 @@SESSION.transaction_isolation */ /*M! @@SESSION.tx_isolation */'

/** The settings that a statement changes: an expression for each name. */
function changedBy(statement: string): [name: string, value: string][] {
  if (/^use\b/i.test(statement)) return [['the current database', 'DATABASE()']]
  if (!/^set\b/i.test(statement)) return []
  if (/^set\s+(names|char)/i.test(statement)) return [['character_set_client', '@@character_set_client']]
  if (/^set\s+\w+\s+transaction\b/i.test(statement)) return [['transaction_isolation', ISOLATION]]
  return [...statement.matchAll(ASSIGNED)].map(([, name = '']) => [name.toLowerCase(), `@@SESSION.${name}`])
}

export class MysqlLentSession implements LentSession {
  readonly #connection: mysql.PoolConnection
  /** The settings before the callback changed them. */
  readonly #before = new Map<string, { readonly expression: string; readonly value: Promise<unknown> }>()
  #isChanged = false

  constructor(connection: mysql.PoolConnection) {
    this.#connection = connection
  }

  /** Whether the connection must not be used again. */
  get isChanged(): boolean {
    return this.#isChanged
  }

  begin(): void {}

  watch(text: string): void {
    const statement = text
      .replaceAll(TEXT_OR_COMMENT, (_, quoted: string | undefined) => (quoted === undefined ? ' ' : "''"))
      .replaceAll('`', '')
    if (ROWS_ONLY.test(statement) && !MORE.test(statement)) return
    this.#isChanged = true
    // The driver runs statements in order, so this reads the value before the callback's statement.
    for (const [name, expression] of changedBy(statement))
      if (!this.#before.has(name)) this.#before.set(name, { expression, value: this.#read(expression) })
  }

  async leftBehind(): Promise<readonly string[]> {
    const names: string[] = []
    for (const [name, { expression, value }] of this.#before)
      if ((await value) !== (await this.#read(expression))) names.push(name)
    return names
  }

  /** Null if there is no such variable, or if the session no longer runs statements. */
  async #read(expression: string): Promise<unknown> {
    try {
      const [rows] = await this.#connection.query<mysql.RowDataPacket[][]>({
        sql: `SELECT CAST(${expression} AS CHAR) AS value LIMIT 1`,
        rowsAsArray: true,
        nestTables: false,
        typeCast: true,
      })
      return rows[0]?.[0] ?? null
    } catch {
      return null
    }
  }
}
