/**
 * The JobExecutor: promotes, claims, runs and settles jobs of the tasks that this worker handles.
 *
 * A claimed job belongs to this worker as long as the worker's heartbeat continues. Each write about a run is fenced by
 * id, worker, claim and state, so that an evicted worker changes nothing.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Loop } from '../loop.ts'
import { type ClaimedJob, type Fence, fenceOf } from '../model/job.ts'
import type { EndedAttempt, SettleResult } from '../store/executing-store.ts'
import type { Reservation } from '../store/scheduling-store.ts'
import { Capacity } from './capacity.ts'
import { ClaimLoop } from './claim-loop.ts'
import { ClaimedAhead } from './claimed-ahead.ts'
import { Journal } from './journal.ts'
import type { JobExecutorOptions } from './options.ts'
import { RunningAttempts } from './running-attempts.ts'
import { Settler } from './settler.ts'
import { UnansweredStatements } from './unanswered-statements.ts'

const SETTLE_TIMEOUT_MS = 10_000
const JOURNAL_TIMEOUT_MS = 5000
/** Maximum number of attempts in one call to `runDue`. */
const MAX_BY_HAND = 10_000
const TURNS_TO_END = 5

export class JobExecutor {
  readonly #options: JobExecutorOptions
  readonly journal: Journal
  readonly settler: Settler
  readonly attempts: RunningAttempts
  readonly #ahead: ClaimedAhead
  /** Claims that were returned to the queue before they started. */
  readonly #unstarted = new WeakSet<Fence>()
  readonly #capacity: Capacity
  readonly #unanswered: UnansweredStatements
  readonly #claims: ClaimLoop
  /** Wakes `runDue`. */
  #onWake: (() => void) | null = null

  constructor(options: JobExecutorOptions) {
    this.#options = options
    this.journal = new Journal(options)
    this.settler = new Settler({ ...options, onSettled: (result) => this.#settled(result) })
    this.attempts = new RunningAttempts({
      ...options,
      journal: this.journal,
      onEnded: (end, ranMs) => this.#ended(end, ranMs),
    })
    const { attempts, settler } = this
    const ahead = new ClaimedAhead((job) => this.#giveBack(job))
    const unanswered = new UnansweredStatements(options.store, attempts, settler, ahead)
    const wakeClaims = () => this.#claims.loop.wake()
    const capacity = new Capacity({
      ...options,
      attempts,
      ahead,
      settler,
      unanswered,
      wakeClaims,
      isStopping: () => this.#claims.isStopping(),
    })
    this.#claims = new ClaimLoop({ ...options, capacity, unanswered, waiting: ahead })
    this.#ahead = ahead
    this.#capacity = capacity
    this.#unanswered = unanswered
  }

  start(): void {
    for (const loop of this.loops()) loop.start()
  }

  wake(): void {
    this.#claims.wake()
    this.#onWake?.()
  }

  wakeForTime(): void {
    this.#claims.wakeForTime()
    this.#onWake?.()
  }

  claimableTasks(): readonly string[] {
    return this.#claims.isStopping() ? [] : this.#capacity.claimableTasks()
  }

  /** See `ClaimLoop.reserve`. */
  reserve(worker: string, most: number): Reservation | null {
    return this.#claims.reserve(worker, most)
  }

  /**
   * Called when this worker is connected to another server. If that server is a promoted asynchronous replica, it may
   * lack the last commits, such as claims and outcomes.
   */
  recheckRunning(): void {
    this.#unanswered.add()
    this.#claims.loop.wake()
  }

  /**
   * For tests with their own clock, which run no loops: claims, runs and settles due jobs. Jobs that handlers submit in
   * the meantime are left for the next call, unless a handler is still running, because it may be waiting for them.
   *
   * @returns how many attempts ran
   */
  async runDue(): Promise<number> {
    let attempts = 0
    do {
      // Created before the claim, so that a submission during the claim is noticed.
      const woken = new Promise<void>((resolve) => {
        this.#onWake = resolve
      })
      // Counts starts, because a quick attempt may end before the claim does.
      const before = this.attempts.startedCount()
      if (attempts < MAX_BY_HAND) await this.#claims.claimDue()
      attempts += this.attempts.startedCount() - before
      await Promise.race([this.attempts.finished(), woken])
      // Most handlers finish right after their last submission, so wait a few turns.
      for (let turn = 0; turn < TURNS_TO_END && this.attempts.count() > 0; turn += 1) await nextTurn()
      await this.settler.settleAll()
    } while (this.attempts.count() > 0)
    await this.journal.flush()
    this.#onWake = null
    return attempts
  }

  /** Stops claiming, waits for handlers during the grace period, aborts their signals, and releases remaining jobs. */
  async stop(graceMs: number): Promise<void> {
    const claims = this.#claims.stop()
    this.#ahead.giveBackAll()
    await claims
    await this.#capacity.released()
    await this.attempts.finishedWithin(graceMs)
    this.attempts.stop()
    // Each attempt ends soon after its signal is aborted, if necessary without its handler.
    await this.attempts.finished()
    await this.attempts.loop.stop()
    await this.settler.drain(SETTLE_TIMEOUT_MS)
    await this.settler.loop.stop()
    await this.journal.stop(JOURNAL_TIMEOUT_MS)
  }

  loops(): Loop[] {
    return [this.#claims.loop, this.attempts.loop, this.settler.loop, ...this.journal.loops()]
  }

  #ended(end: EndedAttempt | null, ranMs: number): void {
    this.#ahead.ended(ranMs)
    // An attempt occupies capacity until its outcome is written.
    if (end === null) this.#freed()
    else this.settler.add(end)
    this.#onWake?.()
  }

  #settled(result: SettleResult): void {
    const settled = result.settled.filter(
      ({ outcome }) => outcome.state !== 'waiting' || outcome.why !== 'unstarted',
    )
    // Nothing is lost if a job has not started.
    const lost = result.lost.filter((fence) => !this.#unstarted.has(fence))
    if (settled.length > 0 || lost.length > 0) this.#options.onSettled({ ...result, settled, lost })
    this.#freed()
  }

  #giveBack(job: ClaimedJob): void {
    const fence = fenceOf(job)
    this.#unstarted.add(fence)
    this.settler.add({ fence, end: { kind: 'unstarted' }, policy: job.policy })
  }

  /** Capacity may have become free, and a blocked job may have become claimable. */
  #freed(): void {
    this.#capacity.startAhead()
    this.#claims.loop.wake()
  }
}
