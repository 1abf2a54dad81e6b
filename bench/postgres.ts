/** A private PostgreSQL server on a free loopback port, with default durability. */
import { spawn, execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { chown, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { freePort } from '../test/support/servers-private.ts'
import { findOrInstall, findProgram, isRoot } from '../test/support/servers-programs.ts'

const run = promisify(execFile)
const superviseScript = fileURLToPath(new URL('../test/support/supervise.sh', import.meta.url))
/** The default of 100 is too low for graphile-worker with a concurrency of 100. */
const ROOM = ['-c', 'max_connections=200']
/** Debian keeps the programs of each version in a folder outside PATH. */
const DEBIAN = '/usr/lib/postgresql'

export interface Postgres {
  readonly url: string
  readonly version: string
  readonly stop: () => Promise<void>
}

/** @returns the folder of its programs, or the reason why PostgreSQL is not available */
export async function findPostgres(): Promise<{ folder: string } | string> {
  return await findOrInstall('PostgreSQL', ['postgresql'], () => {
    const folder = programFolder()
    return folder === null ? null : { folder }
  })
}

export async function startPostgres(folder: string): Promise<Postgres> {
  const home = await mkdtemp(join(tmpdir(), 'kalends-postgres-'))
  const data = join(home, 'data')
  // PostgreSQL refuses to run as root.
  const command = isRoot() ? ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups'] : []
  if (isRoot()) {
    const id = async (flag: string) => Number((await run('id', [flag, 'postgres'])).stdout)
    await chown(home, await id('-u'), await id('-g'))
  }
  const initialize = [...command, join(folder, 'initdb')]
  await run('env', [...initialize, '-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8'], { cwd: home })
  const port = await freePort()
  const serve = [
    join(folder, 'postgres'),
    '-D',
    data,
    '-p',
    String(port),
    '-k',
    home,
    '-h',
    '127.0.0.1',
    ...ROOM,
  ]
  // The script stops the server when our end of its stdin is closed, even if this process is killed.
  const server = spawn('sh', [superviseScript, home, ...command, ...serve], {
    cwd: home,
    detached: true,
    stdio: ['pipe', 'ignore', 'pipe'],
  })
  const exit = once(server, 'exit')
  let printed = ''
  await new Promise<void>((resolve, reject) => {
    server.stderr.setEncoding('utf8').on('data', (text: string) => {
      printed = (printed + text).slice(-4000)
      if (printed.includes('ready to accept connections')) resolve()
    })
    exit.then(() => reject(new Error(`postgres ended:\n${printed}`)), reject)
  })
  const { stdout } = await run(join(folder, 'postgres'), ['--version'])
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    version: /\d+(\.\d+)+/.exec(stdout)?.[0] ?? stdout.trim(),
    stop: async () => {
      server.stdin.end()
      await exit
    },
  }
}

function programFolder(): string | null {
  const inPath = findProgram('initdb')
  if (inPath !== null) return join(inPath, '..')
  if (!existsSync(DEBIAN)) return null
  const versions = readdirSync(DEBIAN).toSorted((a, b) => Number(b) - Number(a))
  return (
    versions.map((version) => join(DEBIAN, version, 'bin')).find((bin) => existsSync(join(bin, 'initdb'))) ??
    null
  )
}
