/** Runs statements on one connection, regardless of the options in its URL or in the application's pool. */
import type mysql from 'mysql2/promise'
import { StoreUnavailableError } from '../../errors.ts'
import type { Sql, SqlValue } from '../database.ts'
import { exactCollation, type ExactCollation, withLiterals } from './literal.ts'
import { CURRENT_DATABASE } from './session-variables.ts'

const NUMBERS: ReadonlySet<string> = new Set([
  'TINY',
  'SHORT',
  'LONG',
  'INT24',
  'LONGLONG',
  'FLOAT',
  'DOUBLE',
  'NEWDECIMAL',
])

export interface Server {
  readonly exact: ExactCollation
  /** Maximum size of a statement in bytes. */
  readonly packetLimit: number
  readonly database: string
}

export async function examine(connection: mysql.PoolConnection): Promise<Server> {
  // This statement uses no values, so no collation is needed yet.
  const unknown = { exact: 'utf8mb4_0900_bin', packetLimit: Number.POSITIVE_INFINITY } as const
  const [row] = await session(connection, unknown).rows<{ most: number; version: string; name: string }>(
    `SELECT @@max_allowed_packet AS most, VERSION() AS version, ${CURRENT_DATABASE} AS name`,
  )
  if (row === undefined) throw new StoreUnavailableError('The database did not report its version')
  return { exact: exactCollation(row.version), packetLimit: row.most, database: row.name }
}

export function session(
  connection: mysql.PoolConnection,
  { exact, packetLimit }: Pick<Server, 'exact' | 'packetLimit'>,
): Sql {
  const query = async (text: string, params: readonly SqlValue[]) => {
    const statement = withLiterals(text, params, exact)
    // After such a statement, the server would close the connection, which would look like an outage.
    if (statement.length >= packetLimit) {
      throw new RangeError(
        `A statement of ${statement.length} bytes exceeds the server's max_allowed_packet of ${packetLimit}`,
      )
    }
    // Overrides the URL's options.
    const [result] = await connection
      .query({ sql: statement, rowsAsArray: false, nestTables: false, typeCast: castField })
      .catch((error: unknown) => {
        // The driver adds the whole statement to the error, including the args of jobs, and loggers write every
        // property.
        if (error instanceof Error) Reflect.deleteProperty(error, 'sql')
        throw error
      })
    return result
  }
  return {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the rows are what the statement selects; see Sql
    rows: async <Row>(text: string, params: readonly SqlValue[] = []) => (await query(text, params)) as Row[],
    run: async (text, params = []) => matchedRows(await query(text, params)),
  }
}

/** The number of matched rows, even if the connection counts only changed rows (no CLIENT_FOUND_ROWS). */
function matchedRows(result: mysql.QueryResult): number {
  if (!('affectedRows' in result)) return 0
  // 'Rows matched: 1  Changed: 0  Warnings: 0', in the server's language.
  const matched = 'info' in result ? /\d+/.exec(result.info) : null
  return matched === null ? result.affectedRows : Number(matched[0])
}

interface TypedField {
  readonly type: string
  string(encoding?: BufferEncoding): string | null
}

/**
 * Returns numbers as numbers, and everything else as the text that the server sent: instants must not be converted to a
 * Date in some zone.
 */
function castField(field: TypedField): SqlValue {
  const text = field.string()
  return text !== null && NUMBERS.has(field.type) ? Number(text) : text
}
