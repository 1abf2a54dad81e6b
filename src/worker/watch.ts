/**
 * Polls the database once per poll interval for all parts of a worker. By default, an idle worker thus costs one
 * statement per second, or ten after other processes have submitted jobs. The watch also wakes when the next schedule
 * or job is due, by the database's clock, and when this process writes.
 */
import { Loop } from '../loop.ts'
import type { ClockDifference } from './health-notes.ts'
import type { SchedulingStore } from '../store/scheduling-store.ts'

export interface WatchOptions {
  readonly store: SchedulingStore
  readonly pollIntervalMs: number
  readonly now: () => Date
  readonly claimableTasks: () => readonly string[]
  /** Null if this worker does not submit schedules. */
  readonly onScheduleDue: (() => void) | null
  /** Null if this worker neither runs jobs nor hands them over. */
  readonly onJobDue: (() => void) | null
  readonly serverChanges: () => number
  readonly onServerChange: () => void
  readonly onFreezesChanged: () => Promise<void>
  readonly onError: (error: unknown, loop: string) => void
}

/** Time until the next poll while other processes submit jobs. */
const BRISK_MS = 100
/** How long the worker polls at this interval after it has found a job of another process. */
const BRISK_FOR_MS = 10_000
/** Time until the next poll if something is due that another worker may be processing. */
const BUSY_MS = 250
/** Time until the next poll if a schedule became due as the last poll predicted: long enough to submit the schedule. */
const SUBMITTED_MS = 20

export class Watch {
  readonly loop: Loop
  readonly #options: WatchOptions
  #clock: ClockDifference | null = null
  #serverChanges = 0
  /** The time at which the next schedule is due according to the last poll, by performance.now(). */
  #scheduleDue = Infinity
  #briskUntil = -Infinity
  #wasClaimable = false
  /** Whether this process has submitted jobs since the last poll. */
  #hasOwn = false
  /** The value of `freezes` at the last poll; null before the first. */
  #freezes: string | null = null

  constructor(options: WatchOptions) {
    this.#options = options
    this.loop = new Loop({ name: 'watch', pass: () => this.pass(), onError: options.onError })
  }

  clock(): ClockDifference | null {
    return this.#clock
  }

  wakeForJobs(): void {
    this.#hasOwn = true
    this.loop.wake()
  }

  /** @returns milliseconds until the next poll */
  async pass(): Promise<number> {
    const { store, pollIntervalMs, onScheduleDue, onJobDue } = this.#options
    if (onScheduleDue !== null && performance.now() >= this.#scheduleDue) {
      // No poll is needed, because the last poll found the time at which this schedule is due. The poll after the
      // submission finds the next schedule.
      this.#scheduleDue = Infinity
      onScheduleDue()
      return SUBMITTED_MS
    }
    const tasks = this.#options.claimableTasks()
    const asked = performance.now()
    const before = this.#options.now().getTime()
    const look = await store.look(tasks)
    const answered = performance.now()
    const changes = this.#options.serverChanges()
    if (changes !== this.#serverChanges) this.#options.onServerChange()
    this.#serverChanges = changes
    // A thaw in this process takes effect immediately; this handles all other changes to freezes.
    if (look.freezes !== this.#freezes) await this.#thaw(look.freezes)
    const roundTripMs = answered - asked
    this.#clock = { aheadMs: before + roundTripMs / 2 - look.now.getTime(), roundTripMs }
    // Jobs that this process submits wake the executor without a poll. A job that was already claimable at the last
    // poll may be one that no worker can start.
    if (look.claimable && !this.#wasClaimable && !this.#hasOwn) this.#briskUntil = answered + BRISK_FOR_MS
    this.#wasClaimable = look.claimable
    this.#hasOwn = false
    const waits = [answered < this.#briskUntil ? Math.min(BRISK_MS, pollIntervalMs) : pollIntervalMs]
    this.#scheduleDue = Infinity
    if (onScheduleDue !== null && look.wakeAt !== null) {
      const waitMs = look.wakeAt.getTime() - look.now.getTime()
      if (waitMs > 0) this.#scheduleDue = answered + waitMs
      waits.push(notifyWhenDue(look.wakeAt, look.now, onScheduleDue))
    }
    // Capacity is not checked here: when capacity becomes free, the executor claims without a poll.
    if (onJobDue !== null && look.dueAt !== null) waits.push(notifyWhenDue(look.dueAt, look.now, onJobDue))
    if (onJobDue !== null && look.claimable) waits.push(notifyWhenDue(look.now, look.now, onJobDue))
    return Math.min(...waits)
  }

  /** An error does not delay due schedules and jobs; the next poll tries again. */
  async #thaw(freezes: string): Promise<void> {
    try {
      await this.#options.onFreezesChanged()
      this.#freezes = freezes
    } catch (error) {
      this.#options.onError(error, 'watch')
    }
  }
}

/** @returns milliseconds until the next poll */
function notifyWhenDue(at: Date, now: Date, due: () => void): number {
  const waitMs = at.getTime() - now.getTime()
  if (waitMs > 0) return waitMs
  due()
  return BUSY_MS
}
