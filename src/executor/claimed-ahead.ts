import { type ClaimedJob, type Fence, fenceOf, fenceText } from '../model/job.ts'

/** Only runs up to this length indicate how much capacity will soon be free. */
const SHORT_MS = 20
/** A job that has not started after this time goes back to the queue, because other workers may have capacity. */
const LONGEST_WAIT_MS = 100
/** Nothing is claimed ahead for this long after a claim left out jobs without retries, so that they get a turn. */
const PAUSE_MS = 1000
const MAX = 500

interface Waiting {
  readonly job: ClaimedJob
  /** By performance.now(). */
  readonly since: number
}

/**
 * Jobs that were claimed while this worker had no capacity for them, so that the server can work on the next claim
 * while handlers run and outcomes are written. No more are claimed than there were recent short runs, and they must have
 * retries left, because a worker that crashes loses them. Jobs that have not started have made no attempt.
 */
export class ClaimedAhead {
  readonly giveBack: (job: ClaimedJob) => void
  #waiting: Waiting[] = []
  /** The number of jobs claimed ahead that have started. */
  #started = 0
  /** The number of short runs that ended in this period, and in the previous one. Times are by performance.now(). */
  #ends = { since: Number.NEGATIVE_INFINITY, now: 0, before: 0 }
  #pausedUntil = Number.NEGATIVE_INFINITY
  #timer: NodeJS.Timeout | undefined

  constructor(giveBack: (job: ClaimedJob) => void) {
    this.giveBack = giveBack
  }

  get size(): number {
    return this.#waiting.length - this.#started
  }

  ended(ranMs: number): void {
    if (ranMs >= SHORT_MS) return
    this.#turn()
    this.#ends.now += 1
  }

  wanted(): number {
    if (performance.now() < this.#pausedUntil) return 0
    this.#turn()
    const most = Math.min(MAX, Math.max(this.#ends.now, this.#ends.before))
    // Claim at least half of the maximum at once, because each claim takes several statements.
    return this.size > most / 2 ? 0 : most - this.size
  }

  pause(): void {
    this.#pausedUntil = performance.now() + PAUSE_MS
  }

  add(jobs: readonly ClaimedJob[]): void {
    const since = performance.now()
    for (const job of jobs) this.#waiting.push({ job, since })
    this.#arm()
  }

  next(): ClaimedJob | undefined {
    const first = this.#waiting[this.#started]
    this.#started += 1
    if (this.#started >= this.#waiting.length) this.#keep([])
    return first?.job
  }

  countOf(task: string): number {
    return this.#left().filter(({ job }) => job.task === task).length
  }

  fences(): Fence[] {
    return this.#left().map(({ job }) => fenceOf(job))
  }

  /** Forgets these jobs, because the worker no longer holds them. */
  drop(fences: readonly Fence[]): void {
    const gone = new Set(fences.map(fenceText))
    if (gone.size > 0) this.#keep(this.#left().filter(({ job }) => !gone.has(fenceText(fenceOf(job)))))
  }

  /** Returns unstarted jobs to the queue. @param before  only jobs that were claimed by this time */
  giveBackAll(before = Infinity): void {
    const left = this.#left()
    this.#keep(left.filter(({ since }) => since > before))
    for (const { job, since } of left) if (since <= before) this.giveBack(job)
  }

  #left(): Waiting[] {
    return this.#waiting.slice(this.#started)
  }

  #keep(waiting: Waiting[]): void {
    this.#waiting = waiting
    this.#started = 0
    if (waiting.length > 0) return
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  /** The timer may fire for a job that has started; then it is set again for the job that has waited longest. */
  #arm(): void {
    const first = this.#waiting[this.#started]
    if (first === undefined || this.#timer !== undefined) return
    const ms = Math.max(1, Math.ceil(first.since + LONGEST_WAIT_MS - performance.now()))
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.giveBackAll(performance.now() - LONGEST_WAIT_MS)
      this.#arm()
    }, ms)
  }

  #turn(): void {
    const now = performance.now()
    const passed = now - this.#ends.since
    if (passed < SHORT_MS) return
    this.#ends = { since: now, now: 0, before: passed < 2 * SHORT_MS ? this.#ends.now : 0 }
  }
}
