/** HAProxy of the tests' own in front of a replication group: it sends connections to the primary. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findOrInstall, findProgram } from './servers-programs.ts'
import { steadyPort } from './servers-private.ts'
import { until } from './worker-process.ts'

const superviseScript = fileURLToPath(new URL('supervise.sh', import.meta.url))

export interface HaproxyPrograms {
  readonly haproxy: string
  /** The command-line client that asks the members. */
  readonly client: string
}

/** The programs, installed if need be; a text says why they cannot be had. */
export async function findHaproxy(): Promise<HaproxyPrograms | string> {
  return await findOrInstall('HAProxy', ['haproxy', 'mariadb-client'], () => {
    const haproxy = findProgram('haproxy')
    const client = findProgram('mariadb')
    return haproxy === null || client === null ? null : { haproxy, client }
  })
}

/**
 * @param hosts  `127.0.0.1:3306`
 * @returns where it listens, and how it is stopped
 */
export async function startHaproxy(
  { haproxy, client }: HaproxyPrograms,
  hosts: readonly string[],
): Promise<{ readonly host: string; stop(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'kalends-haproxy-'))
  const port = await steadyPort()
  const check = join(folder, 'is-primary')
  await writeFile(
    check,
    `#!/bin/sh
# HAProxy calls it with its own address and port, and those of the server.
test "$(${client} --no-defaults --host="$3" --port="$4" --user=root --connect-timeout=2 --batch --skip-column-names --execute="
  SELECT COUNT(*) FROM performance_schema.replication_group_members
  WHERE member_id = @@server_uuid AND member_state = 'ONLINE' AND member_role = 'PRIMARY'")" = 1
`,
  )
  await chmod(check, 0o755)
  const configuration = join(folder, 'haproxy.cfg')
  await writeFile(
    configuration,
    `global
  external-check
  insecure-fork-wanted
defaults
  mode tcp
  timeout connect 2s
  timeout client 1h
  timeout server 1h
  timeout check 3s
listen group
  bind 127.0.0.1:${port}
  option external-check
  external-check path "${dirname(client)}:/usr/bin:/bin"
  external-check command ${check}
  default-server check inter 1s fall 1 rise 1 on-marked-down shutdown-sessions
${hosts.map((host, index) => `  server m${index + 1} ${host}\n`).join('')}`,
  )
  const supervisor = spawn('sh', [superviseScript, folder, haproxy, '-db', '-q', '-f', configuration], {
    detached: true,
    stdio: ['pipe', 'ignore', 'inherit'],
  })
  const exit = once(supervisor, 'exit')
  await until('HAProxy listens', () => isOpen(port))
  return {
    host: `127.0.0.1:${port}`,
    async stop() {
      supervisor.stdin.end()
      await exit
    },
  }
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
