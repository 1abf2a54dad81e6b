/**
 * The JobExecutor: promote → claim → run → settle, for the tasks that this worker handles.
 *
 * A claim makes a job this worker's for as long as its heartbeat goes on. Each write about a run is fenced by id,
 * worker, claim and state: a worker that was taken for dead changes nothing.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { CancelledError, LeaseLostError, StoppedError, StoreUnavailableError } from '../errors.ts'
import { Loop, type LoopHealth } from '../loop.ts'
import { shownInput } from '../model/input.ts'
import { type ClaimedJob, fenceOf, fenceText } from '../model/job.ts'
import type { Redaction } from '../model/redaction.ts'
import { ROW_BACK_OFF, SetAside } from '../model/set-aside.ts'
import type { RunPolicy } from '../model/task.ts'
import type { Attempt, ExecutingStore, SettleResult } from '../store/executing-store.ts'
import type { Room } from '../store/scheduling-store.ts'
import type { Around, HandledTask } from './handler.ts'
import { Journal } from './journal.ts'
import { ABANDON_MS, Run } from './run.ts'
import { Settler, type Unwritten } from './settler.ts'

export interface JobExecutorOptions {
  readonly store: ExecutingStore
  /** The id of this worker; null while it may not take on work. */
  readonly worker: () => string | null
  readonly handlers: ReadonlyMap<string, HandledTask>
  /** Wraps each attempt. */
  readonly around: Around | null
  /** Hides the secrets of args in what an attempt logs and throws. */
  readonly redaction: Redaction
  /** Most bytes of a result, of progress and of the text of an error. */
  readonly argsLimit: number
  /** Most jobs at the same time. */
  readonly concurrency: number
  /** How often to look whether a running job is to be stopped, in milliseconds. */
  readonly wakeUpMs: number
  readonly now: () => Date
  readonly onStarted: (job: ClaimedJob) => void
  readonly onSettled: (result: SettleResult) => void
  /** The database rejects the end of this attempt for good. */
  readonly onRejected: (attempt: Attempt, error: unknown) => void
  /** The job cannot be started, and is left alone for its back-off. */
  readonly onFault: (jobId: string, error: unknown) => void
  readonly onError: (error: unknown, loop: string) => void
}

/** A job that cannot be started is claimed again after this time. */
const NOT_STARTED = { ...ROW_BACK_OFF, firstMs: 1000 }
const PROMOTE_AT_ONCE = 500
const SETTLE_PATIENCE_MS = 10_000
/** For so long after it gave no answer, the database may still carry out what it was asked. */
const DOUBT_MS = 30_000
const DOUBT_LOOK_MS = 2000
/** Attempts of one call of `runDue`. */
const MOST_BY_HAND = 10_000
const TURNS_TO_END = 5

export class JobExecutor {
  readonly #options: JobExecutorOptions
  readonly #claimLoop: Loop
  readonly #stopLoop: Loop
  readonly #settler: Settler
  readonly #journal: Journal
  readonly #running = new Map<string, Run>()
  /** Jobs that this worker could not claim or start. */
  readonly #setAside: SetAside
  /** Jobs whose time has come, and which the database refuses to make claimable. */
  readonly #notPromoted: SetAside
  readonly #finishing = new Set<Promise<void>>()
  /** Their handlers go on although their ends are written. */
  readonly #left = new Set<Run>()
  #promote = false
  /** How many attempts were begun. */
  #started = 0
  /** When stop requests were last looked for, by performance.now(). */
  #lastStopLook = Number.NEGATIVE_INFINITY
  /**
   * When the database and this worker began to possibly disagree about what runs here, by performance.now(): at a claim or
   * submission without a response, or at a change of server. null: they agree.
   */
  #unanswered: number | null = null
  /** Whether its loops run. */
  #open = false
  #stopping = false
  /** A claim is under way, and may take all the room that there is. */
  #claiming = false
  /** The last claim has found no more. */
  #queueIsEmpty = false
  /** Room for jobs that are being submitted. */
  #kept = 0
  /** A claim found less room for that. */
  #heldOff = false
  #whenNoneKept: (() => void)[] = []
  #whenIdle: (() => void)[] = []
  #lastGroup = ''
  #onWake: (() => void) | null = null

