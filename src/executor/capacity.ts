import { StoreUnavailableError } from '../errors.ts'
import type { ClaimedJob } from '../model/job.ts'
import type { RunPolicy } from '../model/task.ts'
import type { StartLimits } from '../store/scheduling-store.ts'
import type { ClaimedAhead } from './claimed-ahead.ts'
import type { JobExecutorOptions } from './options.ts'
import type { RunningAttempts } from './running-attempts.ts'
import type { Settler } from './settler.ts'

interface CapacityOptions extends Pick<JobExecutorOptions, 'handlers' | 'concurrency' | 'worker'> {
  readonly attempts: RunningAttempts
  readonly ahead: ClaimedAhead
  readonly settler: Settler
  readonly wakeClaims: () => void
  readonly recheckRunning: () => void
  readonly isStopping: () => boolean
}

/** Capacity that is kept free for a statement that may start jobs. Call exactly one of its methods. */
export interface Reservation extends StartLimits {
  /** The statement started these jobs. Unused capacity becomes free. */
  commit(jobs: readonly ClaimedJob[]): void
  /** The statement failed. If it got no response, it may have started jobs. */
  abandon(error: unknown): void
}

export interface ClaimReservation extends Reservation {
  /** The number of jobs to claim beyond `limit`. They start when there is capacity for them. */
  readonly ahead: number
}

/**
 * Claims and submissions reserve capacity for the jobs that they may start, so that together they never start more jobs
 * than there is capacity for.
 */
export class Capacity {
  readonly #options: CapacityOptions
  #reserved = 0
  /** Whether the last claim found less capacity because some was reserved. */
  #isClaimDeferred = false
  readonly #whenNoneReserved: (() => void)[] = []

  constructor(options: CapacityOptions) {
    this.#options = options
  }

  isReserved(): boolean {
    return this.#reserved > 0
  }

  /**
   * The tasks that this worker has capacity for. Reserved capacity counts as free, because it is not known yet which
   * jobs will use it.
   */
  claimableTasks(): readonly string[] {
    return this.#free(0) > 0 ? [...this.#claimable(this.#taskLimits(0)).keys()] : []
  }

  /** @returns null if there is no capacity */
  reserve(most: number): Reservation | null {
    return this.#reserve(most, 0, (jobs) => {
      for (const job of jobs) this.#options.attempts.start(job)
    })
  }

  reserveForClaim(isAhead: boolean): ClaimReservation | null {
    this.#isClaimDeferred = this.#reserved > 0
    const { ahead } = this.#options
    // The first jobs start immediately, because their capacity is reserved, and no job that was claimed earlier waits
    // while there is capacity.
    return this.#reserve(Infinity, isAhead ? ahead.wanted() : 0, (jobs) => {
      ahead.add(jobs)
      this.startAhead()
    })
  }

  startAhead(): void {
    const { ahead, attempts, worker, isStopping } = this.#options
    if (isStopping()) ahead.giveBackAll()
    while (this.#free(this.#reserved) > 0) {
      const job = ahead.next()
      if (job === undefined) return
      if (job.worker === worker()) attempts.start(job)
      else ahead.giveBack(job)
    }
  }

  async released(): Promise<void> {
    if (this.#reserved > 0) await new Promise<void>((resolve) => this.#whenNoneReserved.push(resolve))
  }

  #reserve(
    most: number,
    ahead: number,
    start: (jobs: readonly ClaimedJob[]) => void,
  ): ClaimReservation | null {
    const taskLimits = this.#taskLimits(this.#reserved)
    const tasks = this.#claimable(taskLimits)
    const limit = Math.max(0, Math.min(most, this.#free(this.#reserved)))
    if (limit + ahead === 0 || tasks.size === 0) return null
    this.#reserved += limit
    let isEnded = false
    const release = () => {
      if (isEnded) throw new Error('a reservation was ended twice')
      isEnded = true
      this.#release(limit)
    }
    return {
      limit,
      ahead,
      tasks,
      taskLimits,
      commit: (jobs) => {
        release()
        start(jobs)
      },
      abandon: (error) => {
        release()
        if (error instanceof StoreUnavailableError) this.#options.recheckRunning()
      },
    }
  }

  /** `concurrency` limits running attempts and unwritten outcomes together: after a crash, all these jobs run again. */
  #free(reserved: number): number {
    const { concurrency, attempts, settler } = this.#options
    return concurrency - attempts.count() - settler.occupied() - reserved
  }

  /**
   * For tasks with their own limit, the number of further jobs that may run here. Any one of these tasks may use all of
   * the reserved capacity, so each number is reduced by it.
   */
  #taskLimits(reserved: number): ReadonlyMap<string, number> {
    const { handlers, attempts, ahead } = this.#options
    const limits = new Map<string, number>()
    for (const [name, { task }] of handlers) {
      if (task.concurrency !== null)
        limits.set(
          name,
          Math.max(0, task.concurrency - attempts.countOf(name) - ahead.countOf(name) - reserved),
        )
    }
    return limits
  }

  #claimable(taskLimits: ReadonlyMap<string, number>): ReadonlyMap<string, RunPolicy> {
    const free = [...this.#options.handlers].filter(([name]) => taskLimits.get(name) !== 0)
    return new Map(free.map(([name, { task }]) => [name, task.policy]))
  }

  #release(limit: number): void {
    this.#reserved -= limit
    if (this.#reserved > 0) return
    if (this.#isClaimDeferred) this.#options.wakeClaims()
    for (const resolve of this.#whenNoneReserved.splice(0)) resolve()
  }
}
