import { Definitions } from './definitions.ts'
import { InvalidInputError } from './errors.ts'
import { Emitter, type ListenOptions } from './events.ts'
import type { Handler } from './executor/handler.ts'
import { ExternalJobs } from './jobs/external.ts'
import type { Jobs } from './jobs/jobs.ts'
import { checkedRetention, prune, type RetentionOptions } from './jobs/retention.ts'
import type { FreezeOptions, FreezePreview, FreezeTarget } from './freezes.ts'
import { Lifecycle, type Step } from './lifecycle.ts'
import { checkKeys, namesOf } from './keys.ts'
import type { Logger } from './logger.ts'
import { checkedFunction, checkedSignal, shownInput } from './model/input.ts'
import type { Freeze } from './model/freeze.ts'
import type { Finding } from './model/diagnosis.ts'
import type { Redaction } from './model/redaction.ts'
import type { AnyArgs, Task } from './model/task.ts'
import {
  type CheckedOptions,
  checkedOptions,
  type KalendsOptions,
  type ScopeOptions,
  type StartOptions,
  type StopOptions,
} from './options.ts'
import type { Declaration, OnRemoved } from './schedules/declared.ts'
import type { Schedules } from './schedules/schedules.ts'
import { type Access, accesses, diagnosed, type Scope } from './scopes.ts'
import type { DatabaseTarget } from './store/database.ts'
import {
  migrateDatabase,
  printMigrations,
  type MigrateOptions,
  openStores,
  openToInspect,
  PLACE,
} from './store/open.ts'
import type { Stores } from './store/store.ts'
import type { Views } from './views/views.ts'
import type { Health } from './worker/health.ts'
import { type KalendsEvents, type Reporter, reporterOf } from './worker/reporter.ts'
import type { WorkerStatus } from './worker/worker-status.ts'

type Events = Emitter<KalendsEvents>

const EVENTS = namesOf<KalendsEvents>({
  submitted: true,
  started: true,
  settled: true,
  workerLost: true,
  leaseLost: true,
  error: true,
})

/**
 * The schedules and jobs of one application in one database. Each process that uses them opens its own Kalends.
 * Processes that call `start` are workers.
 */
export class Kalends {
  readonly schedules: Schedules
  readonly jobs: Jobs
  /** Lists and counts for user interfaces. Their cost is bounded, regardless of the size of the tables. */
  readonly views: Views
  /** Takes reports about jobs in external queues. */
  readonly external: ExternalJobs
  /** For `kalends/http`: `schedules`, `jobs` and the rest, on the API's own, limited connections. @internal */
  readonly api: Access
  readonly #options: CheckedOptions
  readonly #stores: Stores
  readonly #events: Events
  readonly #lifecycle: Lifecycle
  readonly #calls: Access

  private constructor(
    stores: Stores,
    options: CheckedOptions,
    definitions: Definitions,
    { events, reporter }: { events: Events; reporter: Reporter },
  ) {
    this.#stores = stores
    this.#options = options
    this.#events = events
    this.#lifecycle = new Lifecycle(stores, options, definitions, this.#events, () => this.#calls.warned())
    const accessTo = accesses({
      ...options,
      definitions,
      events: this.#events,
      lifecycle: this.#lifecycle,
    })
    this.#calls = accessTo(stores.calls)
    this.api = accessTo(stores.api)
    this.schedules = this.#calls.schedules
    this.jobs = this.#calls.jobs
    this.views = this.#calls.views
    this.external = new ExternalJobs(stores.calls.jobs, {
      ...options,
      onConverted: (...of) => reporter.onConverted(...of),
      onSettled: (settled) => {
        reporter.settled({ settled: [settled], lost: [], locked: [], refused: [] })
        this.#lifecycle.wakeForJobs()
      },
    })
  }

  /** The zone for timers that do not name one, or null if such timers are in UTC. */
  get zone(): string | null {
    return this.#options.zone
  }

  get logger(): Logger {
    return this.#options.logger
  }

  /** For `kalends/http`: redacts the secrets that the option `redact` names. @internal */
  get redaction(): Redaction {
    return this.#options.redaction
  }

