/** One place in the fleet: a worker process that faults can affect and that is restarted when it ends. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { fleetDeclarations, FLEET_SET, type FleetDeclaration, type Version } from './declared.ts'
import type { Member, Misuse, Misused, Way } from './fault.ts'
import { WorkerClock } from './worker-clock.ts'

const program = fileURLToPath(new URL('worker.mjs', import.meta.url))

/** Where an application's own queue is: in Kalends' database, or in a separate file. */
export type QueuePlace = 'same' | 'elsewhere'

export interface WorkerSettings {
  readonly url: string
  /** Whether the worker uses a pool that its application has opened. */
  readonly isLent: boolean
  readonly worker: string
  readonly leaseMs: number
  readonly pollIntervalMs: number
  readonly concurrency: number
  readonly folder: string
  /** Where the application's own queue is; null if it has none. */
  readonly queue: QueuePlace | null
  readonly set: { readonly name: string; readonly schedules: readonly FleetDeclaration[] }
}

export type WorkerReport =
  | { readonly event: 'ready'; readonly worker: string }
  | { readonly event: 'health'; readonly health: unknown }
  | ({ readonly event: 'misused' } & Misused)

export type WorkerOrder =
  | { readonly do: 'stop'; readonly graceMs: number }
  | { readonly do: 'health' }
  | { readonly do: 'misuse'; readonly how: Misuse; readonly ms: number }

export interface MemberOptions {
  readonly name: string
  readonly way: Way
  readonly isLent: boolean
  readonly leaseMs: number
  readonly pollIntervalMs: number
  /** Folder for its logs. */
  readonly folder: string
  readonly queue: QueuePlace | null
  readonly environment: Readonly<Record<string, string>>
  /** Node.js options. */
  readonly execArgv: readonly string[]
  /** Prints a message. */
  readonly say: (text: string) => void
}

const CONCURRENCY = 60
const GRACE_MS = 1000
/** Longer than a handler can block, and longer than an outage of the database can last. */
const STOP_LIMIT_MS = 45_000
const START_LIMIT_MS = 300_000
const HEALTH_LIMIT_MS = 2000
/** Longer than the application waits for a connection from its own pool. */
const MISUSE_LIMIT_MS = 5000
/** The delay before the process is restarted, like that of a supervisor. */
const RESTART_MS = 300

export class WorkerMember implements Member {
  readonly name: string
  readonly way: Way
  readonly isLent: boolean
  version: Version = 'old'
  /** How many times the process ended without being asked to. */
  ownEnds = 0
  readonly #options: MemberOptions
  readonly #clock: WorkerClock
  #child: ChildProcess | null = null
  #isWanted = false
  #starting: Promise<void> | null = null

  constructor(options: MemberOptions) {
    this.#options = options
    this.name = options.name
    this.way = options.way
    this.isLent = options.isLent
    this.#clock = new WorkerClock(join(options.folder, `${options.name}.clock`), options.environment)
  }

  get pid(): number {
    return this.#child?.pid ?? 0
  }

