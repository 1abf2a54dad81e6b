import { existsSync } from 'node:fs'
import { createConnection } from 'mysql2/promise'
import { describe, expect, it } from 'vitest'
import { databases, eachDatabase, type TestDatabase } from './databases.ts'

const file = (database: TestDatabase) => database.url.slice('sqlite:'.length)

eachDatabase(({ kind, bare }) => {
  it('is new and empty', async () => {
    const database = await bare()
    const tables = await database.query(
      kind === 'sqlite'
        ? 'SELECT name FROM sqlite_schema'
        : 'SELECT table_name AS name FROM information_schema.tables WHERE table_schema = DATABASE()',
    )
    expect(tables).toEqual([])
    await database.drop()
  })

  it('shares nothing with other databases', async () => {
    const [one, other] = await Promise.all([bare(), bare()])
    await one.query('CREATE TABLE t (a INT)')
    await one.query('INSERT INTO t VALUES (?)', [1])
    await other.query('CREATE TABLE t (a INT)')

    expect(await one.query('SELECT a FROM t')).toEqual([{ a: 1 }])
    expect(await other.query('SELECT a FROM t')).toEqual([])
    expect(one.url).not.toBe(other.url)
    await Promise.all([one.drop(), other.drop()])
  })

  it('is removed by drop, which can be called twice', async () => {
    const database = await bare()
    await database.query('CREATE TABLE t (a INT)')
    await database.drop()
    await database.drop()

    if (kind === 'sqlite') expect(existsSync(file(database))).toBe(false)
    else await expect(createConnection(database.url)).rejects.toMatchObject({ code: 'ER_BAD_DB_ERROR' })
  })
})

for (const { kind, bare } of databases.filter(({ kind }) => kind !== 'sqlite')) {
  describe(kind, () => {
    it('is dropped even while a transaction is open in it', async () => {
      const database = await bare()
      await database.query('CREATE TABLE t (a INT PRIMARY KEY)')
      const left = await createConnection(database.url)
      left.on('error', () => {})
      await left.query('START TRANSACTION')
      await left.query('INSERT INTO t VALUES (1)')

      await database.drop()

      await expect(left.query('SELECT 1')).rejects.toThrow()
    })

    it('returns times, JSON and large numbers in the format of the database', async () => {
      const database = await bare()
      await database.query('CREATE TABLE t (at DATETIME(3), args JSON, n BIGINT)')
      await database.query(`INSERT INTO t VALUES ('2026-03-29 01:30:00.123', '{"a": 1}', 9007199254740993)`)

      expect(await database.query('SELECT * FROM t')).toEqual([
        { at: '2026-03-29 01:30:00.123', args: '{"a": 1}', n: '9007199254740993' },
      ])
      await database.drop()
    })

    it('flushes commits as a production server does', async () => {
      const database = await bare()
      expect(await database.query('SELECT @@innodb_flush_log_at_trx_commit AS flush')).toEqual([{ flush: 1 }])
      await database.drop()
    })
  })
}

describe('sqlite', () => {
  it.runIf(databases.some(({ kind }) => kind === 'sqlite'))(
    'waits for a write lock that this process holds',
    async () => {
      const { default: Database } = await import('libsql')
      const database = await databases.find(({ kind }) => kind === 'sqlite')?.bare()
      if (database === undefined) throw new Error('no SQLite in this run')
      await database.query('CREATE TABLE t (a INT)')
      const holder = new Database(file(database))
      holder.exec('BEGIN IMMEDIATE')

      const waiting = database.query('INSERT INTO t VALUES (1)')
      setImmediate(() => holder.exec('COMMIT'))
      await waiting

      expect(await database.query('SELECT a FROM t')).toEqual([{ a: 1 }])
      holder.close()
      await database.drop()
    },
  )
})
