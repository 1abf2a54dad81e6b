/**
 * What people and code do to schedules. Nothing here plans: the scheduler sees every edit, whether it was made
 * here or in SQL.
 */
import {
  ConflictError,
  errorTextForOwner,
  InvalidInputError,
  LimitError,
  NotFoundError,
  VersionError,
} from '../errors.ts'
import { checkOpenJobs, checkPeriod, checkWithin, requireTask } from '../model/authority.ts'
import { dueAtOnce } from '../model/first-run.ts'
import { checkedConditions, checkedInstant, checkedPage } from '../model/input.ts'
import { runNow } from '../model/manual-runs.ts'
import { newJobId } from '../model/occurrence.ts'
import { newId, prefixOf } from '../model/owner.ts'
import type { Payload, Redaction } from '../model/redaction.ts'
import { changedSettings, type Schedule, type ScheduleStatus, settingsHash } from '../model/schedule.ts'
import type { Job, JobState } from '../model/job.ts'
import { elapsesOf } from '../model/plan.ts'
import { storedArgs } from '../model/task.ts'
import type { JobStore } from '../store/job-store.ts'
import {
  type Counts,
  LIST_BOUNDS,
  type Listed,
  type ListPage,
  type ListStore,
  type ScheduleConditions,
  type ScheduleQuery,
} from '../store/list-store.ts'
import type { WorkerStore } from '../store/worker-store.ts'
import type { Check, NewSchedule, PutResult, ScheduleStore } from '../store/schedule-store.ts'
import { explain, type Explanation, startOfMinute } from './explain.ts'
import {
  type AnyScheduleInput,
  checkedFirstRun,
  newSettings,
  type ScheduleChanges,
  type ScheduleInput,
  settingsChanges,
  type SettingsContext,
} from './settings.ts'

const SCHEDULE_CONDITIONS = {
  status: 'text',
  task: 'text',
  group: 'text',
  submitter: 'text',
  declaredBy: 'text',
  text: 'text',
} as const satisfies Record<keyof ScheduleConditions, 'text'>

const DEFAULT_ELAPSES = 5
/** Jobs in each state that an explanation tells of. */
const MOST_OPEN = 5
/** Rows from the minute on that is asked about: those of the minute, and the one after them. */
const AROUND = 100

/** Where schedules and what became of them are kept. */
export interface ScheduleStores {
  readonly schedules: ScheduleStore
  readonly jobs: Pick<JobStore, 'countOpen'>
  readonly lists: ListStore
  readonly workers: WorkerStore
}

/** Which part of a history is wanted. */
export interface HistoryQuery {
  /** 1 to 1000, default 100. */
  readonly limit?: number | undefined
  /** Only slots earlier than this: the slot of the last one of the page before. */
  readonly before?: Date | undefined
}

/** What the row must still be for a change to be made. */
export interface IfVersion {
  /** What `versionOf` told, or the schedule as it was read; default: whatever it is. */
  readonly ifVersion?: string | Schedule | undefined
}

export interface SchedulesContext extends SettingsContext {
  /** Explanations quote errors. */
  readonly redaction: Redaction
  /** Something was written that the scheduler of this process may act on at once. */
  readonly onWrite: () => void
  /** Runs what counts against a limit of this owner after what did so before it. */
  readonly inTurn: <Result>(work: () => Promise<Result>) => Promise<Result>
}

/**
 * What people and code do to schedules: `kalends.schedules`, and `schedules` of a scope, which reaches only its owner's.
 */
export class Schedules {
  readonly #store: ScheduleStore
  readonly #jobs: ScheduleStores['jobs']
  readonly #lists: ListStore
  readonly #workers: WorkerStore
  readonly #context: SchedulesContext

  constructor(stores: ScheduleStores, context: SchedulesContext) {
    this.#store = stores.schedules
    this.#jobs = stores.jobs
    this.#lists = stores.lists
    this.#workers = stores.workers
    this.#context = context
  }

