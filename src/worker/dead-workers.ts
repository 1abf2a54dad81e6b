import type { WorkerRecord, WorkerStore } from '../store/worker-store.ts'

const BEATS_UNTIL_DEAD = 3
/** After a longer break between two checks, earlier observations are discarded. */
const MAX_BEATS_BETWEEN_CHECKS = 2
/** This share of the time until a worker counts as dead is enough, because a check may come slightly early. */
const TOLERANCE = 0.99

/** Minimum time from the last successful heartbeat of a worker to its eviction. */
export const deadAfterMs = (beatMs: number): number => beatMs * BEATS_UNTIL_DEAD * TOLERANCE

interface DeadWorkersOptions {
  readonly workers: Pick<WorkerStore, 'evict'>
  readonly beatMs: number
  readonly monotonicNow: () => number
  readonly onDead: (workerId: string) => void
}

/**
 * A worker is considered dead if its heartbeat has not changed for most of a lease, as observed by this process with
 * the local monotonic clock and without database errors. The dead worker's row is deleted, so that its next heartbeat
 * finds no row.
 */
export class DeadWorkers {
  readonly #options: DeadWorkersOptions
  readonly #observed = new Map<string, { readonly heartbeat: number; readonly unchangedSince: number }>()
  /** The number of consecutive checks in which a dead worker's row was locked, by worker id. */
  #locked: ReadonlyMap<string, number> = new Map()
  #lastCheck = 0

  constructor(options: DeadWorkersOptions) {
    this.#options = options
  }

  forget(): void {
    this.#observed.clear()
    this.#locked = new Map()
  }

  locked(): string[] {
    // A lock that only one check has found may belong to another worker that is evicting the dead one.
    return [...this.#locked].flatMap(([id, checks]) => (checks > 1 ? [id] : []))
  }

  /**
   * @param asked  the monotonic time at which the list was requested from the database
   * @returns how many workers were evicted
   */
  async evict(list: readonly WorkerRecord[], asked: number, ownId: string | null): Promise<number> {
    const { workers, beatMs, monotonicNow, onDead } = this.#options
    const now = monotonicNow()
    // This process or the database stalled. The other workers may have stalled too, and may be about to continue.
    if (now - this.#lastCheck > beatMs * MAX_BEATS_BETWEEN_CHECKS) this.forget()
    this.#lastCheck = now
    const listed = new Set(list.map((worker) => worker.id))
    for (const id of this.#observed.keys()) if (!listed.has(id)) this.#observed.delete(id)
    const locked = new Map<string, number>()
    let evicted = 0
    for (const worker of list) {
      if (worker.id === ownId) continue
      const heartbeat = worker.heartbeatAt.getTime()
      const before = this.#observed.get(worker.id)
      if (before?.heartbeat !== heartbeat) {
        this.#observed.set(worker.id, { heartbeat, unchangedSince: now })
        continue
      }
      if (asked - before.unchangedSince < deadAfterMs(beatMs)) continue
      const eviction = await workers.evict(worker.id, worker.heartbeatAt)
      if (eviction === 'locked') locked.set(worker.id, (this.#locked.get(worker.id) ?? 0) + 1)
      if (eviction !== 'evicted') continue
      this.#observed.delete(worker.id)
      onDead(worker.id)
      evicted += 1
    }
    this.#locked = locked
    return evicted
  }
}
