/**
 * A private Redis server on an unused loopback port. Installs Redis if it is missing and the tests run as root on
 * Debian.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findOrInstall, findProgram } from '../support/servers-programs.ts'

const superviseScript = fileURLToPath(new URL('../support/supervise.sh', import.meta.url))

export interface Redis {
  readonly url: string
  readonly stop: () => Promise<void>
}

/** @returns the program, or the reason why Redis is not available */
export async function findRedis(): Promise<{ program: string } | string> {
  return await findOrInstall('redis-server', ['redis-server'], () => {
    const program = findProgram('redis-server')
    return program === null ? null : { program }
  })
}

/** @param durability  persistence options; default: no persistence */
export async function startRedis(
  program: string,
  durability: readonly string[] = ['--save', ''],
): Promise<Redis> {
  const folder = await mkdtemp(join(tmpdir(), 'kalends-redis-'))
  const port = await freePort()
  const options = ['--bind', '127.0.0.1', '--port', String(port), '--dir', folder, ...durability]
  // Stops the server when our end of its stdin is closed, even if this process is killed.
  const server = spawn('sh', [superviseScript, folder, program, ...options], {
    detached: true,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const exit = once(server, 'exit')
  let printed = ''
  await new Promise<void>((resolve, reject) => {
    server.stdout.setEncoding('utf8').on('data', (text: string) => {
      printed += text
      if (printed.includes('Ready to accept connections')) resolve()
    })
    exit.then(() => reject(new Error(`redis-server ended:\n${printed}`)), reject)
  })
  return {
    url: `redis://127.0.0.1:${port}`,
    stop: async () => {
      server.stdin.end()
      await exit
    },
  }
}

async function freePort(): Promise<number> {
  const listener = createServer()
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const address = listener.address()
  listener.close()
  await once(listener, 'close')
  if (address === null || typeof address === 'string')
    throw new Error('the operating system assigned no port')
  return address.port
}
