import { type ClaimedJob, type Fence, fenceOf, fenceText } from '../model/job.ts'

/** Only runs shorter than this indicate how much capacity will soon be free. */
const SHORT_MS = 20
/** A job that has not started after this time goes back to the queue, because other workers may have capacity. */
const LONGEST_WAIT_MS = 100
/** After a claim leaves out jobs without retries, nothing is claimed ahead for this long, so that they get a turn. */
const PAUSE_MS = 1000
const MAX = 500

/**
 * Jobs that are claimed before this worker has capacity for them, so that the server can work on the next claim while
 * handlers run and outcomes are written. Their number is limited to that of recent short runs. The jobs must have
 * retries left, because a crash of this worker costs each of them an attempt. Returning a job unstarted does not use
 * up an attempt.
 */
export class ClaimedAhead {
  readonly giveBack: (job: ClaimedJob) => void
  /** The time at which each job was claimed, earliest first. Times are by performance.now(). */
  readonly #waiting = new Map<ClaimedJob, number>()
  /** How many short runs ended in the period that began at `since`, and in the one before. */
  #shortRuns = { since: Number.NEGATIVE_INFINITY, now: 0, before: 0 }
  #pausedUntil = Number.NEGATIVE_INFINITY
  #timer: NodeJS.Timeout | undefined

  constructor(giveBack: (job: ClaimedJob) => void) {
    this.giveBack = giveBack
  }

  get size(): number {
    return this.#waiting.size
  }

  ended(ranMs: number): void {
    if (ranMs >= SHORT_MS) return
    this.#nextPeriod()
    this.#shortRuns.now += 1
  }

  wanted(): number {
    if (performance.now() < this.#pausedUntil) return 0
    this.#nextPeriod()
    const most = Math.min(MAX, Math.max(this.#shortRuns.now, this.#shortRuns.before))
    // Claim at least half of the maximum at once, because each claim takes several statements.
    return this.size > most / 2 ? 0 : most - this.size
  }

  pause(): void {
    this.#pausedUntil = performance.now() + PAUSE_MS
  }

  add(jobs: readonly ClaimedJob[]): void {
    const since = performance.now()
    for (const job of jobs) this.#waiting.set(job, since)
    this.#arm()
  }

  next(): ClaimedJob | undefined {
    const [job] = this.#waiting.keys()
    if (job !== undefined) this.#remove(job)
    return job
  }

  countOf(task: string): number {
    return [...this.#waiting.keys()].filter((job) => job.task === task).length
  }

  fences(): Fence[] {
    return [...this.#waiting.keys()].map(fenceOf)
  }

  /** Forgets these jobs, because the worker no longer holds them. */
  drop(fences: readonly Fence[]): void {
    const gone = new Set(fences.map(fenceText))
    for (const job of this.#waiting.keys()) if (gone.has(fenceText(fenceOf(job)))) this.#remove(job)
  }

  /** Returns unstarted jobs to the queue. @param before  only jobs that were claimed by this time */
  giveBackAll(before = Infinity): void {
    for (const [job, since] of this.#waiting) {
      if (since > before) return
      this.#remove(job)
      this.giveBack(job)
    }
  }

  #remove(job: ClaimedJob): void {
    this.#waiting.delete(job)
    if (this.#waiting.size > 0) return
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  /** The timer may fire for a job that has started; then it is set again for the job that has waited longest. */
  #arm(): void {
    const [since] = this.#waiting.values()
    if (since === undefined || this.#timer !== undefined) return
    const ms = Math.max(1, Math.ceil(since + LONGEST_WAIT_MS - performance.now()))
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.giveBackAll(performance.now() - LONGEST_WAIT_MS)
      this.#arm()
    }, ms)
  }

  #nextPeriod(): void {
    const now = performance.now()
    const passed = now - this.#shortRuns.since
    if (passed < SHORT_MS) return
    this.#shortRuns = { since: now, now: 0, before: passed < 2 * SHORT_MS ? this.#shortRuns.now : 0 }
  }
}
