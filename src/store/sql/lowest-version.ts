import { newest } from '../../model/version.ts'
import type { Sql } from '../database.ts'

/** What the migrations that were begun on the tables have written; null: any version may work on them. */
export async function lowestVersion(sql: Sql, migrationTable: string): Promise<string | null> {
  const rows = await sql.rows<{ lowest: string }>(
    `SELECT lowest FROM ${migrationTable} WHERE lowest IS NOT NULL`,
  )
  return newest(rows.map((row) => row.lowest))
}
