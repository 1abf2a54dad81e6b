/**
 * A worker: everything that runs between start and stop. It connects the parts and their wake-ups, and contains no
 * rules and no SQL.
 *
 * The parts communicate through the rows of the database. A wake-up only saves the wait for the next look.
 */
import type { Emitter } from '../events.ts'
import type { Middleware, HandledTask } from '../executor/handler.ts'
import { JobExecutor } from '../executor/job-executor.ts'
import type { Logger } from '../logger.ts'
import { Loop } from '../loop.ts'
import { isFinal } from '../model/job.ts'
import type { Redaction } from '../model/redaction.ts'
import { VERSION } from '../generated/version.ts'
import type { SubmitToQueue } from '../scheduler/external-queue.ts'
import { PeriodicScheduler } from '../scheduler/periodic-scheduler.ts'
import { type DeclaredSet, syncSet } from '../schedules/declared.ts'
import type { DeclaredStore } from '../store/declared-store.ts'
import type { SettledAttempt, SettleResult } from '../store/executing-store.ts'
import type { Store } from '../store/store.ts'
import { EventLoopStall } from './event-loop-stall.ts'
import { type Health, judge } from './health.ts'
import { Membership } from './membership.ts'
import { type KalendsEvents, type Reporter, reporterOf } from './reporter.ts'
import { Retries } from './retries.ts'
import { Watch } from './watch.ts'

export interface WorkerOptions {
  readonly store: Store
  readonly declaredAtStart: DeclaredStore
  readonly name: string
  readonly leaseMs: number
  readonly pollIntervalMs: number
  readonly handlers: ReadonlyMap<string, HandledTask>
  readonly sets: readonly DeclaredSet[]
  /** Whether it submits due schedules. */
  readonly schedules: boolean
  /** Submits jobs to an external queue; null: jobs go to the queue in this database. */
  readonly externalQueue: SubmitToQueue | null
  /** The most concurrent jobs; 0: it runs no jobs. */
  readonly concurrency: number
  readonly middleware: Middleware | null
  /** See `spreadFactor`. */
  readonly delayFactor: () => number
  readonly redaction: Redaction
  readonly argsLimit: number
  readonly now: () => Date
  readonly logger: Logger
  readonly events: Emitter<KalendsEvents>
}

/** The most schedules in one transaction: enough for bursts. A cluster limits it further. */
const BATCH = 500

/** Whether the end sets a time: the job waits for its retry, or its schedule for its next run. */
const setsATime = ({ scheduleId, outcome }: SettledAttempt) => scheduleId !== null || !isFinal(outcome.state)

export class Worker {
  readonly #options: WorkerOptions
  readonly #reporter: Reporter
  readonly #membership: Membership
  readonly #watch: Watch
  readonly #scheduler: PeriodicScheduler | null
  readonly #executor: JobExecutor | null
  /** Restores declared schedules that others changed, and notices when workers with newer code are gone. */
  readonly #declared: Loop
  readonly #stall = new EventLoopStall()
  readonly #retries = new Retries()
  #isByHand = false
  readonly #onError: (error: unknown, loop: string) => void

