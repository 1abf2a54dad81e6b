import { isA, StoreUnavailableError } from '../errors.ts'
import { Loop } from '../loop.ts'
import { plannedInFuture } from '../model/future-slots.ts'
import type { ExecutingStore, Settled } from '../store/executing-store.ts'
import { AllRefusedError } from '../store/refusal.ts'
import type { SchedulingStore } from '../store/scheduling-store.ts'

export interface TakeOverOptions {
  readonly executing: Pick<ExecutingStore, 'orphans' | 'settle'>
  readonly scheduling: Pick<SchedulingStore, 'clearStaleMarks' | 'sweep' | 'furthest'>
  readonly leaseMs: number
  readonly beatMs: number
  readonly beatsPerLease: number
  /** Milliseconds of a monotonic clock, such as performance.now(). */
  readonly monotonicNow: () => number
  /** Null while this worker must not take on work. */
  readonly worker: () => string | null
  /** Called when this worker's jobs are orphans, which means that it was evicted and has not noticed yet. */
  readonly onEvicted: () => void
  readonly onSettled: (result: Settled) => void
  readonly onRepaired: (text: string) => void
  readonly onError: (error: unknown, loop: string) => void
}

/** The number of leases between full sweeps: more if the tables are so large that sweeps are slow. */
const LEASES_PER_WHOLE_SWEEP = { quick: 1, slow: 5 }
/** A sweep counts as quick if it takes less than this share of the lease, or less than this many ms. */
const QUICK_SWEEP = { share: 1 / 500, ms: 50 }
const ORPHANS_AT_ONCE = 200
const MAX_IN_FUTURE = 100

/**
 * Ends the marks of dead workers, and settles their running jobs (orphans) as lost attempts. Once per lease, a sweep
 * finds what interrupted take-overs have left; a full sweep also repairs rows after manual edits.
 */
export class TakeOver {
  /** Separate from the heartbeat loop, which must wait only for this worker's row. */
  readonly loop: Loop
  readonly #options: TakeOverOptions
  #mayHaveOrphans = false
  #slotsInFuture: readonly string[] = []
  #beatsUntilSweep = 0
  #sweepsUntilWhole = 0

  constructor(options: TakeOverOptions) {
    this.#options = options
    this.loop = new Loop({
      name: 'take-over',
      pass: () => this.pass(),
      longestBackOffMs: options.beatMs,
      onError: options.onError,
    })
  }

  /** As of the last full sweep. */
  slotsInFuture(): readonly string[] {
    return this.#slotsInFuture
  }

  wake(): void {
    this.#mayHaveOrphans = true
    this.loop.wake()
  }

  /** @returns milliseconds until the next pass: one beat after the start of this one */
  async pass(): Promise<number> {
    const { scheduling, worker, leaseMs, beatMs, monotonicNow } = this.#options
    const started = monotonicNow()
    const id = worker()
    if (id === null) return beatMs
    if (this.#mayHaveOrphans) {
      await scheduling.clearStaleMarks(id, leaseMs)
      await this.#settleOrphans()
    }
    this.#beatsUntilSweep -= 1
    if (this.#beatsUntilSweep <= 0) await this.#sweep(id)
    return Math.max(0, beatMs - (monotonicNow() - started))
  }

  /** Runs once per lease, so that a stale row is held no longer than the rows of a dead worker. */
  async #sweep(id: string): Promise<void> {
    const { scheduling, leaseMs, beatsPerLease, monotonicNow, onRepaired } = this.#options
    this.#beatsUntilSweep = beatsPerLease
    this.#sweepsUntilWhole -= 1
    const isWhole = this.#sweepsUntilWhole <= 0
    // Both counters are set before the sweep, so that a failing sweep is not repeated on every beat and does not delay
    // other work.
    if (isWhole) this.#sweepsUntilWhole = LEASES_PER_WHOLE_SWEEP.slow
    const started = monotonicNow()
    // If the sweep fails, the next beat looks for orphans.
    this.#mayHaveOrphans = true
    const swept = await scheduling.sweep(id, leaseMs, isWhole ? 'everything' : 'left by workers')
    this.#mayHaveOrphans = swept.orphans
    for (const text of swept.repaired) onRepaired(text)
    if (isWhole) {
      const { schedules, now } = await scheduling.furthest(MAX_IN_FUTURE)
      this.#slotsInFuture = schedules.flatMap((one) => (plannedInFuture(one, now) === null ? [] : [one.id]))
    }
    if (isWhole && monotonicNow() - started < Math.max(QUICK_SWEEP.ms, leaseMs * QUICK_SWEEP.share))
      this.#sweepsUntilWhole = LEASES_PER_WHOLE_SWEEP.quick
    if (this.#mayHaveOrphans) await this.#settleOrphans()
  }

  /**
   * Unless the database is unavailable, an error does not count as an error of this loop, so the next pass runs on time
   * and tries again.
   */
  async #settleOrphans(): Promise<void> {
    const { beatMs, monotonicNow, onError } = this.#options
    // After one beat, the next sweep gets a turn, however many orphans there are.
    const until = monotonicNow() + beatMs
    let hasMore = true
    while (hasMore && monotonicNow() <= until) {
      try {
        hasMore = await this.#settleSomeOrphans()
      } catch (error) {
        if (isA(error, StoreUnavailableError)) throw error
        onError(error, 'take-over')
        // Each call tries further orphans, and orphans that can be settled may follow the rejected ones.
        hasMore = error instanceof AllRefusedError
      }
    }
  }

  /** @returns whether there may be more to settle in this pass */
  async #settleSomeOrphans(): Promise<boolean> {
    const { executing, worker, onEvicted, onSettled } = this.#options
    const orphans = await executing.orphans(ORPHANS_AT_ONCE)
    this.#mayHaveOrphans = orphans.length > 0
    if (!this.#mayHaveOrphans) return false
    const id = worker()
    if (id === null || orphans.some(({ fence, end }) => end.kind === 'lost' && fence.worker === id)) {
      // This worker's handlers must be aborted before other workers get the jobs.
      onEvicted()
      return false
    }
    const result = await executing.settle(orphans, true)
    onSettled(result)
    // Orphans that another transaction has locked are taken over in the next pass.
    return result.settled.length + result.refused.length > 0
  }
}
