import { describe, expect, inject, it } from 'vitest'
import { findMysql, mysqlRoot } from './servers-mysql.ts'
import { isCi, provideServer, wantedDatabases } from './servers.ts'

const run = inject('testRun')

describe('the requested databases', () => {
  it('are all databases by default', () => {
    expect(wantedDatabases({})).toEqual(['sqlite', 'mariadb', 'mysql'])
    expect(wantedDatabases({ CI: 'true' })).toEqual(['sqlite', 'mariadb', 'mysql'])
  })

  it('are those that a developer selects', () => {
    expect(wantedDatabases({ KALENDS_TEST_DATABASES: 'mysql, sqlite' })).toEqual(['sqlite', 'mysql'])
  })

  it('cannot include an unknown name', () => {
    expect(() => wantedDatabases({ KALENDS_TEST_DATABASES: 'sqlite,postgres' })).toThrow(
      /unknown names: postgres/,
    )
  })

  it('can be narrowed in CI only for a matrix cell', () => {
    const narrowed = { CI: 'true', KALENDS_TEST_DATABASES: 'sqlite' }
    expect(() => wantedDatabases(narrowed)).toThrow(/untested in CI/)
    expect(wantedDatabases({ ...narrowed, KALENDS_TEST_SUITE: 'matrix' })).toEqual(['sqlite'])
  })
})

it('a run is a CI run unless CI is unset, empty, 0 or false', () => {
  expect([undefined, '', 'false', '0', 'true', '1'].map((CI) => isCi({ CI }))).toEqual([
    false,
    false,
    false,
    false,
    true,
    true,
  ])
})

describe('a server from a URL in the environment', () => {
  const variables = { mariadb: 'KALENDS_TEST_MARIADB_URL', mysql: 'KALENDS_TEST_MYSQL_URL' } as const

  for (const { kind, url } of run.servers) {
    const other = kind === 'mariadb' ? 'mysql' : 'mariadb'

    it(`is used: ${kind}`, async () => {
      expect(await provideServer(kind, { [variables[kind]]: url })).toMatchObject({
        kind,
        url,
        version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
        origin: variables[kind],
      })
    })

    it(`is rejected if it is the other product: ${kind} as ${other}`, async () => {
      await expect(provideServer(other, { [variables[other]]: url })).rejects.toThrow(
        /but the server there is/,
      )
    })
  }

  it('is not replaced by a private server if it does not respond', async () => {
    await expect(
      provideServer('mysql', { KALENDS_TEST_MYSQL_URL: 'mysql://root@127.0.0.1:1' }),
    ).rejects.toThrow(/no MySQL responds at the URL of KALENDS_TEST_MYSQL_URL/)
  })
})

describe('MySQL', () => {
  it('is in the cache folder of the user or in the folder from the environment', () => {
    expect(mysqlRoot({ HOME: '/home/x' })).toBe('/home/x/.cache/kalends/mysql')
    expect(mysqlRoot({ HOME: '/home/x', XDG_CACHE_HOME: '/c' })).toBe('/c/kalends/mysql')
    expect(mysqlRoot({ XDG_CACHE_HOME: '/c', KALENDS_TEST_MYSQL_ROOT: '/m' })).toBe('/m')
  })

  it('is reported with installation instructions if it is missing', async ({ skip }) => {
    const found = await findMysql({ KALENDS_TEST_MYSQL_ROOT: '/nonexistent' })
    skip(typeof found !== 'string', 'MySQL is installed here')
    expect(found).toMatch(/run `\.ci\/mysql-root`.*KALENDS_TEST_MYSQL_URL/)
  })
})
