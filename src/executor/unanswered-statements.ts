import { LeaseLostError } from '../errors.ts'
import { fenceOf, fenceText } from '../model/job.ts'
import type { ExecutingStore } from '../store/executing-store.ts'
import type { ClaimedAhead } from './claimed-ahead.ts'
import type { RunningAttempts } from './running-attempts.ts'
import type { Settler } from './settler.ts'

/** After a timeout, the database may keep executing the statement for this long. */
const MAY_EXECUTE_MS = 30_000
const COMPARE_INTERVAL_MS = 2000

interface UnansweredOptions {
  readonly store: Pick<ExecutingStore, 'held'>
  readonly attempts: RunningAttempts
  readonly settler: Settler
  readonly ahead: ClaimedAhead
}

/**
 * Tracks uncertainty about which jobs this worker runs, after a claim or submission without a response and after a
 * change of server. While the uncertainty lasts, the worker repeatedly compares its running jobs in the database with
 * its handlers.
 */
export class UnansweredStatements {
  readonly #options: UnansweredOptions
  /** When `add` was last called, by performance.now(); null if there is no uncertainty. */
  #since: number | null = null

  constructor(options: UnansweredOptions) {
    this.#options = options
  }

  /** From now on, the database and this worker may disagree about what runs here. */
  add(): void {
    this.#since = performance.now()
  }

  isUncertain(): boolean {
    return this.#since !== null
  }

  untilNextComparison(): number {
    return this.#since === null ? Infinity : COMPARE_INTERVAL_MS
  }

  /**
   * Compares this worker's running jobs in the database with its handlers. A job without a running handler is released:
   * its claim was committed although no response arrived, or its outcome was lost with the server. While this worker is
   * alive, no other worker takes over that job. A handler without a running job is stopped: its claim was lost with the
   * server, and another worker may run the job. Comparisons continue until the database can no longer be executing a
   * statement that got no response.
   */
  async compare(workerId: string): Promise<void> {
    const since = this.#since
    if (since === null) return
    const { store, attempts, settler, ahead: claimedAhead } = this.#options
    const asked = performance.now()
    // Read before the query: an attempt that ends during the query is still in this list, and its job may already be
    // claimed again.
    const running = attempts.all()
    const ahead = claimedAhead.fences()
    const known = [...running.map(({ job }) => fenceOf(job)), ...settler.pending(), ...ahead]
    const knownFences = new Set(known.map(fenceText))
    const knownJobs = new Set(known.map(({ id }) => id))
    const held = await store.held(workerId)
    const unknown = held.filter(({ fence }) => !knownFences.has(fenceText(fence)))
    // A job is not released while a handler of one of its earlier claims is still running here, because the next claim
    // could get the same number.
    const releasable = unknown.filter(({ fence }) => !knownJobs.has(fence.id))
    for (const attempt of releasable) settler.add(attempt)
    const heldFences = new Set(held.map(({ fence }) => fenceText(fence)))
    claimedAhead.drop(ahead.filter((fence) => !heldFences.has(fenceText(fence))))
    for (const attempt of running) {
      const fence = fenceOf(attempt.job)
      const isHere = attempts.get(fence.id) === attempt && fence.worker === workerId
      if (isHere && !heldFences.has(fenceText(fence)))
        attempt.abort(new LeaseLostError(`The job ${attempt.job.id} was taken from this worker`))
    }
    const isOver = asked - since > MAY_EXECUTE_MS && releasable.length === unknown.length
    // A statement may have been added during the query.
    if (isOver && this.#since === since) this.#since = null
  }
}
