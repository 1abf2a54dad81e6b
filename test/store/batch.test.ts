/** A value that all rows of a batch share is sent only once. The database still sees complete rows. */
import { expect, it } from 'vitest'
import type { SqlValue } from '../../src/store/database.ts'
import { MysqlDatabase } from '../../src/store/mysql/database.ts'
import { batchTable } from '../../src/store/sql/by-key.ts'
import { SqliteDatabase } from '../../src/store/sqlite/database.ts'
import { eachDatabase } from '../support/databases.ts'

const COLUMNS = { id: 'schedule id', text: 'long text', number: 'integer', at: 'instant' } as const
type Row = Record<keyof typeof COLUMNS, SqlValue>

const BATCHES: Record<string, readonly Row[]> = {
  'rows that differ in every column': [
    { id: 'a', text: 'one', number: 1, at: '2026-01-01 00:00:00.001' },
    { id: 'b', text: null, number: null, at: null },
  ],
  'rows that differ only in their ids': [
    { id: 'a', text: 'a ? b \' " \\ ☃', number: 7, at: '2026-01-01 00:00:00.001' },
    { id: 'b', text: 'a ? b \' " \\ ☃', number: 7, at: '2026-01-01 00:00:00.001' },
  ],
  'rows of NULLs': [
    { id: 'a', text: null, number: null, at: null },
    { id: 'b', text: null, number: null, at: null },
  ],
  'one row': [{ id: '?', text: '?', number: 0, at: '2026-01-01 00:00:00.000' }],
  'rows that differ in some columns': [
    { id: 'a', text: 'x', number: 1, at: '2026-01-01 00:00:00.000' },
    { id: 'b', text: 'x', number: 2, at: '2026-01-01 00:00:00.000' },
  ],
}

eachDatabase(({ kind, bare }) => {
  it.each(Object.entries(BATCHES))('%s: the database receives all values unchanged', async (_, rows) => {
    const under = await bare()
    const database =
      kind === 'sqlite'
        ? await SqliteDatabase.open(under.url.slice('sqlite:'.length))
        : new MysqlDatabase(under.url, 1)
    try {
      const { table, params } = batchTable(database.dialect, COLUMNS, rows)
      const found = await database.rows<Row>(
        `SELECT b.id, b.text, b.number, b.at FROM ${table} AS b ORDER BY b.id`,
        params,
      )
      expect(found.map((row) => ({ ...row }))).toEqual(rows)
    } finally {
      await database.close()
      await under.drop()
    }
  })
})
