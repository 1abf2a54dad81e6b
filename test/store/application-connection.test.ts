/**
 * `Kalends.open` accepts the application's SQLite connection, or a drizzle database on it, instead of a URL, and opens
 * its own connection with the same driver.
 */
import { mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { drizzle } from 'drizzle-orm/sqlite-proxy'
import { expect, onTestFinished, test, vi } from 'vitest'
import { Kalends, type SqliteDriver } from '../../src/index.ts'
import { openSqlite, sqliteDriver, type SqliteTestConnection } from '../support/sqlite.ts'

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'kalends-file-'))
  onTestFinished(() => rmSync(made, { recursive: true }))
  return made
}

function connected(path: string, options: object = {}): SqliteTestConnection {
  const connection = openSqlite(path, options)
  onTestFinished(() => void connection.close())
  return connection
}

/** A drizzle database with this `$client`. */
const drizzled = <Client>($client: Client) =>
  Object.assign(
    drizzle(async () => ({ rows: [] })),
    { $client },
  )

/** What untyped code may pass. */
async function refused(target: unknown): Promise<void> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- plain JavaScript may pass this
  const opening = Kalends.open(target as never)
  await expect(opening).rejects.toMatchObject({ code: 'KALENDS_INVALID_INPUT', field: 'database' })
}

test('Kalends opens the file of a connection or a drizzle database', async () => {
  const file = join(folder(), 'app.db')
  const connection = connected(file)
  for (const target of [connection, drizzled(connection)]) {
    const kalends = await Kalends.open(target)
    await kalends.jobs.submit('mail')
    await kalends.stop()
  }
  expect(connection.prepare('SELECT COUNT(*) AS jobs FROM job').all()).toEqual([{ jobs: 2 }])
})

test("a connection of a class that extends the driver's opens the file, without that class", async () => {
  const file = join(folder(), 'app.db')
  const { constructor } = connected(file)
  let constructed = 0
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the class of the driver
  class Own extends (constructor as new (path: string) => SqliteTestConnection) {
    constructor({ file: path }: { readonly file: string }) {
      super(path)
      constructed += 1
    }
  }
  const own = new Own({ file })
  onTestFinished(() => void own.close())
  const kalends = await Kalends.open(own)
  await kalends.jobs.submit('mail')
  await kalends.stop()
  expect(constructed).toBe(1)
  expect(own.prepare('SELECT COUNT(*) AS jobs FROM job').all()).toEqual([{ jobs: 1 }])
})

test('a wrapper whose constructor opens no database is rejected, and its file is not opened', async () => {
  const file = join(folder(), 'app.db')
  const inner = connected(file)
  const opened: string[] = []
  class Wrapper {
    readonly inner: SqliteTestConnection
    constructor(path: string | SqliteTestConnection) {
      if (typeof path === 'string') opened.push(path)
      this.inner = typeof path === 'string' ? inner : path
    }
    exec = (sql: string) => this.inner.exec(sql)
    prepare = (sql: string) => this.inner.prepare(sql)
    close = () => undefined
  }
  await expect(Kalends.open(new Wrapper(inner))).rejects.toThrow(
    /different copy of SQLite; pass the URL of the file instead/,
  )
  expect(opened).toEqual([':memory:'])
  await refused({ exec: inner.exec.bind(inner), prepare: inner.prepare.bind(inner) })
})

test('a target that is not an open SQLite connection is rejected before any statement is sent', async () => {
  const sent: string[] = []
  const mysqlConnection = {
    prepare: (statement: string) => sent.push(statement),
    execute: (statement: string) => sent.push(statement),
    query: (statement: string) => sent.push(statement),
  }
  const closed = openSqlite(join(folder(), 'app.db'))
  closed.close()
  for (const target of [mysqlConnection, { $client: mysqlConnection }, { $client: null }, closed])
    await refused(target)
  expect(sent).toEqual([])
})

test('a client of @libsql/client and a database in memory are rejected with the reason', async () => {
  const client = { protocol: 'file', execute: async () => ({ rows: [] }) }
  for (const target of [client, drizzled(client)]) {
    await refused(target)
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- plain JavaScript may pass this
    await expect(Kalends.open(target as never)).rejects.toThrow('pass the URL of the file instead')
  }
  await expect(Kalends.open(connected(':memory:'))).rejects.toThrow('the database is in memory')
})

