/**
 * The PeriodicScheduler: mark → plan → submit, for as long as something is due.
 *
 * Every worker runs one, and none of them leads. A pass marks the earliest due schedules with this worker's
 * id, a lease that keeps others from planning them; then one transaction locks the marked rows again, plans
 * each as it is at that moment, inserts the jobs, moves `nextrun` on and ends the marks. A crash leaves all of
 * that or none; what stays marked is due again for everyone when the lease ends.
 */
import { StoreUnavailableError } from '../errors.ts'
import { Loop, type LoopHealth } from '../loop.ts'
import type { ClaimedJob } from '../model/job.ts'
import { ROW_BACK_OFF, SetAside } from '../model/set-aside.ts'
import { plan } from '../model/plan.ts'
import { submitElsewhere, type SubmitElsewhere } from './elsewhere.ts'
import type { Mark, Room, SchedulingStore, Submission, SubmitResult } from '../store/scheduling-store.ts'

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
  /** Keeps room for so many jobs to begin here with their submission; null: there is none. */
  readonly keepRoom: (worker: string, most: number) => Room | null
  /** What became of it. */
  readonly onBegun: (room: Room, jobs: readonly ClaimedJob[]) => void
  readonly onUnheard: (room: Room) => void
  readonly onSubmitted: (submissions: readonly Submission[]) => void
  /** The pass has changed something: others may want to look again. @param queued  jobs wait to be claimed */
  readonly onProgress: (queued: boolean) => void
  /** The schedule cannot be submitted, or not even be marked. */
  readonly onFault: (scheduleId: string, error: unknown) => void
  readonly onError: (error: unknown, loop: string) => void
}

/**
 * Batches that are marked and submitted at the same time while more is due than one holds, as two workers would. One
 * keeps a core of the database busy and leaves the others idle; see docs/performance.md.
 */
const LANES = 2
/** Rows that somebody else holds are tried again after this time. */
const LOCKED_RETRY_MS = 250

interface Batch {
  /** The worker that has marked it. */
  readonly worker: string
  readonly marks: readonly Mark[]
  /** More may be due. */
  readonly isFull: boolean
}

const NOTHING: Batch = { worker: '', marks: [], isFull: false }

export class PeriodicScheduler {
  readonly #options: PeriodicSchedulerOptions
  readonly #loop: Loop
  /** Marked by this worker, but locked by somebody else when they were to be submitted. */
  #held: readonly Mark[] = []
  /** Due, and left alone: the database refuses to mark them. */
  readonly #notMarked: SetAside

  constructor(options: PeriodicSchedulerOptions) {
    this.#options = options
    this.#notMarked = new SetAside({
      ...ROW_BACK_OFF,
      now: () => performance.now(),
      onAdded: options.onFault,
    })
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

  /** How many schedules are left alone for their back-off. */
  setAside(): number {
    return this.#notMarked.ids().length
  }

  /**
   * One round: everything that is due now, batch by batch.
   *
   * @returns milliseconds until it wants to be called again; Infinity: when it is woken
   */
  async pass(): Promise<number> {
    const marked = await this.#mark()
    if (marked === NOTHING) return Infinity
    const first = this.#withHeld(marked)
    // Another queue is handed one batch at a time: what it does with two at once is not known.
    const { store, elsewhere } = this.#options
    const lanes = first.isFull && elsewhere === null && store.submitsInParallel ? LANES : 1
    const ends = await Promise.allSettled(
      Array.from({ length: lanes }, (_, index) => this.#lane(index === 0 ? first : null)),
    )
    const failed = ends.find((end) => end.status === 'rejected')
    if (failed !== undefined) throw failed.reason
    return this.#held.length > 0 ? LOCKED_RETRY_MS : Infinity
  }

  /** Batch after batch, for as long as they are full. */
  async #lane(first: Batch | null): Promise<void> {
    for (let batch = first ?? (await this.#mark()); ; batch = await this.#mark()) {
      await this.#submit(batch)
      if (!batch.isFull) return
    }
  }

  /** The next that are due. */
  async #mark(): Promise<Batch> {
    const { store, worker, leaseMs, batch } = this.#options
    const id = worker()
    // Not registered at this moment: held marks stay for when it is.
    if (id === null) return NOTHING
    const marks = await store.markDue(id, batch, leaseMs, this.#notMarked)
    return { worker: id, marks, isFull: marks.length === batch }
  }

  /** Before those that are due, those that an earlier pass could not submit. */
  #withHeld(batch: Batch): Batch {
    const held = this.#held.filter((mark) => !batch.marks.some((again) => again.id === mark.id))
    const marks = [...held, ...batch.marks]
    this.#held = marks.slice(this.#options.batch)
    return { ...batch, marks: marks.slice(0, this.#options.batch) }
  }

  async #submit({ worker, marks }: Batch): Promise<void> {
    if (marks.length === 0) return
    const { elsewhere, keepRoom, onBegun, onUnheard, onFault, onSubmitted, onProgress } = this.#options
    const room = elsewhere === null ? keepRoom(worker, marks.length) : null
    const { submissions, begun, locked, failed } = await this.#written(worker, marks, room).catch(
      (error: unknown) => {
        // What was marked and could not be submitted comes with the next pass.
        this.#held = [...this.#held, ...marks]
        if (room !== null) {
          // Whether something was committed is in doubt only where the database gave no answer.
          if (error instanceof StoreUnavailableError) onUnheard(room)
          else onBegun(room, [])
        }
        throw error
      },
    )
    this.#held = [...this.#held, ...locked]
    for (const { id, error } of failed) onFault(id, error)
    if (submissions.length > 0) onSubmitted(submissions)
    if (room !== null) onBegun(room, begun)
    const jobs = submissions.reduce((sum, submission) => sum + submission.jobs.length, 0)
    if (locked.length < marks.length) onProgress(jobs > begun.length)
  }

  #written(worker: string, marks: readonly Mark[], room: Room | null): Promise<SubmitResult> {
    const { store, missedAfterMs, elsewhere } = this.#options
    if (elsewhere !== null) return submitElsewhere(store, worker, marks, elsewhere, missedAfterMs)
    return store.submit(
      worker,
      marks,
      (schedule, now, open) => plan(schedule, { now, open, missedAfterMs }),
      { room },
    )
  }
}
