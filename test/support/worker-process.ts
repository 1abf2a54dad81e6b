/** Real worker processes and their reports. Tests wait for reports and rows, never for estimated times. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Health } from '../../src/index.ts'
import type { TestDatabase } from './databases.ts'

const program = fileURLToPath(new URL('worker.mjs', import.meta.url))

export interface WorkerSettings {
  readonly url: string
  /** The worker's name. */
  readonly worker: string
  readonly leaseMs: number
  readonly pollIntervalMs?: number
  /** With 0, the worker runs no jobs. */
  readonly concurrency?: number
  readonly scheduler?: boolean
  readonly signals?: boolean
  /**
   * The behaviour of each task's handler: `return` returns at once; `hold` waits until it is released or its signal
   * fires; `deaf` waits until it is released and ignores its signal.
   */
  readonly tasks: Readonly<Record<string, 'return' | 'hold' | 'deaf'>>
  /** Sends no reports about individual jobs; used by load tests. */
  readonly quiet?: boolean
}

export type WorkerReport =
  | { readonly event: 'ready'; readonly worker: string }
  | {
      readonly event: 'handling'
      readonly job: string
      readonly task: string
      readonly schedule: string | null
      /** Unix milliseconds. */
      readonly slot: number | null
      readonly attempt: number
      readonly worker: string
      readonly args: unknown
    }
  | { readonly event: 'aborted'; readonly job: string; readonly reason: string }
  | {
      readonly event: 'settled'
      readonly job: string
      readonly task: string
      readonly attempt: number
      readonly state: string
    }
  | {
      readonly event: 'submitted'
      readonly schedule: string
      readonly jobs: readonly string[]
    }
  | { readonly event: 'workerLost'; readonly worker: string }
  | { readonly event: 'leaseLost'; readonly worker: string }
  | { readonly event: 'error'; readonly where: string; readonly message: string }
  | { readonly event: 'health'; readonly health: Health }

export type WorkerOrder =
  | { readonly do: 'stop'; readonly graceMs: number }
  | { readonly do: 'release' }
  | { readonly do: 'health' }

type ReportOf<Event extends WorkerReport['event']> = Extract<WorkerReport, { event: Event }>

/** Only detects hangs. Shorter than the time limit of a test, so that the error names the event that did not happen. */
const PATIENCE_MS = 100_000

const alive = new Set<WorkerProcess>()

/** Kills processes that a test has left running. For afterEach. */
export async function killWorkers(): Promise<void> {
  await Promise.all([...alive].map((worker) => worker.kill()))
}

export class WorkerProcess {
  /** All reports in order, with their times of arrival from performance.now(). */
  readonly reports: (WorkerReport & { readonly at: number })[] = []
  readonly #child: ChildProcess
  readonly #exit: Promise<unknown[]>
  #output = ''
  #tellWaiting: (() => void)[] = []

  private constructor(settings: WorkerSettings) {
    this.#child = fork(program, [JSON.stringify(settings)], {
      // The worker does not inherit the options of the test runner.
      execArgv: process.env['KALENDS_TEST_WORKER_OPTIONS']?.split(' ') ?? [],
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    this.#exit = once(this.#child, 'exit')
    alive.add(this)
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.on('data', (data: Buffer) => {
        this.#output += data.toString()
      })
    }
    this.#child.on('message', (report) => {
      // The program sends nothing else.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      this.reports.push({ ...(report as WorkerReport), at: performance.now() })
      this.#wakeWaiting()
    })
    this.#child.on('exit', () => {
      alive.delete(this)
      this.#wakeWaiting()
    })
  }

  /** Starts a worker and waits until it is ready. */
  static async start(settings: WorkerSettings): Promise<WorkerProcess> {
    const worker = new WorkerProcess(settings)
    await worker.report('ready')
    return worker
  }

  /** The id with which the worker started. */
  get id(): string {
    const ready = this.#find('ready', () => true, 0)
    if (ready === undefined) throw new Error('the worker is not ready')
    return ready.worker
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  /**
   * Waits for a report.
   *
   * @param from  the index in `reports` at which to begin; default: 0, so that earlier reports count
   */
  async report<Event extends WorkerReport['event']>(
    event: Event,
    suits: (report: ReportOf<Event>) => boolean = () => true,
    from = 0,
  ): Promise<ReportOf<Event> & { readonly at: number }> {
    const deadline = performance.now() + PATIENCE_MS
    for (;;) {
      const found = this.#find(event, suits, from)
      if (found !== undefined) return found
      if (this.exitCode !== null)
        throw new Error(`the worker ended before it reported '${event}'. Its output:\n${this.#output}`)
      if (performance.now() > deadline) {
        const told = this.reports.slice(-20).map((report) => JSON.stringify(report))
        throw new Error(
          `the worker has not reported '${event}'; it reported:\n${told.join('\n')}\n${this.#output}`,
        )
      }
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, 1000)
        this.#tellWaiting.push(() => {
          clearTimeout(timer)
          resolve()
        })
      })
    }
  }

  told<Event extends WorkerReport['event']>(event: Event): ReportOf<Event>[] {
    return this.reports.filter((report): report is ReportOf<Event> & { at: number } => report.event === event)
  }

  async health(): Promise<Health> {
    const from = this.reports.length
    this.order({ do: 'health' })
    return (await this.report('health', () => true, from)).health
  }

  order(order: WorkerOrder): void {
    this.#child.send(order)
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  /** Sends SIGSTOP, but not while the worker holds the write lock of a SQLite file, which would stay locked. */
  async standStill(database: Pick<TestDatabase, 'kind' | 'query'>): Promise<void> {
    if (database.kind === 'sqlite') await database.query('BEGIN IMMEDIATE')
    this.signal('SIGSTOP')
    if (database.kind === 'sqlite') await database.query('ROLLBACK')
  }

  /** Sends SIGKILL. */
  async kill(): Promise<void> {
    if (this.exitCode === null) this.#child.kill('SIGKILL')
    await this.#exit
  }

  /** Stops the worker cleanly, and waits until its process ends. */
  async stop(graceMs = 10_000): Promise<void> {
    this.order({ do: 'stop', graceMs })
    await this.ended()
  }

  /** @returns the exit code, or the signal that ended the process */
  async ended(): Promise<number | string> {
    const [code, signal] = await this.#exit
    return typeof code === 'number' ? code : String(signal)
  }

  /** null while the process is alive. */
  get exitCode(): number | string | null {
    return this.#child.exitCode ?? this.#child.signalCode
  }

  get output(): string {
    return this.#output
  }

  #find<Event extends WorkerReport['event']>(
    event: Event,
    suits: (report: ReportOf<Event>) => boolean,
    from: number,
  ): (ReportOf<Event> & { readonly at: number }) | undefined {
    return this.reports.slice(from).find(
      (report): report is ReportOf<Event> & { at: number } =>
        report.event === event &&
        // The event says which of them it is.
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion
        suits(report as unknown as ReportOf<Event>),
    )
  }

  #wakeWaiting(): void {
    for (const tell of this.#tellWaiting.splice(0)) tell()
  }
}

/** Polls until there is a result. @throws Error that names the condition that was not met */
export async function until<T>(
  what: string,
  ask: () => Promise<T | null | undefined | false>,
  limitMs = PATIENCE_MS,
): Promise<T> {
  const deadline = performance.now() + limitMs
  for (;;) {
    const answer = await ask()
    if (answer !== null && answer !== undefined && answer !== false) return answer
    if (performance.now() > deadline) throw new Error(`not within ${limitMs} ms: ${what}`)
    await pause(20)
  }
}
