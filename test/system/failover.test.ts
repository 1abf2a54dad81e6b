/** Several hosts in one URL: which of them is used, and when Kalends switches to another. */
import { createConnection } from 'mysql2/promise'
import { afterEach, expect, it } from 'vitest'
import { StoreUnavailableError } from '../../src/errors.ts'
import { MysqlDatabase } from '../../src/store/mysql/database.ts'
import { eachDatabase, type TestDatabase } from '../support/databases.ts'
import { until } from '../support/worker-process.ts'
import { Proxy } from '../support/worker-proxy.ts'

const LONGEST_USE_MS = 700

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup()
})

eachDatabase(({ kind, fresh }) => {
  /** Two proxies to one server, each with its own behaviour: to Kalends, they are two hosts. */
  const twoHosts = async (connections = 2) => {
    const server = await fresh()
    const [first, second] = [await Proxy.open(server.url), await Proxy.open(server.url)]
    const hosts = [first, second].map((proxy) => new URL(proxy.url).host)
    const url = new URL(server.url)
    const database = new MysqlDatabase(`mysql://root:@${hosts.join(',')}${url.pathname}`, connections, {
      longestUseMs: LONGEST_USE_MS,
    })
    cleanups.push(
      server.drop,
      () => first.close(),
      () => second.close(),
      () => database.close(),
    )
    return { server, first, second, hosts, database }
  }
  const works = async (database: MysqlDatabase) =>
    expect(await database.rows('SELECT 1 AS one')).toEqual([{ one: 1 }])
  const cameThrough = (proxy: Proxy) => proxy.statements.filter((text) => text === 'SELECT 1 AS one').length

  // SQLite has no hosts.
  const onServers = it.skipIf(kind === 'sqlite')

  onServers('only the first host that responds is used', async () => {
    const { first, second, database } = await twoHosts()
    for (let time = 0; time < 5; time += 1) await works(database)
    expect([cameThrough(first), cameThrough(second)]).toEqual([5, 0])
  })

  onServers(
    'a host that refuses connections is skipped; the next one stays in use while it works, even when the first is back',
    async () => {
      const { first, second, database } = await twoHosts()
      await works(database)
      first.cut()
      // Work in progress on this host may fail once, but nothing fails after that.
      await database.rows('SELECT 1 AS one').catch((error: unknown) => {
        expect(error).toBeInstanceOf(StoreUnavailableError)
      })
      await works(database)
      first.mend()
      const before = cameThrough(first)
      for (let time = 0; time < 5; time += 1) await works(database)
      expect(cameThrough(first)).toBe(before)
      second.cut()
      await database.rows('SELECT 1').catch(() => undefined)
      await works(database)
      expect(cameThrough(first)).toBe(before + 1)
    },
  )

  onServers('a silent host is abandoned after the connect timeout', async () => {
    const { first, second, database } = await twoHosts()
    await works(database)
    first.stall()
    await expect(database.rows('SELECT 1')).rejects.toThrow(StoreUnavailableError)
    await works(database)
    expect(cameThrough(second)).toBe(1)
  })

  onServers(
    'if no host works, a single error says why each host failed, and the next call tries again',
    async () => {
      const { first, second, hosts, database } = await twoHosts()
      first.cut()
      second.cut()
      const error = await database.rows('SELECT 1').catch((thrown: unknown) => thrown)
      expect(error).toBeInstanceOf(StoreUnavailableError)
      for (const host of hosts) expect(String(error)).toContain(`${host}: `)
      second.mend()
      await works(database)
    },
  )

  // This test is skipped on a server given by its URL, because others may be writing to it.
  const own = process.env['KALENDS_TEST_MARIADB_URL'] || process.env['KALENDS_TEST_MYSQL_URL']
  it.skipIf(kind === 'sqlite' || own)('a read-only server is not used, although it responds', async () => {
    const { server, hosts, database } = await twoHosts()
    await works(database)
    await readOnly(server, async () => {
      const fresh = new MysqlDatabase(`mysql://root@${hosts.join(',')}${new URL(server.url).pathname}`, 1)
      cleanups.push(() => fresh.close())
      await expect(fresh.rows('SELECT 1')).rejects.toThrow(/: it is read-only; .*: it is read-only/)
    })
    await until('it accepts work again', async () => {
      await works(database)
      return true
    })
  })
})

async function readOnly(server: TestDatabase, work: () => Promise<void>): Promise<void> {
  const admin = await createConnection({ uri: server.url })
  await admin.query('SET GLOBAL read_only = 1')
  try {
    await work()
  } finally {
    await admin.query('SET GLOBAL read_only = 0')
    await admin.end()
  }
}