  /**
   * Opens the database and, by default, migrates the tables to this version.
   *
   * @param target  `mysql://user@host/database`, `sqlite:./file.db`, `sqlite::memory:`, a mysql2 pool, a
   *   connection of better-sqlite3, libsql or node:sqlite, or a drizzle database on one of these; see `DatabaseTarget`
   * @throws InvalidInputError naming the option
   * @throws StoreUnavailableError when the database cannot be reached
   * @throws SchemaError when this version cannot use the tables, the application has a table with one of their names, or
   *   the server does not lock rows
   */
  static async open(target: DatabaseTarget, options: KalendsOptions = {}): Promise<Kalends> {
    const checked = checkedOptions(options)
    const { retention = {} } = options
    const definitions = new Definitions(retention, checked.externalQueue)
    // If a connection is lost without notice, a loop abandons it after the length of a lease; by then,
    // the worker's marks have expired.
    const { logger, redaction } = checked
    const events: Events = new Emitter((err) => logger.error({ err }, 'An event listener threw an error'))
    const reporter = reporterOf(logger, events, redaction)
    const stores = await openStores(target, {
      ...options,
      longestUseMs: checked.leaseMs,
      logger,
      onSetAside: (message, first) => reporter.onSetAside(message, first),
    })
    return new Kalends(stores, checked, definitions, { events, reporter })
  }

  /**
   * Migrates the tables to this version and closes the database: a deployment step for applications that open with
   * `migrate: false`.
   *
   * @returns the migrations that were applied; empty when the tables were up to date
   * @throws as `open` does
   */
  static migrate(target: DatabaseTarget, options: MigrateOptions = {}): Promise<string[]> {
    return migrateDatabase(target, options)
  }

  /**
   * The statements that `migrate` would run, for a deployment that runs them itself. Changes nothing.
   *
   * @returns no statements when the tables are up to date
   * @throws as `open` does
   */
  static migrationStatements(
    target: DatabaseTarget,
    options: Pick<MigrateOptions, 'tablePrefix' | 'schema' | 'driver'> = {},
  ): Promise<string[]> {
    return printMigrations(target, options)
  }

  /**
   * Checks a database, its schedules and its workers for problems, and suggests how to fix them. This changes nothing,
   * and works with tables of any version.
   *
   * @param options.lease  a worker that is silent for longer than this counts as dead; use the lease of your workers
   * @throws InvalidInputError, StoreUnavailableError
   */
  static async doctor(
    target: DatabaseTarget,
    options: Pick<KalendsOptions, 'tablePrefix' | 'schema' | 'driver' | 'lease'> = {},
  ): Promise<Finding[]> {
    checkKeys(options, [...PLACE, 'lease'])
    const { leaseMs } = checkedOptions(options)
    const store = await openToInspect(target, options)
    try {
      return await diagnosed(store, leaseMs)
    } finally {
      await store.close()
    }
  }

  /**
   * Sets the function that runs the jobs of a task in this process. Call it before `start`.
   *
   * @param task  a task, or the name of one without a schema and with the default policy
   * @throws InvalidInputError when the task already has a handler, or its jobs go to the external queue
   */
  handle<Input, Args, Result>(task: Task<Input, Args, Result>, handler: Handler<Args, Result>): void
  handle(task: string, handler: Handler<AnyArgs>): void
  handle<Input, Args, Result>(
    task: Task<Input, Args, Result> | string,
    handler: Handler<Args, Result>,
  ): void {
    this.#lifecycle.definitionsFor('handle').handle(task, handler)
  }

  /**
   * Declares a set of schedules that `start` writes to the database. Call it before `start`.
   *
   * @param set  the name of the set; a set changes only its own schedules
   * @param options.onRemoved  what to do with schedules that no live worker declares any longer: `retire` (the default:
   *   they do not run until they are declared again), `delete` or `keep`
   */
  declare<Inputs extends readonly unknown[]>(
    set: string,
    declarations: readonly [...{ [Index in keyof Inputs]: Declaration<Inputs[Index]> }],
    options: { readonly onRemoved?: OnRemoved | undefined } = {},
  ): void {
    checkKeys(options, ['onRemoved'])
    this.#lifecycle.definitionsFor('declare').declare(set, declarations, options.onRemoved ?? 'retire')
  }

  /**
   * Checks all declared schedules as `start` does, without starting a worker. Use it in CI.
   *
   * @throws DeclarationError with all problems
   */
  async check(): Promise<void> {
    await this.#lifecycle.sets(true)
  }

