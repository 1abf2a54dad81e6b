/**
 * The composition root: opens the store, collects handlers and declarations, and starts a worker.
 */
import { ConflictError, InvalidInputError } from './errors.ts'
import { Emitter } from './events.ts'
import type { Handler, HandledTask } from './executor/handler.ts'
import { Jobs } from './jobs/jobs.ts'
import {
  checkedRetention,
  HOUSEKEEPING,
  housekeepingDeclarations,
  prune,
  pruneTask,
  type RetentionOptions,
} from './jobs/retention.ts'
import { type Health, unstarted } from './health.ts'
import type { Logger } from './logger.ts'
import { diagnose, type Finding, schemaFindings } from './model/diagnosis.ts'
import { type Authority, checkedLimits, checkedTasks, FULL_AUTHORITY } from './model/authority.ts'
import { ANY_OWNER, prefixOf } from './model/owner.ts'
import type { Redaction } from './model/redaction.ts'
import { spanOption } from './model/input.ts'
import type { Task } from './model/task.ts'
import {
  type CheckedOptions,
  checkedOptions,
  concurrencyOf,
  type KalendsOptions,
  ownerName,
  type ScopeOptions,
  type StartOptions,
} from './options.ts'
import { type Declaration, type DeclaredSet, DeclaredSets, type Gone } from './schedules/declared.ts'
import { Schedules } from './schedules/schedules.ts'
import {
  type DatabaseTarget,
  migrateDatabase,
  type MigrateOptions,
  openStores,
  openToInspect,
} from './store/open.ts'
import { OwnerTurns } from './owner-turns.ts'
import { stopOnSignals } from './signals.ts'
import type { Store, Stores } from './store/store.ts'
import type { WorkerRecord } from './store/worker-store.ts'
import { Views } from './views/views.ts'
import { type KalendsEvents, Worker } from './worker.ts'

/** A worker as the others see it. */
export interface WorkerStatus extends WorkerRecord {
  /** How long ago its last heartbeat was, by the database's clock. */
  readonly silentMs: number
  /** Whether it was heard of within the lease. */
  readonly alive: boolean
  /** How many jobs it runs. */
  readonly running: number
}

/** Options of `Kalends.prune`: what goes, and who is told. */
export interface PruneOptions extends RetentionOptions {
  readonly signal?: AbortSignal | undefined
  /** Told after each batch how many jobs were removed so far. */
  readonly onProgress?: ((removed: number) => void) | undefined
}

/** The schedules and jobs of one owner: no call reaches beyond them, whatever id it is given. */
export interface Scope {
  readonly schedules: Schedules
  readonly jobs: Jobs
  readonly views: Views
}

/** What the REST API works with, on separate connections. */
export interface ApiAccess extends Scope {
  scope(options: ScopeOptions): Scope
  /** The rows of every owner, for a caller that may not use every task. */
  everyOwner(options: EveryOwnerOptions): Scope
  workers(): Promise<WorkerStatus[]>
  doctor(): Promise<Finding[]>
}

/** What a caller of the API without a scope may write. */
export interface EveryOwnerOptions extends Pick<ScopeOptions, 'tasks' | 'limits'> {
  readonly builtInTasks: boolean
}

const SCOPE_FIELDS: ReadonlySet<string> = new Set(['group', 'submitter', 'tasks', 'limits'])
const DEFAULT_GRACE_MS = 30_000

/**
 * One application's schedules and jobs in one database. Every process that uses them opens one; those that call
 * `start` are workers.
 */
export class Kalends {
  readonly schedules: Schedules
  readonly jobs: Jobs
  /** Pages and counts for people, which cost little however large the tables are. */
  readonly views: Views
  /**
   * For `kalends/http`: the same, with limits and on connections that no loop waits for.
   *
   * @internal
   */
  readonly api: ApiAccess
  readonly #stores: Stores
  readonly #options: CheckedOptions
  readonly #handlers = new Map<string, HandledTask>()
  readonly #declared = new DeclaredSets()
  readonly #housekeeping: DeclaredSets | null
  readonly #events: Emitter<KalendsEvents>
  readonly #turns = new OwnerTurns()
  #worker: Worker | null = null
  #forgetSignals = () => {}
  #starting: Promise<void> | null = null
  #stopping: Promise<void> | null = null

