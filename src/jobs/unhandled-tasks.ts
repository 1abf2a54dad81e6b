/** Finds tasks that no worker has ever handled, which mostly are misspelt. */
import type { Logger } from '../logger.ts'
import type { JobState } from '../model/job.ts'
import { nearest } from '../nearest.ts'
import { LIST_BOUNDS, type ListStore } from '../store/list-store.ts'
import type { WorkerStore } from '../store/worker-store.ts'

/** The stores of all owners. */
export interface TaskStores {
  readonly workers: Pick<WorkerStore, 'list'>
  readonly lists: Pick<ListStore, 'jobIds'>
}

export interface UnhandledTask {
  /** The known task whose name is the most similar. */
  readonly nearest: string | undefined
}

/** The states of jobs that a worker has claimed. */
const CLAIMED: readonly JobState[] = ['success', 'running', 'failed']
/** How long a task that is not handled is not looked up again, in milliseconds. */
const KEPT_MS = 60_000
/** The most such tasks, because users may choose their names. */
const MOST_KEPT = 1000

export class UnhandledTasks {
  readonly #handlers: { keys(): Iterable<string>; has(task: string): boolean }
  readonly #logger: Logger
  readonly #handled = new Set<string>()
  readonly #unhandled = new Map<string, { readonly until: number; readonly found: UnhandledTask }>()

  /** @param handlers  of this process */
  constructor(handlers: { keys(): Iterable<string>; has(task: string): boolean }, logger: Logger) {
    this.#handlers = handlers
    this.#logger = logger
  }

  /**
   * Logs a warning when a task turns out to be unhandled.
   *
   * @returns null when a worker handles it or has claimed a job of it, or when the database does not answer
   */
  async find(task: string, stores: TaskStores): Promise<UnhandledTask | null> {
    if (this.#handlers.has(task) || this.#handled.has(task)) return null
    const kept = this.#unhandled.get(task)
    if (kept !== undefined && performance.now() < kept.until) return kept.found
    this.#unhandled.delete(task)
    try {
      const found = await this.#lookUp(task, stores)
      if (found === null) this.#handled.add(task)
      else this.#keep(task, found)
      return found
    } catch {
      // What was submitted stays submitted, and the next submission looks again.
      return null
    }
  }

  async #lookUp(task: string, { workers, lists }: TaskStores): Promise<UnhandledTask | null> {
    const known = new Set((await workers.list()).flatMap(({ tasks }) => tasks))
    if (known.has(task)) return null
    for (const state of CLAIMED)
      if ((await lists.jobIds({ task, state }, 1, LIST_BOUNDS)).ids.length > 0) return null
    return { nearest: nearest(task, new Set([...this.#handlers.keys(), ...known, ...this.#handled])) }
  }

  #keep(task: string, found: UnhandledTask): void {
    if (this.#unhandled.size >= MOST_KEPT) this.#unhandled.clear()
    this.#unhandled.set(task, { until: performance.now() + KEPT_MS, found })
    this.#logger.warn({ task, nearest: found.nearest }, unhandledText(task, found))
  }
}

export function unhandledText(task: string, { nearest: meant }: UnhandledTask): string {
  const hint =
    meant === undefined ? 'Its jobs wait until a worker has a handler for it' : `Did you mean '${meant}'?`
  return `No worker has ever handled the task '${task}'. ${hint}`
}
