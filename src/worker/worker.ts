/**
 * Connects everything that runs in a worker between start and stop. Contains no rules and no SQL. The parts
 * communicate through the rows of the database; a wake-up only avoids waiting for the next poll.
 */
import type { Emitter } from '../events.ts'
import { type ExternalQueue, HandOver } from '../executor/hand-over.ts'
import { JobExecutor } from '../executor/job-executor.ts'
import type { JobExecutorOptions } from '../executor/options.ts'
import type { Logger } from '../logger.ts'
import type { Loop } from '../loop.ts'
import { isFinal } from '../model/states.ts'
import { EVERY_TASK } from '../model/task.ts'
import { VERSION } from '../generated/version.ts'
import { Scheduler } from '../scheduler/scheduler.ts'
import type { DeclaredSet } from '../schedules/declared.ts'
import type { DeclaredStore } from '../store/declared-store.ts'
import { claimedAs, type SettledAttempt, type Settled } from '../store/executing-store.ts'
import type { Decide, Mark, SubmitResult } from '../store/scheduling-store.ts'
import type { Store } from '../store/store.ts'
import { Declarations } from './declarations.ts'
import { EventLoopStall } from './event-loop-stall.ts'
import { type Health, judge } from './health.ts'
import { Membership } from './membership.ts'
import { type KalendsEvents, type Reporter, reporterOf } from './reporter.ts'
import { Retries } from './retries.ts'
import { Watch } from './watch.ts'

/** With a `concurrency` of 0, the worker runs no jobs. */
export interface WorkerOptions
  extends Omit<JobExecutorOptions, 'store' | 'worker' | 'othersHandle' | `on${string}`> {
  readonly store: Store
  readonly declaredAtStart: DeclaredStore
  readonly name: string
  readonly leaseMs: number
  readonly sets: readonly DeclaredSet[]
  /** Whether the worker submits due schedules. */
  readonly schedules: boolean
  readonly externalQueue: ExternalQueue | null
  readonly logger: Logger
  readonly events: Emitter<KalendsEvents>
}

/** Maximum number of schedules in one transaction, enough for bursts. A cluster limits this number further. */
const BATCH = 500

/** Whether the outcome sets a time: the job waits for its retry, or the schedule for its next run. */
const setsATime = ({ scheduleId, outcome }: SettledAttempt) => scheduleId !== null || !isFinal(outcome.state)

export class Worker {
  readonly #options: WorkerOptions
  readonly #reporter: Reporter
  readonly #membership: Membership
  readonly #watch: Watch
  readonly #scheduler: Scheduler | null
  readonly #executor: JobExecutor | null
  readonly #handOver: HandOver | null
  readonly #declarations: Declarations
  readonly #stall = new EventLoopStall()
  readonly #retries = new Retries()
  #isByHand = false

