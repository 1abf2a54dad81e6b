/** `Kalends.open` accepts the application's SQLite connection, or a drizzle database on it, instead of a URL. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { drizzle } from 'drizzle-orm/sqlite-proxy'
import Libsql from 'libsql'
import { expect, onTestFinished, test, vi } from 'vitest'
import { Kalends } from '../../src/index.ts'

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'kalends-file-'))
  onTestFinished(() => rmSync(made, { recursive: true }))
  return made
}

function connected(path: string, options: object = {}): Libsql.Database {
  const connection = new Libsql(path, options)
  onTestFinished(() => void connection.close())
  return connection
}

/** A drizzle database with this `$client`. */
const drizzled = <Client>($client: Client) =>
  Object.assign(
    drizzle(async () => ({ rows: [] })),
    { $client },
  )

test('Kalends opens the file of a connection, a client or a drizzle database', async () => {
  const file = join(folder(), 'app.db')
  const connection = connected(file)
  // Has the fields of a client from @libsql/client.
  const client = {
    protocol: 'file',
    execute: async (statement: string) => ({ rows: connection.prepare(statement).all() }),
  }
  for (const target of [connection, client, drizzled(connection), drizzled(client)]) {
    const kalends = await Kalends.open(target)
    await kalends.jobs.submit('mail')
    await kalends.stop()
  }
  expect(connection.prepare('SELECT COUNT(*) AS jobs FROM job').all()).toEqual([{ jobs: 4 }])
})

test('an empty encrypted database is rejected and stays usable for the application', async () => {
  const file = join(folder(), 'secret.db')
  const encrypted = connected(file, { encryptionCipher: 'aes256cbc', encryptionKey: 'k' })
  await expect(Kalends.open(encrypted)).rejects.toThrow('is encrypted')
  encrypted.exec('CREATE TABLE orders (id INTEGER)')
})

test('a target that is not an open SQLite connection is rejected before any statement is sent', async () => {
  const sent: string[] = []
  const mysqlConnection = {
    prepare: (statement: string) => sent.push(statement),
    execute: (statement: string) => sent.push(statement),
    query: (statement: string) => sent.push(statement),
  }
  const closed = new Libsql(join(folder(), 'app.db'))
  closed.close()
  // oxlint-disable-next-line typescript/no-explicit-any -- plain JavaScript may pass this
  const targets: any[] = [mysqlConnection, { $client: mysqlConnection }, { $client: null }, closed]
  for (const target of targets)
    await expect(Kalends.open(target)).rejects.toMatchObject({
      code: 'KALENDS_INVALID_INPUT',
      field: 'database',
    })
  expect(sent).toEqual([])
})

test('a database that has no file or needs a key is rejected with the reason', async () => {
  const remote = { protocol: 'https', execute: async () => ({ rows: [] }) }
  await expect(Kalends.open(remote)).rejects.toThrow('the database is remote (https)')
  await expect(Kalends.open(connected(':memory:'))).rejects.toThrow('the database is in memory')
  const encrypted = connected(join(folder(), 'secret.db'), {
    encryptionCipher: 'aes256cbc',
    encryptionKey: 'k',
  })
  encrypted.exec('CREATE TABLE orders (id INTEGER)')
  await expect(Kalends.open(drizzled(encrypted))).rejects.toMatchObject({
    code: 'KALENDS_INVALID_INPUT',
    field: 'database',
    message: expect.stringContaining('is encrypted'),
  })
})

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
