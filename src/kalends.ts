/**
 * The composition root: opens the store, wires the parts of a worker and their wake-ups. It holds no rule and
 * no SQL.
 *
 * The parts meet in the rows of the database; a wake-up only saves the wait for the next look.
 */
import { hostname } from 'node:os'
import { ConflictError, InvalidInputError } from './errors.ts'
import { Emitter } from './events.ts'
import type { Handler, HandledTask } from './executor/handler.ts'
import { JobExecutor } from './executor/job-executor.ts'
import { Lease } from './executor/lease.ts'
import { Jobs } from './jobs/jobs.ts'
import { harmless, type Logger, silentLogger } from './logger.ts'
import type { LoopHealth } from './loop.ts'
import { type ClaimedJob, isFinal } from './model/job.ts'
import { spanOption, type Task } from './model/task.ts'
import { PeriodicScheduler } from './scheduler/periodic-scheduler.ts'
import { type Declaration, DeclaredSets, syncSet } from './schedules/declared.ts'
import { Schedules } from './schedules/schedules.ts'
import type { Settled, SettleResult } from './store/executing-store.ts'
import { type DatabaseTarget, migrateDatabase, openStore, type StoreOptions } from './store/open.ts'
import type { Submission } from './store/scheduling-store.ts'
import type { Store } from './store/store.ts'
import { checkedZone } from './timer/index.ts'
import { Watch } from './watch.ts'

export interface KalendsOptions extends StoreOptions {
  /** The worker's name, for people: default the host's name. Its id is the name with a new suffix at each start. */
  readonly worker?: string | undefined
  /** Written into timers of code that name no zone: an IANA name, or 'local'. Default: such timers are UTC. */
  readonly zone?: string | undefined
  /** pino and most other loggers fit; default: silent. */
  readonly logger?: Logger | undefined
  /** After this time what a dead worker held is free for others: milliseconds or a time span; default `60s`. */
  readonly lease?: number | string | undefined
  /** How often to look for what others have changed: milliseconds or a time span; default `1s`. */
  readonly wakeUp?: number | string | undefined
}

export interface StartOptions {
  /** Whether this worker submits due schedules; default true. */
  readonly scheduler?: boolean | undefined
  /** Whether, and how many at a time, this worker runs jobs; default 10. */
  readonly executor?: boolean | { readonly concurrency?: number | undefined } | undefined
  /** Whether SIGTERM and SIGINT stop it; default false. */
  readonly signals?: boolean | undefined
}

/** What happened in this process. */
export interface KalendsEvents {
  /** A schedule was planned and its jobs submitted. */
  submitted: Submission
  /** An attempt of a job began here. */
  started: ClaimedJob
  /** An attempt ended: the job is final, or waits for its next attempt. */
  settled: Settled
  /** Another worker was found dead; what it held is taken over. */
  workerLost: { readonly worker: string }
  /** This worker was taken for dead, by others or after a long sleep; it goes on under a new id. */
  leaseLost: { readonly worker: string }
  /** Something failed that is tried again. */
  error: { readonly where: string; readonly error: unknown }
}

export interface Health {
  /** Whether every loop does its work. */
  readonly ok: boolean
  /** The id of this worker; null while it may take on no work. */
  readonly worker: string | null
  readonly running: number
  readonly loops: readonly LoopHealth[]
}

const DEFAULT_LEASE_MS = 60_000
const DEFAULT_WAKE_UP_MS = 1000
const DEFAULT_GRACE_MS = 30_000
const DEFAULT_CONCURRENCY = 10
/** Signals that come together ask for one stop. */
const SAME_WISH_MS = 1000
/** Schedules in one transaction: large enough for bursts, small enough to be certified by a cluster. */
const BATCH = 500

/** What runs between start and stop. */
interface Parts {
  readonly lease: Lease
  readonly watch: Watch
  readonly scheduler: PeriodicScheduler | null
  readonly executor: JobExecutor | null
  readonly forgetSignals: () => void
}

