/** A private HAProxy: in front of a replication group, it routes connections to a primary; on Galera, to all nodes. */
import { once } from 'node:events'
import { chmod, mkdtemp, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { findOrInstall, findProgram } from './servers-programs.ts'
import { KeptFolder, RestartableServer } from './servers-restartable.ts'

export interface HaproxyPrograms {
  readonly haproxy: string
  /** The command-line client that queries the members. */
  readonly client: string
}

/** The programs, installed if necessary, or the reason why they are not available. */
export async function findHaproxy(): Promise<HaproxyPrograms | string> {
  return await findOrInstall('HAProxy', ['haproxy', 'mariadb-client'], () => {
    const haproxy = findProgram('haproxy')
    const client = findProgram('mariadb')
    return haproxy === null || client === null ? null : { haproxy, client }
  })
}

export interface Haproxy {
  readonly server: RestartableServer
  /** Resolves once it has exited and its folder is removed. */
  stop(): Promise<void>
}

/**
 * @param hosts  `127.0.0.1:3306`
 * @param to  a primary of the replication group, or each host in turn
 */
export async function startHaproxy(
  { haproxy, client }: HaproxyPrograms,
  hosts: readonly string[],
  to: 'primary' | 'each' = 'primary',
): Promise<Haproxy> {
  const folder = await KeptFolder.keep(await mkdtemp(join(tmpdir(), 'kalends-haproxy-')))
  try {
    const check = join(folder.path, 'is-primary')
    await writeFile(check, isPrimary(client))
    await chmod(check, 0o755)
    const file = join(folder.path, 'haproxy.cfg')
    await writeFile(file, configuration(hosts, to === 'each' ? EACH : toPrimary(check, dirname(client))))
    const serve = (port: number) => [
      'env',
      `PORT=${port}`,
      'sh',
      '-c',
      // In the foreground, HAProxy writes no pid file.
      `echo $$ > "${join(folder.path, 'pid')}"; exec "${haproxy}" -db -q -f "${file}"`,
    ]
    const server = await RestartableServer.start(
      { name: 'HAProxy', folder: folder.path, initialize: ['true'], serve, answers: isOpen },
      folder,
    )
    return {
      server,
      async stop() {
        await server.stop()
        await folder.remove()
      },
    }
  } catch (error) {
    await folder.remove()
    throw error
  }
}

function isPrimary(client: string): string {
  return `#!/bin/sh
# HAProxy calls it with its own address and port, and those of the server.
test "$(${client} --no-defaults --host="$3" --port="$4" --user=root --connect-timeout=2 --batch --skip-column-names --execute="
  SELECT COUNT(*) FROM performance_schema.replication_group_members
  WHERE member_id = @@server_uuid AND member_state = 'ONLINE' AND member_role = 'PRIMARY'")" = 1
`
}

const EACH = '  balance roundrobin'

function toPrimary(check: string, clientFolder: string): string {
  return `  option external-check
  external-check path "${clientFolder}:/usr/bin:/bin"
  external-check command ${check}
  default-server check inter 1s fall 1 rise 1 on-marked-down shutdown-sessions`
}

function configuration(hosts: readonly string[], routing: string): string {
  return `global
  external-check
  insecure-fork-wanted
defaults
  mode tcp
  timeout connect 2s
  timeout client 1h
  timeout server 1h
  timeout check 3s
listen group
  bind "127.0.0.1:$PORT"
${routing}
${hosts.map((host, index) => `  server m${index + 1} ${host}\n`).join('')}`
}

async function isOpen(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
