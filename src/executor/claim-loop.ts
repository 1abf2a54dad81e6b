import { setImmediate as nextTurn } from 'node:timers/promises'
import { StoreUnavailableError } from '../errors.ts'
import { Loop } from '../loop.ts'
import { fenceOf } from '../model/job.ts'
import type { ClaimCursor } from '../store/executing-store.ts'
import { Capacity, type ClaimReservation, type Reservation } from './capacity.ts'
import { ClaimedAhead } from './claimed-ahead.ts'
import type { JobExecutorOptions } from './options.ts'
import type { RunningAttempts } from './running-attempts.ts'
import type { Settler } from './settler.ts'
import { UnansweredStatements } from './unanswered-statements.ts'

const PROMOTE_AT_ONCE = 500
/** The number of groups for which the last task is remembered. */
const MAX_GROUPS = 1000
/** How long claims may continue where the previous one ended, if that one found all the jobs it wanted. */
const CONTINUE_MS = 50

interface ClaimLoopOptions extends JobExecutorOptions {
  readonly attempts: RunningAttempts
  readonly settler: Settler
}

/**
 * Promotes due jobs, then claims jobs until the queue is empty or the worker is full. Owns the capacity of the worker
 * and the jobs that were claimed ahead, and tracks the statements that got no response.
 */
export class ClaimLoop {
  readonly loop: Loop
  readonly #options: ClaimLoopOptions
  readonly #ahead: ClaimedAhead
  readonly #unanswered: UnansweredStatements
  readonly #capacity: Capacity
  #promotes = false
  /** Whether the last claim of the loop asked for every task and found no job. */
  #isQueueEmpty = false
  #isStopping = false
  #lastGroup = ''
  /** The task that had the last turn in each group. */
  readonly #lastTasks = new Map<string, string>()
  readonly #cursor: ClaimCursor = { turns: [], hasLeftOut: false }
  /** Until this time, by performance.now(), claims may continue where the last one ended. */
  #continuesUntil = Number.NEGATIVE_INFINITY

  constructor(options: ClaimLoopOptions) {
    const { settler } = options
    this.#options = options
    this.loop = new Loop({ name: 'executor', pass: () => this.#pass(true), onError: options.onError })
    this.#ahead = new ClaimedAhead((job) =>
      settler.add({ fence: fenceOf(job), end: { kind: 'unstarted' }, policy: job.policy }),
    )
    this.#unanswered = new UnansweredStatements({ ...options, ahead: this.#ahead })
    this.#capacity = new Capacity({
      ...options,
      ahead: this.#ahead,
      wakeClaims: () => this.loop.wake(),
      recheckRunning: () => this.recheckRunning(),
      isStopping: () => this.#isStopping,
    })
  }

  wake(): void {
    this.#isQueueEmpty = false
    this.loop.wake()
  }

  /** Called when a waiting job may be due. */
  wakeForTime(): void {
    this.#promotes = true
    this.wake()
  }

  claimableTasks(): readonly string[] {
    return this.#isStopping ? [] : this.#capacity.claimableTasks()
  }

  ended(ranMs: number): void {
    this.#ahead.ended(ranMs)
  }

  /** Called when capacity may be free and a blocked job may be claimable. */
  freed(): void {
    this.#capacity.startAhead()
    this.loop.wake()
  }

  /**
   * Called after a statement without a response, and when this worker has connected to another server: a promoted
   * asynchronous replica may lack the most recent commits, such as claims and outcomes.
   */
  recheckRunning(): void {
    this.#unanswered.add()
    this.loop.wake()
  }

  /**
   * Reserves capacity for jobs that this worker is about to submit, so that the same transaction can start them.
   *
   * @param worker  the id under which this worker submits them
   * @returns null if the jobs cannot start immediately: there is no capacity, other jobs may come first, or this worker
   *   is stopping or does not know which jobs it runs
   */
  reserve(worker: string, most: number): Reservation | null {
    const mayStart = this.#isQueueEmpty && !this.#isStopping && !this.#unanswered.isUncertain()
    return mayStart && this.#options.worker() === worker ? this.#capacity.reserve(most) : null
  }

  /** Promotes and claims due jobs. For tests that use their own clock and run no loops. */
  async claimDue(): Promise<void> {
    this.#promotes = true
    await this.#pass(false)
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    const stopped = this.loop.stop()
    this.#ahead.giveBackAll()
    await stopped
    await this.#capacity.released()
  }

  /**
   * @param isLoop  false if the claim must not wait for the current turn of the event loop to end; jobs that handlers
   *   submit during the turn are left for the next call
   */
  async #pass(isLoop: boolean): Promise<number> {
    const { worker, handlers } = this.#options
    const capacity = this.#capacity
    const unanswered = this.#unanswered
    if (this.#promotes) await this.#promoteDue()
    for (;;) {
      // Attempts that end in the same turn of the event loop free their capacity together, so that one claim of 200
      // jobs replaces two of 100.
      if (isLoop) await nextTurn()
      const id = worker()
      if (id === null || this.#isStopping) return unanswered.untilNextComparison()
      // A submission that has no response yet may have started jobs, so compare only when nothing is reserved.
      if (!capacity.isReserved()) await unanswered.compare(id)
      const reservation = capacity.reserveForClaim(isLoop)
      if (reservation === null) return unanswered.untilNextComparison()
      // Submissions must not use capacity that becomes free during the claim, because other jobs may be waiting.
      this.#isQueueEmpty = false
      const isContinued = this.#continues()
      const found = await this.#claim(id, reservation)
      // There may be jobs before the position at which this claim continued.
      if (found === 0 && isContinued) continue
      const isAll = reservation.limit > 0 && reservation.tasks.size === handlers.size
      this.#isQueueEmpty = isLoop && found === 0 && isAll
      if (found === 0) return unanswered.untilNextComparison()
    }
  }

  async #promoteDue(): Promise<void> {
    const { store, onError } = this.#options
    this.#promotes = false
    try {
      await store.promoteDue(PROMOTE_AT_ONCE)
    } catch (error) {
      if (error instanceof StoreUnavailableError) throw error
      // Jobs that cannot be made claimable must not prevent other jobs from being claimed.
      onError(error, 'executor')
    }
  }

  /** Whether the next claim continues where the last one ended; otherwise, it begins at the front of the queue. */
  #continues(): boolean {
    const now = performance.now()
    if (this.#cursor.turns.length > 0 && now < this.#continuesUntil) return true
    this.#cursor.turns = []
    this.#continuesUntil = now + CONTINUE_MS
    return false
  }

  /** @returns how many jobs were claimed or refused; there may be more */
  async #claim(worker: string, reservation: ClaimReservation): Promise<number> {
    const { store } = this.#options
    let refused = 0
    const { tasks, limit, taskLimits, ahead } = reservation
    const jobs = await store
      .claim(worker, tasks, limit, this.#lastGroup, {
        taskLimits,
        ahead,
        lastTasks: this.#lastTasks,
        cursor: this.#cursor,
        onRefused: () => {
          refused += 1
        },
      })
      .catch((error: unknown) => {
        reservation.abandon(error)
        throw error
      })
    if (this.#cursor.hasLeftOut) this.#ahead.pause()
    this.#lastGroup = jobs.at(-1)?.group ?? this.#lastGroup
    for (const { group, task } of jobs) this.#lastTasks.set(group, task)
    for (const group of this.#lastTasks.keys()) {
      if (this.#lastTasks.size <= MAX_GROUPS) break
      this.#lastTasks.delete(group)
    }
    reservation.commit(jobs)
    return jobs.length + refused
  }
}
