/** Args and results may be secret: only the owner can read a new SQLite database file. */
import { chmod, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { Kalends } from '../../src/index.ts'

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'kalends-private-'))
  onTestFinished(() => rm(path, { recursive: true, force: true }))
  return path
}

async function modes(path: string): Promise<Record<string, string>> {
  const found = await Promise.all(
    (await readdir(path)).map(async (name) => {
      const { mode } = await stat(join(path, name))
      return [name, (mode & 0o777).toString(8)] as const
    }),
  )
  return Object.fromEntries(found)
}

it.each(['sqlite:', 'sqlite://'])(
  'a new file and its -wal and -shm files have mode 0600: %s',
  async (scheme) => {
    const path = await folder()
    await using kalends = await Kalends.open(`${scheme}${join(path, 'app.db')}`)
    await kalends.jobs.submit('mail')
    expect(await modes(path)).toEqual({ 'app.db': '600', 'app.db-wal': '600', 'app.db-shm': '600' })
  },
)

it.each([
  'sqlite:',
  'sqlite:file:app.db',
  'sqlite://file:///tmp/app.db',
  'sqlite:libsql://host',
  'sqlite:https://host',
  'sqlite:',
  'sqlite: ./app.db',
  'sqlite:./app.db\n',
  'sqlite:./a\u0007pp.db',
])('a URL that names no path is rejected: %s', async (url) => {
  await expect(Kalends.open(url)).rejects.toMatchObject({ code: 'KALENDS_INVALID_INPUT', field: 'database' })
})

it('`Kalends.migrate` also creates a file with mode 0600', async () => {
  const path = await folder()
  await Kalends.migrate(`sqlite:${join(path, 'app.db')}`)
  const { mode } = await stat(join(path, 'app.db'))
  expect(mode & 0o777).toBe(0o600)
})

it('an existing file keeps its mode, and its -wal and -shm files get the same mode', async () => {
  const path = await folder()
  const file = join(path, 'app.db')
  await writeFile(file, '')
  await chmod(file, 0o640)
  for (let opened = 0; opened < 2; opened += 1) {
    await using kalends = await Kalends.open(`sqlite:${file}`)
    await kalends.jobs.submit('mail', {}, { id: `00000000-0000-7000-8000-00000000000${opened}` })
    expect(await modes(path)).toEqual({ 'app.db': '640', 'app.db-wal': '640', 'app.db-shm': '640' })
  }
})

it('an in-memory database creates no file', async () => {
  const path = await folder()
  const before = process.cwd()
  process.chdir(path)
  onTestFinished(() => process.chdir(before))
  await using kalends = await Kalends.open('sqlite::memory:')
  await kalends.jobs.submit('mail')
  expect(await modes(path)).toEqual({})
})

it('a missing folder is reported', async () => {
  await expect(Kalends.open('sqlite:/no/such/folder/app.db')).rejects.toThrow('cannot be opened')
})
