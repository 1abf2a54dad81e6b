import { ConflictError, InvalidInputError, missing } from '../errors.ts'
import { betweenParts } from '../event-loop.ts'
import { checkKeys } from '../keys.ts'
import type { Attempt } from '../model/attempt.ts'
import { checkOpenJobs, requireTask } from '../model/authority.ts'
import type { CallContext } from '../model/caller.ts'
import { JOB_FILTERS } from '../model/filters.ts'
import {
  checkedConditions,
  checkedId,
  checkedLimit,
  checkedList,
  checkedWhole,
  PAGE_POSITION,
} from '../model/input.ts'
import { type Job, type JobId, type Stored } from '../model/job.ts'
import { isFinal, type JobState } from '../model/states.ts'
import { cancel, retry } from '../model/manual-runs.ts'
import { prefixOf, shownId } from '../model/owner.ts'
import { checkedTaskName, type Task } from '../model/task.ts'
import type { JobStore, NewJob, SubmittingStore, Transaction, TransactionOption } from '../store/job-store.ts'
import {
  type Counts,
  type JobConditions,
  type JobQuery,
  type Listed,
  type ListPage,
  type ListStore,
  type LogLine,
} from '../store/list-store.ts'
import { changeMany, type ManyJobs, type ManyOptions, type ManyResult } from './many.ts'
import {
  type AnyJobInput,
  JOB_OPTIONS,
  type JobInput,
  newJob,
  type SubmitArguments,
  type SubmitOptions,
} from './new-job.ts'
import { type UnhandledTask, unhandledText } from './unhandled-tasks.ts'
import { untilFinal, type WaitOptions } from './wait.ts'

export interface JobsContext extends CallContext {
  /** Returns details if no worker is known to handle the task; null if one is known. */
  readonly unhandled: (task: string) => Promise<UnhandledTask | null>
  /** Warns about each task that no worker is known to handle. Does not fail. */
  readonly checkHandled: (tasks: readonly string[]) => void
  /** Why each of these jobs has not ended. */
  readonly openJobTexts: (jobs: readonly Job[], shown: (at: Date) => string) => Promise<string[]>
  /** Subscribes to attempts that end in this process. @returns a function that ends the subscription */
  readonly onSettled: (listener: (jobId: string) => void) => () => void
  /** How often to check for changes made by other processes, in milliseconds. */
  readonly pollIntervalMs: number
  readonly now: () => Date
}

const MAX_LINES = 1000
/** Such as `2026-03-27 09:00:00 UTC`. */
const utcText = (at: Date) => `${at.toISOString().slice(0, 19).replace('T', ' ')} UTC`
const MAX_ATTEMPTS = 100

/** The operations on jobs: `kalends.jobs`, and `jobs` of a scope, limited to its owner's rows. */
export class Jobs {
  readonly #store: JobStore
  readonly #lists: ListStore
  readonly #context: JobsContext

  constructor(stores: { readonly jobs: JobStore; readonly lists: ListStore }, context: JobsContext) {
    this.#store = stores.jobs
    this.#lists = stores.lists
    this.#context = context
  }

  /**
   * Submits a job without a schedule: `submit(task, args, options)`, or everything in one object, as in `submitMany`.
   * The args must match the task's schema; they are stored as JSON. If no worker is known to handle the task, the job
   * waits, and the logger receives a warning; see `taskWarning`.
   *
   * @returns the job's id
   * @throws InvalidInputError naming the field
   * @throws ConflictError when a job with this id exists
   * @throws ForbiddenError when the scope does not include the task
   * @throws LimitError when the owner has reached its limit on open jobs
   */
  submit<Input, Result>(
    task: Task<Input, unknown, Result>,
    ...rest: SubmitArguments<Input>
  ): Promise<JobId<Result>>
  submit<Input, Result>(job: JobInput<Input, Result> & TransactionOption): Promise<JobId<Result>>
  submit(task: string, args?: unknown, options?: SubmitOptions): Promise<string>
  submit(job: AnyJobInput & { readonly task: string } & TransactionOption): Promise<string>
  async submit(
    given: Task | string | (AnyJobInput & TransactionOption),
    args?: unknown,
    options: SubmitOptions = {},
  ): Promise<string> {
    checkKeys(options, [...JOB_OPTIONS, 'tx'])
    const inObject = typeof given === 'object' && given !== null && 'task' in given
    if (inObject && (args !== undefined || Object.keys(options).length > 0))
      throw new InvalidInputError(
        'options',
        'put everything in the first object, and leave out the other arguments',
      )
    const { tx, ...job } = inObject ? given : { ...options, task: given, args }
    const [id = ''] = await this.#submit([await newJob(job, this.#context)], tx)
    return id
  }