test('a connection whose file cannot be shared is rejected with the reason, at once', async () => {
  const path = folder()
  const moved = connected(join(path, 'moved.db'))
  moved.exec('CREATE TABLE orders (id INTEGER)')
  renameSync(join(path, 'moved.db'), join(path, 'elsewhere.db'))
  await expect(Kalends.open(moved)).rejects.toThrow('was deleted or moved')
  expect(readdirSync(path).filter((name) => name.startsWith('moved.db'))).not.toContain('moved.db')
  const exclusive = connected(join(path, 'exclusive.db'))
  exclusive.exec('PRAGMA locking_mode = EXCLUSIVE; CREATE TABLE orders (id INTEGER)')
  await expect(Kalends.open(exclusive)).rejects.toThrow("its locking_mode is 'exclusive'")
  const busy = connected(join(path, 'new.db'))
  busy.exec('BEGIN')
  await expect(Kalends.open(busy)).rejects.toThrow('it cannot write the header of its new file: ')
  busy.exec('ROLLBACK')
  class Asynchronous {
    exec = async () => undefined
    prepare = () => ({ all: async () => [] })
  }
  await refused(new Asynchronous())
  await expect(Kalends.open(new Asynchronous())).rejects.toThrow('its driver is not supported')
})

test('a driver is accepted only for a URL of SQLite', async () => {
  const connection = connected(join(folder(), 'app.db'))
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- plain JavaScript may pass this
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- plain JavaScript may pass this
  const unknown = JSON.parse('["sqlite3", ""]') as SqliteDriver[]
  for (const [target, driver] of [
    [connection, sqliteDriver],
    ['mysql://root@localhost/app', sqliteDriver],
    ...unknown.map((name) => ['sqlite::memory:', name] as const),
  ] as const)
    await expect(Kalends.open(target, { driver })).rejects.toMatchObject({
      code: 'KALENDS_INVALID_INPUT',
      field: 'driver',
    })
  const kalends = await Kalends.open('sqlite::memory:', { driver: sqliteDriver })
  await kalends.stop()
})

// Only libsql can encrypt.
test.runIf(sqliteDriver === 'libsql')(
  'an encrypted database is rejected with the reason and stays usable for the application, even if it is empty',
  async () => {
    const keys = { encryptionCipher: 'aes256cbc', encryptionKey: 'k' }
    const empty = connected(join(folder(), 'empty.db'), keys)
    const encrypted = connected(join(folder(), 'secret.db'), keys)
    encrypted.exec('CREATE TABLE orders (id INTEGER)')
    for (const target of [empty, encrypted, drizzled(encrypted)]) {
      await refused(target)
      await expect(Kalends.open(target)).rejects.toThrow('is encrypted')
    }
    empty.exec('CREATE TABLE orders (id INTEGER)')
    expect(encrypted.prepare('SELECT * FROM orders').all()).toEqual([])
  },
)

test("a call waits for the application's write transaction without blocking the event loop, and its timeout error says what to do", async () => {
  const file = join(folder(), 'app.db')
  const connection = connected(file)
  const kalends = await Kalends.open(connection)
  onTestFinished(() => kalends.stop())
  connection.exec('BEGIN IMMEDIATE')
  const started = performance.now()
  const clock = vi.spyOn(performance, 'now').mockReturnValue(started)
  onTestFinished(() => clock.mockRestore())
  let turns = 0
  const ticking = setInterval(() => {
    turns += 1
    // The event loop has run several times, so the wait may now time out.
    if (turns === 3) clock.mockReturnValue(started + 31_000)
  }, 1)
  onTestFinished(() => clearInterval(ticking))
  await expect(kalends.jobs.submit('mail')).rejects.toThrow(/locked for 30 s.*pass it as tx/)
  expect(turns).toBeGreaterThanOrEqual(3)
  await kalends.jobs.submit('mail', {}, { tx: connection })
  connection.exec('COMMIT')
  clock.mockRestore()
  expect((await kalends.jobs.list()).total).toBe(1)
})
