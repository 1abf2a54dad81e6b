/**
 * A run on the user's own server, or in a file next to the user's file. It uses a new database, which is removed
 * afterwards.
 */
import { rm } from 'node:fs/promises'
import mysql from 'mysql2/promise'
import type { Target } from '../fault.ts'
import { applicationFaults } from '../faults/application.ts'
import { lockFaults } from '../faults/locks.ts'
import { networkFaults } from '../faults/network.ts'
import { type OpenWay, openWay } from '../proxy.ts'
import { type Access, openAccess } from './access.ts'
import { Admin } from './admin.ts'
import { DeadlockCount } from './deadlock-count.ts'

export interface UrlTargetOptions {
  readonly workers: number
  /** The lease of the workers. Default: 4 s. */
  readonly leaseMs?: number
}

const SIDE_FILES = ['', '-wal', '-shm', '-journal']

/**
 * @param url  `mysql://user:password@host:3306/name` or `sqlite:./file.db`; the run's own database is named after it
 * @throws RangeError if it is neither, names no file, or results in an invalid database name
 */
export async function openUrlTarget(url: string, options: UrlTargetOptions): Promise<Target> {
  const suffix = `chaos_${Date.now().toString(36)}`
  if (url.startsWith('sqlite:')) return await openFile(url, suffix)
  if (/^(mysql|mariadb):\/\/./.test(url) && URL.canParse(url))
    return await openOnServer(new URL(url), suffix, options)
  throw new RangeError(
    `'${withoutPassword(url)}' is not a database URL; write mysql://user@host:3306/name or sqlite:./file.db`,
  )
}

async function openFile(url: string, suffix: string): Promise<Target> {
  const base = url.slice('sqlite:'.length).replace(/^\/\//, '')
  if (base === '' || base === ':memory:')
    throw new RangeError('a run needs a file, because several processes use it; write sqlite:./file.db')
  const path = `${base}.${suffix}`
  const own = `sqlite:${path}`
  const access = await openAccess(own)
  return {
    kind: 'sqlite',
    name: 'SQLite',
    ways: [{ url: own, proxy: null }],
    environment: {},
    ...statementsOf(access),
    deadlocks: async () => null,
    faults: [],
    leftOut: {},
    async close() {
      await access.close()
      for (const side of SIDE_FILES) await rm(`${path}${side}`, { force: true })
    },
  }
}

async function openOnServer(
  url: URL,
  suffix: string,
  { workers, leaseMs = 4000 }: UrlTargetOptions,
): Promise<Target> {
  const database = `${url.pathname.slice(1) || 'kalends'}_${suffix}`
  if (!/^[\w$-]{1,64}$/.test(database)) throw new RangeError(`'${database}' is not a valid database name`)
  const asMysql = (path: string) => {
    const made = new URL(url.href.replace(/^mariadb:/, 'mysql:'))
    made.pathname = path
    return made.href
  }
  const connection = await mysql.createConnection({ uri: asMysql('/'), connectTimeout: 10_000 })
  try {
    await connection.query(`CREATE DATABASE \`${database}\` CHARACTER SET utf8mb4`)
  } finally {
    await connection.end()
  }
  const own = asMysql(`/${database}`)
  const access = await openAccess(own)
  const [server] = await access.query('SELECT VERSION() AS version')
  const version = String(server?.['version'])
  const isMariaDb = /mariadb/i.test(version)
  const deadlocks = new DeadlockCount([access], isMariaDb)
  const before = (await deadlocks.look()) ?? 0
  const ways: OpenWay[] = []
  for (let index = 0; index < workers; index += 1)
    ways.push(await openWay(new URL(own), [`${url.hostname}:${url.port || '3306'}`]))
  const locks = lockFaults(new Admin(own), {
    counted: () => deadlocks.look(),
    made: (count) => deadlocks.leaveOut(count),
    ofTables: true,
    leaseMs,
  })
  return {
    kind: isMariaDb ? 'mariadb' : 'mysql',
    name: `${isMariaDb ? 'MariaDB' : 'MySQL'} ${/^[\d.]+/.exec(version)?.[0] ?? ''}`.trim(),
    ways,
    environment: {},
    ...statementsOf(access),
    async deadlocks() {
      const unmade = await deadlocks.unmade()
      return unmade === null ? null : unmade - before
    },
    faults: [...networkFaults(ways, leaseMs), ...applicationFaults(leaseMs), ...locks],
    leftOut: {},
    async close() {
      for (const way of ways) await way.close()
      await deadlocks.close()
      await access.query(`DROP DATABASE IF EXISTS \`${database}\``)
      await access.close()
    },
  }
}

function statementsOf(access: Access): Pick<Target, 'query' | 'transaction'> {
  return {
    query: (text, params) => access.query(text, params),
    transaction: (work) => access.transaction(work),
  }
}

function withoutPassword(url: string): string {
  return url.replace(/^([a-z0-9+.-]+:\/\/)?.*@/is, '$1***@')
}