  constructor(options: WorkerOptions) {
    this.#options = options
    this.#reporter = reporterOf(options.logger, options.events, options.redaction)
    this.#onError = (error, loop) => this.#reporter.failed(loop, error)
    this.#membership = this.#buildMembership()
    this.#scheduler = options.schedules ? this.#buildScheduler() : null
    this.#executor = options.concurrency > 0 ? this.#buildExecutor() : null
    this.#watch = this.#buildWatch(this.#scheduler, this.#executor)
    this.#declared = new Loop({
      name: 'declared sets',
      pass: async () => {
        // While this worker may not take on work, other workers decide what is declared.
        if (this.#membership.id() !== null) await this.#sync(false)
        return options.leaseMs
      },
      onError: this.#onError,
    })
  }

  /** Registers, writes the declared sets to the database, and starts the loops. */
  async start(): Promise<void> {
    await this.register(true)
    this.#stall.start()
    this.#scheduler?.loop.start()
    this.#executor?.start()
    this.#watch.loop.start()
    this.#declared.start()
    const { handlers, logger } = this.#options
    logger.info({ worker: this.#membership.id(), tasks: [...handlers.keys()] }, 'Kalends started')
  }

  /** @param heartbeat  false for tests with their own clock, which call `step` */
  async register(heartbeat: boolean): Promise<void> {
    this.#isByHand = !heartbeat
    try {
      if (heartbeat) await this.#membership.start()
      else {
        await this.#membership.beat()
        await this.#membership.takeOver.pass()
      }
      await this.#sync(true)
    } catch (error) {
      await this.#leave()
      throw error
    }
  }

  /** One round of all parts, without loops. @returns whether anything was due */
  async step(): Promise<boolean> {
    let submitted = 0
    const unsubscribe = this.#options.events.on('submitted', () => {
      submitted += 1
    })
    await this.#scheduler?.pass()
    unsubscribe()
    const attempts = (await this.#executor?.runDue()) ?? 0
    return submitted + attempts > 0
  }

  /** Stops the parts in the order of their dependencies: the heartbeat comes last. */
  async stop(graceMs: number): Promise<void> {
    // All at the same time: from now on, nothing is claimed.
    await Promise.all([this.#scheduler?.loop.stop(), this.#executor?.stop(graceMs), this.#declared.stop()])
    await this.#watch.loop.stop()
    this.#stall.stop()
    await this.#leave()
    this.#options.logger.info({}, 'Kalends stopped')
  }

  /** Something was written that any part may act on. */
  wake(): void {
    this.#scheduler?.loop.wake()
    this.wakeForJobs()
  }

  /** Jobs were written. If this made a schedule due, the next look of the watch notices it. */
  wakeForJobs(): void {
    this.#executor?.wake()
    this.#watch.wakeForJobs()
  }

  health(): Health {
    const loops = [this.#watch.loop, this.#membership.loop, this.#membership.takeOver.loop, this.#declared]
    if (this.#scheduler !== null) loops.push(this.#scheduler.loop)
    if (this.#executor !== null) loops.push(...this.#executor.loops())
    const unwritten = this.#executor?.settler.unwritten()
    return judge({
      leaseMs: this.#options.leaseMs,
      worker: this.#membership.id(),
      sinceHeartbeatMs: this.#membership.sinceHeartbeatMs(),
      sinceLeaseLostMs: this.#membership.sinceLostMs(),
      running: this.#executor?.attempts.count() ?? 0,
      unwritten: unwritten?.waiting ?? 0,
      locked: unwritten?.locked ?? 0,
      lockedMs: unwritten?.lockedMs ?? 0,
      rejected: unwritten?.rejected ?? 0,
      log: this.#executor?.journal.unwritten() ?? { lines: 0, progress: 0, ms: 0, dropped: 0 },
      setAside:
        this.#membership.takeOver.setAside() +
        (this.#scheduler?.setAside() ?? 0) +
        (this.#executor?.setAside() ?? 0),
      behind: this.#scheduler?.behind() ?? [],
      retries: this.#retries.waiting(this.#options.now()),
      isRowLocked: this.#membership.isLocked(),
      lockedWorkers: this.#membership.lockedWorkers(),
      slotsInFuture: this.#membership.takeOver.slotsInFuture(),
      isLimitReached: unwritten?.isLimitReached ?? false,
      connectionWaitMs: this.#options.store.longestWaitMs(),
      clock: this.#watch.clock(),
      stall: this.#stall.last(),
      abandonedHandlers: this.#executor?.attempts.abandonedTasks() ?? [],
      loops: loops.map((loop) => loop.health()),
    })
  }

  async #sync(isStart: boolean): Promise<void> {
    const { store, declaredAtStart, sets, logger } = this.#options
    const declared = isStart ? declaredAtStart : store.declared
    for (const set of sets) {
      const report = await syncSet(declared, set, logger, isStart)
      if (report.created.length + report.changed.size + report.reactivated.length > 0)
        this.#scheduler?.loop.wake()
    }
  }

  async #leave(): Promise<void> {
    await this.#membership.stop().catch((error: unknown) => this.#reporter.failed('lease', error))
  }

  #buildMembership(): Membership {
    const { store, name, leaseMs, handlers, concurrency, sets } = this.#options
    const reporter = this.#reporter
    return new Membership({
      workers: store.workers,
      executing: store.executing,
      scheduling: store.scheduling,
      name,
      tasks: () => (concurrency > 0 ? [...handlers.keys()] : []),
      sets: Object.fromEntries(sets.map((set) => [set.name, set.hash])),
      leaseMs,
      version: VERSION,
      // Without heartbeats, no time passes: a step may take longer than the lease.
      monotonicNow: () => (this.#isByHand ? 0 : performance.now()),
      onLost: (worker) => {
        this.#executor?.attempts.leaseLost(worker)
        reporter.leaseLost(worker)
      },
      onCutOff: (worker) => {
        this.#executor?.attempts.cutOff()
        reporter.cutOff(worker)
      },
      onDead: (worker) => reporter.workerLost(worker),
      onTakenOver: (result) => this.#settled(result),
      onRejected: (attempt, error) => reporter.rejected(attempt, error),
      onHealed: (text) => reporter.healed(text),
      // Without an id, the other loops do nothing.
      onRegistered: () => this.wake(),
      onError: this.#onError,
    })
  }

  #buildScheduler(): PeriodicScheduler {
    const { store, leaseMs, pollIntervalMs, externalQueue } = this.#options
    return new PeriodicScheduler({
      store: store.scheduling,
      worker: () => this.#membership.id(),
      leaseMs,
      missedAfterMs: leaseMs + pollIntervalMs,
      externalQueue,
      batch: () => Math.min(BATCH, store.scheduling.mostAtOnce()),
      reserve: (worker, most) => this.#executor?.reserve(worker, most) ?? null,
      onSubmitted: (submissions) => {
        for (const submission of submissions) this.#reporter.submitted(submission)
      },
      onProgress: (queued) => {
        if (queued) this.#executor?.wake()
        this.#watch.wakeForJobs()
      },
      onUnsubmittable: (schedule, error) => this.#reporter.notSubmitted(schedule, error),
      onError: this.#onError,
    })
  }

  #buildExecutor(): JobExecutor {
    const reporter = this.#reporter
    return new JobExecutor({
      ...this.#options,
      store: this.#options.store.executing,
      worker: () => this.#membership.id(),
      onStarted: (job) => reporter.started(job),
      onSettled: (result) => this.#settled(result),
      onRejected: (attempt, error) => reporter.rejected(attempt, error),
      onUnstartable: (job, error) => reporter.notStarted(job, error),
      onDropped: (error) => reporter.dropped(error),
      onError: this.#onError,
    })
  }

  #buildWatch(scheduler: PeriodicScheduler | null, executor: JobExecutor | null): Watch {
    const { store, pollIntervalMs, now } = this.#options
    return new Watch({
      store: store.scheduling,
      pollIntervalMs,
      now,
      claimableTasks: () => executor?.claimableTasks() ?? [],
      onScheduleDue: scheduler === null ? null : () => scheduler.loop.wake(),
      onJobDue: executor === null ? null : () => executor.wakeForTime(),
      serverChanges: () => store.serverChanges(),
      onServerChange: () => executor?.recheckRunning(),
      onFreezesChanged: () => store.freezes.thaw(),
      onError: this.#onError,
    })
  }

  #settled(result: SettleResult): void {
    this.#reporter.settled(result)
    this.#retries.settled(result)
    // A blocked job may have become claimable, and jobs that were taken over wait.
    this.#executor?.wake()
    // Other ends set no time that a look could find, and a busy worker would look hundreds of times per second.
    if (result.settled.some(setsATime)) this.#watch.wakeForJobs()
  }
}
