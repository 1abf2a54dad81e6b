/**
 * What people and code do to schedules. Nothing here plans: the scheduler sees every edit, whether it was made
 * here or in SQL.
 */
import { ConflictError, InvalidInputError, NotFoundError } from '../errors.ts'
import { checkedInstant, checkedPage } from '../model/input.ts'
import { newJobId } from '../model/occurrence.ts'
import { changedSettings, type Schedule } from '../model/schedule.ts'
import type { Job, JobState } from '../model/job.ts'
import { elapsesOf } from '../model/plan.ts'
import { storedArgs } from '../model/task.ts'
import type { JobStore } from '../store/job-store.ts'
import type { WorkerStore } from '../store/worker-store.ts'
import type { NewSchedule, Page, PutResult, ScheduleFilter, ScheduleStore } from '../store/schedule-store.ts'
import { explain, type Explanation, startOfMinute } from './explain.ts'
import {
  type AnyScheduleInput,
  checkedFirstRun,
  checkedId,
  newSettings,
  type ScheduleChanges,
  type ScheduleInput,
  settingsChanges,
  type SettingsContext,
} from './settings.ts'

/** Which schedules are wanted, and which part of the list: `limit` 1 to 1000, default 100. */
export type ScheduleQuery = Partial<ScheduleFilter>

const DEFAULT_ELAPSES = 5
/** Jobs in each state that an explanation tells of. */
const MOST_OPEN = 5
/** Rows from the minute on that is asked about: those of the minute, and the one after them. */
const AROUND = 100

/** Where schedules and what became of them are kept. */
export interface ScheduleStores {
  readonly schedules: ScheduleStore
  readonly jobs: JobStore
  readonly workers: WorkerStore
}

/** Which part of a history is wanted. */
export interface HistoryQuery {
  /** 1 to 1000, default 100. */
  readonly limit?: number | undefined
  /** Only slots earlier than this: the slot of the last one of the page before. */
  readonly before?: Date | undefined
}

/**
 * What people and code do to schedules: `kalends.schedules`, and `schedules` of a scope, which reaches only its owner's.
 */
export class Schedules {
  readonly #store: ScheduleStore
  readonly #jobs: JobStore
  readonly #workers: WorkerStore
  readonly #context: SettingsContext
  readonly #onWrite: () => void

  /** @param onWrite  something was written that the scheduler of this process may act on at once */
  constructor(stores: ScheduleStores, context: SettingsContext, onWrite: () => void) {
    this.#store = stores.schedules
    this.#jobs = stores.jobs
    this.#workers = stores.workers
    this.#context = context
    this.#onWrite = onWrite
  }

  /**
   * Makes a schedule.
   *
   * @param input.id  1 to 190 characters of the application's choosing; default a new UUID
   * @throws InvalidInputError naming the field, CalendarSyntaxError when the timer cannot be read
   * @throws ConflictError when the id is in use
   */
  create<Input>(input: ScheduleInput<Input> & { readonly id?: string }): Promise<Schedule>
  create(input: AnyScheduleInput & { readonly task: string; readonly id?: string }): Promise<Schedule>
  async create(input: AnyScheduleInput & { readonly id?: string }): Promise<Schedule> {
    const id = input.id === undefined ? newJobId(new Date()) : checkedId(input.id)
    const { settings, firstRun } = await this.#new(id, input)
    await this.#store.create(id, settings, firstRun)
    this.#onWrite()
    return this.#existing(id)
  }

  /**
   * As `create`, for callers that cannot know whether their first call came through: where there is a schedule
   * that says the same, it is left as it is.
   *
   * @throws ConflictError when the id is in use by a schedule that differs
   */
  async createOnce(
    input: AnyScheduleInput & { readonly task: string; readonly id: string },
  ): Promise<{ result: 'created' | 'unchanged'; schedule: Schedule }> {
    const id = checkedId(input.id)
    const existing = await this.#store.get(id)
    if (existing === null) return { result: 'created', schedule: await this.create(input) }
    const { settings } = await this.#new(id, input, existing.timer)
    const { declaredBy: _, ...wanted } = settings
    if (Object.keys(changedSettings(existing, wanted)).length === 0)
      return { result: 'unchanged', schedule: existing }
    throw new ConflictError(
      `There is a schedule with the id '${id}' already, and it differs; use put or update to change it`,
    )
  }

