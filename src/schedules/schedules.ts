import { isDeepStrictEqual } from 'node:util'
import { ConflictError, missing, VersionError } from '../errors.ts'
import { checkKeys } from '../keys.ts'
import { checkOpenJobs, checkPeriod } from '../model/authority.ts'
import { checkedReason } from '../model/checked-settings.ts'
import { SCHEDULE_FILTERS } from '../model/filters.ts'
import {
  checkedConditions,
  checkedId,
  checkedInstant,
  checkedLimit,
  oneOf,
  PAGE_POSITION,
} from '../model/input.ts'
import { type ScheduleStatus, STATUSES } from '../model/states.ts'
import { runNow } from '../model/manual-runs.ts'
import type { Job } from '../model/job.ts'
import { elapsesOf, planEdit } from '../model/plan.ts'
import { isGoingOn, type Schedule } from '../model/schedule.ts'
import type { Counts, Listed, ListPage, ScheduleConditions, ScheduleQuery } from '../store/list-store.ts'
import type { TransactionOption } from '../store/job-store.ts'
import type { Check, PutResult } from '../store/schedule-store.ts'
import { createOrFind, put } from './creating.ts'
import { evidenceOf } from './evidence.ts'
import { explain, type Explanation } from './explain.ts'
import {
  type AnyScheduleInput,
  checkChanges,
  type CreateOptions,
  type ScheduleChanges,
  type ScheduleInput,
  settingsChanges,
} from './settings.ts'
import {
  argsOfOneRun,
  checkOf,
  type HistoryQuery,
  type PauseOptions,
  type SchedulesContext,
  type ScheduleStores,
  versionOf,
  type WriteOptions,
  type WritePlace,
} from './writes.ts'

const DEFAULT_ELAPSES = 5
const GOING_ON = STATUSES.filter(isGoingOn)

/** The operations on schedules: `kalends.schedules`, and `schedules` of a scope, limited to its owner's rows. */
export class Schedules {
  readonly #stores: ScheduleStores
  readonly #context: SchedulesContext

  constructor(stores: ScheduleStores, context: SchedulesContext) {
    this.#stores = stores
    this.#context = context
  }

  /**
   * Creates a schedule.
   *
   * @throws InvalidInputError naming the field
   * @throws CalendarSyntaxError, CronSyntaxError or InvalidTimeSpanError when the timer is invalid
   * @throws ConflictError when the id is in use; with `ifExists: 'same'`, only if that schedule has other settings
   * @throws ForbiddenError when the scope does not include the task
   * @throws LimitError when the owner has reached its limit on schedules
   */
  create<Input>(input: ScheduleInput<Input> & CreateOptions, options?: TransactionOption): Promise<Schedule>
  create(
    input: AnyScheduleInput & { readonly task: string } & CreateOptions,
    options?: TransactionOption,
  ): Promise<Schedule>
  async create(given: AnyScheduleInput & CreateOptions, options: TransactionOption = {}): Promise<Schedule> {
    return (await this.createOrFind(given, options)).schedule
  }

