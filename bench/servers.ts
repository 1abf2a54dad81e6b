/**
 * The servers of one run, started on first use, with their default durability unless their name says otherwise. They
 * end with this process, however it ends.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findRedis, startRedis } from '../test/examples/redis.ts'
import { provideServer } from '../test/support/servers.ts'
import { versionOf } from '../test/support/servers-programs.ts'
import { cpuOfServer } from './cpu.ts'
import { findPostgres, startPostgres } from './postgres.ts'
import { type BenchDatabase, type DatabaseName, openOnServer, openSqlite, type Running } from './database.ts'

export type Provided = Running | { readonly missing: string }
export type ServerName = 'MariaDB' | 'MySQL' | 'Redis' | 'Redis, appendfsync always' | 'PostgreSQL'
type Started = Omit<Running, 'cpuMs'> | { readonly missing: string }

const START: Readonly<Record<ServerName, () => Promise<Started>>> = {
  MariaDB: () => sqlServer('mariadb'),
  MySQL: () => sqlServer('mysql'),
  Redis: () => redis([], 'default: snapshots, at most one a minute'),
  'Redis, appendfsync always': () =>
    redis(['--appendonly', 'yes', '--appendfsync', 'always'], 'appendonly=yes, appendfsync=always'),
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
      server = START[name]().then((started) =>
        'missing' in started ? started : { ...started, cpuMs: cpuOfServer(started.url) },
      )
      this.#started.set(name, server)
    }
    return server
  }

  /** For a server that a suite requires. @throws Error if it is not available */
  async need(name: ServerName): Promise<Running> {
    const server = await this.get(name)
    if ('missing' in server) throw new Error(server.missing)
    return server
  }

  /** A folder for files of this run, removed at its end. */
  folder(): Promise<string> {
    this.#folder ??= mkdtemp(join(tmpdir(), 'kalends-bench-'))
    return this.#folder
  }

  /** The available databases. Adds a note for each missing server. */
  async databases(notes: string[]): Promise<DatabaseName[]> {
    const found: DatabaseName[] = []
    for (const kind of DATABASES) {
      const server = kind === 'SQLite' ? null : await this.get(kind)
      if (server !== null && 'missing' in server) notes.push(`${kind} was not measured: ${server.missing}`)
      else found.push(kind)
    }
    return found
  }

  /**
   * A new, empty database.
   *
   * @throws Error if the server is not available
   */
  async database(kind: DatabaseName): Promise<BenchDatabase> {
    this.#databases += 1
    const number = this.#databases
    if (kind === 'SQLite') {
      return openSqlite(join(await this.folder(), `${number}.db`))
    }
    return openOnServer(kind, await this.need(kind), `bench_${process.pid}_${number}`)
  }

  mariadb(): Promise<BenchDatabase> {
    return this.database('MariaDB')
  }

  /** The servers that were used and those that are missing. */
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

export const DATABASES: readonly DatabaseName[] = ['MariaDB', 'MySQL', 'SQLite']

export function isDatabase(name: DatabaseName | ServerName): name is DatabaseName {
  return DATABASES.some((kind) => kind === name)
}

async function redis(options: readonly string[], durability: string): Promise<Started> {
  const found = await findRedis()
  if (typeof found === 'string') return { missing: found }
  const version = /v=([\d.]+)/.exec(await versionOf(found.program))?.[1] ?? 'unknown'
  return { ...(await startRedis(found.program, options)), version, durability }
}

async function sqlServer(kind: 'mariadb' | 'mysql'): Promise<Started> {
  const server = await provideServer(kind, process.env)
  if ('missing' in server) return { missing: server.missing }
  return { ...server, durability: 'innodb_flush_log_at_trx_commit=1' }
}
