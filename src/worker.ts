/**
 * A worker: what runs between start and stop. It wires the parts and their wake-ups and tells what they do; it
 * holds no rule and no SQL.
 *
 * The parts meet in the rows of the database; a wake-up only saves the wait for the next look.
 */
import type { Emitter } from './events.ts'
import type { Around, HandledTask } from './executor/handler.ts'
import { JobExecutor } from './executor/job-executor.ts'
import { Lease } from './executor/lease.ts'
import type { Logger } from './logger.ts'
import { type Health, judge } from './health.ts'
import { Loop } from './loop.ts'
import { type ClaimedJob, isFinal } from './model/job.ts'
import type { Redaction } from './model/redaction.ts'
import { VERSION } from './model/version.ts'
import { PeriodicScheduler } from './scheduler/periodic-scheduler.ts'
import type { SubmitElsewhere } from './scheduler/elsewhere.ts'
import { type DeclaredSet, syncSet } from './schedules/declared.ts'
import type { Attempt, Settled, SettleResult } from './store/executing-store.ts'
import type { Submission } from './store/scheduling-store.ts'
import type { Store } from './store/store.ts'
import { Standstill } from './standstill.ts'
import { Watch } from './watch.ts'

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

export interface WorkerOptions {
  readonly store: Store
  readonly name: string
  readonly leaseMs: number
  readonly wakeUpMs: number
  readonly handlers: ReadonlyMap<string, HandledTask>
  readonly sets: readonly DeclaredSet[]
  /** Whether it submits due schedules. */
  readonly schedules: boolean
  /** Another queue that the jobs go to; null: the one in this database. */
  readonly elsewhere: SubmitElsewhere | null
  /** How many jobs it runs at a time; 0: none at all. */
  readonly concurrency: number
  readonly around: Around | null
  readonly redaction: Redaction
  readonly argsLimit: number
  readonly now: () => Date
  readonly logger: Logger
  readonly events: Emitter<KalendsEvents>
}

/** Schedules in one transaction: large enough for bursts. A cluster wants fewer. */
const BATCH = 500

const setsATime = ({ scheduleId, settlement }: Settled) => scheduleId !== null || !isFinal(settlement.state)

export class Worker {
  readonly #options: WorkerOptions
  readonly #lease: Lease
  readonly #watch: Watch
  readonly #scheduler: PeriodicScheduler | null
  readonly #executor: JobExecutor | null
  /** Heals declared schedules that others have changed, and notices when a newer version of the code is gone. */
  readonly #declared: Loop
  readonly #standstill = new Standstill()

