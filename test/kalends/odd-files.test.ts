/** Every odd file of SQLite: what cannot work is refused when it is opened, with the path and what to do. */
import { execFile, execFileSync } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { openSqlite, type SqliteTestConnection, sqliteDriver } from '../support/sqlite.ts'

const program = fileURLToPath(new URL('../support/odd-file.mjs', import.meta.url))
const run = promisify(execFile)
const isRoot = process.getuid?.() === 0
const works = { list: 0, submit: 'string' }

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'kalends-odd-'))
  await chmod(path, 0o777)
  onTestFinished(async () => {
    await chmod(path, 0o777)
    await rm(path, { recursive: true, force: true })
  })
  return path
}

async function fileWith(...statements: readonly string[]): Promise<string> {
  const file = join(await folder(), 'app.db')
  const connection = openSqlite(file)
  for (const statement of statements) connection.exec(statement)
  await closed(connection, file)
  return file
}

/** A file with Kalends' tables, which no connection has open. */
async function migrated(journalMode: 'wal' | 'delete'): Promise<string> {
  const file = join(await folder(), 'app.db')
  expect(await opened(file)).toEqual(works)
  const connection = openSqlite(file)
  connection.exec('DELETE FROM job')
  connection.exec(`PRAGMA journal_mode = ${journalMode}`)
  await closed(connection, file)
  return file
}

/** Leaves only the main file, which everybody may write. */
async function closed(connection: SqliteTestConnection, file: string): Promise<void> {
  connection.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  connection.close()
  for (const end of ['-wal', '-shm', '-journal']) await rm(`${file}${end}`, { force: true })
  await chmod(file, 0o666)
}

/** Opens a file in a process without privileges. */
async function opened(file: string): Promise<unknown> {
  const user = isRoot ? 'nobody' : 'own'
  const { stdout } = await run(process.execPath, [program, file, sqliteDriver, user], {
    env: { ...process.env, NODE_OPTIONS: '' },
    timeout: 100_000,
  })
  return JSON.parse(stdout)
}

const refused = (text: RegExp) => ({ open: expect.stringMatching(text) })

it.each([
  ['little-endian UTF-16', ["PRAGMA encoding = 'UTF-16le'", 'CREATE TABLE orders (id INTEGER)']],
  ['big-endian UTF-16', ["PRAGMA encoding = 'UTF-16be'", 'CREATE TABLE orders (id INTEGER)']],
])('a file that stores text as %s is refused', async (_, statements) => {
  expect(await opened(await fileWith(...statements))).toEqual(
    refused(
      /^KALENDS_INVALID_INPUT: database: the file '.*app\.db' stores text as UTF-16.e, but Kalends needs UTF-8: copy/,
    ),
  )
})

it.each([
  ['pages of 512 bytes', ['PRAGMA page_size = 512']],
  ['pages of 64 KB', ['PRAGMA page_size = 65536']],
  ['automatic vacuum', ['PRAGMA auto_vacuum = FULL']],
  ['the journal mode DELETE', ['PRAGMA journal_mode = DELETE']],
  ['a log of writes', ['PRAGMA journal_mode = WAL']],
])('a file with %s works', async (_, statements) => {
  const file = await fileWith(...statements, 'CREATE TABLE orders (id INTEGER)')
  expect(await opened(file)).toEqual(works)
})