  /**
   * Makes a schedule.
   *
   * @param input.id  1 to 190 characters of the application's choosing, without a slash; default a new UUID
   * @throws InvalidInputError naming the field, CalendarSyntaxError when the timer cannot be read
   * @throws ConflictError when the id is in use
   * @throws ForbiddenError when the task is not one of the scope's
   * @throws LimitError when the owner has as many schedules as it may have
   */
  create<Input>(input: ScheduleInput<Input> & { readonly id?: string }): Promise<Schedule>
  create(input: AnyScheduleInput & { readonly task: string; readonly id?: string }): Promise<Schedule>
  async create(input: AnyScheduleInput & { readonly id?: string }): Promise<Schedule> {
    const { owner } = this.#context.authority
    const { id } = input
    const stored = id === undefined ? newJobId(new Date()) : newId(owner, id)
    const created = await this.#new(stored, input)
    const schedule = await this.#context.inTurn(async () => {
      // A row of this owner whose id has no prefix is in the way under the same name.
      if (id !== undefined && id !== stored && (await this.#store.get(id)) !== null)
        throw new ConflictError(
          `There is a schedule with the id '${id}' already; use put or update to change it`,
        )
      await this.#checkCount()
      return await this.#store.create(created)
    })
    this.#context.onWrite()
    return schedule
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
    const { id } = input
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
  put<Input>(
    id: string,
    input: ScheduleInput<Input>,
    options?: IfVersion,
  ): Promise<{ result: PutResult; schedule: Schedule }>
  put(
    id: string,
    input: AnyScheduleInput & { readonly task: string },
    options?: IfVersion,
  ): Promise<{ result: PutResult; schedule: Schedule }>
  async put(
    id: string,
    input: AnyScheduleInput,
    { ifVersion }: IfVersion = {},
  ): Promise<{ result: PutResult; schedule: Schedule }> {
    const existing = await this.#store.get(id)
    const created = await this.#new(id, input, existing?.timer)
    // Of a schedule that exists, these stay: `enabled` belongs to users.
    const { enabled: _, declaredBy: __, ...wanted } = created.settings
    const check = this.#checkOf(id, ifVersion)
    const { inTurn, authority } = this.#context
    const written = await inTurn(async () => {
      // With limits, another call of this owner may have created it before this turn.
      const isNew = (authority.limits === null ? existing : await this.#store.get(id)) === null
      if (isNew) await this.#checkCount()
      return await this.#store.put(
        id,
        () => {
          // Deleted since: what was not counted is not created.
          if (ifVersion !== undefined || !isNew) throw new VersionError(id)
          return created
        },
        (current) => {
          check(current)
          return changedSettings(current, wanted)
        },
      )
    })
    if (written.result !== 'unchanged') this.#context.onWrite()
    return written
  }

  /**
   * The version of a schedule's settings, for `ifVersion`: another one after each edit, and the same however often it
   * runs. It leaves out what `redact` hides, or a version would let callers guess what is hidden.
   */
  versionOf(schedule: Schedule): string {
    return settingsHash({ ...schedule, args: this.#context.redaction.redacted('args', schedule.args) })
  }

  /** @returns null when there is no such schedule */
  get(id: string): Promise<Schedule | null> {
    return this.#store.get(id)
  }

  /**
   * In the order of their ids, or the next to run first. Large values are left out, see `truncated`; totals are counted
   * up to 10,000. Text is searched for among the first 100,000 rows that the other filters leave.
   *
   * @throws InvalidInputError
   */
  async list(query: ScheduleQuery = {}): Promise<ListPage<Listed<Schedule>>> {
    if (query.order === 'nextRun' && query.after !== undefined)
      throw new InvalidInputError('after', 'goes with the order by id only; use offset')
    const { limit, offset, order, after, ...conditions } = query
    checkedConditions('', conditions, SCHEDULE_CONDITIONS)
    return this.#lists.schedules({
      ...LIST_BOUNDS,
      ...conditions,
      order,
      after,
      ...checkedPage({ limit, offset }),
    })
  }

  /** Schedules by their status. */
  async count(conditions: ScheduleConditions = {}): Promise<Counts<ScheduleStatus>> {
    checkedConditions('', conditions, SCHEDULE_CONDITIONS)
    return await this.#lists.scheduleCounts(conditions, LIST_BOUNDS)
  }

  /**
   * Changes what is given. A new timer is planned from now.
   *
   * @throws NotFoundError, and as `create` does
   */
  async update(id: string, changes: ScheduleChanges, { ifVersion }: IfVersion = {}): Promise<Schedule> {
    const { task } = typeof ifVersion === 'object' ? ifVersion : await this.#existing(id)
    const settings = await settingsChanges(task, changes, this.#context)
    if (settings.timer !== undefined) await this.#checkPeriod(settings.timer)
    const check = this.#checkOf(id, ifVersion)
    return this.#written(
      id,
      await this.#store.update(id, settings, (current) => {
        check(current)
        // The args were checked against the schema of this task.
        if (current.task !== task) throw new VersionError(id)
      }),
    )
  }

  /** Jobs that were submitted already stay. @throws NotFoundError */
  async delete(id: string, { ifVersion }: IfVersion = {}): Promise<void> {
    this.#written(id, await this.#store.delete(id, this.#checkOf(id, ifVersion)))
  }

  /** Nothing is submitted until `resume`; a job that is waiting or running is not touched. */
  pause(id: string, options: IfVersion = {}): Promise<Schedule> {
    return this.#enable(id, false, options)
  }

  /** Plans from now: what a pause leaves out is not missed. */
  resume(id: string, options: IfVersion = {}): Promise<Schedule> {
    return this.#enable(id, true, options)
  }

  /**
   * Reactivates a schedule that is done or dead: its counters start at zero, and it is planned from now.
   *
   * @throws NotFoundError
   * @throws ConflictError when it is neither
   */
  async reset(id: string, { ifVersion }: IfVersion = {}): Promise<Schedule> {
    const check = this.#checkOf(id, ifVersion)
    return this.#written(
      id,
      await this.#store.reset(id, (current) => {
        check(current)
        if (current.idle === 'done' || current.idle === 'dead') return
        throw new ConflictError(
          `The schedule '${id}' is ${current.status}; only one that is done or dead can be reset`,
        )
      }),
    )
  }

  /**
   * Submits a run now, beside the timer, also of a paused schedule.
   *
   * @param options.args  for this run alone; default the schedule's own
   * @param options.task  the task that the schedule must have; default: whichever it is
   * @returns the id of the job
   * @throws NotFoundError
   * @throws VersionError when it has another task
   * @throws InvalidInputError when the args are not what the task takes
   * @throws ConflictError naming the job of the schedule that is not final, unless its runs may overlap
   */
  async runNow(
    id: string,
    options: { readonly args?: unknown; readonly task?: string | undefined } = {},
  ): Promise<string> {
    // Args are checked against the schema of a task: it must still be that one when they are stored.
    const wanted = options.task ?? (options.args === undefined ? undefined : (await this.#existing(id)).task)
    const args = await this.#argsOfOneRun(wanted, options.args)
    const { authority, inTurn } = this.#context
    const { limits } = authority
    const job = await inTurn(async () => {
      if (limits !== null) checkOpenJobs(limits, await this.#jobs.countOpen(limits.openJobs), 1)
      return this.#store.runNow(id, args, (schedule, now) => {
        requireTask(authority, schedule.task)
        if (wanted !== undefined && schedule.task !== wanted) throw new VersionError(id)
        return runNow(schedule, now)
      })
    })
    if (job === null) throw new NotFoundError('schedule', id)
    this.#context.onWrite()
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

  /** Runs and skips in one list, newest slot first, without what is large. @throws NotFoundError */
  async history(id: string, query: HistoryQuery = {}): Promise<Listed<Job>[]> {
    await this.#existing(id)
    const before = checkedInstant('before', query.before) ?? null
    return this.#lists.history(id, { before }, checkedPage({ limit: query.limit }).limit)
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
    const open = (state: JobState) =>
      this.#lists.jobs({ ...LIST_BOUNDS, schedule: id, state, limit: MOST_OPEN, offset: 0 })
    const pages = await Promise.all([open('running'), open('waiting'), open('blocked')])
    const workers = await this.#workers.list()
    const around = at === null ? [] : await this.#lists.history(id, { from: startOfMinute(at) }, AROUND)
    const shownJob = (job: Listed<Job>): Job => ({ ...job, error: this.#shown(job.error, job) })
    return explain({
      schedule: { ...schedule, lastError: this.#shown(schedule.lastError, schedule) },
      open: pages.flatMap(({ items }) => items.toReversed().map(shownJob)),
      around: around.map(shownJob),
      namesWorkers: prefixOf(this.#context.authority.owner) === '',
      liveWorkers: workers.length,
      handledTasks: new Set(workers.flatMap(({ tasks }) => tasks)),
      now: await this.#store.now(),
      at,
    })
  }

  /** An error as an explanation may quote it. */
  #shown(error: string | null, row: Payload): string | null {
    const { authority, redaction } = this.#context
    if (error === null) return null
    const text = redaction.secretsOf(row).hiddenInText(error)
    return prefixOf(authority.owner) === '' ? text : errorTextForOwner(text)
  }

  /** @param timer  what the schedule has already: that it has elapsed is no fault */
  async #new(id: string, input: AnyScheduleInput, timer?: string): Promise<NewSchedule> {
    const settings = await newSettings(input, this.#context)
    const firstRun = checkedFirstRun(input.firstRun)
    const now = await this.#store.now()
    checkPeriod(this.#context.authority.limits, settings.timer, now)
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
    return { id, settings, isDue: dueAtOnce(firstRun, id, settings) }
  }

  async #argsOfOneRun(task: string | undefined, args: unknown): Promise<string | null> {
    if (args === undefined || task === undefined) return null
    const { authority, taskNamed, argsLimit } = this.#context
    const stored = await storedArgs(taskNamed(task) ?? { name: task, schema: null }, args, argsLimit)
    checkWithin(authority.limits, { args: stored })
    return stored
  }

  /** For a row under lock: whether this caller may write it, and whether it is the one that the caller has seen. */
  #checkOf(id: string, ifVersion?: string | Schedule): Check<Schedule> {
    return (current) => {
      requireTask(this.#context.authority, current.task)
      if (ifVersion === undefined) return
      const isSame =
        typeof ifVersion === 'string'
          ? ifVersion === this.versionOf(current)
          : settingsHash(ifVersion) === settingsHash(current)
      if (!isSame) throw new VersionError(id)
    }
  }

  /** @throws LimitError when this owner may have no more schedules */
  async #checkCount(): Promise<void> {
    const { limits } = this.#context.authority
    if (limits === null || (await this.#store.count(limits.schedules)) < limits.schedules) return
    throw new LimitError(
      'schedules',
      `${limits.schedules} schedules are allowed, and there are as many; delete one first`,
    )
  }

  async #checkPeriod(timer: string): Promise<void> {
    const { limits } = this.#context.authority
    if (limits !== null) checkPeriod(limits, timer, await this.#store.now())
  }

  async #enable(id: string, enabled: boolean, { ifVersion }: IfVersion): Promise<Schedule> {
    const check = this.#checkOf(id, ifVersion)
    return this.#written(
      id,
      await this.#store.update(id, { enabled }, (current) => {
        check(current)
        if (current.status === (enabled ? 'paused' : 'active')) return
        throw new ConflictError(
          `The schedule '${id}' is ${current.status}; only one that is ${enabled ? 'paused can be resumed' : 'active can be paused'}`,
        )
      }),
    )
  }

  /** @throws NotFoundError when nothing was written */
  #written(id: string, schedule: Schedule | null): Schedule {
    if (schedule === null) throw new NotFoundError('schedule', id)
    this.#context.onWrite()
    return schedule
  }

  async #existing(id: string): Promise<Schedule> {
    const schedule = await this.#store.get(id)
    if (schedule === null) throw new NotFoundError('schedule', id)
    return schedule
  }
}