  /**
   * Submits many jobs in one transaction, either all of them or none. On SQLite, nothing else can write to the file in
   * the meantime.
   *
   * @returns their ids, in order
   * @throws as `submit` does
   */
  async submitMany<Inputs extends readonly unknown[]>(
    jobs: readonly [...{ [Index in keyof Inputs]: JobInput<Inputs[Index]> }],
    options: TransactionOption = {},
  ): Promise<string[]> {
    checkKeys(options, ['tx'])
    // A job whose args match its task is also a job with any args.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    const inputs = checkedList('jobs', jobs as readonly AnyJobInput[], 'jobs')
    const ready: NewJob[] = []
    const pause = betweenParts()
    for (const input of inputs) {
      ready.push(await newJob(input, this.#context))
      await pause()
    }
    return this.#submit(ready, options.tx)
  }

  /**
   * A warning if no worker is known to handle a task. Usually the task's name is misspelt, so the warning suggests the
   * most similar known task, except in a scope.
   *
   * @returns null when a worker handles the task or has claimed a job of it
   * @throws ForbiddenError when the scope does not include the task
   */
  async taskWarning(task: string): Promise<string | null> {
    const { authority, unhandled } = this.#context
    requireTask(authority, checkedTaskName(task))
    const found = await unhandled(task)
    if (found === null) return null
    const isScope = prefixOf(authority.owner) !== ''
    return unhandledText(task, isScope ? { hasHandler: false, nearest: undefined } : found)
  }

  /** @returns null when the job does not exist or was pruned */
  async get(id: string): Promise<Job | null> {
    return await this.#store.get(checkedId('job', id))
  }

  /**
   * Explains in one sentence why a job waits, or where it runs.
   *
   * @returns null when the job is final
   * @throws NotFoundError
   */
  async explain(id: string): Promise<string | null> {
    const job = (await this.get(id)) ?? missing('job', id)
    if (isFinal(job.state)) return null
    const [text = ''] = await this.#context.openJobTexts([job], utcText)
    return `The job ${id} ${text.replace(/\.$/, '')}.`
  }

  /**
   * Lists jobs, newest first; if the filter has a final state, the jobs that ended last come first. Large values are
   * left out; see `truncated`. For each page, conditions without an index, such as the text of errors, are checked only
   * in the next 100,000 rows that match the other filters, for up to two seconds.
   *
   * @throws InvalidInputError
   */
  async list(options: JobQuery = {}): Promise<ListPage<Listed<Job>>> {
    checkKeys(options, [...Object.keys(JOB_FILTERS), 'limit', 'after'])
    const { limit, ...query } = options
    checkedConditions('', query, { ...JOB_FILTERS, after: PAGE_POSITION })
    return this.#lists.jobs({ ...query, limit: checkedLimit(limit) })
  }

  /** The number of jobs by state. */
  async count(conditions: JobConditions = {}): Promise<Counts<JobState>> {
    checkedConditions('', conditions, JOB_FILTERS)
    return await this.#lists.jobCounts(conditions)
  }

  /**
   * Waits until a job is final, regardless of where it runs.
   *
   * @returns the final job
   * @throws NotFoundError when the job does not exist or was pruned
   * @throws WaitTimeoutError when it is not final within the timeout
   */
  async wait<Result = unknown>(
    id: JobId<Result> | string,
    options: WaitOptions = {},
  ): Promise<Job<Stored<Result>>> {
    checkedId('job', id)
    const { authority, onSettled, pollIntervalMs } = this.#context
    const read = async () => (await this.#store.get(id)) ?? missing('job', id)
    const onEnd = (end: () => void) =>
      onSettled((settled) => {
        if (shownId(authority.owner, settled) === id) end()
      })
    // Its result matched the result schema of the task that types this id.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    return (await untilFinal(read, onEnd, pollIntervalMs, options)) as Job<Stored<Result>>
  }

  /**
   * Cancels a waiting, blocked or external job, or asks the worker of a running job to stop it: the handler's signal is
   * aborted within the poll interval. A final job stays unchanged.
   *
   * @returns the job afterwards: still `running` if it was asked to stop
   * @throws NotFoundError
   */
  cancel(id: string): Promise<Job>
  async cancel(id: string, ...others: unknown[]): Promise<Job> {
    // Rejects options, such as a transaction, instead of ignoring them.
    for (const options of others) checkKeys(options, [])
    return this.#cancel(id, () => undefined)
  }

  /** @param check  called with the locked job; if it throws, nothing is written */
  async #cancel(id: string, check: (job: Pick<Job, 'state'>) => void): Promise<Job> {
    checkedId('job', id)
    const { authority, onWrite } = this.#context
    const decide = (job: Pick<Job, 'task' | 'state'>) => {
      requireTask(authority, job.task)
      check(job)
      return cancel(job)
    }
    const job = (await this.#store.cancel(id, decide)) ?? missing('job', id)
    onWrite()
    return job
  }

  /**
   * Runs a failed or cancelled job again, from its first attempt.
   *
   * @returns the job afterwards
   * @throws NotFoundError
   * @throws ConflictError when it is neither failed nor cancelled, belongs to an external queue, or would overlap
   *   another job of its schedule
   */
  retry(id: string): Promise<Job>
  async retry(id: string, ...others: unknown[]): Promise<Job> {
    // Rejects options, such as a transaction, instead of ignoring them.
    for (const options of others) checkKeys(options, [])
    checkedId('job', id)
    const { authority, inTurn, onWrite } = this.#context
    const job = await inTurn(async () => {
      await this.#checkOpen(1)
      return this.#store.retry(id, (locked) => {
        requireTask(authority, locked.task)
        return retry(locked)
      })
    })
    onWrite()
    return job ?? missing('job', id)
  }

  /** Cancels many jobs. @throws InvalidInputError for a filter with a final state */
  async cancelMany(which: ManyJobs, options: ManyOptions = {}): Promise<ManyResult> {
    const change = (id: string) =>
      this.#cancel(id, ({ state }) => {
        if (isFinal(state)) throw new ConflictError(`The job ${id} is already ${state}`)
      })
    return await changeMany(this.#lists, 'cancel', change, which, options)
  }