it('an empty file becomes a database, and other files are refused and stay as they are', async () => {
  const path = await folder()
  const file = join(path, 'app.db')
  await writeFile(file, '', { mode: 0o666 })
  await chmod(file, 0o666)
  expect(await opened(file)).toEqual(works)
  const text = join(path, 'notes.txt')
  await writeFile(text, 'Not a database, but longer than the header of one.'.repeat(10))
  await chmod(text, 0o666)
  expect(await opened(text)).toEqual(
    refused(/^KALENDS_INVALID_INPUT: database: the file '.*notes\.txt' is encrypted, or/),
  )
  await mkdir(join(path, 'folder'))
  expect(await opened(join(path, 'folder'))).toEqual(
    refused(/^KALENDS_INVALID_INPUT: database: '.*folder' is not a file; name a file/),
  )
  execFileSync('mkfifo', [join(path, 'pipe')])
  expect(await opened(join(path, 'pipe'))).toEqual(refused(/: database: '.*pipe' is not a file/))
  await symlink(join(path, 'nowhere', 'app.db'), join(path, 'link'))
  expect(await opened(join(path, 'link'))).toEqual(
    refused(/^KALENDS_STORE_UNAVAILABLE: .*'.*link' cannot be opened/),
  )
  expect(await opened(join(path, 'nowhere', 'app.db'))).toEqual(
    refused(/cannot be opened: the folder '.*nowhere' does not exist: create it/),
  )
})

const readOnly = {
  list: 0,
  submit: expect.stringMatching(
    /^KALENDS_STORE_UNAVAILABLE: The database file '.*' cannot be used: .*: this process may not write '.*app\.db' \(its owner is \d+ and its mode 444; this process has the user \d+\)/,
  ),
}

it.each(['file', 'file and folder'])(
  'without a log of writes, a read-only %s can be read, and a write says why it fails',
  async (what) => {
    const file = await migrated('delete')
    await chmod(file, 0o444)
    if (what === 'file and folder') await chmod(join(file, '..'), 0o555)
    expect(await opened(file)).toEqual(readOnly)
  },
)

it('a read-only file with a log of writes can be read while its owner has it open', async () => {
  const file = await migrated('wal')
  await chmod(file, 0o444)
  const link = join(file, '..', 'link')
  await symlink(file, link)
  // Otherwise SQLite would create a -wal and a -shm that the owner cannot write.
  const wouldCreate = refused(
    /^KALENDS_STORE_UNAVAILABLE: .*'.*app\.db' cannot be opened: this process may not write it \(.* mode 444; .*\), and reading it would create '.*app\.db-wal'/,
  )
  expect(await opened(file)).toEqual(wouldCreate)
  expect(await opened(link)).toEqual(wouldCreate)
  expect(await readdir(join(file, '..'))).toEqual(['app.db', 'link'])
  await chmod(file, 0o644)
  const owner = openSqlite(file)
  onTestFinished(() => void owner.close())
  owner.exec('CREATE TABLE orders (id INTEGER)')
  await chmod(file, 0o444)
  expect(await opened(file)).toEqual(readOnly)
  expect(await opened(link)).toEqual(readOnly)
  owner.exec('INSERT INTO orders VALUES (1)')
})

it('files that this process may not use are refused with their owner and mode', async () => {
  const secret = await migrated('wal')
  await chmod(secret, 0o000)
  expect(await opened(secret)).toEqual(
    refused(/cannot be opened: this process may not read '.*app\.db' \(its owner is \d+ and its mode 0; /),
  )
  const inFolder = await migrated('wal')
  await chmod(join(inFolder, '..'), 0o555)
  expect(await opened(inFolder)).toEqual(
    refused(
      /cannot be used: .*: this process may not create files in the folder '.*' \(.* mode 555; .*\), where SQLite needs '.*app\.db-wal' and '.*app\.db-shm' even for reading/,
    ),
  )
  const hidden = await migrated('wal')
  await chmod(join(hidden, '..'), 0o600)
  expect(await opened(hidden)).toEqual(
    refused(
      /cannot be reached: this process may not enter the folder '.*' \(its owner is \d+ and its mode 600; /,
    ),
  )
  const foreign = await fileWith('PRAGMA journal_mode = WAL', 'CREATE TABLE orders (id INTEGER)')
  await writeFile(`${foreign}-shm`, '', { mode: 0o000 })
  await chmod(`${foreign}-shm`, 0o000)
  expect(await opened(foreign)).toEqual(refused(/this process may not read '.*app\.db-shm'/))
})
