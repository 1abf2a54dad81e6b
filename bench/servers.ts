/**
 * The servers of one run, started when a suite first asks for them, all with the durability that they have by
 * default. They end with this process, however it ends.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findRedis, startRedis } from '../test/examples/redis.ts'
import { provideServer } from '../test/support/servers.ts'
import { versionOf } from '../test/support/servers-programs.ts'
import { findPostgres, startPostgres } from './postgres.ts'
import { type BenchDatabase, openOnServer, openSqlite } from './database.ts'

export interface Running {
  readonly url: string
  readonly version: string
  /** What is on disk when it says that it is done. */
  readonly durability: string
  readonly stop: () => Promise<void>
}
export type Provided = Running | { readonly missing: string }
export type ServerName = 'MariaDB' | 'MySQL' | 'Redis' | 'PostgreSQL'

const START: Readonly<Record<ServerName, () => Promise<Provided>>> = {
  MariaDB: () => sqlServer('mariadb'),
  MySQL: () => sqlServer('mysql'),
  Redis: async () => {
    const found = await findRedis()
    if (typeof found === 'string') return { missing: found }
    const version = /v=([\d.]+)/.exec(await versionOf(found.program))?.[1] ?? 'unknown'
    const durability = 'default: snapshots only, the last seconds are lost in a crash'
    return { ...(await startRedis(found.program, [])), version, durability }
  },
  PostgreSQL: async () => {
    const found = await findPostgres()
    if (typeof found === 'string') return { missing: found }
    return { ...(await startPostgres(found.folder)), durability: 'synchronous_commit=on, fsync=on' }
  },
}

export class Servers {
  readonly #started = new Map<ServerName, Promise<Provided>>()
  #folder: Promise<string> | null = null
  #databases = 0

  get(name: ServerName): Promise<Provided> {
    let server = this.#started.get(name)
    if (server === undefined) {
      server = START[name]()
      this.#started.set(name, server)
    }
    return server
  }

  /** @throws Error when it cannot be had: for what a suite cannot do without */
  async need(name: ServerName): Promise<Running> {
    const server = await this.get(name)
    if ('missing' in server) throw new Error(server.missing)
    return server
  }

  /** For files of this run; it goes with it. */
  folder(): Promise<string> {
    this.#folder ??= mkdtemp(join(tmpdir(), 'kalends-bench-'))
    return this.#folder
  }

  /** A new, empty database; null: such a server cannot be had here. */
  async database(kind: DatabaseName): Promise<BenchDatabase | null> {
    this.#databases += 1
    const number = this.#databases
    if (kind === 'SQLite') {
      return openSqlite(join(await this.folder(), `${number}.db`))
    }
    const server = await this.get(kind)
    if ('missing' in server) return null
    return openOnServer(kind, server.url, `bench_${process.pid}_${number}`)
  }

  /** @throws Error when it cannot be had */
  async mariadb(): Promise<BenchDatabase> {
    await this.need('MariaDB')
    const database = await this.database('MariaDB')
    if (database === null) throw new Error('MariaDB was there, and is not any more')
    return database
  }

  /** The servers that this run has used, and those that it could not have. */
  async used(): Promise<{ name: ServerName; server: Provided }[]> {
    return Promise.all([...this.#started].map(async ([name, server]) => ({ name, server: await server })))
  }

  async stop(): Promise<void> {
    const servers = await Promise.allSettled(this.#started.values())
    await Promise.all(
      servers.map(async (server) => {
        if (server.status === 'fulfilled' && 'stop' in server.value) await server.value.stop()
      }),
    )
    if (this.#folder !== null) await rm(await this.#folder, { recursive: true, force: true })
  }
}

export type DatabaseName = 'MariaDB' | 'MySQL' | 'SQLite'
export const DATABASES: readonly DatabaseName[] = ['MariaDB', 'MySQL', 'SQLite']

async function sqlServer(kind: 'mariadb' | 'mysql'): Promise<Provided> {
  const server = await provideServer(kind, process.env)
  if ('missing' in server) return { missing: server.missing }
  return { ...server, durability: 'innodb_flush_log_at_trx_commit=1' }
}
