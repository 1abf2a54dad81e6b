import { setImmediate as nextTurn } from 'node:timers/promises'
import { Loop, type LoopHealth } from '../loop.ts'
import { Halving } from '../model/halves.ts'
import { type Fence, fenceText } from '../model/job.ts'
import type { Attempt, ExecutingStore, SettleResult } from '../store/executing-store.ts'
import { REJECTED_RETRY_MS, settleIsolated } from './settle-isolated.ts'

const AT_ONCE = 200
/** An end whose row is locked by someone else is tried again after this time. */
const LOCKED_RETRY_MS = 250
/**
 * So many ends that cannot be written now, because their row is locked or the database rejects them, take up no
 * capacity: one lock must not stop a worker. What is beyond counts, for each of them is a run that a crash repeats.
 */
export const MOST_EXEMPT = 200

export interface SettlerOptions {
  readonly store: Pick<ExecutingStore, 'settle'>
  /** Ends were written, found to be lost, found to be locked, or set aside: there may be capacity again. */
  readonly onSettled: (result: SettleResult) => void
  /** The database rejects this end for good: it is set aside. */
  readonly onRejected: (attempt: Attempt, error: unknown) => void
  readonly onError: (error: unknown, loop: string) => void
}

/** Ends of runs that are not in the database. */
export interface Unwritten {
  /** All that are still tried. */
  readonly waiting: number
  /** Of those, how many are tried again because someone else has locked their row. */
  readonly locked: number
  /** For how long the first of the locked has been so; 0: none is. */
  readonly lockedMs: number
  /** Set aside, for the database rejects them. */
  readonly rejected: number
  /** Whether as many as may be cannot be written now, so that more of them take up capacity. */
  readonly isLimitReached: boolean
}

/**
 * Writes the ends of runs in small batches: those that end while one batch is being written form the next. A
 * database that is away delays them; it loses none.
 */
export class Settler {
  readonly #options: SettlerOptions
  readonly #loop: Loop
  #queue: Attempt[] = []
  /** Since when they were found locked, by performance.now(); in the order in which they are tried again. */
  readonly #locked = new Map<Attempt, number>()
  /** By performance.now(). */
  #lockedRetry = 0
  readonly #writing = new Halving()
  readonly #retrying = new Halving()
  readonly #rejected: Attempt[] = []
  /** By performance.now(). */
  #rejectedRetry = Infinity
  #whenEmpty: (() => void)[] = []

  constructor(options: SettlerOptions) {
    this.#options = options
    // What ends in this turn of the event loop is written together.
    this.#loop = new Loop({
      name: 'settler',
      pass: () => nextTurn().then(() => this.#pass()),
      onError: options.onError,
    })
  }

  start(): void {
    this.#loop.start()
  }

  async stop(): Promise<void> {
    await this.#loop.stop()
  }

  health(): LoopHealth {
    return this.#loop.health()
  }

  add(attempt: Attempt): void {
    this.#queue.push(attempt)
    this.#loop.wake()
  }

  /** Ends that are known here, and not written. */
  pending(): Fence[] {
    return [...this.#queue, ...this.#locked.keys(), ...this.#rejected].map((attempt) => attempt.fence)
  }

  /** How much capacity they take up: a crash repeats the run of each. */
  occupied(): number {
    return this.#queue.length + Math.max(0, this.#exempt() - MOST_EXEMPT)
  }

  unwritten(): Unwritten {
    const [since] = [...this.#locked.values()].toSorted((one, other) => one - other)
    return {
      waiting: this.#queue.length + this.#locked.size,
      locked: this.#locked.size,
      lockedMs: since === undefined ? 0 : performance.now() - since,
      rejected: this.#rejected.length,
      isLimitReached: this.#exempt() >= MOST_EXEMPT,
    }
  }

  /** Waits until all is written, or the time is over. What was set aside is tried once more: it may be mended by now. */
  async drain(limitMs: number): Promise<void> {
    this.#retryRejected()
    if (this.#isEmpty()) return
    this.#loop.wake()
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, limitMs)
      this.#whenEmpty.push(() => {
        clearTimeout(timer)
        resolve()
      })
    })
  }

  /** For tests with a clock of their own, where no loop runs. */
  async settleAll(): Promise<void> {
    while (this.#queue.length > 0) await this.#pass()
  }

  async #pass(): Promise<number> {
    if (performance.now() >= this.#rejectedRetry) this.#retryRejected()
    if (this.#locked.size > 0 && performance.now() >= this.#lockedRetry) await this.#retryLocked()
    else if (this.#queue.length > 0) await this.#write()
    if (this.#isEmpty()) for (const tell of this.#whenEmpty.splice(0)) tell()
    if (this.#queue.length > 0) return 0
    const next = Math.min(this.#locked.size > 0 ? this.#lockedRetry : Infinity, this.#rejectedRetry)
    return Math.max(0, next - performance.now())
  }

  async #write(): Promise<void> {
    const batch = this.#queue.slice(0, AT_ONCE)
    const result = await this.#settle(batch, this.#writing)
    // Only now: what could not be written stays in the queue.
    this.#queue.splice(0, batch.length)
    if (this.#locked.size === 0) this.#lockedRetry = performance.now() + LOCKED_RETRY_MS
    for (const attempt of result.locked) this.#locked.set(attempt, performance.now())
    this.#options.onSettled(result)
  }

  async #retryLocked(): Promise<void> {
    const batch = [...this.#locked.keys()].slice(0, AT_ONCE)
    // Also when it fails, so that others are written in between.
    this.#lockedRetry = performance.now() + LOCKED_RETRY_MS
    const result = await this.#settle(batch, this.#retrying)
    this.#lockedRetry = performance.now() + LOCKED_RETRY_MS
    const since = new Map(batch.map((attempt) => [fenceText(attempt.fence), this.#locked.get(attempt)]))
    for (const attempt of batch) this.#locked.delete(attempt)
    // At the end, so that all have their turn.
    for (const attempt of result.locked)
      this.#locked.set(attempt, since.get(fenceText(attempt.fence)) ?? performance.now())
    if (result.locked.length < batch.length) this.#options.onSettled(result)
  }

  async #settle(batch: readonly Attempt[], halving: Halving): Promise<SettleResult> {
    const rejected: { attempt: Attempt; error: unknown }[] = []
    const result = await settleIsolated(this.#options.store, batch, halving, (attempt, error) =>
      rejected.push({ attempt, error }),
    )
    for (const { attempt, error } of rejected) {
      this.#rejected.push(attempt)
      this.#rejectedRetry = performance.now() + REJECTED_RETRY_MS
      this.#options.onRejected(attempt, error)
    }
    return result
  }

  #retryRejected(): void {
    this.#rejectedRetry = Infinity
    this.#queue.push(...this.#rejected.splice(0))
  }

  #exempt(): number {
    return this.#locked.size + this.#rejected.length
  }

  #isEmpty(): boolean {
    return this.#queue.length + this.#locked.size === 0
  }
}