  constructor(options: WorkerOptions) {
    this.#options = options
    this.#lease = this.#buildLease()
    this.#scheduler = options.schedules ? this.#buildScheduler() : null
    this.#executor = options.concurrency > 0 ? this.#buildExecutor() : null
    this.#watch = this.#buildWatch()
    this.#declared = new Loop({
      name: 'declared sets',
      pass: async () => {
        // While it may take on no work, others decide what is declared.
        if (this.#lease.id() !== null) await this.#sync(false)
        return options.leaseMs
      },
      onError: (error, loop) => this.#failed(loop, error),
    })
  }

  /** Registers, brings the declared sets to the database, and starts the loops. */
  async start(): Promise<void> {
    await this.register(true)
    this.#standstill.start()
    this.#scheduler?.start()
    this.#executor?.start()
    this.#watch.start()
    this.#declared.start()
    const { handlers, logger } = this.#options
    logger.info({ worker: this.#lease.id(), tasks: [...handlers.keys()] }, 'Kalends started')
  }

  /** @param heartbeat  false for tests with a clock of their own, which call `step` */
  async register(heartbeat: boolean): Promise<void> {
    try {
      if (heartbeat) await this.#lease.start()
      else await this.#lease.beat()
      await this.#sync(true)
    } catch (error) {
      await this.#lease.stop().catch((again: unknown) => this.#failed('lease', again))
      throw error
    }
  }

  /** One round of all parts, where no loop runs. @returns whether anything was due */
  async step(): Promise<boolean> {
    let submitted = 0
    const forget = this.#options.events.on('submitted', () => {
      submitted += 1
    })
    // However long the test takes by its own clock: without a fresh heartbeat nothing may be marked.
    if (this.#lease.id() === null) await this.#lease.beat()
    await this.#scheduler?.pass()
    forget()
    const attempts = (await this.#executor?.runDue()) ?? 0
    return submitted + attempts > 0
  }

  /** Ends in the order in which others rely on it: the heartbeat comes last. */
  async stop(graceMs: number): Promise<void> {
    // Both at once: from this moment on nothing is claimed.
    await Promise.all([this.#scheduler?.stop(), this.#executor?.stop(graceMs), this.#declared.stop()])
    await this.#watch.stop()
    this.#standstill.stop()
    await this.#lease.stop().catch((error: unknown) => this.#failed('lease', error))
    this.#options.logger.info({}, 'Kalends stopped')
  }

  /** Something was written that any part may act on. */
  wake(): void {
    this.#scheduler?.wake()
    this.#wakeOthers()
  }

  /** Jobs were written; the look that follows tells the scheduler if a schedule has come to be due by that. */
  wakeForJobs(): void {
    this.#wakeOthers()
  }

  health(): Health {
    const loops = [this.#watch.health(), this.#lease.health(), this.#declared.health()]
    if (this.#scheduler !== null) loops.push(this.#scheduler.health())
    if (this.#executor !== null) loops.push(...this.#executor.health())
    const unwritten = this.#executor?.unwritten()
    return judge({
      leaseMs: this.#options.leaseMs,
      worker: this.#lease.id(),
      sinceHeartbeatMs: this.#lease.sinceHeartbeatMs(),
      sinceLeaseLostMs: this.#lease.sinceLostMs(),
      running: this.#executor?.runningCount() ?? 0,
      unwritten: unwritten?.waiting ?? 0,
      locked: unwritten?.locked ?? 0,
      lockedMs: unwritten?.lockedMs ?? 0,
      rejected: unwritten?.rejected ?? 0,
      setAside:
        this.#lease.setAside() + (this.#scheduler?.setAside() ?? 0) + (this.#executor?.setAside() ?? 0),
      isLimitReached: unwritten?.isLimitReached ?? false,
      connectionWaitMs: this.#options.store.longestWaitMs(),
      clock: this.#watch.clock(),
      stood: this.#standstill.last(),
      left: this.#executor?.leftHandlers() ?? [],
      loops,
    })
  }

  async #sync(isStart: boolean): Promise<void> {
    const { store, sets, logger } = this.#options
    for (const set of sets) {
      const report = await syncSet(store.declared, set, logger, isStart)
      if (report.created.length + report.changed.size + report.lifted.length > 0) this.#scheduler?.wake()
    }
  }

  #buildLease(): Lease {
    const { store, name, leaseMs, handlers, concurrency, sets, logger, events } = this.#options
    return new Lease({
      workers: store.workers,
      executing: store.executing,
      scheduling: store.scheduling,
      name,
      tasks: () => (concurrency > 0 ? [...handlers.keys()] : []),
      sets: Object.fromEntries(sets.map((set) => [set.name, set.hash])),
      leaseMs,
      version: VERSION,
      onLost: (worker) => {
        logger.warn({ worker }, 'This worker was taken for dead; it goes on under a new id')
        this.#executor?.leaseLost(worker)
        events.emit('leaseLost', { worker })
      },
      onDead: (worker) => {
        logger.warn({ worker }, 'A worker is dead; what it held is taken over')
        events.emit('workerLost', { worker })
      },
      onTakenOver: (result) => this.#settled(result),
      onRejected: (attempt, error) => this.#rejected(attempt, error),
      onHealed: (text) => logger.warn({}, `Healed: ${text}`),
      // Without an id the other loops do nothing; now there is one.
      onRegistered: () => this.wake(),
      onError: (error, loop) => this.#failed(loop, error),
    })
  }

  #buildScheduler(): PeriodicScheduler {
    const { store, leaseMs, wakeUpMs, elsewhere, logger, events } = this.#options
    return new PeriodicScheduler({
      store: store.scheduling,
      worker: () => this.#lease.id(),
      leaseMs,
      missedAfterMs: leaseMs + wakeUpMs,
      elsewhere,
      batch: Math.min(BATCH, store.scheduling.mostAtOnce()),
      keepRoom: (worker, most) => this.#executor?.keepRoom(worker, most) ?? null,
      onBegun: (room, jobs) => this.#executor?.begun(room, jobs),
      onUnheard: (room) => this.#executor?.unheard(room),
      onSubmitted: (submissions) => {
        for (const submission of submissions) this.#submitted(submission)
      },
      onProgress: (queued) => {
        if (queued) this.#executor?.wake()
        this.#watch.wake()
      },
      onFault: (schedule, error) => {
        logger.error({ schedule, err: error }, `The schedule '${schedule}' could not be submitted`)
        events.emit('error', { where: `schedule ${schedule}`, error })
      },
      onError: (error, loop) => this.#failed(loop, error),
    })
  }

  #buildExecutor(): JobExecutor {
    const { store, handlers, around, redaction, argsLimit, concurrency, wakeUpMs, now, logger, events } =
      this.#options
    return new JobExecutor({
      store: store.executing,
      worker: () => this.#lease.id(),
      handlers,
      around,
      redaction,
      argsLimit,
      concurrency,
      wakeUpMs,
      now,
      onStarted: (job) => {
        logger.debug({ job: job.id, task: job.task, attempt: job.attempt }, 'Job started')
        events.emit('started', withoutSecrets(job, redaction))
      },
      onSettled: (result) => this.#settled(result),
      onRejected: (attempt, error) => this.#rejected(attempt, error),
      onFault: (job, error) => {
        logger.error(
          { job, err: error },
          `The job '${job}' could not be made claimable, claimed or started; it will be tried again`,
        )
        events.emit('error', { where: `job ${job}`, error })
      },
      onError: (error, loop) => this.#failed(loop, error),
    })
  }

  #buildWatch(): Watch {
    const scheduler = this.#scheduler
    const executor = this.#executor
    return new Watch({
      store: this.#options.store.scheduling,
      wakeUpMs: this.#options.wakeUpMs,
      now: this.#options.now,
      claimableTasks: () => executor?.claimableTasks() ?? [],
      onScheduleDue: scheduler === null ? null : () => scheduler.wake(),
      onJobDue: executor === null ? null : () => executor.wakeForTime(),
      serverChanges: () => this.#options.store.serverChanges(),
      onServerChange: () => executor?.recheckRunning(),
      onError: (error, loop) => this.#failed(loop, error),
    })
  }

  #submitted(submission: Submission): void {
    const { logger, events } = this.#options
    const { id: schedule, task, plan } = submission
    for (const { slot, reason, count } of plan.skips) {
      logger.warn({ schedule, task, slot, reason, count }, 'Slots skipped')
    }
    if (plan.idle === 'invalid') {
      logger.error({ schedule, task, fault: plan.lastError }, 'The timer cannot be read; edit it to go on')
    }
    if (submission.jobs.length > 0) {
      logger.debug({ schedule, task, jobs: submission.jobs, nextRun: plan.nextRun }, 'Submitted')
    }
    events.emit('submitted', submission)
  }

  #settled(result: SettleResult): void {
    const { logger, events } = this.#options
    for (const settled of result.settled) {
      const { id: job, task, scheduleId: schedule, attempt, settlement } = settled
      const fields = { job, task, schedule, attempt, state: settlement.state, error: settlement.error }
      if (settlement.error !== null)
        logger.warn(fields, isFinal(settlement.state) ? 'Job ended' : 'Attempt failed')
      else logger.debug(fields, 'Job ended')
      events.emit('settled', settled)
    }
    for (const { id: job, worker, claim } of result.lost) {
      logger.warn(
        { job, worker, claim },
        'The end of an attempt was not written: the job belongs to another by now',
      )
    }
    // A blocked job has got its turn; what was taken over waits.
    this.#executor?.wake()
    // A retry waits for its time; the end of a run may decide when its schedule runs next. Else a look finds nothing
    // new: a worker that is busy with jobs of their own would look hundreds of times per second.
    if (result.settled.some(setsATime)) this.#watch.wake()
  }

  /** The job stays running under its worker: it is not lost from view, and nothing repeats it meanwhile. */
  #rejected({ fence: { id: job, worker, claim } }: Attempt, error: unknown): void {
    const text = `The database rejected the end of the job '${job}', which stays running; repair its row or that of its schedule: the end is written within five minutes, or when the worker stops`
    this.#options.logger.error({ job, worker, claim, err: error }, text)
    this.#options.events.emit('error', { where: 'settler', error: new Error(text, { cause: error }) })
  }

  #failed(where: string, error: unknown): void {
    this.#options.logger.error({ err: error, where }, `The ${where} failed; it will be tried again`)
    this.#options.events.emit('error', { where, error })
  }

  #wakeOthers(): void {
    this.#executor?.wake()
    this.#watch.wake()
  }
}

/** Events are also published on diagnostics channels, where other tools record them. */
function withoutSecrets(job: ClaimedJob, redaction: Redaction): ClaimedJob {
  if (!redaction.hides('args')) return job
  const args = redaction.redacted('args', job.args)
  return { ...job, args, argsText: JSON.stringify(args) }
}
