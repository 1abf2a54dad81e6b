/** Finds tasks that no worker is known to handle. Usually their names are misspelt. */
import type { Logger } from '../logger.ts'
import { nearest } from '../nearest.ts'
import { EVERY_TASK } from '../model/task.ts'
import { isTask } from '../store/executing-store.ts'
import type { ListStore } from '../store/list-store.ts'
import type { LiveWorker } from '../store/worker-store.ts'

interface TaskStores {
  readonly liveWorkers: () => Promise<readonly Pick<LiveWorker, 'tasks'>[]>
  readonly lists: Pick<ListStore, 'hasRun'>
}

export interface UnhandledTask {
  /** Whether this process has a handler for the task, but runs no jobs. */
  readonly hasHandler: boolean
  /** The known task with the most similar name. */
  readonly nearest: string | undefined
}

const KEPT_MS = 60_000
const LONGEST_WAIT_MS = 1000
/** Maximum number of tasks to remember, so that task names chosen by users cannot fill the memory. */
const MAX_KEPT = 1000

export class UnhandledTasks {
  readonly #handlers: ReadonlyMap<string, unknown>
  readonly #runsJobs: () => boolean
  readonly #logger: Logger
  readonly #handled = new Set<string>()
  /** `until` is measured with performance.now(). */
  readonly #others = new Map<string, { until: number; found: Promise<UnhandledTask | null> }>()

  readonly #pending = new Set<Promise<unknown>>()

  /** @param runsJobs  whether this process runs jobs of its handlers' tasks */
  constructor(handlers: ReadonlyMap<string, unknown>, runsJobs: () => boolean, logger: Logger) {
    this.#handlers = handlers
    this.#runsJobs = runsJobs
    this.#logger = logger
  }

  /** Looks all tasks up, one after the other, with one list of workers, as `find` does. All begin at once. */
  check(tasks: Iterable<string>, { liveWorkers, lists }: TaskStores): void {
    let list: ReturnType<TaskStores['liveWorkers']> | undefined
    const shared = { lists, liveWorkers: () => (list ??= liveWorkers()) }
    let before: Promise<unknown> = Promise.resolve()
    for (const task of new Set(tasks)) before = this.find(task, shared, before)
  }

  /**
   * Logs a warning when a task turns out to be unhandled. Concurrent calls share one look-up.
   *
   * @param stores  with the rows of all owners
   * @param before  never rejects; the look-up begins when it has resolved
   * @returns null when a worker handles the task or has claimed a job of it, or when the database does not respond
   */
  async find(
    task: string,
    stores: TaskStores,
    before: Promise<unknown> = Promise.resolve(),
  ): Promise<UnhandledTask | null> {
    if (this.#handled.has(task) || (this.#runsJobs() && this.#handlers.has(task))) return null
    const kept = this.#others.get(task)
    if (kept !== undefined && performance.now() < kept.until) return await kept.found
    if (this.#others.size >= MAX_KEPT) this.#others.clear()
    const lookUp = before.then(() => this.#lookUp(task, stores))
    const found = lookUp.catch(() => {
      // The job stays submitted, and the next submission repeats the look-up.
      this.#others.delete(task)
      return null
    })
    this.#others.set(task, { until: performance.now() + KEPT_MS, found })
    this.#pending.add(found)
    void found.then(() => this.#pending.delete(found))
    return await found
  }

  /** Resolves when all look-ups have ended, or after a second. */
  async settled(): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    const timeout = new Promise<void>((resolve) => (timer = setTimeout(resolve, LONGEST_WAIT_MS)))
    await Promise.race([Promise.all(this.#pending), timeout])
    clearTimeout(timer)
  }

  async #lookUp(task: string, { liveWorkers, lists }: TaskStores): Promise<UnhandledTask | null> {
    const known = new Set((await liveWorkers()).flatMap(({ tasks }) => tasks))
    if (known.has(task) || known.has(EVERY_TASK) || (await lists.hasRun(task))) {
      if (this.#handled.size >= MAX_KEPT) this.#handled.clear()
      this.#handled.add(task)
      this.#others.delete(task)
      return null
    }
    const others = [...this.#handlers.keys(), ...known, ...this.#handled].filter(isTask)
    const hasHandler = this.#handlers.has(task)
    const found = { hasHandler, nearest: hasHandler ? undefined : nearest(task, new Set(others)) }
    this.#logger.warn({ task, nearest: found.nearest }, unhandledText(task, found))
    return found
  }
}

export function unhandledText(task: string, { hasHandler, nearest: meant }: UnhandledTask): string {
  return `No known worker handles the task '${task}'. ${
    hasHandler
      ? 'This process has a handler for it, but runs no jobs: has kalends.start() been called?'
      : meant === undefined
        ? 'Its jobs wait until a worker has a handler for it'
        : `Did you mean '${meant}'?`
  }`
}
