/**
 * Starts a private database server with a new data folder on a free loopback port.
 *
 * The server runs under supervise.sh, which stops it and removes its folder as soon as the test runner closes the stdin
 * of the script or is killed. The durability settings keep the server's defaults, because crash tests are
 * meaningless on a server that does not flush.
 */
import { spawn, execFile } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { mkdir, readdir, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { randomInt } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createConnection, type RowDataPacket } from 'mysql2/promise'

const run = promisify(execFile)
const superviseScript = fileURLToPath(new URL('supervise.sh', import.meta.url))

const startWithinMs = 60_000
const triesForAFreePort = 3

export interface PrivateServerPlan {
  /** For messages: 'MariaDB'. */
  name: string
  /** The folder of this server. It contains everything that the server writes, and is removed with it. */
  folder: string
  /** The same folder as seen by the server, which may run in a chroot. */
  seen: string
  /** The socket path as seen by the server. */
  socket: string
  /** The command that creates the data folder. */
  initialize: readonly string[]
  /** The command that starts the server in the foreground. The server writes its process id to `pid` in its folder. */
  serve: (port: number, extras?: ServerExtras) => readonly string[]
}

export interface ServerExtras {
  /** Additional environment variables of the server. */
  readonly environment?: Readonly<Record<string, string>>
  /** Additional options of the server: `--innodb-lock-wait-timeout=5`. */
  readonly options?: readonly string[]
}

/** A prefix for the server's command: it sets environment variables. */
export function withEnvironment(extras: ServerExtras | undefined): readonly string[] {
  const variables = Object.entries(extras?.environment ?? {})
  return variables.length === 0 ? [] : ['env', ...variables.map(([name, value]) => `${name}=${value}`)]
}

export interface PrivateServer {
  url: string
  /** Resolves when the server has exited and its folder is removed. */
  stop: () => Promise<void>
}

export async function startPrivateServer(plan: PrivateServerPlan): Promise<PrivateServer> {
  for (let attempt = 1; ; attempt++) {
    await makeDataFolder(plan).catch(async (error: unknown) => {
      await rm(plan.folder, { recursive: true })
      throw error
    })
    const port = await freePort()
    const supervised = supervise(plan, port)
    try {
      await untilItAnswers(plan, port, supervised)
      return { url: `mysql://root@127.0.0.1:${port}`, stop: supervised.stop }
    } catch (error) {
      await supervised.stop()
      // Another process can take the port between our check and the server's bind.
      const portTaken = /already in use/i.test(String(error))
      if (!portTaken || attempt === triesForAFreePort) throw error
    }
  }
}

/** Creates the data folder, unless it already contains data. */
export async function makeDataFolder({
  name,
  folder,
  initialize,
}: Pick<PrivateServerPlan, 'name' | 'folder' | 'initialize'>): Promise<void> {
  const made = await readdir(join(folder, 'data')).catch(() => [])
  if (made.length > 0) return
  const [program = '', ...options] = initialize
  await mkdir(folder, { recursive: true })
  try {
    await run(program, options, { maxBuffer: 16 * 1024 * 1024 })
  } catch (error) {
    throw new Error(`${name} could not create its data folder`, { cause: error })
  }
}

interface Supervised {
  /** Rejects with the end of the server's log when the server exits. */
  exited: Promise<never>
  stop: () => Promise<void>
}

function supervise(plan: PrivateServerPlan, port: number): Supervised {
  const logFile = `${plan.folder}/server.log`
  const log = openSync(logFile, 'a')
  const written = openSync(logFile, 'r')
  // detached: Ctrl-C in the terminal is for the test runner, which stops the server later.
  const supervisor = spawn('sh', [superviseScript, plan.folder, ...plan.serve(port)], {
    detached: true,
    stdio: ['pipe', log, log],
  })
  closeSync(log)
  const exit = once(supervisor, 'exit')
  const exited = exit.then(([code, signal]) => {
    // The folder has been removed by now, but the open file is still readable.
    const output = readFileSync(written, 'utf8').slice(-2000)
    throw new Error(`${plan.name} exited (${String(signal ?? code)}). The end of its log:\n${output}`)
  })
  // While the server starts, untilItAnswers handles the rejection; later, an exit is expected.
  exited.catch(() => closeSync(written))
  return {
    exited,
    stop: async () => {
      supervisor.stdin?.end()
      await exit
    },
  }
}

async function untilItAnswers(plan: PrivateServerPlan, port: number, supervised: Supervised): Promise<void> {
  const deadline = performance.now() + startWithinMs
  for (;;) {
    const answer = await Promise.race([socketOfServerAt(port), supervised.exited])
    if (answer === plan.socket) return
    if (answer !== null) throw new Error(`port ${port} is already in use by another server (${answer})`)
    if (performance.now() > deadline)
      throw new Error(`${plan.name} did not respond within ${startWithinMs} ms`)
    await Promise.race([pause(50), supervised.exited])
  }
}

/** The socket path of the server that responds at this port, or null if none responds yet. */
export async function socketOfServerAt(port: number): Promise<string | null> {
  try {
    const connection = await createConnection({ host: '127.0.0.1', port, user: 'root', connectTimeout: 5000 })
    try {
      const [rows] = await connection.query<RowDataPacket[]>('SELECT @@socket AS socket')
      return String(rows[0]?.['socket'])
    } finally {
      connection.destroy()
    }
  } catch {
    return null
  }
}

export async function freePort(): Promise<number> {
  return await freed(0)
}

/**
 * A port that stays free while its server is down: it is below the ephemeral port range, so no outgoing connection can
 * take it before the server is up again.
 */
export async function steadyPort(): Promise<number> {
  for (;;) {
    const port = 12_000 + randomInt(18_000)
    const isFree = await freed(port).then(
      () => true,
      () => false,
    )
    if (isFree) return port
  }
}

async function freed(port: number): Promise<number> {
  const listener = createServer()
  listener.listen(port, '127.0.0.1')
  await once(listener, 'listening')
  const address = listener.address()
  listener.close()
  await once(listener, 'close')
  if (address === null || typeof address === 'string')
    throw new Error('the operating system assigned no port')
  return address.port
}
