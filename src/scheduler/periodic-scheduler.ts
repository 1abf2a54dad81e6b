/**
 * The PeriodicScheduler: mark → plan → submit, for as long as something is due.
 *
 * Every worker runs one, and none of them leads. A pass marks the earliest due schedules with this worker's
 * id, a lease that keeps others from planning them; then one transaction locks the marked rows again, plans
 * each as it is at that moment, inserts the jobs, moves `nextrun` on and ends the marks. A crash leaves all of
 * that or none; what stays marked is due again for everyone when the lease ends.
 */
import { Loop, type LoopHealth } from '../loop.ts'
import { plan } from '../model/plan.ts'
import { submitElsewhere, type SubmitElsewhere } from './elsewhere.ts'
import type { Mark, SchedulingStore, Submission } from '../store/scheduling-store.ts'

export interface PeriodicSchedulerOptions {
  readonly store: SchedulingStore
  /** The id of this worker; null while it is not registered: then nothing may be marked. */
  readonly worker: () => string | null
  readonly leaseMs: number
  /** Slots older than this are missed, even if no later one has come. */
  readonly missedAfterMs: number
  /** Another queue that the jobs go to; null: the one in this database. */
  readonly elsewhere: SubmitElsewhere | null
  /** Most schedules in one transaction. */
  readonly batch: number
  readonly onSubmitted: (submissions: readonly Submission[]) => void
  /** The pass has changed something: others may want to look again. */
  readonly onProgress: () => void
  readonly onFault: (scheduleId: string, error: unknown) => void
  readonly onError: (error: unknown, loop: string) => void
}

/** Rows that somebody else holds are tried again after this time. */
const LOCKED_RETRY_MS = 250

export class PeriodicScheduler {
  readonly #options: PeriodicSchedulerOptions
  readonly #loop: Loop
  /** Marked by this worker, but locked by somebody else when they were to be submitted. */
  #held: readonly Mark[] = []

  constructor(options: PeriodicSchedulerOptions) {
    this.#options = options
    this.#loop = new Loop({ name: 'scheduler', pass: () => this.pass(), onError: options.onError })
  }

  start(): void {
    this.#loop.start()
  }

  /** Something may be due. */
  wake(): void {
    this.#loop.wake()
  }

  /** Lets the current pass complete. */
  stop(): Promise<void> {
    return this.#loop.stop()
  }

  health(): LoopHealth {
    return this.#loop.health()
  }

  /**
   * One round: everything that is due now, batch by batch.
   *
   * @returns milliseconds until it wants to be called again; Infinity: when it is woken
   */
  async pass(): Promise<number> {
    const { store, worker, leaseMs, missedAfterMs, batch, elsewhere } = this.#options
    for (;;) {
      const id = worker()
      if (id === null) return Infinity
      const marked = await store.markDue(id, batch, leaseMs)
      const held = this.#held.filter((mark) => !marked.some((again) => again.id === mark.id))
      const marks = [...held, ...marked]
      if (marks.length === 0) return Infinity
      // Until it is known how it went: what was marked and could not be submitted comes with the next pass.
      this.#held = marks
      const result =
        elsewhere === null
          ? await store.submit(id, marks, (schedule, now, open) =>
              plan(schedule, { now, open, missedAfterMs }),
            )
          : await submitElsewhere(store, id, marks, elsewhere, missedAfterMs)
      this.#held = result.locked
      for (const { id: scheduleId, error } of result.failed) this.#options.onFault(scheduleId, error)
      if (result.submissions.length > 0) this.#options.onSubmitted(result.submissions)
      if (marked.length > 0) this.#options.onProgress()
      if (marked.length < batch) return this.#held.length > 0 ? LOCKED_RETRY_MS : Infinity
    }
  }
}