export class Kalends {
  readonly schedules: Schedules
  readonly jobs: Jobs
  readonly #store: Store
  readonly #name: string
  readonly #zone: string | null
  readonly #logger: Logger
  readonly #leaseMs: number
  readonly #wakeUpMs: number
  readonly #handlers = new Map<string, HandledTask>()
  readonly #declared = new DeclaredSets()
  readonly #events: Emitter<KalendsEvents>
  #parts: Parts | null = null
  #starting: Promise<void> | null = null
  #stopping: Promise<void> | null = null

  private constructor(
    store: Store,
    options: KalendsOptions & { leaseMs: number; wakeUpMs: number; zone: string | undefined },
  ) {
    this.#store = store
    this.#name = options.worker ?? hostname()
    this.#zone = options.zone ?? null
    this.#logger = harmless(options.logger ?? silentLogger)
    this.#leaseMs = options.leaseMs
    this.#wakeUpMs = options.wakeUpMs
    this.#events = new Emitter((error) => this.#logger.error({ err: error }, 'A listener of an event threw'))
    const taskNamed = (name: string) => this.#handlers.get(name)?.task ?? null
    this.schedules = new Schedules(store.schedules, { zone: this.#zone, taskNamed }, () => this.#wakeAll())
    this.jobs = new Jobs(store.jobs, taskNamed, () => this.#wakeAll())
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
    const leaseMs = spanOption('lease', options.lease, DEFAULT_LEASE_MS, { least: 1000, most: 3_600_000 })
    const wakeUpMs = spanOption('wakeUp', options.wakeUp, DEFAULT_WAKE_UP_MS, { least: 20, most: 60_000 })
    const name = options.worker ?? hostname()
    if (typeof name !== 'string' || !/^[^/]{1,190}$/.test(name)) {
      throw new InvalidInputError(
        'worker',
        `a name of 1 to 190 characters without '/' is needed, not ${JSON.stringify(name)}`,
      )
    }
    const zone = options.zone === undefined ? undefined : checkedZone(options.zone)
    return new Kalends(await openStore(target, options), { ...options, leaseMs, wakeUpMs, zone })
  }

  /**
   * Brings the tables to what this version needs, and closes again: a step of a deployment, for applications
   * that open with `migrate: false`.
   *
   * @returns the migrations that were applied; empty when there was nothing to do
   * @throws as `open` does
   */
  static migrate(target: DatabaseTarget, options: Pick<StoreOptions, 'tablePrefix'> = {}): Promise<string[]> {
    return migrateDatabase(target, options)
  }

  /**
   * Says how jobs of a task are run here. Before `start`.
   *
   * @throws InvalidInputError when the task has a handler already
   */
  handle<Input, Args>(task: Task<Input, Args>, handler: Handler<Args>): void {
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
   */
  declare<Inputs extends readonly unknown[]>(
    set: string,
    declarations: readonly [...{ [Index in keyof Inputs]: Declaration<Inputs[Index]> }],
  ): void {
    this.#mustNotBeStarted('declare')
    this.#declared.add(set, declarations)
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

  /** @returns a function that ends the subscription */
  on<Name extends keyof KalendsEvents>(
    event: Name,
    listener: (payload: KalendsEvents[Name]) => void,
  ): () => void {
    return this.#events.on(event, listener)
  }

  /** How this worker is, by the last good pass of each of its loops. Before `start` there are none. */
  health(): Health {
    const parts = this.#parts
    if (parts === null) return { ok: this.#stopping === null, worker: null, running: 0, loops: [] }
    const loops = [parts.watch.health(), parts.lease.health()]
    if (parts.scheduler !== null) loops.push(parts.scheduler.health())
    if (parts.executor !== null) loops.push(...parts.executor.health())
    const tooOld = Date.now() - this.#leaseMs
    const isHung = ({ busySince }: LoopHealth) => busySince !== null && busySince.getTime() < tooOld
    return {
      ok: parts.lease.id() !== null && loops.every((loop) => loop.consecutiveErrors === 0 && !isHung(loop)),
      worker: parts.lease.id(),
      running: parts.executor?.runningCount() ?? 0,
      loops,
    }
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

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  async #start(options: StartOptions): Promise<void> {
    const runsJobs = options.executor !== false
    const concurrency = concurrencyOf(options.executor)
    const sets = await this.#declared.check(
      { zone: this.#zone, taskNamed: (name) => this.#handlers.get(name)?.task ?? null },
      (task) => !runsJobs || this.#handlers.has(task),
    )
    const lease = this.#buildLease(runsJobs)
    try {
      await lease.start()
      for (const set of sets) await syncSet(this.#store.schedules, set, this.#logger)
    } catch (error) {
      await lease.stop().catch((again: unknown) => this.#failed('lease', again))
      throw error
    }
    const scheduler = options.scheduler === false ? null : this.#buildScheduler(lease)
    const executor = runsJobs ? this.#buildExecutor(lease, concurrency) : null
    const watch = this.#buildWatch(scheduler, executor)
    this.#parts = {
      lease,
      watch,
      scheduler,
      executor,
      forgetSignals: options.signals === true ? this.#heedSignals() : () => {},
    }
    scheduler?.start()
    executor?.start()
    watch.start()
    this.#logger.info({ worker: lease.id(), tasks: [...this.#handlers.keys()] }, 'Kalends started')
  }

  async #stop(graceMs: number): Promise<void> {
    // A start that is under way either fails, or leaves the parts that are to be stopped.
    if (this.#parts === null) await this.#starting?.catch(() => undefined)
    const parts = this.#parts
    if (parts !== null) {
      // Both at once: from this moment on nothing is claimed.
      await Promise.all([parts.scheduler?.stop(), parts.executor?.stop(graceMs)])
      await parts.watch.stop()
      // Last: until now others must see this worker alive.
      await parts.lease.stop().catch((error: unknown) => this.#failed('lease', error))
      this.#parts = null
      parts.forgetSignals()
      this.#logger.info({}, 'Kalends stopped')
    }
    await this.#store.close()
  }

  #buildLease(runsJobs: boolean): Lease {
    const { workers, executing, scheduling } = this.#store
    return new Lease({
      workers,
      executing,
      scheduling,
      name: this.#name,
      tasks: () => (runsJobs ? [...this.#handlers.keys()] : []),
      leaseMs: this.#leaseMs,
      onLost: (worker) => {
        this.#logger.warn({ worker }, 'This worker was taken for dead; it goes on under a new id')
        this.#parts?.executor?.leaseLost(worker)
        this.#events.emit('leaseLost', { worker })
      },
      onDead: (worker) => {
        this.#logger.warn({ worker }, 'A worker is dead; what it held is taken over')
        this.#events.emit('workerLost', { worker })
      },
      onTakenOver: (result) => this.#settled(result),
      onHealed: (text) => this.#logger.warn({}, `Healed: ${text}`),
      // Without an id the other loops do nothing; now there is one.
      onRegistered: () => this.#wakeAll(),
      onError: (error, loop) => this.#failed(loop, error),
    })
  }

  #buildScheduler(lease: Lease): PeriodicScheduler {
    return new PeriodicScheduler({
      store: this.#store.scheduling,
      worker: () => lease.id(),
      leaseMs: this.#leaseMs,
      missedAfterMs: this.#leaseMs + this.#wakeUpMs,
      batch: BATCH,
      onSubmitted: (submissions) => {
        for (const submission of submissions) this.#submitted(submission)
      },
      onProgress: () => this.#wakeOthers(),
      onFault: (schedule, error) => {
        this.#logger.error({ schedule, err: error }, `The schedule '${schedule}' could not be submitted`)
        this.#events.emit('error', { where: `schedule ${schedule}`, error })
      },
      onError: (error, loop) => this.#failed(loop, error),
    })
  }

  #buildExecutor(lease: Lease, concurrency: number): JobExecutor {
    return new JobExecutor({
      store: this.#store.executing,
      worker: () => lease.id(),
      handlers: this.#handlers,
      concurrency,
      wakeUpMs: this.#wakeUpMs,
      onStarted: (job) => {
        this.#logger.debug({ job: job.id, task: job.task, attempt: job.attempt }, 'Job started')
        this.#events.emit('started', job)
      },
      onSettled: (result) => this.#settled(result),
      onError: (error, loop) => this.#failed(loop, error),
    })
  }

  #buildWatch(scheduler: PeriodicScheduler | null, executor: JobExecutor | null): Watch {
    return new Watch({
      store: this.#store.scheduling,
      wakeUpMs: this.#wakeUpMs,
      claimableTasks: () => executor?.claimableTasks() ?? [],
      onScheduleDue: scheduler === null ? null : () => scheduler.wake(),
      onJobDue: executor === null ? null : () => executor.wakeForTime(),
      onError: (error, loop) => this.#failed(loop, error),
    })
  }

  #submitted(submission: Submission): void {
    const { id: schedule, task, plan } = submission
    for (const skip of plan.skips)
      this.#logger.warn(
        { schedule, task, slot: skip.slot, reason: skip.reason, count: skip.count },
        'Slots skipped',
      )
    if (plan.idle === 'invalid')
      this.#logger.error(
        { schedule, task, fault: plan.lastError },
        'The timer cannot be read; edit it to go on',
      )
    if (submission.jobs.length > 0)
      this.#logger.debug({ schedule, task, jobs: submission.jobs, nextRun: plan.nextRun }, 'Submitted')
    this.#events.emit('submitted', submission)
  }

  #settled(result: SettleResult): void {
    for (const settled of result.settled) {
      const { id: job, task, scheduleId: schedule, attempt, settlement } = settled
      const fields = { job, task, schedule, attempt, state: settlement.state, error: settlement.error }
      if (settlement.error !== null)
        this.#logger.warn(fields, isFinal(settlement.state) ? 'Job ended' : 'Attempt failed')
      else this.#logger.debug(fields, 'Job ended')
      this.#events.emit('settled', settled)
    }
    for (const { id: job, worker, attempt } of result.lost) {
      this.#logger.warn(
        { job, worker, attempt },
        'The end of an attempt was not written: the job belongs to another by now',
      )
    }
    // A retry waits for its time; a blocked job has got its turn; a finished one makes room.
    this.#parts?.executor?.wake()
    this.#parts?.watch.wake()
  }

  #failed(where: string, error: unknown): void {
    this.#logger.error({ err: error, where }, `The ${where} failed; it will be tried again`)
    this.#events.emit('error', { where, error })
  }

