/**
 * Starts a database server of the tests' own: a new data folder, a free port, loopback only.
 *
 * It runs under supervise.sh, which stops it and removes its folder as soon as the test runner lets go of
 * its stdin, and also when the test runner is killed. Durability stays at the server's defaults: what the
 * tests show about crashes is worth nothing on a server that does not flush.
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
  /** The folder of this server as we see it; it holds everything that the server writes, and goes with it. */
  folder: string
  /** The same folder as the server sees it, which may live in a chroot. */
  seen: string
  /** Where the server finds its socket: a path as the server sees it. */
  socket: string
  /** Makes the data folder, once. */
  initialize: readonly string[]
  /** Starts the server in the foreground. It writes its process id into `pid` in its folder. */
  serve: (port: number, extras?: ServerExtras) => readonly string[]
}

export interface ServerExtras {
  /** Of the server, on top of our own. */
  readonly environment?: Readonly<Record<string, string>>
  /** More options of it: `--innodb-lock-wait-timeout=5`. */
  readonly options?: readonly string[]
}

/** In front of the server's own command. */
export function withEnvironment(extras: ServerExtras | undefined): readonly string[] {
  const variables = Object.entries(extras?.environment ?? {})
  return variables.length === 0 ? [] : ['env', ...variables.map(([name, value]) => `${name}=${value}`)]
}

export interface PrivateServer {
  url: string
  /** Resolves once the server has exited and its folder is gone. */
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
      // Another process can take the port between our look and the server's bind.
      const portTaken = /already in use/i.test(String(error))
      if (!portTaken || attempt === triesForAFreePort) throw error
    }
  }
}

/** Of a folder that has its data already it makes none. */
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
    throw new Error(`${name} could not make its data folder`, { cause: error })
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
  // detached: Ctrl-C in the terminal is for the test runner, which stops the server in its own time.
  const supervisor = spawn('sh', [superviseScript, plan.folder, ...plan.serve(port)], {
    detached: true,
    stdio: ['pipe', log, log],
  })
  closeSync(log)
  const exit = once(supervisor, 'exit')
  const exited = exit.then(([code, signal]) => {
    // The folder is gone by now; the open file is not.
    const output = readFileSync(written, 'utf8').slice(-2000)
    throw new Error(`${plan.name} exited (${String(signal ?? code)}). The end of its log:\n${output}`)
  })
  // Whoever waits for the start sees it; later, stop() is the only one who asks.
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
      throw new Error(`${plan.name} did not answer within ${startWithinMs} ms`)
    await Promise.race([pause(50), supervised.exited])
  }
}

/** Whose server answers there: the path of its socket, or null when none answers yet. */
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
 * A port that stays free while its server is down: below those that the operating system gives to outgoing
 * connections, one of which could take it before the server is up again.
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
  if (address === null || typeof address === 'string') throw new Error('no port from the operating system')
  return address.port
}