  private constructor(stores: Stores, options: CheckedOptions, housekeeping: DeclaredSets | null) {
    this.#stores = stores
    this.#options = options
    this.#housekeeping = housekeeping
    this.#events = new Emitter('kalends', (error) =>
      options.logger.error({ err: error }, 'A listener of an event threw'),
    )
    const { schedules, jobs, views } = this.#reach(FULL_AUTHORITY, stores.calls)
    this.schedules = schedules
    this.jobs = jobs
    this.views = views
    this.api = {
      ...this.#reach(FULL_AUTHORITY, stores.api),
      scope: (scope) => this.#scope(scope, stores.api),
      everyOwner: (every) => this.#everyOwner(every, stores.api),
      workers: () => this.#workers(stores.api),
      doctor: () => findings(stores.api, options.leaseMs),
    }
  }

  /**
   * Opens the database and, unless told otherwise, brings the tables to what this version needs.
   *
   * @param target  `mysql://user@host/database`, `sqlite:./file.db`, `sqlite::memory:`, a mysql2 pool, or a drizzle
   *   database on one
   * @throws InvalidInputError naming the option
   * @throws StoreUnavailableError when the database cannot be reached
   * @throws SchemaError when a table of the application has one of our names
   */
  static async open(target: DatabaseTarget, options: KalendsOptions = {}): Promise<Kalends> {
    const checked = checkedOptions(options)
    const { retention = {} } = options
    let housekeeping: DeclaredSets | null = null
    if (retention !== false) {
      housekeeping = new DeclaredSets()
      housekeeping.add(HOUSEKEEPING, housekeepingDeclarations(checkedRetention(retention)), 'retire')
    }
    // A loop whose connection died without a word is back at work when the lease of its marks has ended.
    const stores = await openStores(target, { ...options, longestUseMs: checked.leaseMs })
    return new Kalends(stores, checked, housekeeping)
  }

  /**
   * Brings the tables to what this version needs, and closes again: a step of a deployment, for applications
   * that open with `migrate: false`.
   *
   * @returns the migrations that were applied; empty when there was nothing to do
   * @throws as `open` does
   */
  static migrate(target: DatabaseTarget, options: MigrateOptions = {}): Promise<string[]> {
    return migrateDatabase(target, options)
  }

  /**
   * Looks for what is wrong with a database, its schedules and its workers, and says what to do about each.
   * Changes nothing; works on tables of any age.
   *
   * @param options.lease  a worker that is silent for longer is dead; as the workers have it
   * @throws InvalidInputError, StoreUnavailableError
   */
  static async doctor(
    target: DatabaseTarget,
    options: Pick<KalendsOptions, 'tablePrefix' | 'lease'> = {},
  ): Promise<Finding[]> {
    const { leaseMs } = checkedOptions(options)
    const store = await openToInspect(target, options)
    try {
      return await findings(store, leaseMs)
    } finally {
      await store.close()
    }
  }

  /**
   * Says how jobs of a task are run here. Before `start`.
   *
   * @throws InvalidInputError when the task has a handler already
   */
  handle<Input, Args, Result>(task: Task<Input, Args, Result>, handler: Handler<Args, Result>): void {
    this.#mustNotBeStarted('handle')
    if (this.#handlers.has(task.name))
      throw new InvalidInputError('handle', `the task '${task.name}' has a handler already`)
    // The executor gives a handler only what the schema of its own task has read.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    this.#handlers.set(task.name, { task, handler: handler as Handler })
  }

  /**
   * Declares a set of schedules that is brought to the database at `start`. Before `start`.
   *
   * @param set  the name of the set; a set touches only its own schedules
   * @param options.gone  what becomes of schedules that no live worker declares any more: `retire` (default: nothing
   *   is to come of them until they are declared again), `delete` or `keep`
   */
  declare<Inputs extends readonly unknown[]>(
    set: string,
    declarations: readonly [...{ [Index in keyof Inputs]: Declaration<Inputs[Index]> }],
    options: { readonly gone?: Gone | undefined } = {},
  ): void {
    this.#mustNotBeStarted('declare')
    if (set === HOUSEKEEPING)
      throw new InvalidInputError('declare', `the set '${HOUSEKEEPING}' is Kalends' own; choose another name`)
    this.#declared.add(set, declarations, options.gone ?? 'retire')
  }

  /**
   * Checks all declared schedules, as `start` does before it begins: for CI, without a worker.
   *
   * @throws DeclarationError with all faults
   */
  async check(): Promise<void> {
    await this.#checkedSets(true)
  }

  /**
   * Starts this process as a worker. It ends with `stop`.
   *
   * @throws DeclarationError with all faults of the declared schedules, before anything is started
   * @throws StoreUnavailableError when the database cannot be reached
   */
  async start(options: StartOptions = {}): Promise<void> {
    this.#mustNotBeStarted('start')
    this.#starting = this.#start(options).catch((error: unknown) => {
      this.#starting = null
      throw error
    })
    await this.#starting
  }

  /**
   * The schedules and jobs of one owner, for what users of the application do: no call reaches beyond them, and what
   * it writes is of the given tasks and within the limits. Ids of the owner's choosing are in a namespace of their own.
   *
   * @throws InvalidInputError when it would reach everything, or is given a built-in task
   */
  scope(options: ScopeOptions): Scope {
    return this.#scope(options, this.#stores.calls)
  }

  #scope(options: ScopeOptions, store: Store): Scope {
    // Untyped code passes on what it has, such as the null of a session without a user.
    if (typeof options !== 'object' || options === null)
      throw new InvalidInputError('scope', `{ group, submitter } is needed, not ${JSON.stringify(options)}`)
    // A misspelt one would leave a scope that reaches more than was meant.
    const unknown = Object.keys(options).find((name) => !SCOPE_FIELDS.has(name))
    if (unknown !== undefined)
      throw new InvalidInputError(
        'scope',
        `unknown field '${unknown}'; it takes ${[...SCOPE_FIELDS].join(', ')}`,
      )
    const owner = { group: ownerName('group', options), submitter: ownerName('submitter', options) }
    if (owner.group === null && owner.submitter === null) {
      throw new InvalidInputError(
        'scope',
        'a group or a submitter is needed, or the scope would reach everything',
      )
    }
    return this.#reach(
      {
        owner,
        tasks: checkedTasks(options.tasks),
        builtInTasks: false,
        limits: checkedLimits(options.limits),
      },
      store,
    )
  }

  /** @returns a function that ends the subscription */
  on<Name extends keyof KalendsEvents>(
    event: Name,
    listener: (payload: KalendsEvents[Name]) => void,
  ): () => void {
    return this.#events.on(event, listener)
  }

  /** Written into timers that name no zone; null: they are UTC. */
  get zone(): string | null {
    return this.#options.zone
  }

  /** What this Kalends logs through. */
  get logger(): Logger {
    return this.#options.logger
  }

  /** What hides the secrets that the option `redact` names. */
  get redaction(): Redaction {
    return this.#options.redaction
  }

  /** How this worker is, by the last good pass of each of its loops. Before `start` there are none. */
  health(): Health {
    return this.#worker?.health() ?? unstarted(this.#stopping !== null)
  }

  /** All registered workers of this database, also those that others have started. */
  workers(): Promise<WorkerStatus[]> {
    return this.#workers(this.#stores.calls)
  }

  async #workers(store: Store): Promise<WorkerStatus[]> {
    const running = await store.workers.running()
    const workers = await store.workers.list()
    const now = (await store.schedules.now()).getTime()
    return workers.map((worker) => {
      const silentMs = Math.max(0, now - worker.heartbeat.getTime())
      return {
        ...worker,
        silentMs,
        alive: silentMs <= this.#options.leaseMs,
        running: running.get(worker.id) ?? 0,
      }
    })
  }

  /** What is wrong with this database, its schedules and its workers, and what to do about each. */
  doctor(): Promise<Finding[]> {
    return findings(this.#stores.calls, this.#options.leaseMs)
  }

  /**
   * Removes final jobs and their logs now, by age and number; a worker does it by itself every hour.
   *
   * @returns how many jobs were removed
   */
  async prune({ signal, onProgress, ...retention }: PruneOptions = {}): Promise<number> {
    const checked = checkedRetention(retention)
    return prune(this.#stores.calls.retention, checked, signal ?? new AbortController().signal, onProgress)
  }

  /**
   * Stops: the current pass of the scheduler completes, no job is claimed any more, handlers get the grace
   * period to end; then their signals fire, and what does not end goes back to the queue. Closes the database,
   * unless it was lent. May be called twice.
   *
   * @param options.grace  milliseconds or a time span; default `30s`
   */
  async stop(options: { readonly grace?: number | string } = {}): Promise<void> {
    const graceMs = spanOption('grace', options.grace, DEFAULT_GRACE_MS, { least: 0, most: 86_400_000 })
    this.#stopping ??= this.#stop(graceMs)
    await this.#stopping
  }

  /** As `stop`, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  /**
   * For `kalends/testing`: starts without loops and without a heartbeat.
   *
   * @internal
   * @returns a function that does what is due now, once; it says whether anything was, and when something will be
   */
  async startByHand(): Promise<() => Promise<{ readonly acted: boolean; readonly next: Date | null }>> {
    this.#mustNotBeStarted('startByHand')
    this.#worker = await this.#build({})
    await this.#worker.register(false)
    this.#starting = Promise.resolve()
    return async () => {
      const acted = (await this.#worker?.step()) ?? false
      const { wakeAt, dueAt } = await this.#stores.loops.scheduling.look([])
      const times = [wakeAt, dueAt].filter((at) => at !== null).map((at) => at.getTime())
      return { acted, next: times.length === 0 ? null : new Date(Math.min(...times)) }
    }
  }

  async #start(options: StartOptions): Promise<void> {
    const worker = await this.#build(options)
    // From before it runs: what it does at once may already want to wake it.
    this.#worker = worker
    try {
      await worker.start()
    } catch (error) {
      this.#worker = null
      throw error
    }
    if (options.signals === true) this.#forgetSignals = stopOnSignals(this, this.#options.logger)
  }

  async #build(options: StartOptions): Promise<Worker> {
    const elsewhere = typeof options.scheduler === 'object' ? options.scheduler.submit : null
    const concurrency = elsewhere === null ? concurrencyOf(options.executor) : 0
    const runsJobs = concurrency > 0
    if (runsJobs && this.#housekeeping !== null && !this.#handlers.has(pruneTask.name)) {
      this.handle(pruneTask, ({ args, signal }) => prune(this.#stores.loops.retention, args, signal))
    }
    return new Worker({
      ...this.#options,
      store: this.#stores.loops,
      handlers: this.#handlers,
      sets: await this.#checkedSets(runsJobs),
      schedules: options.scheduler !== false,
      elsewhere,
      concurrency,
      events: this.#events,
    })
  }

  #checkedSets(runsJobs: boolean): Promise<DeclaredSet[]> {
    const context = {
      zone: this.#options.zone,
      authority: FULL_AUTHORITY,
      argsLimit: this.#options.argsLimit,
      taskNamed: (name: string) => this.#taskNamed(name),
    }
    const isHandled = (task: string) => !runsJobs || this.#handlers.has(task)
    // Kalends' own first: what they do, everybody relies on.
    const own = runsJobs ? (this.#housekeeping?.check(context, () => true) ?? []) : []
    return Promise.all([own, this.#declared.check(context, isHandled)]).then((sets) => sets.flat())
  }

  async #stop(graceMs: number): Promise<void> {
    // A start that is under way either fails, or leaves the worker that is to be stopped.
    await this.#starting?.catch(() => undefined)
    await this.#worker?.stop(graceMs)
    this.#worker = null
    this.#forgetSignals()
    await this.#stores.close()
  }

  #everyOwner({ tasks, limits, builtInTasks }: EveryOwnerOptions, store: Store): Scope {
    return this.#reach(
      {
        owner: ANY_OWNER,
        tasks: tasks === undefined ? null : checkedTasks(tasks),
        builtInTasks,
        limits: limits === undefined ? null : checkedLimits(limits),
      },
      store,
    )
  }

  #reach(authority: Authority, store: Store): Scope {
    const { zone, wakeUpMs, now, redaction, argsLimit } = this.#options
    const { owner } = authority
    const stores =
      prefixOf(owner) === ''
        ? store
        : {
            ...store,
            schedules: store.schedules.ownedBy(owner),
            jobs: store.jobs.ownedBy(owner),
            lists: store.lists.ownedBy(owner),
          }
    const taskNamed = (name: string) => this.#taskNamed(name)
    const onWrite = () => this.#worker?.wake()
    const inTurn = <Result>(work: () => Promise<Result>) =>
      authority.limits === null ? work() : this.#turns.run(prefixOf(owner), work)
    const onSettled = (listener: (jobId: string) => void) =>
      this.#events.on('settled', ({ id }) => listener(id))
    return {
      schedules: new Schedules(stores, { zone, taskNamed, authority, redaction, argsLimit, onWrite, inTurn }),
      views: new Views(stores.lists),
      jobs: new Jobs(stores.jobs, {
        taskNamed,
        authority,
        inTurn,
        argsLimit,
        onWrite: () => this.#worker?.wakeForJobs(),
        onSettled,
        wakeUpMs,
        now,
      }),
    }
  }

  #taskNamed(name: string): Task | null {
    return this.#handlers.get(name)?.task ?? null
  }

  #mustNotBeStarted(call: string): void {
    if (this.#starting === null && this.#stopping === null) return
    throw new ConflictError(
      `${call} comes too late: this Kalends was ${this.#stopping === null ? 'started' : 'stopped'} already`,
    )
  }
}

async function findings({ inspection }: Store, leaseMs: number): Promise<Finding[]> {
  const drift = schemaFindings(await inspection.schemaDrift())
  // What the other looks read may not be there.
  return drift.length > 0 ? drift : diagnose(await inspection.inspect(), leaseMs)
}