  #wakeOthers(): void {
    this.#parts?.executor?.wake()
    this.#parts?.watch.wake()
  }

  #wakeAll(): void {
    this.#parts?.scheduler?.wake()
    this.#wakeOthers()
  }

  /** @returns a function that lets the signals be */
  #heedSignals(): () => void {
    const forget = () => {
      for (const signal of ['SIGTERM', 'SIGINT'] as const) process.off(signal, stop)
    }
    let last: NodeJS.Timeout | undefined
    const stop = (signal: NodeJS.Signals) => {
      // npm passes on what the terminal has sent to it and to us, so one wish comes twice. Who sends another
      // later does not want to wait for the end of the grace period.
      if (last !== undefined) return
      last = setTimeout(forget, SAME_WISH_MS).unref()
      this.#logger.info({ signal }, 'Stopping')
      this.stop().catch((error: unknown) => this.#failed('stop', error))
    }
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, stop)
    return () => {
      clearTimeout(last)
      forget()
    }
  }

  #mustNotBeStarted(call: string): void {
    if (this.#starting === null && this.#stopping === null) return
    throw new ConflictError(
      `${call} comes too late: this Kalends was ${this.#stopping === null ? 'started' : 'stopped'} already`,
    )
  }
}

function concurrencyOf(executor: StartOptions['executor']): number {
  const concurrency =
    typeof executor === 'object' ? (executor.concurrency ?? DEFAULT_CONCURRENCY) : DEFAULT_CONCURRENCY
  if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > 10_000) {
    throw new InvalidInputError('concurrency', `a whole number from 1 to 10000 is needed, not ${concurrency}`)
  }
  return concurrency
}
