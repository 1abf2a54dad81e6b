/**
 * Hands jobs over to an external queue: it claims them as the executor does, and the application inserts them there in
 * the transaction of the claim.
 */
import { messageOf } from '../errors.ts'
import { Loop } from '../loop.ts'
import { END_RULES } from '../model/end-rules.ts'
import { type ClaimedJob, fenceOf, fenceText, type Job, withoutClaim } from '../model/job.ts'
import { SetAside } from '../model/set-aside.ts'
import {
  CallbackTooSlowError,
  type ExecutingStore,
  type HandOverQueue,
  type SettleResult,
  TransactionEndedError,
} from '../store/executing-store.ts'

/** The second argument of `submit`. */
export interface HandOverContext<Connection = unknown> {
  /**
   * The connection of the open transaction: of mysql2 with promises, or on SQLite one with the methods of
   * better-sqlite3. What is written with it is committed together with the hand-over. It works only until `submit` ends.
   */
  readonly tx: Connection
  /** Aborted when `submit` takes too long. */
  readonly signal: AbortSignal
}

/** Inserts jobs into an external queue. */
export interface ExternalSubmit {
  /**
   * Inserts all of the jobs, or throws or rejects. The same jobs, with the same ids, may come again after an error or a crash, so
   * the queue must ignore an id that it already has.
   */
  submit(jobs: readonly Job[], context: HandOverContext): unknown
}

/** The external queue of this process. */
export interface ExternalQueue extends ExternalSubmit, Omit<HandOverQueue, 'deadlineMs'> {
  /** null: all tasks. */
  readonly tasks: readonly string[] | null
}

export interface HandOverOptions {
  readonly store: Pick<ExecutingStore, 'promoteDue' | 'handOver' | 'handedOver' | 'settle'>
  readonly queue: ExternalQueue
  /** The id of this worker; null while it may not take on work. */
  readonly worker: () => string | null
  readonly leaseMs: number
  readonly onHandedOver: (job: ClaimedJob) => void
  readonly onSettled: (result: SettleResult) => void
  /** The job cannot be handed over; it is tried again after its back-off. */
  readonly onRefused: (jobId: string, error: unknown) => void
  readonly onError: (error: unknown, loop: string) => void
}

const PROMOTE_AT_ONCE = 500
const AT_ONCE = 100
/** For jobs that are refused: the external queue may be back soon. */
const BACK_OFF = { firstMs: 1000, longestMs: 60_000, most: 1000 }
/** The deadline of `submit`, as a share of the lease: on SQLite, the heartbeat waits meanwhile. */
const DEADLINE = 1 / 3

export class HandOver {
  readonly loop: Loop
  readonly #options: HandOverOptions
  readonly #queue: HandOverQueue
  readonly #setAside: SetAside
  /** After a callback that took too long: one, then more again, so that the job that is at fault is found. */
  #most = AT_ONCE
  #promotes = false
  #lastGroup = ''
  /** What `submit` got last. */
  #offered: readonly ClaimedJob[] = []

  constructor(options: HandOverOptions) {
    this.#options = options
    this.#queue = { ...options.queue, deadlineMs: Math.floor(options.leaseMs * DEADLINE) }
    this.#setAside = new SetAside({
      ...BACK_OFF,
      now: () => performance.now(),
      onAdded: (id, error) => options.onRefused(id, ofCallback(error)),
    })
    this.loop = new Loop({ name: 'hand-over', pass: () => this.pass(), onError: options.onError })
  }

  /** How many jobs wait for their back-off. */
  setAside(): number {
    return this.#setAside.ids().length
  }

  /** A waiting job may be due. */
  wakeForTime(): void {
    this.#promotes = true
    this.loop.wake()
  }

  /** Hands over what waits. @returns milliseconds until the next pass; Infinity: until woken */
  async pass(): Promise<number> {
    const { store, worker } = this.#options
    if (this.#promotes) {
      this.#promotes = false
      await store.promoteDue(PROMOTE_AT_ONCE, this.#setAside)
    }
    for (let id = worker(); id !== null; id = worker()) {
      const jobs = await this.#handOver(id)
      if (jobs === 0) break
    }
    return Infinity
  }

  /** @returns how many */
  async #handOver(worker: string): Promise<number> {
    const { store, queue, onHandedOver } = this.#options
    this.#offered = []
    try {
      const jobs = await store.handOver(
        worker,
        this.#queue,
        this.#most,
        this.#lastGroup,
        async (offered, tx, signal) => {
          this.#offered = offered
          await queue.submit(offered.map(withoutClaim), { tx, signal })
        },
        this.#setAside,
      )
      this.#most = Math.min(AT_ONCE, this.#most * 2)
      this.#lastGroup = jobs.at(-1)?.group ?? this.#lastGroup
      for (const job of jobs) onHandedOver(job)
      await this.#settle(jobs)
      return jobs.length
    } catch (error) {
      if (error instanceof CallbackTooSlowError) {
        this.#most = 1
        for (const { id } of this.#offered) this.#setAside.add(id, error)
        return this.#offered.length
      }
      if (!(error instanceof TransactionEndedError)) throw error
      const done = await this.#committed(worker)
      this.#options.onError(ofCallback(error), 'hand-over')
      for (const { id } of this.#offered) if (!done.has(id)) this.#setAside.add(id, error)
      return this.#offered.length
    }
  }

  /** What was committed nevertheless, when `submit` ended the transaction. @returns the ids */
  async #committed(worker: string): Promise<ReadonlySet<string>> {
    const { store, onHandedOver } = this.#options
    const found = await store.handedOver(worker, this.#offered.map(fenceOf))
    const fences = new Set(found.map(fenceText))
    const jobs = this.#offered.filter((job) => fences.has(fenceText(job)))
    for (const job of jobs) onHandedOver(job)
    await this.#settle(jobs)
    return new Set(jobs.map(({ id }) => id))
  }

  /** Without reports, the hand-over is the end. If this fails, a sweep ends them. */
  async #settle(jobs: readonly ClaimedJob[]): Promise<void> {
    if (this.#queue.reports || jobs.length === 0) return
    const ends = jobs.map((job) => ({
      fence: fenceOf(job),
      end: { kind: 'success', result: null } as const,
      policy: job.policy,
    }))
    this.#options.onSettled(await this.#options.store.settle(ends, END_RULES))
  }
}

/** Names the callback, because the error is the application's. */
function ofCallback(error: unknown): Error {
  return new Error(`The submit of the external queue failed: ${messageOf(error)}`, { cause: error })
}
