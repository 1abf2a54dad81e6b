/** The MySQL server for the tests: an installed binary, or one in the folder that .ci/mysql-root creates. */
import { existsSync } from 'node:fs'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { createConnection, type RowDataPacket } from 'mysql2/promise'
import { asUser, findProgram, isRoot, versionOf } from './servers-programs.ts'
import {
  makeDataFolder,
  type PrivateServer,
  type PrivateServerPlan,
  startPrivateServer,
  withEnvironment,
} from './servers-private.ts'
import type { RestartableServer } from './servers-restartable.ts'

/** The time limit for a response on a busy machine; a frozen server does not respond. */
const ANSWER_MS = 5000

export interface MysqlProgram {
  /** The chroot folder, if the server is in one. */
  root: string | null
  server: string
  origin: string
}

/** The program, or the reason why it is not available. */
export async function findMysql(environment: NodeJS.ProcessEnv): Promise<MysqlProgram | string> {
  const server = findProgram('mysqld')
  // On Debian, mysqld is MariaDB.
  if (server !== null && !/mariadb/i.test(await versionOf(server))) {
    return { root: null, server, origin: `private, ${server}` }
  }
  const root = mysqlRoot(environment)
  const made = existsSync(join(root, 'kalends-complete'))
  if (made && isRoot()) return { root, server: '/usr/sbin/mysqld', origin: `private, chroot ${root}` }
  if (made)
    return `MySQL is in ${root}, but only root can start it there: run the tests as root, or set KALENDS_TEST_MYSQL_URL`
  return 'no mysqld on this machine: run `.ci/mysql-root` once (root on Debian, 600 MB, a minute), or set KALENDS_TEST_MYSQL_URL (mysql://root@127.0.0.1:3306)'
}

/** The same folder as in .ci/mysql-root. */
export function mysqlRoot(environment: NodeJS.ProcessEnv): string {
  const cache = environment['XDG_CACHE_HOME'] || join(environment['HOME'] ?? homedir(), '.cache')
  return environment['KALENDS_TEST_MYSQL_ROOT'] || join(cache, 'kalends', 'mysql')
}

export async function startMysql(program: MysqlProgram): Promise<PrivateServer> {
  return await startPrivateServer(await mysqlPlan(program))
}

/** Plans a server in a new folder. */
export async function mysqlPlan(program: MysqlProgram): Promise<PrivateServerPlan> {
  const { root, server } = program
  const { folder, seen } = await mysqlFolder(program, 'kalends-mysql-')
  const command = root === null ? [] : ['chroot', root]
  const socket = join(seen, 'socket')
  const data = `--datadir=${join(seen, 'data')}`
  return {
    name: 'MySQL',
    folder,
    seen,
    socket,
    initialize: [...command, server, '--no-defaults', '--initialize-insecure', data, ...asUser()],
    serve: (port, extras) => [
      ...command,
      ...withEnvironment(extras),
      server,
      '--no-defaults',
      data,
      `--socket=${socket}`,
      `--pid-file=${join(seen, 'pid')}`,
      `--port=${port}`,
      '--bind-address=127.0.0.1',
      '--mysqlx=0',
      '--secure-file-priv=NULL',
      // Tests read the locked rows from performance_schema.data_locks.
      '--performance-schema=ON',
      '--max-connections=400',
      ...asUser(),
      ...(extras?.options ?? []),
    ],
  }
}

/** Plans for several servers. They get copies of the same data folder, because creating one takes longer than copying it. */
export async function mysqlPlans(program: MysqlProgram, count: number): Promise<PrivateServerPlan[]> {
  const plans: PrivateServerPlan[] = []
  for (let index = 0; index < count; index += 1) plans.push(await mysqlPlan(program))
  const [first, ...others] = plans
  if (first === undefined) return []
  await makeDataFolder(first)
  const data = join(first.folder, 'data')
  // This file contains the id of the server, which must be unique.
  await rm(join(data, 'auto.cnf'), { force: true })
  for (const { folder } of others)
    await cp(data, join(folder, 'data'), { recursive: true, preserveTimestamps: true })
  return plans
}

/**
 * A new folder that servers can read.
 *
 * @returns its path, and its path as seen by the servers
 */
export async function mysqlFolder(
  { root }: MysqlProgram,
  prefix: string,
): Promise<{ readonly folder: string; readonly seen: string }> {
  // The data is inside the chroot of the server, so no mount is needed.
  const folder = await mkdtemp(join(root === null ? tmpdir() : join(root, 'var/lib'), prefix))
  return { folder, seen: root === null ? folder : join('/var/lib', basename(folder)) }
}

/** A MySQL server that can be killed, frozen and restarted on the same port. */
export class MysqlServer {
  readonly name: string
  /** `mysql://root@127.0.0.1:port`, even while it is down. */
  readonly url: string
  protected readonly server: RestartableServer

  constructor(name: string, server: RestartableServer) {
    this.name = name
    this.server = server
    this.url = `mysql://root@127.0.0.1:${server.port}`
  }

  /** null while it is down. */
  get pid(): number | null {
    return this.server.pid
  }

  /** Sends SIGKILL and waits until the server has exited. */
  kill(): Promise<void> {
    return this.server.kill()
  }

  /** Shuts it down cleanly. */
  stop(): Promise<void> {
    return this.server.stop()
  }

  start(): Promise<void> {
    return this.server.start()
  }

  signal(signal: NodeJS.Signals): void {
    this.server.signal(signal)
  }

  async query(text: string, withinMs = ANSWER_MS): Promise<RowDataPacket[]> {
    const connection = await createConnection({ uri: this.url, connectTimeout: ANSWER_MS })
    connection.on('error', () => {})
    try {
      const [rows] = await connection.query<RowDataPacket[]>({ sql: text, timeout: withinMs })
      return rows
    } finally {
      connection.destroy()
    }
  }
}
