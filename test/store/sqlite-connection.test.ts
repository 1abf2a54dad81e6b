/** A connection of Kalends behaves the same with every driver, whatever the defaults of its version and build are. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { StoreUnavailableError } from '../../src/errors.ts'
import { SqliteDatabase } from '../../src/store/sqlite/database.ts'
import { isBusy, isDuplicate } from '../../src/store/sqlite/errors.ts'
import { openSqlite, type SqliteTestConnection } from '../support/sqlite.ts'

const EXPECTED = {
  busy_timeout: 1,
  foreign_keys: 1,
  journal_mode: 'wal',
  recursive_triggers: 0,
  synchronous: 2,
  trusted_schema: 0,
}
/** The opposite of each setting. */
const CONTRARY = ['foreign_keys = 0', 'recursive_triggers = 1', 'synchronous = OFF', 'trusted_schema = 1']

function fileName(): string {
  const folder = mkdtempSync(join(tmpdir(), 'kalends-connection-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'app.db')
}

async function opened(
  file: string,
  connect: (path: string) => SqliteTestConnection = openSqlite,
): Promise<SqliteDatabase> {
  const database = await SqliteDatabase.open(file, {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a connection of the driver
    connect: connect as NonNullable<Parameters<typeof SqliteDatabase.open>[1]>['connect'],
  })
  onTestFinished(() => database.close())
  return database
}

/** The driver's own connection, in a transaction of the database. */
async function clientOf(database: SqliteDatabase): Promise<Partial<SqliteTestConnection>> {
  return await database.transaction(
    async (_, lend) => await lend(async (connection) => Promise.resolve(connection), 60_000),
  )
}

it('each setting has its value, even if the driver has another default', async () => {
  const database = await opened(fileName(), (path) => {
    const connection = openSqlite(path)
    for (const pragma of CONTRARY) connection.exec(`PRAGMA ${pragma}`)
    return connection
  })
  for (const [name, value] of Object.entries(EXPECTED)) {
    const [row = {}] = await database.rows<object>(`PRAGMA ${name}`)
    expect([name, ...Object.values(row)]).toEqual([name, value])
  }
})

it('a driver that ignores a setting, or has no write-ahead log, is rejected', async () => {
  const ignoring = (pattern: RegExp) => (path: string) => {
    const connection = openSqlite(path)
    onTestFinished(() => void connection.close())
    const exec = (sql: string) => (pattern.test(sql) ? undefined : connection.exec(sql))
    const prepare = (sql: string) => connection.prepare(pattern.test(sql) ? sql.replace(/ = WAL/, '') : sql)
    return { exec, prepare, close: () => undefined, inTransaction: false }
  }
  await expect(opened(fileName(), ignoring(/trusted_schema =/))).rejects.toThrow(StoreUnavailableError)
  await expect(opened(fileName(), ignoring(/trusted_schema =/))).rejects.toThrow(
    'trusted_schema = 0: it reports 1',
  )
  await expect(opened(fileName(), ignoring(/journal_mode/))).rejects.toThrow(
    "its journal mode stays 'delete'",
  )
})

it('a connection that does not report whether a transaction is open is rejected', async () => {
  const old = (path: string) => {
    const connection = openSqlite(path)
    return {
      exec: (sql: string) => connection.exec(sql),
      prepare: (sql: string) => connection.prepare(sql),
      close: () => connection.close(),
    }
  }
  await expect(opened(fileName(), old)).rejects.toThrow('use Node.js 22.16 or later')
})

it('a file that is not a database is rejected, named and left unchanged', async () => {
  const { readFileSync, writeFileSync } = await import('node:fs')
  const file = fileName()
  writeFileSync(file, 'x'.repeat(10_000))
  await expect(opened(file)).rejects.toThrow(`the file '${file}' is encrypted, or is not a SQLite database`)
  expect(readFileSync(file, 'utf8')).toBe('x'.repeat(10_000))
})

it('values are read as text, numbers or null', async () => {
  const database = await opened(fileName())
  const [row] = await database.rows(
    `SELECT 'größer 😀' AS words, CAST('bytes' AS BLOB) AS blob, 7 AS small, 1.5 AS real, NULL AS missing,
       9007199254740993 AS large, ? AS bound, typeof(?) AS text`,
    [3, 'x'],
  )
  expect(row).toEqual({
    words: 'größer 😀',
    blob: 'bytes',
    small: 7,
    real: 1.5,
    missing: null,
    large: Number('9007199254740993'),
    bound: 3,
    text: 'text',
  })
  // The same statement also reads small numbers after a large one.
  const numbers = async (n: string) => await database.rows('SELECT CAST(? AS INTEGER) AS n', [n])
  for (const n of ['1', '9223372036854775807', '2']) expect(await numbers(n)).toEqual([{ n: Number(n) }])
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- untyped code may pass this
  await expect(database.rows('SELECT ?', [{} as never])).rejects.toThrow(RangeError)
})

it('counts matched rows, and recognises the errors of the driver', async () => {
  const file = fileName()
  const database = await opened(file)
  await database.run('CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT UNIQUE)')
  expect(await database.run("INSERT INTO t VALUES (1, 'a'), (2, 'b')")).toBe(2)
  expect(await database.run('UPDATE t SET name = name')).toBe(2)
  for (const values of ["1, 'c'", "3, 'a'"]) {
    const error: unknown = await database
      .run(`INSERT INTO t VALUES (${values})`)
      .catch((thrown: unknown) => thrown)
    expect(isDuplicate(error)).toBe(true)
  }
  const other = openSqlite(file)
  onTestFinished(() => void other.close())
  other.exec('PRAGMA busy_timeout = 0')
  await database.transaction(async (sql) => {
    await sql.run("INSERT INTO t VALUES (4, 'd')")
    expect(thrownBy(() => other.exec('BEGIN IMMEDIATE'))).toSatisfy(isBusy)
  })
  expect(await database.rows('SELECT id FROM t ORDER BY id')).toEqual([{ id: 1 }, { id: 2 }, { id: 4 }])
})

it('foreign keys of the application that refer to the tables of Kalends are enforced', async () => {
  const database = await opened(fileName())
  await database.run('CREATE TABLE job (id TEXT PRIMARY KEY)')
  await database.run('CREATE TABLE orders (job TEXT REFERENCES job (id))')
  await database.run("INSERT INTO job VALUES ('a')")
  await database.run("INSERT INTO orders VALUES ('a')")
  await expect(database.run('DELETE FROM job')).rejects.toThrow('FOREIGN KEY constraint failed')
})

it('lends the connection of the driver', async () => {
  const client = await clientOf(await opened(fileName()))
  expect(typeof client.prepare).toBe('function')
})

function thrownBy(work: () => unknown): unknown {
  try {
    work()
  } catch (error) {
    return error
  }
  return null
}
