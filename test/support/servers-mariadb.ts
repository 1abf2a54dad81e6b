/** The MariaDB server for the tests: an installed binary, or one that the tests install with apt as root on Debian. */
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { asUser, findOrInstall, findProgram, versionOf } from './servers-programs.ts'
import {
  type PrivateServer,
  type PrivateServerPlan,
  startPrivateServer,
  withEnvironment,
} from './servers-private.ts'

export interface MariadbPrograms {
  server: string
  initialize: string
  origin: string
}

/** The programs, installed if necessary, or the reason why they are not available. */
export async function findMariadb(): Promise<MariadbPrograms | string> {
  const found =
    (await programs('private')) ??
    (await findOrInstall('mariadbd', ['mariadb-server'], () => programs('private, installed by this run')))
  return typeof found === 'string'
    ? `${found}, or set KALENDS_TEST_MARIADB_URL (mysql://root@127.0.0.1:3306)`
    : found
}

async function programs(origin: string): Promise<MariadbPrograms | null> {
  const initialize = findProgram('mariadb-install-db') ?? findProgram('mysql_install_db')
  for (const name of ['mariadbd', 'mysqld']) {
    const server = findProgram(name)
    if (server !== null && initialize !== null && /mariadb/i.test(await versionOf(server))) {
      return { server, initialize, origin: `${origin}, ${server}` }
    }
  }
  return null
}

export async function startMariadb(programs: MariadbPrograms): Promise<PrivateServer> {
  return await startPrivateServer(await mariadbPlan(programs))
}

/**
 * Creates a new folder and uses it even for temporary files and during initialization: when MariaDB starts, it removes
 * supposed leftovers from its temporary folder, so other servers would crash if they shared that folder.
 */
export async function mariadbPlan({ server, initialize }: MariadbPrograms): Promise<PrivateServerPlan> {
  const folder = await mkdtemp(join(tmpdir(), 'kalends-mariadb-'))
  const data = join(folder, 'data')
  const socket = join(folder, 'socket')
  return {
    name: 'MariaDB',
    folder,
    seen: folder,
    socket,
    initialize: [
      initialize,
      '--no-defaults',
      `--datadir=${data}`,
      `--tmpdir=${folder}`,
      '--auth-root-authentication-method=normal',
      '--skip-test-db',
      ...asUser(),
    ],
    serve: (port, extras) => [
      ...withEnvironment(extras),
      server,
      '--no-defaults',
      `--datadir=${data}`,
      `--socket=${socket}`,
      `--pid-file=${join(folder, 'pid')}`,
      `--tmpdir=${folder}`,
      `--port=${port}`,
      '--bind-address=127.0.0.1',
      '--max-connections=400',
      ...asUser(),
      ...(extras?.options ?? []),
    ],
  }
}