  constructor(options: WorkerOptions) {
    const { concurrency, schedules, externalQueue: queue } = options
    const { executing } = options.store
    this.#options = options
    this.#reporter = reporterOf(options.logger, options.events, options.redaction)
    this.#membership = this.#buildMembership()
    this.#scheduler = schedules ? this.#buildScheduler() : null
    this.#executor = concurrency > 0 ? new JobExecutor({ ...this.#common(), store: executing }) : null
    this.#handOver = queue === null ? null : new HandOver({ ...this.#common(), store: executing, queue })
    this.#watch = this.#buildWatch(this.#scheduler)
    this.#declarations = new Declarations({
      ...this.#common(),
      onChanged: () => this.#scheduler?.loop.wake(),
    })
  }

  /** The options that the parts share. A part's own options follow, and override them. */
  #common() {
    return {
      ...this.#options,
      ...this.#reporter,
      worker: () => this.#membership.id(),
      othersHandle: (task: string) => this.#membership.othersHandle(task),
      onSettled: (result: Settled) => this.#settled(result),
    }
  }

  async start(): Promise<void> {
    await this.register(true)
    this.#stall.start()
    for (const loop of this.#ownLoops()) loop.start()
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
      await this.#declarations.atStart()
    } catch (error) {
      await this.#leave()
      throw error
    }
  }

  /** @returns whether anything was due */
  async step(): Promise<boolean> {
    const { events } = this.#options
    let acted = false
    const ends = (['submitted', 'started'] as const).map((name) => events.on(name, () => (acted = true)))
    try {
      await this.#scheduler?.pass()
      if (this.#handOver !== null) {
        this.#handOver.wakeForTime()
        await this.#handOver.pass()
        this.#membership.takeOver.wake()
        await this.#membership.takeOver.pass()
      }
      await this.#executor?.runDue()
    } finally {
      for (const end of ends) end()
    }
    return acted
  }

  /** The heartbeat stops last. */
  async stop(graceMs: number): Promise<void> {
    // These parts stop at the same time, so that nothing more is claimed.
    await Promise.all([
      this.#scheduler?.loop.stop(),
      this.#handOver?.stop(),
      this.#executor?.stop(graceMs),
      this.#declarations.loop.stop(),
    ])
    await this.#watch.loop.stop()
    this.#stall.stop()
    await this.#leave()
    this.#options.logger.info({}, 'Kalends stopped')
  }

  wake(): void {
    this.#scheduler?.loop.wake()
    this.wakeForJobs()
  }

  /** Jobs were written. If a schedule became due as a result, the next poll of the watch notices it. */
  wakeForJobs(): void {
    this.#wakeQueues()
    this.#watch.wakeForJobs()
  }

  #wakeQueues(): void {
    this.#executor?.wake()
    this.#handOver?.loop.wake()
  }

  /** All loops except those of the membership, which start first. */
  #ownLoops(): Loop[] {
    return [
      this.#watch.loop,
      this.#declarations.loop,
      ...(this.#scheduler === null ? [] : [this.#scheduler.loop]),
      ...(this.#executor?.loops() ?? []),
      ...(this.#handOver === null ? [] : [this.#handOver.loop]),
    ]
  }

  health(): Health {
    return judge({
      ...this.#membership.vitals(),
      leaseMs: this.#options.leaseMs,
      running: this.#executor?.attempts.count() ?? 0,
      unwritten: this.#executor?.settler.unwritten() ?? null,
      log: this.#executor?.journal.unwritten() ?? null,
      setAside: this.#options.store.setAside(),
      behind: this.#scheduler?.behind() ?? [],
      retries: this.#retries.waiting(this.#options.now()),
      connectionWaitMs: this.#options.store.longestWaitMs(),
      clock: this.#watch.clock(),
      stall: this.#stall.last(),
      databaseWarnings: this.#options.store.warnings(),
      abandonedHandlers: this.#executor?.attempts.abandonedTasks() ?? [],
      loops: [...this.#membership.loops(), ...this.#ownLoops()].map((loop) => loop.health()),
    })
  }

  async #leave(): Promise<void> {
    await this.#membership.stop().catch((error: unknown) => this.#reporter.onError(error, 'lease'))
  }

  #buildMembership(): Membership {
    const { store, handlers, concurrency, sets, externalQueue } = this.#options
    return new Membership({
      ...this.#common(),
      workers: store.workers,
      executing: store.executing,
      scheduling: store.scheduling,
      tasks: () => [
        ...(concurrency > 0 ? handlers.keys() : []),
        ...(externalQueue === null
          ? []
          : [claimedAs(externalQueue.name), ...(externalQueue.tasks ?? [EVERY_TASK])]),
      ],
      sets: Object.fromEntries(sets.map((set) => [set.name, set.hash])),
      version: VERSION,
      // If `step` is called manually, the clock stands still, because a step may take longer than the lease.
      monotonicNow: () => (this.#isByHand ? 0 : performance.now()),
      onLost: (worker) => {
        this.#executor?.attempts.leaseLost(worker)
        this.#reporter.leaseLost(worker)
      },
      onCutOff: (worker) => {
        this.#executor?.attempts.cutOff()
        this.#reporter.cutOff(worker)
      },
      // The other loops do nothing while this worker has no id.
      onRegistered: () => this.wake(),
    })
  }

  #buildScheduler(): Scheduler {
    const { store, leaseMs, pollIntervalMs } = this.#options
    return new Scheduler({
      ...this.#common(),
      store: store.scheduling,
      missedAfterMs: leaseMs + pollIntervalMs,
      batch: () => Math.min(BATCH, store.scheduling.mostAtOnce()),
      submit: (worker, marks, decide) => this.#submit(worker, marks, decide),
    })
  }

  /** If this worker has capacity for the jobs, they start in the transaction that submits them. */
  async #submit(worker: string, marks: readonly Mark[], decide: Decide): Promise<SubmitResult> {
    const reservation = this.#executor?.claims.reserve(worker, marks.length) ?? null
    const result = await this.#options.store.scheduling
      .submit(worker, marks, decide, reservation)
      .catch((error: unknown) => {
        reservation?.abandon(error)
        throw error
      })
    const { submissions, started, locked, refused } = result
    try {
      for (const { item, error } of refused) this.#reporter.onUnsubmittable(item.id, error)
      for (const submission of submissions) this.#reporter.submitted(submission)
    } catch (error) {
      // The submission is committed, so its jobs must start.
      this.#reporter.onError(error, 'scheduler')
    }
    reservation?.commit(started)
    const jobs = submissions.reduce((sum, submission) => sum + submission.jobs.length, 0)
    if (jobs > started.length) this.#wakeQueues()
    if (locked.length < marks.length) this.#watch.wakeForJobs()
    return result
  }

  #buildWatch(scheduler: Scheduler | null): Watch {
    const { store, externalQueue } = this.#options
    const executor = this.#executor
    const handOver = this.#handOver
    const queues = externalQueue === null ? [] : [claimedAs(externalQueue.name)]
    return new Watch({
      ...this.#common(),
      store: store.scheduling,
      claimableTasks: () => [...(executor?.claims.claimableTasks() ?? []), ...queues],
      onScheduleDue: scheduler === null ? null : () => scheduler.loop.wake(),
      onJobDue:
        executor === null && handOver === null
          ? null
          : () => {
              executor?.wakeForTime()
              handOver?.wakeForTime()
            },
      serverChanges: () => store.serverChanges(),
      onServerChange: () => executor?.claims.recheckRunning(),
      onFreezesChanged: () => store.freezes.thaw(),
    })
  }

  #settled(result: Settled): void {
    this.#reporter.settled(result)
    this.#retries.settled(result)
    // A blocked job may have become claimable, and jobs that were taken over are waiting.
    this.#wakeQueues()
    // Other outcomes set no time that a poll could find. A poll after each of them would mean hundreds of polls per
    // second on a busy worker.
    if (result.settled.some(setsATime)) this.#watch.wakeForJobs()
  }
}
