/** What people and code do to jobs: submit, look at, cancel. */
import { InvalidInputError, NotFoundError } from '../errors.ts'
import { checkedInstant, checkedPage, checkedText, checkedWhole, LARGEST_PRIORITY } from '../model/input.ts'
import type { Job, JobState } from '../model/job.ts'
import { JOB_ID_LIMIT, newJobId } from '../model/occurrence.ts'
import { type PolicyOptions, runPolicy, storedArgs, type Task } from '../model/task.ts'
import type { LogLine } from '../store/executing-store.ts'
import type { JobFilter, JobStore } from '../store/job-store.ts'
import type { Page } from '../store/schedule-store.ts'

export interface SubmitOptions extends PolicyOptions {
  /** Up to 36 characters of the application's choosing; default a new UUID. */
  readonly id?: string | undefined
  /** Not before this time; default at once. */
  readonly runAt?: Date | undefined
  /** Larger goes first; default 0. */
  readonly priority?: number | undefined
  readonly group?: string | undefined
  readonly subject?: string | null | undefined
  readonly submitter?: string | null | undefined
}

export type JobQuery = Partial<JobFilter>

export class Jobs {
  readonly #store: JobStore
  readonly #taskNamed: (name: string) => Task | null
  readonly #onWrite: () => void

  /** @param onWrite  something was written that the executor of this process may act on at once */
  constructor(store: JobStore, taskNamed: (name: string) => Task | null, onWrite: () => void) {
    this.#store = store
    this.#taskNamed = taskNamed
    this.#onWrite = onWrite
  }

  /**
   * Submits a job of its own, beside all schedules.
   *
   * @param args  what the task's schema takes; stored as JSON
   * @returns the job's id
   * @throws InvalidInputError naming the field
   * @throws ConflictError when there is a job with this id
   */
  submit<Input>(task: Task<Input, unknown>, ...rest: SubmitArguments<Input>): Promise<string>
  submit(task: string, args?: unknown, options?: SubmitOptions): Promise<string>
  async submit(task: Task | string, args: unknown = {}, options: SubmitOptions = {}): Promise<string> {
    const known = typeof task === 'string' ? (this.#taskNamed(task) ?? { name: task, schema: null }) : task
    const { id = newJobId(new Date()) } = options
    if (typeof id !== 'string' || id === '' || id.length > JOB_ID_LIMIT) {
      throw new InvalidInputError(
        'id',
        `1 to ${JOB_ID_LIMIT} characters are needed, not ${JSON.stringify(id)}`,
      )
    }
    const policy = runPolicy(options)
    await this.#store.submit([
      {
        id,
        task: known.name,
        group: checkedText('group', options.group) ?? '',
        args: await storedArgs(known, args),
        subject: checkedText('subject', options.subject) ?? null,
        submitter: checkedText('submitter', options.submitter) ?? null,
        priority: checkedWhole('priority', options.priority, -LARGEST_PRIORITY, LARGEST_PRIORITY) ?? 0,
        runAt: checkedInstant('runAt', options.runAt) ?? null,
        timeoutMs: policy.timeoutMs ?? null,
        maxRetries: policy.maxRetries ?? null,
        retryDelayMs: policy.retryDelayMs ?? null,
        retryBackoff: policy.retryBackoff ?? null,
      },
    ])
    this.#onWrite()
    return id
  }

  get(id: string): Promise<Job | null> {
    return this.#store.get(id)
  }

  /** Newest first; `limit` is at most 1000, default 100. */
  async list(query: JobQuery = {}): Promise<Page<Job>> {
    return this.#store.list({ ...query, ...checkedPage(query) })
  }

  /**
   * Cancels a job that waits; asks the worker to stop one that runs, wherever that is: its handler's signal
   * fires within the wake-up period. A final job stays as it is.
   *
   * @returns the job's state afterwards: `running` when it was asked to stop
   * @throws NotFoundError
   */
  async cancel(id: string): Promise<JobState> {
    const state = await this.#store.cancel(id)
    if (state === null) throw new NotFoundError('job', id)
    this.#onWrite()
    return state
  }

  /** What the job's attempts have logged, in order. */
  logs(id: string): Promise<LogLine[]> {
    return this.#store.logs(id)
  }
}

/** The args may be left out where the task takes an empty object. */
// oxlint-disable-next-line typescript/no-empty-object-type -- asks whether {} would do
type SubmitArguments<Input> = {} extends Input
  ? [args?: Input, options?: SubmitOptions]
  : [args: Input, options?: SubmitOptions]
