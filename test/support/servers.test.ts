import { describe, expect, inject, it } from 'vitest'
import { findMysql, mysqlRoot } from './servers-mysql.ts'
import { isCi, provideServer, wantedDatabases } from './servers.ts'

const run = inject('testRun')

describe('the databases wanted', () => {
  it('are all of them', () => {
    expect(wantedDatabases({})).toEqual(['sqlite', 'mariadb', 'mysql'])
    expect(wantedDatabases({ CI: 'true' })).toEqual(['sqlite', 'mariadb', 'mysql'])
  })

  it('are those that a developer names', () => {
    expect(wantedDatabases({ KALENDS_TEST_DATABASES: 'mysql, sqlite' })).toEqual(['sqlite', 'mysql'])
  })

  it('are not narrowed by a name that means nothing', () => {
    expect(() => wantedDatabases({ KALENDS_TEST_DATABASES: 'sqlite,postgres' })).toThrow(/names postgres/)
  })

  it('are narrowed in CI only for a cell of a matrix', () => {
    const narrowed = { CI: 'true', KALENDS_TEST_DATABASES: 'sqlite' }
    expect(() => wantedDatabases(narrowed)).toThrow(/untested in CI/)
    expect(wantedDatabases({ ...narrowed, KALENDS_TEST_MATRIX: '1' })).toEqual(['sqlite'])
  })
})

it('takes CI=false and an unset CI for a developer', () => {
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

    it(`is taken as it is: ${kind}`, async () => {
      expect(await provideServer(kind, { [variables[kind]]: url })).toMatchObject({
        kind,
        url,
        version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
        origin: variables[kind],
      })
    })

    it(`is refused when it is the other make: ${kind} as ${other}`, async () => {
      await expect(provideServer(other, { [variables[other]]: url })).rejects.toThrow(
        /but the server there is/,
      )
    })
  }

  it('is not replaced by a private one when it does not answer', async () => {
    await expect(
      provideServer('mysql', { KALENDS_TEST_MYSQL_URL: 'mysql://root@127.0.0.1:1' }),
    ).rejects.toThrow(/no MySQL answers at the URL of KALENDS_TEST_MYSQL_URL/)
  })
})

describe('MySQL', () => {
  it('lives in the cache of the user, or where the environment says', () => {
    expect(mysqlRoot({ HOME: '/home/x' })).toBe('/home/x/.cache/kalends/mysql')
    expect(mysqlRoot({ HOME: '/home/x', XDG_CACHE_HOME: '/c' })).toBe('/c/kalends/mysql')
    expect(mysqlRoot({ XDG_CACHE_HOME: '/c', KALENDS_TEST_MYSQL_ROOT: '/m' })).toBe('/m')
  })

  it('tells how to get it where it is not', async ({ skip }) => {
    const found = await findMysql({ KALENDS_TEST_MYSQL_ROOT: '/nonexistent' })
    skip(typeof found !== 'string', 'MySQL is installed here')
    expect(found).toMatch(/run `\.ci\/mysql-root`.*KALENDS_TEST_MYSQL_URL/)
  })
})
