/**
 * Hands jobs over to an external queue: claims them as the executor does, and lets the application insert them into
 * that queue in the same transaction.
 */
import { errorText, isA, messageOf, StoreUnavailableError } from '../errors.ts'
import { Loop } from '../loop.ts'
import { type ClaimedJob, fenceOf, fenceText, type Job, withoutClaim } from '../model/job.ts'
import {
  CallbackError,
  CallbackTooSlowError,
  type ExecutingStore,
  type HandOverQueue,
  TransactionEndedError,
} from '../store/executing-store.ts'
import { AllRefusedError } from '../store/refusal.ts'
import type { JobExecutorOptions } from './options.ts'

/** The second argument of `submit`. */
export interface HandOverContext<Connection = unknown> {
  /**
   * The connection of the open transaction: a mysql2 connection with the promise API, or on SQLite a connection with
   * the methods of better-sqlite3. Writes on this connection are committed together with the hand-over. The connection
   * works only until `submit` returns.
   */
  readonly tx: Connection
  /** Aborted when `submit` takes too long. */
  readonly signal: AbortSignal
}

/** Inserts jobs into an external queue. */
export interface ExternalSubmit {
  /**
   * Must insert all of the jobs, or throw or reject. After an error or a crash, it may be called again with the
   * same jobs and ids, so the queue must ignore an id that it already has.
   */
  submit(jobs: readonly Job[], context: HandOverContext): unknown
}

export interface ExternalQueue extends ExternalSubmit, Omit<HandOverQueue, 'deadlineMs'> {
  /** Null means all tasks. */
  readonly tasks: readonly string[] | null
}

interface HandOverOptions
  extends Pick<
    JobExecutorOptions,
    | 'worker'
    | 'redaction'
    | 'argsLimit'
    | 'onStarted'
    | 'onSettled'
    | 'onUnstartable'
    | 'onLeftBehind'
    | 'onError'
  > {
  readonly store: Pick<ExecutingStore, 'promoteDue' | 'handOver' | 'handedOver' | 'postpone' | 'settle'>
  readonly queue: ExternalQueue
  readonly leaseMs: number
}

const PROMOTE_AT_ONCE = 500
const AT_ONCE = 100
/** A pass ends after this time even if more jobs wait, so that due jobs are promoted and the loop counts as healthy. */
const LONGEST_PASS_MS = 1000
/** The deadline of `submit`. It is a share of the lease, because on SQLite the heartbeat waits while `submit` runs. */
const DEADLINE = { share: 1 / 3, mostMs: 20_000 }

export class HandOver {
  readonly loop: Loop
  readonly #options: HandOverOptions
  readonly #queue: HandOverQueue
  /** Maximum number of jobs per call. Drops to one after a slow callback, to find the job at fault, and then grows. */
  #most = AT_ONCE
  #promotes = false
  #isStopping = false
  #lastGroup = ''
  /** The jobs offered since the hand-over began, and the errors of refused jobs, by id. */
  readonly #offered = new Map<string, ClaimedJob>()
  readonly #refused = new Map<string, unknown>()

  constructor(options: HandOverOptions) {
    this.#options = options
    const { share, mostMs } = DEADLINE
    this.#queue = { ...options.queue, deadlineMs: Math.min(mostMs, Math.floor(options.leaseMs * share)) }
    this.loop = new Loop({ name: 'hand-over', pass: () => this.pass(), onError: options.onError })
  }

  wakeForTime(): void {
    this.#promotes = true
    this.loop.wake()
  }

  /** Resolves after the current call to `submit`, which has a deadline. */
  async stop(): Promise<void> {
    this.#isStopping = true
    await this.loop.stop()
  }

