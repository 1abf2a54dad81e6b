/**
 * The watch: one look at the database per wake-up period for all parts of a worker, so that an idle worker
 * costs one statement a second. Between looks it sleeps exactly until the next schedule or job is due, by the
 * database's clock; any write of this process wakes it.
 */
import { Loop, type LoopHealth } from './loop.ts'
import type { ClockDifference } from './health.ts'
import type { SchedulingStore } from './store/scheduling-store.ts'

export interface WatchOptions {
  readonly store: SchedulingStore
  /** How often to look for what others have changed, in milliseconds. */
  readonly wakeUpMs: number
  /** This machine's clock. */
  readonly now: () => Date
  /** The tasks that jobs could be claimed for at this moment; empty when there is no room for more. */
  readonly claimableTasks: () => readonly string[]
  /** null: of no interest to this worker. */
  readonly onScheduleDue: (() => void) | null
  readonly onJobDue: (() => void) | null
  /** See `Store.serverChanges`. */
  readonly serverChanges: () => number
  readonly onServerChange: () => void
  readonly onError: (error: unknown, loop: string) => void
}

/** Time before the next look when something is due that somebody else seems to be busy with. */
const BUSY_MS = 250
/** Time before the next look when a schedule came to be due that the last one has announced: until it is submitted. */
const SUBMITTED_MS = 20

export class Watch {
  readonly #options: WatchOptions
  readonly #loop: Loop
  #clock: ClockDifference | null = null
  #serverChanges = 0
  /** When the first schedule is due that the last look has announced, by performance.now(). */
  #scheduleDue = Infinity

  constructor(options: WatchOptions) {
    this.#options = options
    this.#loop = new Loop({ name: 'watch', pass: () => this.pass(), onError: options.onError })
  }

  start(): void {
    this.#loop.start()
  }

  wake(): void {
    this.#loop.wake()
  }

  stop(): Promise<void> {
    return this.#loop.stop()
  }

  health(): LoopHealth {
    return this.#loop.health()
  }

  /** How far the clocks were apart at the last look; null before the first. */
  clock(): ClockDifference | null {
    return this.#clock
  }

  /** @returns milliseconds until the next look */
  async pass(): Promise<number> {
    const { store, wakeUpMs, onScheduleDue, onJobDue } = this.#options
    if (onScheduleDue !== null && performance.now() >= this.#scheduleDue) {
      // What is known needs no look: that comes when it has been submitted, and then knows what is next.
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
    const roundTripMs = answered - asked
    this.#clock = { aheadMs: before + roundTripMs / 2 - look.now.getTime(), roundTripMs }
    const waits = [wakeUpMs]
    this.#scheduleDue = Infinity
    if (onScheduleDue !== null && look.wakeAt !== null) {
      const waitMs = look.wakeAt.getTime() - look.now.getTime()
      if (waitMs > 0) this.#scheduleDue = answered + waitMs
      waits.push(tellWhenDue(look.wakeAt, look.now, onScheduleDue))
    }
    // Also where there is no room at this moment: who makes room claims without a look.
    if (onJobDue !== null && look.dueAt !== null) waits.push(tellWhenDue(look.dueAt, look.now, onJobDue))
    if (onJobDue !== null && look.claimable) waits.push(tellWhenDue(look.now, look.now, onJobDue))
    return Math.min(...waits)
  }
}

/** @returns milliseconds until the next look */
function tellWhenDue(at: Date, now: Date, due: () => void): number {
  const waitMs = at.getTime() - now.getTime()
  if (waitMs > 0) return waitMs
  due()
  return BUSY_MS
}