  constructor(options: JobExecutorOptions) {
    this.#options = options
    this.#claimLoop = new Loop({ name: 'executor', pass: () => this.#claim(true), onError: options.onError })
    this.#stopLoop = new Loop({
      name: 'stop requests',
      pass: () => this.#heedStopRequests(),
      onError: options.onError,
    })
    const told = { now: () => performance.now(), onAdded: options.onFault }
    this.#setAside = new SetAside({ ...NOT_STARTED, ...told })
    this.#notPromoted = new SetAside({ ...ROW_BACK_OFF, ...told })
    this.#journal = new Journal(options.store, options.onError)
    this.#settler = new Settler({ ...options, onSettled: (result) => this.#settled(result) })
  }

  start(): void {
    this.#open = true
    for (const loop of [this.#journal, this.#settler, this.#stopLoop, this.#claimLoop]) loop.start()
  }

  /** Jobs may be claimable. */
  wake(): void {
    this.#queueIsEmpty = false
    this.#claimLoop.wake()
    this.#onWake?.()
  }

  /** The time of a waiting job may have come. */
  wakeForTime(): void {
    this.#promote = true
    this.wake()
  }

  /** The tasks that this worker has room for. */
  claimableTasks(): readonly string[] {
    return this.#room() > 0 && !this.#stopping ? [...this.#claimable().keys()] : []
  }

  /**
   * Keeps room for jobs that this worker is about to submit, so that they begin in the same transaction: none while
   * others wait that came before them. `begun` or `unheard` ends it.
   *
   * @param worker  that submits them
   * @param most  jobs; more room would be of no use
   */
  keepRoom(worker: string, most: number): Room | null {
    const limit = Math.min(most, this.#room())
    if (!this.#open || this.#stopping || limit <= 0 || this.#options.worker() !== worker) return null
    if (this.#claiming || !this.#queueIsEmpty || this.#unanswered !== null) return null
    const room = { limit, tasks: this.#claimable(), limits: this.#taskRooms() }
    this.#kept += limit
    return room
  }

  /** These jobs began with their submission. */
  begun(room: Room, jobs: readonly ClaimedJob[]): void {
    this.#giveUp(room)
    for (const job of jobs) this.#start(job)
  }

  /** It is not known whether any job began. */
  unheard(room: Room): void {
    this.#giveUp(room)
    this.#unanswered = performance.now()
    this.#claimLoop.wake()
  }

  /** The new server may lack the last commits, such as claims and ends of runs, if it is a promoted asynchronous replica. */
  recheckRunning(): void {
    this.#unanswered = performance.now()
    this.#claimLoop.wake()
  }

  /**
   * For tests with a clock of their own, where no loop runs: claims, runs and settles what is due. What handlers
   * submit meanwhile is left for the next call, unless they go on: they may be waiting for it.
   *
   * @returns how many attempts were run
   */
  async runDue(): Promise<number> {
    let attempts = 0
    do {
      // From before the claim, or what is submitted during it would be noticed by nobody.
      const woken = new Promise<void>((resolve) => {
        this.#onWake = resolve
      })
      this.#promote = true
      // Counted, for a quick one ends before the claim does.
      const before = this.#started
      if (attempts < MOST_BY_HAND) await this.#claim(false)
      attempts += this.#started - before
      await Promise.race([Promise.all(this.#finishing), woken])
      // Most handlers end with what they have submitted last.
      for (let turn = 0; turn < TURNS_TO_END && this.#running.size > 0; turn += 1) await nextTurn()
      await this.#settler.settleAll()
    } while (this.#running.size > 0)
    this.#onWake = null
    return attempts
  }

  runningCount(): number {
    return this.#running.size
  }

  /** How many jobs are left alone for their back-off. */
  setAside(): number {
    return this.#setAside.ids().length + this.#notPromoted.ids().length
  }

  /** Runs that have ended, and whose end is not written yet. */
  unwritten(): Unwritten {
    return this.#settler.unwritten()
  }

  /** The tasks of handlers that go on although their runs were ended without them. */
  leftHandlers(): string[] {
    return [...this.#left].map((run) => run.job.task)
  }

  /** Everything that runs here belongs to others now. */
  leaseLost(workerId: string): void {
    for (const run of this.#running.values()) {
      if (run.job.worker === workerId)
        run.abort(new LeaseLostError(`The worker ${workerId} was taken for dead; the job is run elsewhere`))
    }
  }

  /** Claims no more, lets handlers end within the grace period, then fires their signals and gives the rest back. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping = true
    await this.#claimLoop.stop()
    if (this.#kept > 0) await new Promise<void>((resolve) => this.#whenNoneKept.push(resolve))
    await this.#idleWithin(graceMs)
    for (const run of this.#running.values())
      run.abort(new StoppedError('The worker stops; the job goes back to the queue'))
    await this.#idleWithin(ABANDON_MS + 1000)
    await this.#stopLoop.stop()
    await this.#settler.drain(SETTLE_PATIENCE_MS)
    await this.#settler.stop()
    await this.#journal.stop()
    await this.#journal.flush().catch((error: unknown) => this.#options.onError(error, 'journal'))
  }

  health(): LoopHealth[] {
    return [this.#claimLoop, this.#stopLoop, this.#settler, this.#journal].map((loop) => loop.health())
  }

  /** A crash repeats what runs, and what has ended and is not written: together no more than the concurrency. */
  #room(): number {
    return this.#options.concurrency - this.#running.size - this.#settler.occupied() - this.#kept
  }

  /** The tasks that are not at their own limit. */
  #claimable(): ReadonlyMap<string, RunPolicy> {
    const rooms = this.#taskRooms()
    const free = [...this.#options.handlers].filter(([name]) => rooms.get(name) !== 0)
    return new Map(free.map(([name, { task }]) => [name, task.policy]))
  }

  /** Of tasks with a limit of their own, how many more may run here. */
  #taskRooms(): ReadonlyMap<string, number> {
    const rooms = new Map<string, number>()
    for (const [name, { task }] of this.#options.handlers) {
      if (task.concurrency === null) continue
      const running = [...this.#running.values()].filter((run) => run.job.task === name).length
      // What the room is kept for may all be of this task.
      rooms.set(name, Math.max(0, task.concurrency - running - this.#kept))
    }
    return rooms
  }

  /** @param gathers  waits for the turn to end; by hand, what handlers submit in it is for the next call */
  async #claim(gathers: boolean): Promise<number> {
    const { store, worker } = this.#options
    if (this.#promote) {
      this.#promote = false
      await store.promoteDue(PROMOTE_AT_ONCE, this.#notPromoted).catch((error: unknown) => {
        if (error instanceof StoreUnavailableError) throw error
        // Jobs that cannot be made claimable must not keep others from being claimed.
        this.#options.onError(error, 'executor')
      })
    }
    for (;;) {
      // What ends in this turn of the event loop makes room together: one claim of 200 instead of two of 100.
      if (gathers) await nextTurn()
      const id = worker()
      if (id === null || this.#stopping) return this.#untilNextLook()
      if (this.#unanswered !== null) await this.#compareRunning(id, this.#unanswered)
      const room = this.#room()
      const policies = this.#claimable()
      this.#heldOff = this.#kept > 0
      if (room <= 0 || policies.size === 0) return this.#untilNextLook()
      this.#claiming = true
      const jobs = await store
        .claim(id, policies, room, this.#lastGroup, this.#taskRooms(), this.#setAside)
        .catch((error: unknown) => {
          if (error instanceof StoreUnavailableError) this.#unanswered = performance.now()
          throw error
        })
        .finally(() => {
          this.#claiming = false
        })
      this.#queueIsEmpty = jobs.length === 0 && policies.size === this.#options.handlers.size
      this.#lastGroup = jobs.at(-1)?.group ?? this.#lastGroup
      for (const job of jobs) this.#start(job)
      if (jobs.length === 0) return this.#untilNextLook()
    }
  }

  #giveUp({ limit }: Room): void {
    this.#kept -= limit
    if (this.#kept > 0) return
    if (this.#heldOff) this.#claimLoop.wake()
    for (const tell of this.#whenNoneKept.splice(0)) tell()
  }

  /** Where something is in doubt, also without a reason to claim. */
  #untilNextLook(): number {
    return this.#unanswered === null ? Infinity : DOUBT_LOOK_MS
  }

  /**
   * Compares this worker's running jobs in the database with its handlers. A job without a handler is released: its claim
   * was committed although no response came, or the end of its run was lost with the server. As long as this worker lives,
   * no other worker takes that job over. A handler without a running job is stopped: its claim was lost with the server,
   * and another worker may run the job. Comparisons continue until the database can no longer be executing a statement
   * that got no response.
   */
  async #compareRunning(workerId: string, since: number): Promise<void> {
    // Some may have begun with a submission whose answer is still to come.
    if (this.#kept > 0) return
    const asked = performance.now()
    // Before the question: what ends while it is under way is no news, and may be claimed again by now.
    const running = [...this.#running.values()]
    const known = [...running.map(({ job }) => fenceOf(job)), ...this.#settler.pending()]
    const [knownFences, knownJobs] = [new Set(known.map(fenceText)), new Set(known.map(({ id }) => id))]
    const held = await this.#options.store.held(workerId)
    const unknown = held.filter(({ fence }) => !knownFences.has(fenceText(fence)))
    // The next claim could be given the number of the one that still runs here: it has to end first.
    const free = unknown.filter(({ fence }) => !knownJobs.has(fence.id))
    for (const attempt of free) this.#settler.add(attempt)
    const heldFences = new Set(held.map(({ fence }) => fenceText(fence)))
    for (const run of running) {
      const fence = fenceOf(run.job)
      const isHere = this.#running.get(fence.id) === run && fence.worker === workerId
      if (isHere && !heldFences.has(fenceText(fence)))
        run.abort(new LeaseLostError(`The job ${run.job.id} was taken from this worker`))
    }
    if (asked - since > DOUBT_MS && this.#unanswered === since && free.length === unknown.length)
      this.#unanswered = null
  }

  /** A claimed job that cannot be started goes back: it must stand in the way of no other, and not stay `running`. */
  #start(job: ClaimedJob): void {
    try {
      this.#run(job)
      this.#setAside.forget(job.id)
    } catch (error) {
      this.#setAside.add(job.id, error)
      this.#settler.add({ fence: fenceOf(job), ending: { kind: 'released' }, policy: job.policy })
    }
  }

  /** @throws when the job cannot be started */
  #run(job: ClaimedJob): void {
    const handled = this.#options.handlers.get(job.task)
    if (handled === undefined)
      throw new RangeError(
        `The job ${shownInput(job.id)} of the task ${shownInput(job.task)} was claimed, which is not handled here; it goes back to the queue`,
      )
    // An attempt that goes on here although its job is claimed again was taken away unnoticed.
    this.#running
      .get(job.id)
      ?.abort(new LeaseLostError(`The job ${job.id} was taken from this worker and is in its next attempt`))
    const run = new Run(job, handled, this.#journal, this.#options)
    this.#running.set(job.id, run)
    this.#started += 1
    this.#stopLoop.wake()
    this.#options.onStarted(job)
    const finishing = this.#finish(run)
    this.#finishing.add(finishing)
    void finishing.finally(() => this.#finishing.delete(finishing))
  }

  async #finish(run: Run): Promise<void> {
    const ending = await run.ending
    this.#remember(run)
    const { id, attempt, policy } = run.job
    // The row keeps the last error alone; whoever asks what became of the attempts before reads it in the log.
    if (ending?.kind === 'error' && !ending.permanent && attempt <= policy.maxRetries)
      run.note('warn', `Attempt ${attempt} failed: ${ending.error.split('\n', 1)[0] ?? ''}`)
    try {
      // The lines of a job are there when it is final.
      await this.#journal.flush()
    } catch (error) {
      this.#options.onError(error, 'journal')
    }
    if (this.#running.get(id) === run) this.#running.delete(id)
    // Its place is free when its end is written.
    if (ending === null) this.#claimLoop.wake()
    else this.#settler.add({ fence: fenceOf(run.job), ending, policy })
    if (this.#running.size === 0) for (const tell of this.#whenIdle.splice(0)) tell()
    this.#onWake?.()
  }

  #remember(run: Run): void {
    const handler = run.leftHandler()
    if (handler === null) return
    this.#left.add(run)
    void handler.finally(() => this.#left.delete(run))
  }

  #settled(result: SettleResult): void {
    if (result.settled.length > 0 || result.lost.length > 0) this.#options.onSettled(result)
    // There may be room again, and a blocked job may have got its turn.
    this.#claimLoop.wake()
  }

  async #heedStopRequests(): Promise<number> {
    const { wakeUpMs, store } = this.#options
    if (this.#running.size === 0) return Infinity
    // Each job that starts wakes this loop. One look per wake-up period does: with a look for each wake-up a busy
    // worker spent a third as much time on them as on claiming.
    const leftMs = this.#lastStopLook + wakeUpMs - performance.now()
    if (leftMs > 0) return leftMs
    this.#lastStopLook = performance.now()
    // Of the ids that the runs were claimed under: this worker may have another by now, or may take on no work.
    for (const id of new Set([...this.#running.values()].map(({ job }) => job.worker))) {
      for (const fence of await store.stopRequests(id)) {
        const run = this.#running.get(fence.id)
        // The answer may be about an earlier claim of the job, which has ended meanwhile.
        if (run?.job.claim === fence.claim) run.abort(new CancelledError('The job was cancelled'))
      }
    }
    return wakeUpMs
  }

  async #idleWithin(limitMs: number): Promise<void> {
    if (this.#running.size === 0) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, limitMs)
      this.#whenIdle.push(() => {
        clearTimeout(timer)
        resolve()
      })
    })
  }
}
