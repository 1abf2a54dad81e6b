import { setImmediate as nextTurn } from 'node:timers/promises'
import { Loop } from '../loop.ts'
import { type Fence, fenceText } from '../model/job.ts'
import type { EndedAttempt, ExecutingStore, SettleResult } from '../store/executing-store.ts'

const AT_ONCE = 200
/** An outcome whose row is locked by another transaction is retried after this time. */
const LOCKED_RETRY_MS = 250
/** An outcome that the database rejects is retried after this time, because the cause may have been fixed. */
const REJECTED_RETRY_MS = 300_000
/**
 * Up to this many outcomes whose row is locked, or that the database rejects, do not count against capacity, so that
 * one lock cannot stop a worker. Any further outcomes count, because a crash repeats their runs.
 */
export const MAX_EXEMPT = 200

export interface SettlerOptions {
  readonly store: Pick<ExecutingStore, 'settle'>
  /** Outcomes were written, lost, found locked or set aside, so capacity may have become free. */
  readonly onSettled: (result: SettleResult) => void
  /** The database rejects this outcome permanently; it is set aside. */
  readonly onRejected: (end: EndedAttempt, error: unknown) => void
  readonly onError: (error: unknown, loop: string) => void
}

/** Outcomes that are not in the database yet. */
export interface Unwritten {
  /** Outcomes that are still being retried. */
  readonly waiting: number
  /** The number of outcomes that wait because another transaction has locked their row. */
  readonly locked: number
  /** How long the oldest locked outcome has waited, or 0 if none is locked. */
  readonly lockedMs: number
  /** The number of outcomes that are set aside because the database rejects them. */
  readonly rejected: number
  /** Whether the limit of exempt outcomes is reached, so further outcomes count against capacity. */
  readonly isLimitReached: boolean
}

/**
 * Writes outcomes in small batches: runs that end while one batch is being written form the next batch. If the database
 * is unavailable, outcomes are delayed, not lost.
 */
export class Settler {
  readonly loop: Loop
  readonly #options: SettlerOptions
  #queue: EndedAttempt[] = []
  /** The time at which each outcome was found locked, in the order of retries. Times are by performance.now(). */
  readonly #locked = { since: new Map<EndedAttempt, number>(), retryAt: 0 }
  readonly #rejected = { ends: [] as EndedAttempt[], retryAt: Infinity }
  readonly #whenEmpty: (() => void)[] = []

  constructor(options: SettlerOptions) {
    this.#options = options
    // Runs that end in the same turn of the event loop are written together.
    this.loop = new Loop({
      name: 'settler',
      pass: () => nextTurn().then(() => this.#pass()),
      onError: options.onError,
    })
  }

  add(end: EndedAttempt): void {
    this.#queue.push(end)
    this.loop.wake()
  }

  /** The fences of outcomes that are not written yet. */
  pending(): Fence[] {
    return [...this.#queue, ...this.#locked.since.keys(), ...this.#rejected.ends].map(({ fence }) => fence)
  }

  /** The number of outcomes that count against capacity, because a crash repeats their runs. */
  occupied(): number {
    return this.#queue.length + Math.max(0, this.#exempt() - MAX_EXEMPT)
  }

  unwritten(): Unwritten {
    const [since] = [...this.#locked.since.values()].toSorted((one, other) => one - other)
    return {
      waiting: this.#queue.length + this.#locked.since.size,
      locked: this.#locked.since.size,
      lockedMs: since === undefined ? 0 : performance.now() - since,
      rejected: this.#rejected.ends.length,
      isLimitReached: this.#exempt() >= MAX_EXEMPT,
    }
  }

  /**
   * Waits until everything is written or the time limit is reached. Outcomes that were set aside are retried once,
   * because their rows may have been fixed.
   */
  async drain(limitMs: number): Promise<void> {
    this.#retryRejected()
    if (this.#isEmpty()) return
    this.loop.wake()
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, limitMs)
      this.#whenEmpty.push(() => {
        clearTimeout(timer)
        resolve()
      })
    })
  }

  /** For tests with their own clock, which run no loops. */
  async settleAll(): Promise<void> {
    while (this.#queue.length > 0) await this.#pass()
  }

  async #pass(): Promise<number> {
    if (performance.now() >= this.#rejected.retryAt) this.#retryRejected()
    if (this.#locked.since.size > 0 && performance.now() >= this.#locked.retryAt) await this.#retryLocked()
    else if (this.#queue.length > 0) await this.#write()
    if (this.#isEmpty()) for (const resolve of this.#whenEmpty.splice(0)) resolve()
    if (this.#queue.length > 0) return 0
    const next = Math.min(
      this.#locked.since.size > 0 ? this.#locked.retryAt : Infinity,
      this.#rejected.retryAt,
    )
    return Math.max(0, next - performance.now())
  }

  async #write(): Promise<void> {
    const batch = this.#queue.slice(0, AT_ONCE)
    const result = await this.#settle(batch)
    // Removed only now, so that the outcomes stay in the queue if the write fails.
    this.#queue.splice(0, batch.length)
    if (this.#locked.since.size === 0) this.#locked.retryAt = performance.now() + LOCKED_RETRY_MS
    for (const end of result.locked) this.#locked.since.set(end, performance.now())
    this.#options.onSettled(result)
  }

  async #retryLocked(): Promise<void> {
    const batch = [...this.#locked.since.keys()].slice(0, AT_ONCE)
    // Also set before the retry, in case it fails, so that other outcomes are written in between.
    this.#locked.retryAt = performance.now() + LOCKED_RETRY_MS
    const result = await this.#settle(batch)
    this.#locked.retryAt = performance.now() + LOCKED_RETRY_MS
    const since = new Map(batch.map((end) => [fenceText(end.fence), this.#locked.since.get(end)]))
    for (const end of batch) this.#locked.since.delete(end)
    // Moved to the end of the map, so that every outcome gets a turn.
    for (const end of result.locked)
      this.#locked.since.set(end, since.get(fenceText(end.fence)) ?? performance.now())
    if (result.locked.length < batch.length) this.#options.onSettled(result)
  }

  /** @returns the result, without jobs that were returned to the queue before they started */
  async #settle(batch: readonly EndedAttempt[]): Promise<SettleResult> {
    const result = await this.#options.store.settle(batch)
    const unstarted = new Set(batch.filter(({ end }) => end.kind === 'unstarted').map(({ fence }) => fence))
    for (const { item, error } of result.refused) {
      this.#rejected.ends.push(item)
      this.#rejected.retryAt = performance.now() + REJECTED_RETRY_MS
      this.#options.onRejected(item, error)
    }
    if (unstarted.size === 0) return result
    return {
      ...result,
      settled: result.settled.filter(
        ({ outcome }) => outcome.state !== 'waiting' || outcome.why !== 'unstarted',
      ),
      lost: result.lost.filter((fence) => !unstarted.has(fence)),
    }
  }

  #retryRejected(): void {
    this.#rejected.retryAt = Infinity
    this.#queue.push(...this.#rejected.ends.splice(0))
  }

  #exempt(): number {
    return this.#locked.since.size + this.#rejected.ends.length
  }

  #isEmpty(): boolean {
    return this.#queue.length + this.#locked.since.size === 0
  }
}