  /**
   * Creates the schedule with this id, or changes what differs. `enabled` counts only for a new one, so that
   * what was paused stays paused.
   *
   * @throws as `create` does, but never because the id is in use
   */
  put<Input>(id: string, input: ScheduleInput<Input>): Promise<{ result: PutResult; schedule: Schedule }>
  put(
    id: string,
    input: AnyScheduleInput & { readonly task: string },
  ): Promise<{ result: PutResult; schedule: Schedule }>
  async put(id: string, input: AnyScheduleInput): Promise<{ result: PutResult; schedule: Schedule }> {
    const { settings, firstRun } = await this.#new(checkedId(id), input, (await this.#store.get(id))?.timer)
    const result = await this.#store.put(id, settings, firstRun)
    if (result !== 'unchanged') this.#onWrite()
    return { result, schedule: await this.#existing(id) }
  }

  /** @returns null when there is no such schedule */
  get(id: string): Promise<Schedule | null> {
    return this.#store.get(id)
  }

  /** In the order of their ids; `limit` is at most 1000, default 100. */
  async list(query: ScheduleQuery = {}): Promise<Page<Schedule>> {
    return this.#store.list({ ...query, ...checkedPage(query) })
  }

  /**
   * Changes what is given. A new timer is planned from now.
   *
   * @throws NotFoundError, and as `create` does
   */
  async update(id: string, changes: ScheduleChanges): Promise<Schedule> {
    const { task } = await this.#existing(id)
    if (!(await this.#store.update(id, await settingsChanges(task, changes, this.#context)))) {
      throw new NotFoundError('schedule', id)
    }
    this.#onWrite()
    return this.#existing(id)
  }

  /** Jobs that were submitted already stay. @throws NotFoundError */
  async delete(id: string): Promise<void> {
    if (!(await this.#store.delete(id))) throw new NotFoundError('schedule', id)
    this.#onWrite()
  }

  /** Nothing is submitted until `resume`; a job that is waiting or running is not touched. */
  pause(id: string): Promise<Schedule> {
    return this.#enable(id, false)
  }

  /** Plans from now: what a pause leaves out is not missed. */
  resume(id: string): Promise<Schedule> {
    return this.#enable(id, true)
  }

  /**
   * Revives a schedule that is done or dead: its counters begin anew, and it is planned from now.
   *
   * @throws NotFoundError
   * @throws ConflictError when it is neither
   */
  async reset(id: string): Promise<Schedule> {
    if (!(await this.#store.reset(id))) {
      const { status } = await this.#existing(id)
      throw new ConflictError(`The schedule '${id}' is ${status}; only one that is done or dead can be reset`)
    }
    this.#onWrite()
    return this.#existing(id)
  }

  /**
   * Submits a run now, beside the timer, also of a paused schedule.
   *
   * @param options.args  for this run alone; default the schedule's own
   * @returns the id of the job
   * @throws NotFoundError
   * @throws InvalidInputError when the args are not what the task takes
   * @throws ConflictError naming the job of the schedule that is not final, unless its runs may overlap
   */
  async runNow(id: string, options: { readonly args?: unknown } = {}): Promise<string> {
    const job = await this.#store.runNow(id, await this.#argsOfOneRun(id, options.args))
    if (job === null) throw new NotFoundError('schedule', id)
    this.#onWrite()
    return job
  }

  /**
   * The next elapses of the schedule's timer, strictly later than `after` (default now).
   *
   * @param options.limit  1 to 1000, default 5
   * @throws NotFoundError, CalendarSyntaxError when the timer cannot be read
   */
  async elapses(id: string, options: { after?: Date; limit?: number } = {}): Promise<Date[]> {
    const limit = options.limit === undefined ? DEFAULT_ELAPSES : checkedPage(options).limit
    const after = checkedInstant('after', options.after) ?? (await this.#store.now())
    const event = elapsesOf(await this.#existing(id))
    const elapses: Date[] = []
    for (let at = event.next(after); at !== null && elapses.length < limit; at = event.next(at))
      elapses.push(at)
    return elapses
  }

  /** Runs and skips in one list, newest slot first. @throws NotFoundError */
  async history(id: string, query: HistoryQuery = {}): Promise<Job[]> {
    await this.#existing(id)
    return this.#jobs.history(
      id,
      checkedPage({ limit: query.limit }).limit,
      checkedInstant('before', query.before) ?? null,
    )
  }

  /**
   * Why it did or did not run, and when it will next, in words.
   *
   * @param options.at  the time that is asked about; default now
   * @throws NotFoundError
   */
  async explain(id: string, options: { readonly at?: Date | undefined } = {}): Promise<Explanation> {
    const schedule = await this.#existing(id)
    const at = checkedInstant('at', options.at) ?? null
    const open = (state: JobState) => this.#jobs.list({ scheduleId: id, state, limit: MOST_OPEN, offset: 0 })
    const pages = await Promise.all([open('running'), open('waiting'), open('blocked')])
    const workers = await this.#workers.list()
    return explain({
      schedule,
      open: pages.flatMap(({ items }) => items.toReversed()),
      around: at === null ? [] : await this.#jobs.historyFrom(id, startOfMinute(at), AROUND),
      liveWorkers: workers.length,
      handledTasks: new Set(workers.flatMap(({ tasks }) => tasks)),
      now: await this.#store.now(),
      at,
    })
  }

  /** @param timer  what the schedule has already: that it has elapsed is no fault */
  async #new(id: string, input: AnyScheduleInput, timer?: string): Promise<NewSchedule> {
    const settings = await newSettings(input, this.#context)
    const firstRun = checkedFirstRun(input.firstRun)
    const now = await this.#store.now()
    if (
      firstRun !== 'now' &&
      settings.timer !== timer &&
      elapsesOf({ id, ...settings, created: now }).next(now) === null
    ) {
      throw new InvalidInputError(
        'timer',
        `'${settings.timer}' does not elapse any more; with firstRun: 'now' it runs at once`,
      )
    }
    return { id, settings, firstRun }
  }

  async #argsOfOneRun(id: string, args: unknown): Promise<string | null> {
    if (args === undefined) return null
    const { task } = await this.#existing(id)
    return storedArgs(this.#context.taskNamed(task) ?? { name: task, schema: null }, args)
  }

  async #enable(id: string, enabled: boolean): Promise<Schedule> {
    const { status } = await this.#existing(id)
    if (status !== (enabled ? 'paused' : 'active')) {
      throw new ConflictError(
        `The schedule '${id}' is ${status}; only one that is ${enabled ? 'paused can be resumed' : 'active can be paused'}`,
      )
    }
    return this.update(id, { enabled })
  }

  async #existing(id: string): Promise<Schedule> {
    const schedule = await this.#store.get(id)
    if (schedule === null) throw new NotFoundError('schedule', id)
    return schedule
  }
}
