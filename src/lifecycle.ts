import type { Definitions } from './definitions.ts'
import { ConflictError } from './errors.ts'
import type { Emitter } from './events.ts'
import { FULL_AUTHORITY } from './model/authority.ts'
import {
  type CheckedOptions,
  type CheckedStart,
  checkedStart,
  checkedStop,
  type StartOptions,
  type StopOptions,
} from './options.ts'
import type { DeclaredSet } from './schedules/declared.ts'
import type { Stores } from './store/store.ts'
import { type Health, unstarted } from './worker/health.ts'
import type { KalendsEvents } from './worker/reporter.ts'
import { stopOnSignals } from './worker/signals.ts'
import { Worker } from './worker/worker.ts'

/** Does everything that is due now, once. @returns whether anything was due, and when the next work is due, if ever */
export type Step = () => Promise<{ readonly acted: boolean; readonly next: Date | null }>

/** The lifecycle of a Kalends instance from `open` to `stop`. Only a failed start can be repeated; a stop is final. */
export class Lifecycle {
  readonly #stores: Stores
  readonly #options: CheckedOptions
  readonly #definitions: Definitions
  readonly #events: Emitter<KalendsEvents>
  readonly #beforeClose: () => Promise<void>
  #worker: Worker | null = null
  #removeSignalHandlers = () => {}
  #started: CheckedStart
  #starting: Promise<void> | null = null
  #stopping: Promise<void> | null = null

  constructor(
    stores: Stores,
    options: CheckedOptions,
    definitions: Definitions,
    events: Emitter<KalendsEvents>,
    beforeClose: () => Promise<void>,
  ) {
    this.#stores = stores
    this.#options = options
    this.#definitions = definitions
    this.#events = events
    this.#beforeClose = beforeClose
    this.#started = checkedStart({}, options.externalQueue)
  }

  /** @throws ConflictError after a start, unless it failed, or after a stop */
  definitionsFor(call: string): Definitions {
    this.#mustNotBeStarted(call)
    return this.#definitions
  }

  #mustNotBeStarted(call: string): void {
    if (this.#starting === null && this.#stopping === null) return
    throw new ConflictError(
      `${call} was called too late: this Kalends instance was already ${this.#stopping === null ? 'started' : 'stopped'}`,
    )
  }

  async start(options: StartOptions): Promise<void> {
    this.#mustNotBeStarted('start')
    this.#started = checkedStart(options, this.#options.externalQueue)
    this.#starting = this.#start(this.#started).catch((error: unknown) => {
      this.#starting = null
      throw error
    })
    await this.#starting
  }

  async startByHand(): Promise<Step> {
    this.#mustNotBeStarted('startByHand')
    this.#worker = await this.#build(this.#started)
    await this.#worker.register(false)
    this.#starting = Promise.resolve()
    return async () => {
      const acted = (await this.#worker?.step()) ?? false
      const { wakeAt, dueAt } = await this.#stores.loops.scheduling.look([])
      const times = [wakeAt, dueAt].filter((at) => at !== null).map((at) => at.getTime())
      return { acted, next: times.length === 0 ? null : new Date(Math.min(...times)) }
    }
  }

  /** @throws InvalidInputError when the grace period is invalid */
  async stop(options: StopOptions): Promise<void> {
    const graceMs = checkedStop(options, this.#started.graceMs)
    this.#stopping ??= this.#stop(graceMs)
    await this.#stopping
  }

  wake(): void {
    this.#worker?.wake()
  }

  wakeForJobs(): void {
    this.#worker?.wakeForJobs()
  }

  /** Whether this process is a worker that runs jobs. */
  runsJobs(): boolean {
    return this.#worker !== null && this.#started.concurrency > 0
  }

  health(): Health {
    return this.#worker?.health() ?? unstarted(this.#stopping !== null)
  }

  /** @throws DeclarationError with all problems */
  sets(runsJobs: boolean): Promise<DeclaredSet[]> {
    const { zone, argsLimit } = this.#options
    const { taskNamed } = this.#definitions
    return this.#definitions.sets({ zone, argsLimit, taskNamed, authority: FULL_AUTHORITY }, runsJobs)
  }

  async #start(options: CheckedStart): Promise<void> {
    const worker = await this.#build(options)
    // Assigned before the worker starts, because calls during the start may already wake it.
    this.#worker = worker
    try {
      await worker.start()
    } catch (error) {
      this.#worker = null
      throw error
    }
    if (!options.signals) return
    this.#removeSignalHandlers = stopOnSignals({ stop: () => this.stop({}) }, this.#options.logger)
  }

  async #build({ concurrency, schedules }: CheckedStart): Promise<Worker> {
    const runsJobs = concurrency > 0
    if (runsJobs) this.#definitions.handleHousekeeping(this.#stores.loops.retention)
    return new Worker({
      ...this.#options,
      store: this.#stores.loops,
      // A start waits longer for locks than a loop does, so that a brief lock does not make the start fail.
      declaredAtStart: this.#stores.calls.declared,
      handlers: this.#definitions.handlers,
      sets: await this.sets(runsJobs),
      schedules,
      concurrency,
      events: this.#events,
    })
  }

  async #stop(graceMs: number): Promise<void> {
    // A start in progress either fails or produces a worker, which must then be stopped.
    await this.#starting?.catch(() => undefined)
    await this.#worker?.stop(graceMs)
    this.#worker = null
    await this.#beforeClose()
    await this.#stores.close()
    this.#removeSignalHandlers()
  }
}
