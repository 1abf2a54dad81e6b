/**
 * A private server that can be killed, stopped and restarted with the same port and data.
 *
 * It runs under supervise.sh like other servers, but its folder outlives it: keep-folder.sh removes the folder, so
 * nothing is left behind even if the parent process is killed.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync } from 'node:fs'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import {
  steadyPort,
  makeDataFolder,
  type PrivateServerPlan,
  type ServerExtras,
  socketOfServerAt,
} from './servers-private.ts'

const superviseScript = fileURLToPath(new URL('supervise.sh', import.meta.url))
const keepScript = fileURLToPath(new URL('keep-folder.sh', import.meta.url))

/** How to start a server (a database server, or a proxy in front of one) and check whether it responds. */
export interface RestartablePlan extends Pick<PrivateServerPlan, 'name' | 'folder' | 'initialize' | 'serve'> {
  /** Whether this server responds at the port. */
  readonly answers: (port: number) => Promise<boolean>
}

/** Long enough for a server to recover its data after a kill -9. */
const startWithinMs = 90_000

/** A folder that is removed when this process ends, if not earlier. */
export class KeptFolder {
  readonly path: string
  /**
   * Processes that use the folder hold a shared lock on this file, so that the folder is not removed while they use it.
   */
  readonly lock: string
  readonly #keeper: ChildProcess
  readonly #kept: Promise<unknown>

  private constructor(path: string) {
    this.path = path
    this.lock = join(path, 'lock')
    this.#keeper = spawn('sh', [keepScript, path], { detached: true, stdio: ['pipe', 'ignore', 'inherit'] })
    this.#kept = once(this.#keeper, 'exit')
  }

  static async keep(path: string): Promise<KeptFolder> {
    await mkdir(path, { recursive: true })
    await writeFile(join(path, 'lock'), '')
    return new KeptFolder(path)
  }

  /** Unmounts everything that is mounted in the folder, then removes the folder. */
  async remove(): Promise<void> {
    this.#keeper.stdin?.end()
    await this.#kept
    if (existsSync(this.path)) throw new Error(`the folder still exists: ${this.path}`)
  }
}

interface Running {
  readonly supervisor: ChildProcess
  readonly pid: number
  readonly exit: Promise<unknown>
}

export class RestartableServer {
  readonly port: number
  readonly #plan: RestartablePlan
  readonly #extras: ServerExtras
  readonly #folder: KeptFolder
  #running: Running | null = null
  #starting: Promise<void> | null = null
  #isWanted = false

  private constructor(plan: RestartablePlan, extras: ServerExtras, folder: KeptFolder, port: number) {
    this.#plan = plan
    this.#extras = extras
    this.#folder = folder
    this.port = port
  }

  /** @param folder  the kept folder of the plan, which outlives the server */
  static async start(
    plan: PrivateServerPlan | RestartablePlan,
    folder: KeptFolder,
    extras: ServerExtras = {},
  ): Promise<RestartableServer> {
    await makeDataFolder(plan)
    const restartable =
      'answers' in plan
        ? plan
        : { ...plan, answers: async (port: number) => (await socketOfServerAt(port)) === plan.socket }
    const server = new RestartableServer(restartable, extras, folder, await steadyPort())
    await server.start()
    return server
  }

  /** null while it is down. */
  get pid(): number | null {
    return this.#running?.pid ?? null
  }

  /** Called with the end of the server's log when the server has ended unexpectedly. */
  onOwnEnd: (log: string) => void = () => {}

  /** Starts it, and returns once it responds. Has no effect while it is running. */
  async start(): Promise<void> {
    this.#isWanted = true
    this.#starting ??= this.#up().finally(() => {
      this.#starting = null
    })
    await this.#starting
  }

  async #up(): Promise<void> {
    if (this.#running !== null) return
    const running = await this.#spawn()
    const deadline = performance.now() + startWithinMs
    while (!(await this.#plan.answers(this.port))) {
      if (this.#running !== running) throw new Error(await this.#told('exited'))
      if (performance.now() > deadline)
        throw new Error(await this.#told(`did not respond within ${startWithinMs} ms`))
      await pause(50)
    }
  }

  /** Sends SIGKILL and waits until the server has exited. */
  async kill(): Promise<void> {
    this.#isWanted = false
    const running = this.#running
    if (running === null) return
    this.signal('SIGKILL')
    await running.exit
  }

  /** Shuts it down cleanly. */
  async stop(): Promise<void> {
    this.#isWanted = false
    const running = this.#running
    if (running === null) return
    // A process that is stopped by SIGSTOP does not handle SIGTERM.
    this.signal('SIGCONT')
    running.supervisor.stdin?.end()
    await running.exit
  }

  /** Kills the server and recreates its data folder, as on a new machine, without starting the server again. */
  async renew(): Promise<void> {
    await this.kill()
    await rm(join(this.#plan.folder, 'data'), { recursive: true })
    await makeDataFolder(this.#plan)
  }

  signal(signal: NodeJS.Signals): void {
    if (this.#running !== null) process.kill(this.#running.pid, signal)
  }

  async #spawn(): Promise<Running> {
    const { folder } = this.#plan
    const pidFile = join(folder, 'pid')
    await rm(pidFile, { force: true })
    const log = openSync(this.#logFile, 'a')
    const command = ['sh', superviseScript, join(folder, 'run'), ...this.#plan.serve(this.port, this.#extras)]
    const supervisor = spawn('flock', ['--shared', this.#folder.lock, ...command], {
      // detached: Ctrl-C in the terminal is for the parent process, which stops the server later.
      detached: true,
      stdio: ['pipe', log, log],
    })
    closeSync(log)
    let hasEnded = false
    supervisor.on('exit', () => {
      hasEnded = true
      this.#running = null
      if (this.#isWanted && this.#starting === null) void this.#tellOwnEnd()
    })
    const exit = once(supervisor, 'exit')
    for (;;) {
      const pid = Number(await readFile(pidFile, 'utf8').catch(() => ''))
      if (hasEnded) throw new Error(await this.#told('exited'))
      if (pid > 0) {
        const running = { supervisor, pid, exit }
        this.#running = running
        return running
      }
      await pause(20)
    }
  }

  async #tellOwnEnd(): Promise<void> {
    this.onOwnEnd(await this.#told('ended by itself'))
  }

  get #logFile(): string {
    return join(this.#plan.folder, 'server.log')
  }

  async #told(what: string): Promise<string> {
    const log = await readFile(this.#logFile, 'utf8').catch(() => '')
    return `${this.#plan.name} ${what}. The end of its log:\n${log.slice(-2000)}`
  }
}
