import { setImmediate as nextTurn } from 'node:timers/promises'
import { Loop } from '../loop.ts'
import { type Fence, fenceText } from '../model/job.ts'
import type { UnsettledAttempt, ExecutingStore, Settled } from '../store/executing-store.ts'
import type { JobExecutorOptions } from './options.ts'

const AT_ONCE = 200
const LOCKED_RETRY_MS = 250
/** An outcome that the database rejects is retried after this time, because the cause may have been fixed. */
const REJECTED_RETRY_MS = 300_000
/**
 * Up to this many outcomes whose row is locked, or that the database rejects, do not count against capacity, so that
 * one lock cannot stop a worker. Any further outcomes count, because their jobs run again after a crash.
 */
export const MAX_EXEMPT = 200

interface SettlerOptions extends Pick<JobExecutorOptions, 'onSettled' | 'onRejected' | 'onError'> {
  readonly store: Pick<ExecutingStore, 'settle'>
}

/**
 * Writes outcomes in small batches: runs that end while one batch is being written form the next batch. If the database
 * is unavailable, outcomes are delayed, not lost.
 */
export class Settler {
  readonly loop: Loop
  readonly #options: SettlerOptions
  #queue: UnsettledAttempt[] = []
  /** When each outcome was first found locked, by performance.now(); the next one to retry comes first. */
  readonly #locked = { since: new Map<UnsettledAttempt, number>(), retryAt: 0 }
  readonly #rejected = { attempts: [] as UnsettledAttempt[], retryAt: Infinity }
  /** The outcomes whose rejection was reported. */
  readonly #reported = new WeakSet<UnsettledAttempt>()
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

  add(attempt: UnsettledAttempt): void {
    this.#queue.push(attempt)
    this.loop.wake()
  }

  pending(): Fence[] {
    return [...this.#queue, ...this.#locked.since.keys(), ...this.#rejected.attempts].map(
      ({ fence }) => fence,
    )
  }

  occupied(): number {
    return this.#queue.length + Math.max(0, this.#exempt() - MAX_EXEMPT)
  }

  unwritten() {
    const [since] = [...this.#locked.since.values()].toSorted((one, other) => one - other)
    return {
      waiting: this.#queue.length + this.#locked.since.size,
      locked: this.#locked.since.size,
      lockedMs: since === undefined ? 0 : performance.now() - since,
      rejected: this.#rejected.attempts.length,
      /** Whether further outcomes count against capacity. */
      isLimitReached: this.#exempt() >= MAX_EXEMPT,
    }
  }

  /** Waits until all outcomes are written or rejected. Retries rejected ones once, in case their rows were repaired. */
  async drain(): Promise<void> {
    this.#retryRejected()
    if (this.#isEmpty()) return
    this.loop.wake()
    await new Promise<void>((resolve) => this.#whenEmpty.push(resolve))
  }

  /** For tests that use their own clock and run no loops. */
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
    // The batch is removed only now, so that the outcomes stay in the queue if the write fails.
    this.#queue.splice(0, batch.length)
    if (this.#locked.since.size === 0) this.#locked.retryAt = performance.now() + LOCKED_RETRY_MS
    for (const attempt of result.locked) this.#locked.since.set(attempt, performance.now())
    this.#options.onSettled(result)
  }

  async #retryLocked(): Promise<void> {
    const batch = [...this.#locked.since.keys()].slice(0, AT_ONCE)
    // Also set before the retry, so that other outcomes are written before the next one even if this retry fails.
    this.#locked.retryAt = performance.now() + LOCKED_RETRY_MS
    const result = await this.#settle(batch)
    this.#locked.retryAt = performance.now() + LOCKED_RETRY_MS
    const since = new Map(batch.map((one) => [fenceText(one.fence), this.#locked.since.get(one)]))
    for (const attempt of batch) this.#locked.since.delete(attempt)
    // Outcomes that are still locked move to the end of the map, so that every outcome gets a turn.
    for (const attempt of result.locked)
      this.#locked.since.set(attempt, since.get(fenceText(attempt.fence)) ?? performance.now())
    if (result.locked.length < batch.length) this.#options.onSettled(result)
  }

  async #settle(batch: readonly UnsettledAttempt[]): Promise<Settled> {
    const result = await this.#options.store.settle(batch)
    for (const { item, error } of result.refused) {
      this.#rejected.attempts.push(item)
      this.#rejected.retryAt = performance.now() + REJECTED_RETRY_MS
      if (!this.#reported.has(item)) this.#options.onRejected(item, error)
      this.#reported.add(item)
    }
    return result
  }

  #retryRejected(): void {
    this.#rejected.retryAt = Infinity
    this.#queue.push(...this.#rejected.attempts.splice(0))
  }

  #exempt(): number {
    return this.#locked.since.size + this.#rejected.attempts.length
  }

  #isEmpty(): boolean {
    return this.#queue.length + this.#locked.since.size === 0
  }
}
