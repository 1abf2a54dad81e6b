/** The token of `kalends start --http`: its location and file permissions. */
import { chmod, chown, mkdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { givenToken, ownToken } from '../../src/cli/token.ts'
import { temporaryFolder } from './program.ts'

const TOKEN = 'a-token-that-nobody-guesses'
const isRoot = process.getuid?.() === 0

afterEach(() => {
  vi.unstubAllEnvs()
})

async function fileWith(text: string, mode = 0o600): Promise<string> {
  const file = join(await temporaryFolder(), 'token')
  await writeFile(file, text)
  await chmod(file, mode)
  return file
}

test('the token for a server database is in the state folder, which other users cannot open', async () => {
  const state = await temporaryFolder()
  vi.stubEnv('XDG_STATE_HOME', state)
  const token = ownToken('mysql://root@localhost/app')
  const file = join(state, 'kalends/token')
  expect(token).toEqual({ value: expect.stringMatching(/^[\da-f]{64}$/), file, isOwn: true })
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  expect((await stat(join(state, 'kalends'))).mode & 0o777).toBe(0o700)
  expect(ownToken('mariadb://root@localhost/other')).toEqual(token)
  expect(ownToken('sqlite::memory:')).toEqual(token)
})

test('the token for a SQLite database is next to its file', async () => {
  const folder = await temporaryFolder()
  expect(ownToken(`sqlite:${folder}/app.db`).file).toBe(join(folder, 'app.db.token'))
})

test('two tokens are different', async () => {
  const [one, two] = [await temporaryFolder(), await temporaryFolder()]
  expect(ownToken(`sqlite:${one}/a.db`).value).not.toBe(ownToken(`sqlite:${two}/a.db`).value)
})

test('--token-file takes precedence over the environment, and a missing file is created', async () => {
  const file = join(await temporaryFolder(), 'deep/er/token')
  vi.stubEnv('KALENDS_TOKEN', TOKEN)
  const made = givenToken(file)
  expect(made?.value).toMatch(/^[\da-f]{64}$/)
  expect(await readFile(file, 'utf8')).toBe(`${made?.value}\n`)
  expect(givenToken(file)).toEqual(made)
  expect(givenToken(undefined)).toEqual({ value: TOKEN, file: null, isOwn: false })
  vi.stubEnv('KALENDS_TOKEN', '')
  expect(givenToken(undefined)).toBeNull()
})

describe('a token is rejected', () => {
  test.each([0o640, 0o604, 0o622, 0o644, 0o666])(
    'a token in a file with mode %o is rejected',
    async (mode) => {
      const file = await fileWith(TOKEN, mode)
      expect(() => givenToken(file)).toThrow(/token file '.*' has the mode 0\d{3}.*chmod 600/)
    },
  )

  test.runIf(isRoot)('a token in a file of another user is rejected', async () => {
    const file = await fileWith(TOKEN)
    await chown(file, 65_534, 65_534)
    expect(() => givenToken(file)).toThrow(/belongs to the user 65534/)
  })

  test('a token file that is a link to a file that others can read is rejected', async () => {
    const file = await fileWith(TOKEN, 0o644)
    await symlink(file, `${file}.link`)
    expect(() => givenToken(`${file}.link`)).toThrow(/has the mode 0644/)
  })

  test('a token file that is a folder is rejected', async () => {
    const folder = join(await temporaryFolder(), 'token')
    await mkdir(folder, { mode: 0o700 })
    expect(() => givenToken(folder)).toThrow(/is not a regular file/)
  })

  test.each(['', 'short', 'with two words in it', 'täuschend-lang-genug', `${TOKEN}\nmore`])(
    'the token %j is rejected, and the message does not contain it',
    async (text) => {
      const file = await fileWith(text)
      expect(() => givenToken(file)).toThrow(/at least 16 ASCII characters.*openssl rand -hex 32/)
      if (text !== '') {
        vi.stubEnv('KALENDS_TOKEN', text)
        expect(() => givenToken(undefined)).toThrow(/KALENDS_TOKEN/)
        expect(() => givenToken(file)).toThrow(
          expect.objectContaining({ message: expect.not.stringContaining(text) }),
        )
      }
    },
  )

  test('a token file that cannot be created is rejected', async () => {
    const file = join(await fileWith(TOKEN), 'token')
    expect(() => givenToken(file)).toThrow(/token file '.*' cannot be used: ENOTDIR/)
  })
})