  /** Whether it is running and not being started or stopped. */
  get isUp(): boolean {
    return this.#isWanted && this.#starting === null && isAlive(this.#child)
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal)
  }

  async kill(): Promise<void> {
    this.#isWanted = false
    await ended(this.#child, 'SIGKILL')
    await this.#starting?.catch(() => undefined)
  }

  async stop(): Promise<void> {
    this.#isWanted = false
    await this.#starting?.catch(() => undefined)
    const child = this.#child
    if (!isAlive(child)) return
    this.#order({ do: 'stop', graceMs: GRACE_MS })
    const inTime = await Promise.race([
      ended(child).then(() => true),
      delay(STOP_LIMIT_MS, false, { ref: false }),
    ])
    if (inTime) return
    this.#options.say(`${this.name} did not stop within ${STOP_LIMIT_MS} ms and was killed`)
    await ended(child, 'SIGKILL')
  }

  /** Starts the process, and waits until it is ready. Does nothing if it is already running. */
  async start(options: { readonly version?: Version; readonly clockMs?: number } = {}): Promise<void> {
    if (this.isUp) return
    if (options.version !== undefined) this.version = options.version
    this.#clock.setOffset(options.clockMs ?? null)
    this.#isWanted = true
    await this.#up()
  }

  /** Moves the clock of the running process, which must have been started with a `clockMs`. */
  moveClock(clockMs: number): void {
    this.#clock.setOffset(clockMs)
  }

  async health(): Promise<unknown> {
    const report = await this.#answer({ do: 'health' }, 'health', HEALTH_LIMIT_MS)
    return report?.event === 'health' ? report.health : null
  }

  async misuse(how: Misuse, ms: number): Promise<Misused | null> {
    const report = await this.#answer({ do: 'misuse', how, ms }, 'misused', ms + MISUSE_LIMIT_MS)
    return report?.event === 'misused' ? report : null
  }

  async #answer(
    order: WorkerOrder,
    event: WorkerReport['event'],
    withinMs: number,
  ): Promise<WorkerReport | null> {
    const child = this.#child
    if (!isAlive(child) || !child.connected) return null
    const limit = new AbortController()
    const answer = new Promise<WorkerReport>((resolve) => {
      const onMessage = (message: unknown) => {
        if (isReport(message) && message.event === event) resolve(message)
      }
      child.on('message', onMessage)
      limit.signal.addEventListener('abort', () => child.off('message', onMessage))
    })
    this.#order(order)
    try {
      return await Promise.race([answer, delay(withinMs, null)])
    } finally {
      limit.abort()
    }
  }

  #up(): Promise<void> {
    this.#starting ??= this.#startUntilReady().finally(() => {
      this.#starting = null
    })
    return this.#starting
  }

  /** Retries as a supervisor would, because the database may be down. */
  async #startUntilReady(): Promise<void> {
    const deadline = performance.now() + START_LIMIT_MS
    while (this.#isWanted) {
      const child = this.#spawn()
      if (await isReady(child, deadline)) return
      if (performance.now() > deadline) {
        await ended(child, 'SIGKILL')
        throw new Error(`${this.name} was not ready within ${START_LIMIT_MS} ms; see ${this.name}.log`)
      }
      await delay(RESTART_MS)
    }
  }

  #spawn(): ChildProcess {
    const { leaseMs, pollIntervalMs, folder, queue, execArgv } = this.#options
    const settings: WorkerSettings = {
      url: this.way.url,
      isLent: this.isLent,
      worker: this.name,
      leaseMs,
      pollIntervalMs,
      concurrency: CONCURRENCY,
      folder,
      queue,
      set: { name: FLEET_SET, schedules: fleetDeclarations[this.version] },
    }
    const output = openSync(join(folder, `${this.name}.log`), 'a')
    const child = fork(program, [JSON.stringify(settings)], {
      // Do not inherit the options of the harness process.
      execArgv: [...execArgv],
      env: { ...process.env, ...this.#clock.environment },
      stdio: ['ignore', output, output, 'ipc'],
    })
    closeSync(output)
    this.#child = child
    child.on('exit', () => {
      if (this.#child !== child || !this.#isWanted || this.#starting !== null) return
      this.ownEnds += 1
      this.#up().catch((error: unknown) => this.#options.say(String(error)))
    })
    return child
  }

  #order(order: WorkerOrder): void {
    // A process that has just ended does not receive this message. Callers that wait for the process notice its exit.
    this.#child?.send(order, () => {})
  }
}

function isAlive(child: ChildProcess | null): child is ChildProcess {
  return child !== null && child.exitCode === null && child.signalCode === null
}

async function ended(child: ChildProcess | null, signal?: NodeJS.Signals): Promise<void> {
  if (!isAlive(child)) return
  const end = once(child, 'exit')
  if (signal !== undefined) child.kill(signal)
  await end
}

/** @returns false if it ended, or was not ready by the deadline */
async function isReady(child: ChildProcess, deadline: number): Promise<boolean> {
  return await new Promise((resolve) => {
    const limit = setTimeout(() => settle(false), deadline - performance.now())
    const onMessage = (message: unknown) => {
      if (isReport(message) && message.event === 'ready') settle(true)
    }
    const onExit = () => settle(false)
    const settle = (ready: boolean) => {
      clearTimeout(limit)
      child.off('message', onMessage).off('exit', onExit)
      resolve(ready)
    }
    child.on('message', onMessage).on('exit', onExit)
  })
}

/** The program sends no other messages. */
function isReport(message: unknown): message is WorkerReport {
  return typeof message === 'object' && message !== null && 'event' in message
}
