/**
 * What people and code do to schedules. Nothing here plans: the scheduler sees every edit, whether it was made
 * here or in SQL.
 */
import { ConflictError, InvalidInputError, NotFoundError, VersionError } from '../errors.ts'
import { checkOpenJobs, checkPeriod, requireTask } from '../model/authority.ts'
import { checkedConditions, checkedInstant, checkedPage } from '../model/input.ts'
import { runNow } from '../model/manual-runs.ts'
import type { Job } from '../model/job.ts'
import { newJobId } from '../model/occurrence.ts'
import { newId } from '../model/owner.ts'
import { elapsesOf } from '../model/plan.ts'
import { changedSettings, type Schedule, type ScheduleStatus } from '../model/schedule.ts'
import {
  type Counts,
  LIST_BOUNDS,
  type Listed,
  type ListPage,
  type ScheduleConditions,
  type ScheduleQuery,
} from '../store/list-store.ts'
import type { NewSchedule, PutResult } from '../store/schedule-store.ts'
import { argsOfOneRun, checkCount, checkOf, versionOf } from './checks.ts'
import type { HistoryQuery, IfVersion, SchedulesContext, ScheduleStores } from './context.ts'
import { evidenceOf } from './evidence.ts'
import { explain, type Explanation } from './explain.ts'
import {
  type AnyScheduleInput,
  newSchedule,
  type ScheduleChanges,
  type ScheduleInput,
  settingsChanges,
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

/**
 * What people and code do to schedules: `kalends.schedules`, and `schedules` of a scope, which reaches only its owner's.
 */
export class Schedules {
  readonly #stores: ScheduleStores
  readonly #context: SchedulesContext

  constructor(stores: ScheduleStores, context: SchedulesContext) {
    this.#stores = stores
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
      if (id !== undefined && id !== stored && (await this.#stores.schedules.get(id)) !== null)
        throw new ConflictError(
          `There is a schedule with the id '${id}' already; use put or update to change it`,
        )
      await checkCount(this.#context.authority.limits, this.#stores.schedules)
      return await this.#stores.schedules.create(created)
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
    const existing = await this.#stores.schedules.get(id)
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
    const existing = await this.#stores.schedules.get(id)
    const created = await this.#new(id, input, existing?.timer)
    // Of a schedule that exists, these stay: `enabled` belongs to users.
    const { enabled: _, declaredBy: __, ...wanted } = created.settings
    const check = checkOf(id, ifVersion, this.#context)
    const { inTurn, authority } = this.#context
    const written = await inTurn(async () => {
      // With limits, another call of this owner may have created it before this turn.
      const isNew = (authority.limits === null ? existing : await this.#stores.schedules.get(id)) === null
      if (isNew) await checkCount(this.#context.authority.limits, this.#stores.schedules)
      return await this.#stores.schedules.put(
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
    return versionOf(schedule, this.#context)
  }

  /** @returns null when there is no such schedule */
  get(id: string): Promise<Schedule | null> {
    return this.#stores.schedules.get(id)
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
    return this.#stores.lists.schedules({
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
    return await this.#stores.lists.scheduleCounts(conditions, LIST_BOUNDS)
  }

  /**
   * Changes what is given. A new timer is planned from now.
   *
   * @throws NotFoundError, and as `create` does
   */
  async update(id: string, changes: ScheduleChanges, { ifVersion }: IfVersion = {}): Promise<Schedule> {
    const { task } = typeof ifVersion === 'object' ? ifVersion : await this.#existing(id)
    const settings = await settingsChanges(task, changes, this.#context)
    const { limits } = this.#context.authority
    if (limits !== null && settings.timer !== undefined)
      checkPeriod(limits, settings.timer, await this.#stores.schedules.now())
    const check = checkOf(id, ifVersion, this.#context)
    return this.#written(
      id,
      await this.#stores.schedules.update(id, settings, (current) => {
        check(current)
        // The args were checked against the schema of this task.
        if (current.task !== task) throw new VersionError(id)
      }),
    )
  }

  /** Jobs that were submitted already stay. @throws NotFoundError */
  async delete(id: string, { ifVersion }: IfVersion = {}): Promise<void> {
    this.#written(id, await this.#stores.schedules.delete(id, checkOf(id, ifVersion, this.#context)))
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
    const check = checkOf(id, ifVersion, this.#context)
    return this.#written(
      id,
      await this.#stores.schedules.reset(id, (current) => {
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
    const args = await argsOfOneRun(wanted, options.args, this.#context)
    const { authority, inTurn } = this.#context
    const { limits } = authority
    const job = await inTurn(async () => {
      if (limits !== null) checkOpenJobs(limits, await this.#stores.jobs.countOpen(limits.openJobs), 1)
      return this.#stores.schedules.runNow(id, args, (schedule, now) => {
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
    const after = checkedInstant('after', options.after) ?? (await this.#stores.schedules.now())
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
    return this.#stores.lists.history(id, { before }, checkedPage({ limit: query.limit }).limit)
  }

  /**
   * Why it did or did not run, and when it will next, in words.
   *
   * @param options.at  the time that is asked about; default now
   * @throws NotFoundError
   */
  async explain(id: string, options: { readonly at?: Date | undefined } = {}): Promise<Explanation> {
    const at = checkedInstant('at', options.at) ?? null
    return explain(await evidenceOf(await this.#existing(id), at, this.#stores, this.#context))
  }

  #new(id: string, input: AnyScheduleInput, timer?: string): Promise<NewSchedule> {
    return newSchedule(id, input, this.#context, () => this.#stores.schedules.now(), timer)
  }

  async #enable(id: string, enabled: boolean, { ifVersion }: IfVersion): Promise<Schedule> {
    const check = checkOf(id, ifVersion, this.#context)
    return this.#written(
      id,
      await this.#stores.schedules.update(id, { enabled }, (current) => {
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
    const schedule = await this.#stores.schedules.get(id)
    if (schedule === null) throw new NotFoundError('schedule', id)
    return schedule
  }
}