  /**
   * Starts this process as a worker. `stop` ends it.
   *
   * @throws DeclarationError with all problems of the declared schedules, before anything is started
   * @throws StoreUnavailableError when the database cannot be reached
   */
  async start(options: StartOptions = {}): Promise<void> {
    await this.#lifecycle.start(options)
  }

  /**
   * The schedules and jobs of one owner, for requests of the application's users. No call can access rows of other
   * owners. Writes are restricted to the granted tasks and limits. Ids that the owner chooses have their own namespace.
   *
   * @throws InvalidInputError when the scope would cover every owner, or is granted a built-in task
   */
  scope(options: ScopeOptions): Scope {
    return this.#calls.scope(options)
  }

  /**
   * Calls a function whenever this event happens in this process. Errors that the function throws are logged.
   *
   * @returns a function that ends the subscription
   * @throws InvalidInputError when the event does not exist
   */
  on<Name extends keyof KalendsEvents>(
    event: Name,
    listener: (payload: KalendsEvents[Name]) => void,
    options: ListenOptions = {},
  ): () => void {
    if (typeof event !== 'string' || event.length === 0)
      throw new InvalidInputError('event', `must be one of ${EVENTS.join(', ')}, got ${shownInput(event)}`)
    checkKeys({ [event]: true }, EVENTS)
    checkKeys(options, ['signal'])
    checkedSignal(options.signal)
    return this.#events.on(event, checkedFunction('listener', listener), options)
  }

  /** Works like `on`, but only for the next event. */
  once<Name extends keyof KalendsEvents>(
    event: Name,
    listener: (payload: KalendsEvents[Name]) => void,
    options: ListenOptions = {},
  ): () => void {
    checkedFunction('listener', listener)
    const end = this.on(
      event,
      (payload) => {
        end()
        return listener(payload)
      },
      options,
    )
    return end
  }

  /** The health of this worker, based on the last good pass of each loop. Before `start`, there are no loops. */
  health(): Health {
    return this.#lifecycle.health()
  }

  /**
   * Stops a schedule, a task, a group or everything until a given time, without changing `enabled`. Jobs and retries
   * wait; slots that become due in the meantime are skipped with the reason `frozen`; one-offs and manual runs run when
   * the freeze ends.
   *
   * @throws InvalidInputError naming the option, NotFoundError when the schedule does not exist
   */
  freeze(options: FreezeOptions): Promise<Freeze> {
    return this.#calls.freezes.add(options)
  }

  /** Ends a freeze now. @throws NotFoundError when there is no such active freeze */
  thaw(id: string): Promise<Freeze> {
    return this.#calls.freezes.end(id)
  }

  /** The active freezes. */
  freezes(): Promise<Freeze[]> {
    return this.#calls.freezes.list()
  }

  /** The jobs that a freeze would hold, and the slots that it would skip. Changes nothing. @throws as `freeze` does */
  previewFreeze(target: FreezeTarget): Promise<FreezePreview> {
    return this.#calls.freezes.preview(target)
  }

  /** All registered workers of this database, in this and other processes. */
  workers(): Promise<WorkerStatus[]> {
    return this.#calls.workers()
  }

  /** Checks this database, its schedules and its workers for problems, and suggests how to fix them. */
  doctor(): Promise<Finding[]> {
    return this.#calls.doctor()
  }

  /**
   * Removes old final jobs and their logs now, by age and number, and then done schedules that have no jobs and whose
   * `afterDone` is `delete`. Workers do this every hour, unless `retention` is false.
   *
   * @returns how many jobs were removed
   */
  async prune(options: RetentionOptions = {}): Promise<number> {
    return prune(this.#stores.calls.retention, checkedRetention(options))
  }

  /**
   * Stops this worker: the current pass of the scheduler completes, no more jobs are claimed, and handlers get the
   * grace period to finish. Then their signals are aborted, and unfinished jobs return to the queue. Closes the
   * connections of Kalends, but not a pool or connection that you passed to `open`. May be called more than once.
   */
  async stop(options: StopOptions = {}): Promise<void> {
    await this.#lifecycle.stop(options)
  }

  /** Does the same as `stop`, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  /** For `kalends/testing`: starts without loops and without a heartbeat. @internal */
  startByHand(): Promise<Step> {
    return this.#lifecycle.startByHand()
  }
}
