import type { ExternalQueue } from '../executor/hand-over.ts'
import type { Logger } from '../logger.ts'
import { Loop } from '../loop.ts'
import { type DeclaredSet, syncSet } from '../schedules/declared.ts'
import type { DeclaredStore } from '../store/declared-store.ts'
import { EVERY_TASK } from '../model/task.ts'
import type { Store } from '../store/store.ts'

interface DeclarationsOptions {
  readonly store: Pick<Store, 'declared' | 'executing'>
  readonly declaredAtStart: DeclaredStore
  readonly sets: readonly DeclaredSet[]
  readonly externalQueue: ExternalQueue | null
  readonly leaseMs: number
  readonly logger: Logger
  /** Null while this worker must not take on work. */
  readonly worker: () => string | null
  readonly onChanged: () => void
  readonly onError: (error: unknown, loop: string) => void
}

/**
 * Keeps the declared sets of this process, and the tasks of its external queue, in the database. The loop restores
 * schedules that others changed, and notices when workers with newer code are gone.
 */
export class Declarations {
  readonly loop: Loop
  readonly #options: DeclarationsOptions
  /** The sets that the database has rejected since the start. */
  readonly #unwritten = new Set<DeclaredSet>()

  constructor(options: DeclarationsOptions) {
    this.#options = options
    this.loop = new Loop({
      name: 'declared sets',
      pass: () => this.pass(),
      onError: options.onError,
    })
  }

  /** Called before the first submission. */
  async atStart(): Promise<void> {
    await this.#route()
    await this.#sync(this.#options.declaredAtStart, true)
  }

  /** @returns milliseconds until the next pass */
  async pass(): Promise<number> {
    const { worker, store, leaseMs } = this.#options
    await this.#route()
    // While this worker must not take on work, other workers decide what is declared.
    if (worker() !== null) await this.#sync(store.declared, false)
    return leaseMs
  }

  async #sync(declared: DeclaredStore, isStart: boolean): Promise<void> {
    const { sets, logger, onChanged } = this.#options
    for (const set of sets) {
      // As long as the database rejects a set, the next pass does what the start would have done.
      const isFirst = isStart || this.#unwritten.has(set)
      const result = await syncSet(declared, set, logger, isFirst, isStart)
      if (result === 'rejected' && isFirst) this.#unwritten.add(set)
      else this.#unwritten.delete(set)
      if (result === 'changed') onChanged()
    }
  }

  /** Repeated once per lease, because jobs that are inserted with SQL may have no queue. */
  async #route(): Promise<void> {
    const { store, externalQueue: queue, worker, logger } = this.#options
    const id = worker()
    if (queue === null || id === null) return
    for (const taken of await store.executing.route(id, queue.name, queue.tasks ?? [EVERY_TASK]))
      logger.warn(
        taken,
        `Jobs of the task '${taken.task}' go to the external queue '${taken.queue}' of another worker`,
      )
  }
}