  /** Retries many jobs. @throws InvalidInputError for a filter with a state other than failed or cancelled */
  async retryMany(which: ManyJobs, options: ManyOptions = {}): Promise<ManyResult> {
    return await changeMany(this.#lists, 'retry', (id) => this.retry(id), which, options)
  }

  /**
   * The log lines of all attempts of a job, in order. Secrets from the job's result are redacted when the lines are
   * read, because the result may be newer than the lines.
   *
   * @param query.after  the `id` of a line; only lines after it are returned
   * @param query.limit  1 to 1000, default 1000
   * @throws NotFoundError
   */
  async logs(
    id: string,
    query: { readonly after?: number | undefined; readonly limit?: number | undefined } = {},
  ): Promise<LogLine[]> {
    checkedId('job', id)
    checkKeys(query, ['after', 'limit'])
    const after = checkedWhole('after', query.after, 0, Number.MAX_SAFE_INTEGER) ?? 0
    const lines = await this.#lists.logs(id, after, checkedLimit(query.limit, MAX_LINES))
    const { redaction } = this.#context
    if (lines === null || !redaction.hides()) return lines ?? missing('job', id)
    const secrets = redaction.secretsOf((await this.#store.get(id)) ?? missing('job', id))
    return lines.map((line) => ({ ...line, message: secrets.hiddenInText(line.message) }))
  }

  /**
   * The newest 100 attempts of a job, oldest first. They include a running attempt, the attempt that succeeded, and
   * attempts before a manual retry. Errors longer than 16,384 characters are shortened; see `truncated`.
   *
   * @throws NotFoundError
   */
  async attempts(id: string): Promise<Listed<Attempt>[]> {
    return (await this.#lists.attempts(checkedId('job', id), MAX_ATTEMPTS)) ?? missing('job', id)
  }

  /** @throws LimitError when `more` additional open jobs would exceed the owner's limit */
  async #checkOpen(more: number, store: SubmittingStore = this.#store): Promise<void> {
    const { limits } = this.#context.authority
    if (limits !== null) checkOpenJobs(limits, await store.countOpen(limits.openJobs), more)
  }

  /** @throws ConflictError if the owner already has a job with one of these ids, even if stored without the prefix */
  async #checkNames(jobs: readonly NewJob[], store: SubmittingStore): Promise<void> {
    const { owner } = this.#context.authority
    const named = jobs.map(({ id }) => shownId(owner, id)).filter((name, index) => name !== jobs[index]?.id)
    if (named.length === 0) return
    const [first] = await store.existing(named)
    if (first !== undefined) throw new ConflictError(`A job with the id '${first}' already exists`)
  }

  /** @returns the ids, as their owner sees them */
  async #submit(jobs: readonly NewJob[], tx: Transaction | undefined): Promise<string[]> {
    const { authority, inTurn, onWrite, checkHandled } = this.#context
    const store = tx === undefined ? this.#store : this.#store.in(tx)
    const submit = async () => {
      await this.#checkNames(jobs, store)
      await this.#checkOpen(jobs.length, store)
      await store.submit(jobs)
    }
    // In the caller's transaction, do not wait for a turn, because the call that has the turn may be waiting for a lock
    // that this transaction holds.
    await (tx === undefined ? inTurn(submit) : submit())
    onWrite()
    // Not awaited: the jobs are submitted, and the look-up must not delay the caller or the caller's transaction.
    checkHandled(jobs.map(({ task }) => task))
    return jobs.map(({ id }) => shownId(authority.owner, id))
  }
}
