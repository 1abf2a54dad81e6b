import { type ClaimedJob, type Fence, fenceOf } from '../model/job.ts'

/** Only runs as short as this show that capacity will be free soon, and how much. */
const SHORT_MS = 20
/** A job that has not started after this time goes back to the queue: other workers may have capacity. */
const LONGEST_WAIT_MS = 100
const MOST = 500

/**
 * Jobs that were claimed while this worker had no capacity for them, so that the server works on the next claim while
 * handlers run and ends are written. There are at most as many as short runs have ended lately, and they have retries
 * left, because a worker that dies loses them. A job that has not started has had no attempt.
 */
export class ClaimedAhead {
  /** For a job that must not start here. */
  readonly giveBack: (job: ClaimedJob) => void
  readonly #jobs: ClaimedJob[] = []
  /** How many of them have started. */
  #started = 0
  /** Short runs that ended in this period, and in the one before it. Times are by performance.now(). */
  #ends = { since: Number.NEGATIVE_INFINITY, now: 0, before: 0 }
  #timer: NodeJS.Timeout | undefined

  constructor(giveBack: (job: ClaimedJob) => void) {
    this.giveBack = giveBack
  }

  get size(): number {
    return this.#jobs.length - this.#started
  }

  /** A run has ended. */
  ended(ranMs: number): void {
    if (ranMs >= SHORT_MS) return
    this.#turn()
    this.#ends.now += 1
  }

  /** How many jobs to claim ahead. */
  wanted(): number {
    this.#turn()
    const most = Math.min(MOST, Math.max(this.#ends.now, this.#ends.before))
    // Half of them at least: each claim takes several statements.
    return this.size > most / 2 ? 0 : most - this.size
  }

  add(jobs: readonly ClaimedJob[]): void {
    this.#jobs.push(...jobs)
    if (this.size > 0) this.#timer ??= setTimeout(() => this.giveBackAll(), LONGEST_WAIT_MS)
  }

  /** The job that was claimed first; undefined: there is none. */
  next(): ClaimedJob | undefined {
    const job = this.#jobs[this.#started]
    this.#started += 1
    if (this.#started >= this.#jobs.length) this.#clear()
    return job
  }

  countOf(task: string): number {
    return this.#waiting().filter((job) => job.task === task).length
  }

  fences(): Fence[] {
    return this.#waiting().map(fenceOf)
  }

  /** Gives back the jobs that have not started. */
  giveBackAll(): void {
    const jobs = this.#waiting()
    this.#clear()
    for (const job of jobs) this.giveBack(job)
  }

  #waiting(): ClaimedJob[] {
    return this.#jobs.slice(this.#started)
  }

  #clear(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#jobs.length = 0
    this.#started = 0
  }

  #turn(): void {
    const now = performance.now()
    const passed = now - this.#ends.since
    if (passed < SHORT_MS) return
    this.#ends = { since: now, now: 0, before: passed < 2 * SHORT_MS ? this.#ends.now : 0 }
  }
}