  /** For `kalends/http`: like `create`, but also returns whether the schedule was created. @internal */
  async createOrFind(
    given: AnyScheduleInput & CreateOptions,
    options: TransactionOption = {},
  ): Promise<{ isNew: boolean; schedule: Schedule }> {
    checkKeys(options, ['tx'])
    const written = await createOrFind(given, this.#in(options), this.#context)
    this.#context.onWrite()
    if (written.isNew) this.#context.checkHandled([written.schedule.task])
    return written
  }

  /**
   * Creates the schedule with this id, or changes those of its settings that differ. `enabled` only applies to a new
   * schedule, so a paused schedule stays paused. You can change the value that `get` returns and pass it to `put`,
   * which ignores the state.
   *
   * @throws VersionError, and as `create` does, except that the id may be in use
   */
  put<Input>(id: string, input: ScheduleInput<Input>, options?: WriteOptions): Promise<PutResult>
  put(
    id: string,
    input: AnyScheduleInput & { readonly task: string },
    options?: WriteOptions,
  ): Promise<PutResult>
  async put(id: string, input: AnyScheduleInput, options: WriteOptions = {}): Promise<PutResult> {
    const check = checkOf(id, options, this.#context)
    const written = await put(id, input, options, check, this.#in(options), this.#context)
    if (written.result === 'unchanged') return written
    this.#context.onWrite()
    this.#context.checkHandled([written.schedule.task])
    return written
  }

  /**
   * The version of a schedule's settings, for `ifVersion`. It changes with each edit, but not with runs. It excludes
   * the values that `redact` hides; otherwise callers could use versions to guess hidden values.
   */
  versionOf(schedule: Schedule): string {
    return versionOf(schedule, this.#context)
  }

  /** @returns null when the schedule does not exist */
  async get(id: string): Promise<Schedule | null> {
    return await this.#stores.schedules.get(checkedId('schedule', id))
  }

  /**
   * Lists schedules, ordered by id or by next run. Large values are left out; see `truncated`. For each page, a text
   * search covers the next 100,000 rows that match the other filters.
   *
   * @throws InvalidInputError
   */
  async list(options: ScheduleQuery = {}): Promise<ListPage<Listed<Schedule>>> {
    checkKeys(options, [...Object.keys(SCHEDULE_FILTERS), 'limit', 'order', 'after'])
    const { limit, order, ...query } = options
    checkedConditions('', query, { ...SCHEDULE_FILTERS, after: PAGE_POSITION })
    oneOf('order', order, ['id', 'nextRunAt'])
    return this.#stores.lists.schedules({ ...query, order, limit: checkedLimit(limit) })
  }

  /** The number of schedules by status. */
  async count(conditions: ScheduleConditions = {}): Promise<Counts<ScheduleStatus>> {
    checkedConditions('', conditions, SCHEDULE_FILTERS)
    return await this.#stores.lists.scheduleCounts(conditions)
  }

  /**
   * Changes the given settings. A new timer is planned from now. If the task changes, the args must match the new task.
   *
   * @throws NotFoundError, VersionError, and as `create` does
   */
  async update(id: string, changes: ScheduleChanges, options: WriteOptions = {}): Promise<Schedule> {
    const check = checkOf(id, options, this.#context)
    checkChanges(changes)
    const { ifVersion } = options
    const { schedules } = this.#in(options)
    const read =
      typeof ifVersion === 'object' && ifVersion !== null ? ifVersion : await this.#existing(id, schedules)
    const settings = await settingsChanges(read, changes, this.#context)
    const { limits } = this.#context.authority
    if (limits !== null && settings.timer !== undefined)
      checkPeriod(limits, settings.timer, await schedules.now())
    const updated = this.#written(
      id,
      await schedules.update(
        id,
        settings,
        (current) => {
          check(current)
          // New args were checked for the task that was read. If only the task is replaced, the args that were read
          // were checked for the new task.
          const stay = settings.task !== undefined && settings.args === undefined
          if (current.task !== read.task || (stay && !isDeepStrictEqual(current.args, read.args)))
            throw new VersionError(id)
        },
        planEdit,
      ),
    )
    if (settings.task !== undefined) this.#context.checkHandled([updated.task])
    return updated
  }

  /** Deletes a schedule and returns it; its submitted jobs stay. @throws NotFoundError, ForbiddenError, VersionError */
  async delete(id: string, options: WriteOptions = {}): Promise<Schedule> {
    const check = checkOf(id, options, this.#context)
    return this.#written(id, await this.#in(options).schedules.delete(id, check))
  }

  /**
   * Until `resume`, only manual runs are submitted. A running job continues; see `PauseOptions.jobs` for its retries.
   *
   * @throws NotFoundError, ForbiddenError, VersionError
   * @throws ConflictError when the schedule is already paused, or has no further runs
   */
  async pause(id: string, options: PauseOptions = {}): Promise<Schedule> {
    const needed = 'only an active, retrying or frozen schedule can be paused'
    const check = this.#checkStatus(id, options, GOING_ON, needed, ['jobs', 'reason'])
    const jobs = oneOf('jobs', options.jobs, ['leave', 'cancel']) ?? 'leave'
    const reason = checkedReason(options.reason)
    const { schedules } = this.#in(options)
    return this.#written(id, await schedules.pause(id, { jobs, reason }, check, planEdit))
  }

  /**
   * Plans the schedule from now. Slots during the pause do not count as missed.
   *
   * @throws NotFoundError, ForbiddenError, VersionError
   * @throws ConflictError when the schedule is not paused
   */
  async resume(id: string, options: WriteOptions = {}): Promise<Schedule> {
    const check = this.#checkStatus(id, options, ['paused'], 'only a paused schedule can be resumed')
    const { schedules } = this.#in(options)
    return this.#written(id, await schedules.update(id, { enabled: true }, check, planEdit))
  }

  /**
   * Reactivates a schedule that is done or dead: its counters are cleared, and it is planned from now.
   *
   * @throws NotFoundError, ForbiddenError, VersionError
   * @throws ConflictError when the schedule is neither done nor dead
   */
  async reset(id: string, options: WriteOptions = {}): Promise<Schedule> {
    const needed = 'only a schedule that is done or dead can be reset'
    const check = this.#checkStatus(id, options, ['done', 'dead'], needed)
    return this.#written(id, await this.#in(options).schedules.reset(id, check, planEdit))
  }

  /**
   * Submits a run now, in addition to the timer. This also works for a paused schedule.
   *
   * @param options.args  for this run only; default: the schedule's own
   * @returns the id of the job
   * @throws NotFoundError, ForbiddenError, LimitError, VersionError
   * @throws InvalidInputError when the args do not match the task
   * @throws ConflictError if a job of the schedule is not final and its runs may not overlap
   */
  async runNow(id: string, options: { readonly args?: unknown } & WriteOptions = {}): Promise<string> {
    const check = checkOf(id, options, this.#context, ['args'])
    const { tx } = options
    const { schedules, inTurn } = this.#in(options)
    // Args are checked against the schema of a task, which must still be the schedule's task when they are stored.
    const wanted = options.args === undefined ? undefined : (await this.#existing(id, schedules)).task
    const args = await argsOfOneRun(wanted, options.args, this.#context)
    const { limits } = this.#context.authority
    const job = await inTurn(async () => {
      const { jobs } = this.#stores
      if (limits !== null)
        checkOpenJobs(limits, await (tx === undefined ? jobs : jobs.in(tx)).countOpen(limits.openJobs), 1)
      return schedules.runNow(id, args, (schedule, now) => {
        check(schedule)
        if (wanted !== undefined && schedule.task !== wanted) throw new VersionError(id)
        return runNow(schedule, now)
      })
    })
    if (job === null) missing('schedule', id)
    this.#context.onWrite()
    return job
  }

  /**
   * The next elapses of the schedule's timer, strictly after `after` (default: now).
   *
   * @param options.limit  1 to 1000, default 5
   * @throws NotFoundError
   * @throws CalendarSyntaxError, CronSyntaxError or InvalidTimeSpanError when the timer is invalid
   */
  async elapses(
    id: string,
    options: { readonly after?: Date | undefined; readonly limit?: number | undefined } = {},
  ): Promise<Date[]> {
    checkKeys(options, ['after', 'limit'])
    const limit = checkedLimit(options.limit, DEFAULT_ELAPSES)
    const after = checkedInstant('after', options.after) ?? (await this.#stores.schedules.now())
    const event = elapsesOf(await this.#existing(id), after)
    const elapses: Date[] = []
    for (let at = event.next(after); at !== null && elapses.length < limit; at = event.next(at))
      elapses.push(at)
    return elapses
  }

  /** Runs and skips in one list, newest slot first, without large values. @throws NotFoundError */
  async history(id: string, query: HistoryQuery = {}): Promise<Listed<Job>[]> {
    checkKeys(query, ['before', 'limit'])
    await this.#existing(id)
    const before = checkedInstant('before', query.before) ?? null
    return this.#stores.lists.history(id, { before }, checkedLimit(query.limit))
  }

  /**
   * Explains in words why a schedule did or did not run, and when it will run next.
   *
   * @param options.at  the time in question; default: now
   * @throws NotFoundError
   */
  async explain(id: string, options: { readonly at?: Date | undefined } = {}): Promise<Explanation> {
    checkKeys(options, ['at'])
    const at = checkedInstant('at', options.at) ?? null
    return explain(await evidenceOf(await this.#existing(id), at, this.#stores, this.#context))
  }

  /**
   * Where a call writes. In the caller's transaction, the call does not wait for a turn, because the call that has the
   * turn may be waiting for a lock that this transaction holds.
   */
  #in({ tx }: TransactionOption): WritePlace {
    const { schedules } = this.#stores
    if (tx === undefined) return { schedules, inTurn: this.#context.inTurn }
    return { schedules: schedules.in(tx), inTurn: (work) => work() }
  }

  /** @throws ConflictError unless the schedule has an allowed status, and what the check of `checkOf` throws */
  #checkStatus(
    id: string,
    options: WriteOptions,
    allowed: readonly ScheduleStatus[],
    needed: string,
    known?: readonly string[],
  ): Check<Schedule> {
    const check = checkOf(id, options, this.#context, known)
    return (current) => {
      check(current)
      if (!allowed.includes(current.status))
        throw new ConflictError(`The schedule '${current.id}' is ${current.status}; ${needed}`)
    }
  }

  /** @throws NotFoundError when the schedule does not exist */
  #written(id: string, schedule: Schedule | null): Schedule {
    if (schedule === null) missing('schedule', id)
    this.#context.onWrite()
    return schedule
  }

  async #existing(id: string, schedules = this.#stores.schedules): Promise<Schedule> {
    return (await schedules.get(checkedId('schedule', id))) ?? missing('schedule', id)
  }
}
