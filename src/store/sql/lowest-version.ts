import { newest } from '../../model/version.ts'
import type { Sql } from '../database.ts'
import type { Tables } from './tables.ts'

/** Null means any version. */
export async function lowestVersion(
  sql: Sql,
  { migration }: Pick<Tables, 'migration'>,
): Promise<string | null> {
  const rows = await sql.rows<{ lowest: string }>(`SELECT lowest FROM ${migration} WHERE lowest IS NOT NULL`)
  return newest(rows.map((row) => row.lowest))
}