  async pass(): Promise<number> {
    if (this.#promotes) await this.#promoteDue()
    const until = performance.now() + LONGEST_PASS_MS
    while (!this.#isStopping) {
      const worker = this.#options.worker()
      if (worker === null) break
      const refused = await this.#handOver(worker)
      // There may be other jobs after the refused ones.
      if (this.#offered.size + refused === 0) break
      if (performance.now() >= until) return 0
    }
    return Infinity
  }

  async #promoteDue(): Promise<void> {
    const { store, onError } = this.#options
    this.#promotes = false
    try {
      await store.promoteDue(PROMOTE_AT_ONCE)
    } catch (error) {
      if (isA(error, StoreUnavailableError)) throw error
      // Jobs that cannot be made claimable must not prevent other jobs from being handed over.
      onError(error, 'hand-over')
    }
  }

  /** @returns how many jobs were refused */
  async #handOver(worker: string): Promise<number> {
    const { store, onLeftBehind, onError } = this.#options
    this.#offered.clear()
    try {
      const jobs = await store.handOver(
        worker,
        this.#queue,
        this.#most,
        this.#lastGroup,
        async (offered, tx, signal) => {
          for (const job of offered) this.#offered.set(job.id, job)
          await this.#submit(offered, { tx, signal })
        },
        (id, error) => this.#refused.set(id, error),
        onLeftBehind,
      )
      this.#most = Math.min(AT_ONCE, this.#most * 2)
      this.#lastGroup = jobs.at(-1)?.group ?? this.#lastGroup
      await this.#handedOver(jobs)
    } catch (error) {
      if (error instanceof AllRefusedError && error.cause instanceof CallbackError)
        throw withCallbackNamed(error.cause)
      const isTooSlow = error instanceof CallbackTooSlowError
      if (!isTooSlow && !(error instanceof TransactionEndedError)) throw error
      if (isTooSlow) this.#most = 1
      onError(withCallbackNamed(error), 'hand-over')
      // The callback may have committed before it failed, or in an earlier call of this hand-over.
      const offered = [...this.#offered.values()]
      const found = await store.handedOver(worker, offered.map(fenceOf))
      const fences = new Set(found.map(fenceText))
      await this.#handedOver(offered.filter((job) => fences.has(fenceText(job))))
      for (const job of offered) if (!fences.has(fenceText(job))) this.#refused.set(job.id, error)
    }
    const refused = this.#refused.size
    await this.#postpone()
    return refused
  }

  /** @throws the callback's error, without the secrets of the jobs, even if the callback changed the jobs */
  async #submit(jobs: readonly ClaimedJob[], context: HandOverContext): Promise<void> {
    const { queue, redaction } = this.#options
    try {
      await queue.submit(jobs.map(withoutClaim), context)
    } catch (error) {
      throw redaction.hides('args') ? this.#withoutSecrets(error, jobs) : error
    }
  }

  #withoutSecrets(error: unknown, jobs: readonly ClaimedJob[]): Error {
    const { redaction, argsLimit } = this.#options
    const secrets = redaction.secretsOf({})
    for (const { argsText } of jobs) redaction.addSecrets(secrets, { args: JSON.parse(argsText) })
    const cause = secrets.storable(errorText(error), argsLimit)
    return new Error(secrets.storable(messageOf(error), argsLimit), { cause })
  }

  /** Finishes the jobs if the queue does not report outcomes. If this fails, a sweep finishes them later. */
  async #handedOver(jobs: readonly ClaimedJob[]): Promise<void> {
    const { store, onStarted, onSettled, onError } = this.#options
    for (const job of jobs) onStarted(job)
    if (this.#queue.reports || jobs.length === 0) return
    const ends = jobs.map((job) => ({
      fence: fenceOf(job),
      end: { kind: 'success', result: null } as const,
      policy: job.policy,
    }))
    const result = await store.settle(ends)
    for (const { error } of result.refused) onError(error, 'hand-over')
    onSettled(result)
  }

  async #postpone(): Promise<void> {
    const { store, redaction, argsLimit, onUnstartable, onError } = this.#options
    const refused = [...this.#refused].map(([id, thrown]) => {
      const error = withCallbackNamed(thrown)
      const secrets = redaction.secretsOf({ args: this.#offered.get(id)?.args })
      return {
        id,
        thrown: error,
        error: secrets.storable(messageOf(error), argsLimit),
      }
    })
    this.#refused.clear()
    for (const { id, thrown } of refused) onUnstartable(id, thrown)
    try {
      await store.postpone(refused)
    } catch (error) {
      if (isA(error, StoreUnavailableError)) throw error
      onError(error, 'hand-over')
    }
  }
}

/** Adds the name of the callback to the message of an error that comes from it. */
function withCallbackNamed(error: unknown): unknown {
  const errors = [CallbackError, CallbackTooSlowError, TransactionEndedError]
  if (!errors.some((type) => error instanceof type)) return error
  return new Error(`submit of the external queue failed: ${messageOf(error)}`, { cause: error })
}
