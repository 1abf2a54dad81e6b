/**
 * Marks, plans and submits schedules while any are due. Every worker does this, without a leader; src/index.ts
 * describes the protocol.
 */
import { Loop } from '../loop.ts'
import { plan } from '../model/plan.ts'
import type { Decide, Mark, SchedulingStore, SubmitResult } from '../store/scheduling-store.ts'
import { Pace } from './pace.ts'

export interface SchedulerOptions {
  readonly store: Pick<SchedulingStore, 'markDue' | 'submitsInParallel'>
  /** The id of this worker; null while it is not registered and may not mark anything. */
  readonly worker: () => string | null
  readonly leaseMs: number
  /** With `catchUp` 0, a slot that has been due for longer than this is missed, even if no later slot is due. */
  readonly missedAfterMs: number
  readonly batch: () => number
  /** Submits marked schedules, and starts their jobs if this worker has capacity. */
  readonly submit: (worker: string, marks: readonly Mark[], decide: Decide) => Promise<SubmitResult>
  readonly onError: (error: unknown, loop: string) => void
}

/**
 * How many batches are marked and submitted at the same time if more schedules are due than fit in one batch. One batch
 * uses only one core of the database server; see docs/contributing/benchmarks.md.
 */
const LANES = 2
/** A pass ends after this time, so that the worker can stop and deferred marks get a turn. */
const LONGEST_PASS_MS = 1000
const LOCKED_RETRY_MS = 250

interface Batch {
  /** The id under which this worker marked the schedules. */
  readonly worker: string
  readonly marks: readonly Mark[]
  /** More may be due. */
  readonly isFull: boolean
  /** The next search for due schedules may continue after these. */
  readonly behind: readonly Mark[]
}

const NOTHING: Batch = { worker: '', marks: [], isFull: false, behind: [] }

export class Scheduler {
  readonly loop: Loop
  readonly #options: SchedulerOptions
  /** Marked schedules that were not submitted, because they were locked or the submission failed. */
  #deferred: readonly Mark[] = []
  readonly #pace = new Pace()

  constructor(options: SchedulerOptions) {
    this.#options = options
    this.loop = new Loop({ name: 'scheduler', pass: () => this.pass(), onError: options.onError })
  }

  behind(): string[] {
    return this.#pace.behind()
  }

  async pass(): Promise<number> {
    const marked = await this.#mark(NOTHING)
    if (marked === NOTHING) return Infinity
    const first = this.#withDeferred(marked)
    const { store } = this.#options
    const until = performance.now() + LONGEST_PASS_MS
    const lanes = first.isFull && store.submitsInParallel ? LANES : 1
    const ends = await Promise.allSettled(
      Array.from({ length: lanes }, (_, index) => this.#lane(index === 0 ? first : null, until)),
    )
    const failed = ends.find((end) => end.status === 'rejected')
    if (failed !== undefined) throw failed.reason
    if (ends.some((end) => end.status === 'fulfilled' && end.value === 'more')) return 0
    return this.#deferred.length > 0 ? LOCKED_RETRY_MS : Infinity
  }

  /** @returns whether more may be due */
  async #lane(first: Batch | null, until: number): Promise<'more' | 'done'> {
    for (let batch = first ?? (await this.#mark(NOTHING)); ; ) {
      const left = await this.#submit(batch)
      if (left.length === 0 && !batch.isFull) return 'done'
      if (performance.now() >= until) {
        this.#deferred = [...this.#deferred, ...left]
        return 'more'
      }
      batch = left.length > 0 ? { ...batch, marks: left } : await this.#mark(batch)
    }
  }

  async #mark({ behind }: Batch): Promise<Batch> {
    const { store, worker, leaseMs, batch } = this.#options
    const id = worker()
    if (id === null) return NOTHING
    const most = batch()
    let refused = 0
    const marks = await store.markDue(id, most, leaseMs, behind, () => {
      refused += 1
    })
    const isFull = marks.length === most
    // There may be more due schedules: after the refused ones, or before the position at which this pass continued.
    return {
      worker: id,
      marks,
      isFull: isFull || refused > 0 || behind.length > 0,
      behind: isFull ? marks : [],
    }
  }

  /** Moves to the front any schedules that an earlier pass could not submit. */
  #withDeferred(batch: Batch): Batch {
    const deferred = this.#deferred.filter((mark) => !batch.marks.some((again) => again.id === mark.id))
    const marks = [...deferred, ...batch.marks]
    const most = this.#options.batch()
    this.#deferred = marks.slice(most)
    return { ...batch, marks: marks.slice(0, most) }
  }

  /** Schedules that could not be submitted are deferred to the next pass. @returns the marks for the next transaction */
  async #submit({ worker, marks }: Batch): Promise<readonly Mark[]> {
    if (marks.length === 0) return []
    const { submit, missedAfterMs } = this.#options
    const { submissions, locked, left } = await submit(worker, marks, (schedule, now, open, freezes) =>
      plan(schedule, { now, open, missedAfterMs, freezes }),
    ).catch((error: unknown) => {
      this.#deferred = [...this.#deferred, ...marks]
      throw error
    })
    this.#deferred = [...this.#deferred, ...locked]
    for (const submission of submissions) this.#pace.submitted(submission)
    return left
  }
}
