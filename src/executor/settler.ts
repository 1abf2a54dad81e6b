import { setImmediate as nextTurn } from 'node:timers/promises'
import { StoreUnavailableError } from '../errors.ts'
import { Loop, type LoopHealth } from '../loop.ts'
import type { Fence } from '../model/job.ts'
import type { Ending } from '../model/settle.ts'
import type { Attempt, ExecutingStore, SettleResult } from '../store/executing-store.ts'

const AT_ONCE = 200
/** A schedule that somebody else holds is tried again after this time. */
const LOCKED_RETRY_MS = 250

/**
 * Writes the ends of runs in small batches: those that end while one batch is being written form the next. A
 * database that is away delays them; it loses none.
 */
export class Settler {
  readonly #store: ExecutingStore
  readonly #loop: Loop
  readonly #onSettled: (result: SettleResult) => void
  readonly #onError: (error: unknown, loop: string) => void
  #queue: Attempt[] = []
  #whenEmpty: (() => void)[] = []

  constructor(
    store: ExecutingStore,
    onSettled: (result: SettleResult) => void,
    onError: (error: unknown, loop: string) => void,
  ) {
    this.#store = store
    this.#onSettled = onSettled
    this.#onError = onError
    // What ends in this turn of the event loop is written together.
    this.#loop = new Loop({ name: 'settler', pass: () => nextTurn().then(() => this.#pass()), onError })
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

  /** The attempts whose end is known, and not yet written. */
  pending(): Fence[] {
    return this.#queue.map((attempt) => attempt.fence)
  }

  pendingCount(): number {
    return this.#queue.length
  }

  /** Waits until all that was added is written, or the time is over. */
  async drain(limitMs: number): Promise<void> {
    if (this.#queue.length === 0) return
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
    const batch = this.#queue.slice(0, AT_ONCE)
    if (batch.length === 0) return Infinity
    const result = await this.#settle(batch)
    // Only now: what could not be written stays in the queue.
    this.#queue = [...this.#queue.slice(batch.length), ...result.locked]
    if (result.settled.length > 0 || result.lost.length > 0) this.#onSettled(result)
    if (this.#queue.length === 0) {
      for (const tell of this.#whenEmpty.splice(0)) tell()
      return Infinity
    }
    return this.#queue.length === result.locked.length ? LOCKED_RETRY_MS : 0
  }

  async #settle(batch: readonly Attempt[]): Promise<SettleResult> {
    try {
      return await this.#store.settle(batch)
    } catch (error) {
      if (error instanceof StoreUnavailableError) throw error
      if (batch.length > 1) {
        const results: SettleResult[] = []
        for (const attempt of batch) results.push(await this.#settle([attempt]))
        return {
          settled: results.flatMap((result) => result.settled),
          lost: results.flatMap((result) => result.lost),
          locked: results.flatMap((result) => result.locked),
        }
      }
      this.#onError(error, 'settler')
      return await this.#settleWithoutTexts(batch, error)
    }
  }

  async #settleWithoutTexts(batch: readonly Attempt[], refusal: unknown): Promise<SettleResult> {
    try {
      return await this.#store.settle(
        batch.map((attempt) => ({ ...attempt, ending: withoutTexts(attempt.ending, refusal) })),
      )
    } catch (error) {
      if (error instanceof StoreUnavailableError) throw error
      // Its row is at fault. It waits for somebody to mend that, and keeps no other end from being written.
      return { settled: [], lost: [], locked: batch }
    }
  }
}

/** Its own result or error is what the database refuses; how the run ended can still be said. */
function withoutTexts(ending: Ending, refusal: unknown): Ending {
  if (ending.kind === 'released') return ending
  // The work is done whether or not its result can be stored.
  if (ending.kind === 'success') return { kind: 'success', result: null }
  const reason = refusal instanceof Error ? refusal.message : String(refusal)
  return { ...ending, error: `The outcome of the run could not be stored: ${reason}` }
}
