import { InvalidInputError } from './errors.ts'
import type { ExternalQueue } from './executor/hand-over.ts'
import type { Handler, HandledTask } from './executor/handler.ts'
import {
  checkedRetention,
  HOUSEKEEPING,
  housekeepingDeclarations,
  prune,
  pruneTask,
  type RetentionOptions,
} from './jobs/retention.ts'
import { checkedFunction } from './model/input.ts'
import { checkedTask, isBuiltIn, type Task } from './model/task.ts'
import { type AnyDeclaration, type DeclaredSet, DeclaredSets, type OnRemoved } from './schedules/declared.ts'
import type { SettingsContext } from './schedules/settings.ts'
import type { RetentionStore } from './store/store.ts'

/** The handlers and schedule sets that the application defines before `start`, and Kalends' own housekeeping. */
export class Definitions {
  readonly handlers = new Map<string, HandledTask>()
  readonly #declared = new DeclaredSets()
  readonly #housekeeping: DeclaredSets | null = null
  readonly #queue: Pick<ExternalQueue, 'tasks'> | null

  constructor(retention: RetentionOptions | false, queue: Pick<ExternalQueue, 'tasks'> | null) {
    this.#queue = queue
    if (retention === false) return
    const declarations = housekeepingDeclarations(checkedRetention(retention, 'retention.'))
    this.#housekeeping = new DeclaredSets()
    this.#housekeeping.add(HOUSEKEEPING, declarations, 'retire')
  }

  readonly taskNamed = (name: string): Task | null => this.handlers.get(name)?.task ?? null

  /** @throws InvalidInputError when the task already has a handler, or its jobs go to the external queue */
  handle<Input, Args, Result>(
    given: Task<Input, Args, Result> | string,
    handler: Handler<Args, Result>,
  ): void {
    const task = checkedTask(given)
    checkedFunction('handler', handler)
    if (this.handlers.has(task.name))
      throw new InvalidInputError('handle', `the task '${task.name}' already has a handler`)
    if (this.#isExternal(task.name))
      throw new InvalidInputError(
        'handle',
        `the task '${task.name}' goes to the external queue, so a handler would never be called; remove the handler, or leave the task out of externalQueue.tasks`,
      )
    // The executor passes a handler only args that its task's schema has parsed.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    this.handlers.set(task.name, { task, handler: handler as Handler })
  }

  /** @throws InvalidInputError when the name is reserved or in use */
  declare(set: string, declarations: readonly AnyDeclaration[], onRemoved: OnRemoved): void {
    if (set === HOUSEKEEPING)
      throw new InvalidInputError('declare', `the set '${HOUSEKEEPING}' is reserved; choose another name`)
    this.#declared.add(set, declarations, onRemoved)
  }

  #isExternal(task: string): boolean {
    if (this.#queue === null || isBuiltIn(task)) return false
    return this.#queue.tasks === null || this.#queue.tasks.includes(task)
  }

  handleHousekeeping(retention: RetentionStore): void {
    if (this.#housekeeping !== null && !this.handlers.has(pruneTask.name))
      this.handle(pruneTask, ({ args, signal }) => prune(retention, args, signal))
  }

  /**
   * Checks and returns the declared sets. If this process runs jobs, the task of each declared schedule needs a
   * handler, unless its jobs go to the external queue.
   *
   * @throws DeclarationError with all problems
   */
  async sets(context: SettingsContext, runsJobs: boolean): Promise<DeclaredSet[]> {
    const isHandled = (task: string) => !runsJobs || this.#isExternal(task) || this.handlers.has(task)
    // Kalends' own set is checked and listed first.
    const own = runsJobs ? await this.#housekeeping?.check(context, () => true) : undefined
    return [...(own ?? []), ...(await this.#declared.check(context, isHandled))]
  }
}
