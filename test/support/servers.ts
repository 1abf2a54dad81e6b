/**
 * The databases of one test run: which ones are requested, which are available, and where they come from.
 *
 * A server is either given by a URL in the environment or started from installed programs. A requested but
 * missing server is reported with installation instructions; under CI, it is an error.
 */
import { createConnection, type RowDataPacket } from 'mysql2/promise'
import {
  type DatabaseKind,
  databaseKinds,
  databaseNames,
  type MissingServer,
  type ServerKind,
} from './databases-run.ts'
import { findMariadb, startMariadb } from './servers-mariadb.ts'
import { findMysql, startMysql } from './servers-mysql.ts'
import type { PrivateServer } from './servers-private.ts'
import { say } from './servers-programs.ts'

export interface Server {
  kind: ServerKind
  url: string
  /** The version as reported by the server: '10.11.14'. */
  version: string
  /** 'private, /usr/sbin/mariadbd', or the name of the environment variable that contains its URL. */
  origin: string
  stop: () => Promise<void>
}

/** The oldest supported versions, which have SKIP LOCKED, CHECK constraints and stored generated columns. */
const oldest: Readonly<Record<ServerKind, string>> = { mariadb: '10.6.0', mysql: '8.0.19' }

export function isCi(environment: NodeJS.ProcessEnv): boolean {
  const ci = environment['CI']
  return ci !== undefined && ci !== '' && ci !== 'false' && ci !== '0'
}

/**
 * The databases that this run must test: all, unless a developer selects some.
 *
 * @throws Error if KALENDS_TEST_DATABASES has an unknown name, or narrows a CI run that is not marked as a matrix cell
 *   with KALENDS_TEST_SUITE=matrix
 */
export function wantedDatabases(environment: NodeJS.ProcessEnv): DatabaseKind[] {
  const narrowed = environment['KALENDS_TEST_DATABASES']
  if (narrowed === undefined || narrowed === '') return [...databaseKinds]
  if (isCi(environment) && environment['KALENDS_TEST_SUITE'] !== 'matrix') {
    throw new Error(
      `KALENDS_TEST_DATABASES=${narrowed} would leave databases untested in CI; unset it, or set KALENDS_TEST_SUITE=matrix for a matrix cell that supplements a full run`,
    )
  }
  const names = new Set(narrowed.split(',').map((name) => name.trim()))
  const unknown = [...names].filter((name) => !databaseKinds.some((kind) => kind === name))
  if (unknown.length > 0) {
    throw new Error(
      `KALENDS_TEST_DATABASES has unknown names: ${unknown.join(', ')}; known: ${databaseKinds.join(', ')}`,
    )
  }
  return databaseKinds.filter((kind) => names.has(kind))
}

/** Uses the server from the URL in the environment or starts one. */
export async function provideServer(
  kind: ServerKind,
  environment: NodeJS.ProcessEnv,
): Promise<Server | MissingServer> {
  const variable = kind === 'mariadb' ? 'KALENDS_TEST_MARIADB_URL' : 'KALENDS_TEST_MYSQL_URL'
  const url = environment[variable]
  if (url !== undefined && url !== '') {
    const version = await checkedVersion(kind, url, variable)
    return { kind, url, version, origin: variable, stop: async () => {} }
  }
  const server = kind === 'mariadb' ? await privateMariadb() : await privateMysql(environment)
  if (typeof server === 'string') return { kind, missing: server }
  try {
    const version = await checkedVersion(kind, server.url, server.origin)
    return { kind, url: server.url, version, origin: server.origin, stop: server.stop }
  } catch (error) {
    await server.stop()
    throw error
  }
}

async function privateMariadb() {
  const programs = await findMariadb()
  if (typeof programs === 'string') return programs
  say(`starting a private MariaDB (${programs.server})`)
  return await started(programs.origin, startMariadb(programs))
}

async function privateMysql(environment: NodeJS.ProcessEnv) {
  const program = await findMysql(environment)
  if (typeof program === 'string') return program
  say(`starting a private MySQL (${program.root ?? program.server})`)
  return await started(program.origin, startMysql(program))
}

/**
 * Returns the server, or the reason why it did not start, for example because AppArmor denies access to /tmp. In that
 * case, the database counts as missing.
 */
async function started(origin: string, starting: Promise<PrivateServer>) {
  try {
    return { ...(await starting), origin }
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    say(`${origin} does not start: ${message}`)
    return `it does not start here (${origin}): ${message.split('\n')[0]}`
  }
}

/** Checks the product and the version, because a URL may point to another product or to an unsupported version. */
async function checkedVersion(kind: ServerKind, url: string, origin: string): Promise<string> {
  const version = await serverVersion(url).catch((error: unknown) => {
    throw new Error(`no ${databaseNames[kind]} responds at the URL of ${origin}: ${String(error)}`, {
      cause: error,
    })
  })
  const isMariadb = /mariadb/i.test(version)
  if (isMariadb !== (kind === 'mariadb')) {
    throw new Error(`${origin} should be ${databaseNames[kind]}, but the server there is ${version}`)
  }
  const number = /^\d+\.\d+\.\d+/.exec(version)?.[0] ?? version
  if (number.localeCompare(oldest[kind], 'en', { numeric: true }) < 0) {
    throw new Error(
      `${origin}: Kalends needs ${databaseNames[kind]} ${oldest[kind]}, the server there is ${version}`,
    )
  }
  return number
}

async function serverVersion(url: string): Promise<string> {
  const connection = await createConnection({ uri: url, connectTimeout: 10_000 })
  try {
    const [rows] = await connection.query<RowDataPacket[]>('SELECT VERSION() AS version')
    return String(rows[0]?.['version'])
  } finally {
    await connection.end()
  }
}
