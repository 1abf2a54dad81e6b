/**
 * The operations on schedules that users and application code can run. None of these operations plans a schedule: the
 * scheduler notices every edit, whether it was made here or in SQL.
 */
import { isDeepStrictEqual } from 'node:util'
import { ConflictError, InvalidInputError, NotFoundError, VersionError } from '../errors.ts'
import { checkKeys, namesOf } from '../keys.ts'
import { checkOpenJobs, checkPeriod } from '../model/authority.ts'
import { checkedReason } from '../model/checked-settings.ts'
import { SCHEDULE_FILTERS } from '../model/filters.ts'
import { PAGE_POSITION, checkedConditions, checkedInstant, checkedLimit, oneOf } from '../model/input.ts'
import type { SettingValues } from '../model/settings.ts'
import type { ScheduleStatus } from '../model/states.ts'
import { runNow } from '../model/manual-runs.ts'
import type { Job } from '../model/job.ts'
import { newJobId } from '../model/occurrence.ts'
import { newId } from '../model/owner.ts'
import { elapsesOf, planEdit } from '../model/plan.ts'
import { changedSettings, isGoingOn, type Schedule } from '../model/schedule.ts'
import type { Counts, Listed, ListPage, ScheduleConditions, ScheduleQuery } from '../store/list-store.ts'
import type { TransactionOption } from '../store/job-store.ts'
import { argsOfOneRun, checkCount, checkOf, versionOf } from './checks.ts'
import type { HistoryQuery, PauseOptions, SchedulesContext, ScheduleStores, WriteOptions } from './context.ts'
import { evidenceOf } from './evidence.ts'
import { explain, type Explanation } from './explain.ts'
import {
  type AnyScheduleInput,
  type CreateOptions,
  DECLARATION,
  IF_EXISTS,
  newSchedule,
  type ScheduleChanges,
  type ScheduleInput,
  settingsChanges,
} from './settings.ts'

const DEFAULT_ELAPSES = 5
const CREATE = [...DECLARATION, 'ifExists']
/** The input of `put`, including everything that `get` returns; `put` ignores the state. */
const WITH_STATE = [
  ...DECLARATION,
  ...namesOf<Omit<Schedule, keyof SettingValues | 'args' | 'id'>>({
    status: true,
    nextRunAt: true,
    waitingFor: true,
    declaredBy: true,
    createdAt: true,
    lastSlot: true,
    runCount: true,
    errorCount: true,
    failedAttempts: true,
    lastRunAt: true,
    lastFinishedAt: true,
    lastJobId: true,
    lastError: true,
    pauseReason: true,
    frozenUntil: true,
    retryAt: true,
    retry: true,
    retryLimit: true,
    markedBy: true,
  }),
]

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
   * @throws InvalidInputError naming the field, CalendarSyntaxError when the timer is invalid
   * @throws ConflictError when the id is in use; with `ifExists: 'same'`, by a schedule with other settings
   * @throws ForbiddenError when the scope does not include the task
   * @throws LimitError when the owner has reached its limit of schedules
   */
  create<Input>(input: ScheduleInput<Input> & CreateOptions, options?: TransactionOption): Promise<Schedule>
  create(
    input: AnyScheduleInput & { readonly task: string } & CreateOptions,
    options?: TransactionOption,
  ): Promise<Schedule>
  async create(given: AnyScheduleInput & CreateOptions, options: TransactionOption = {}): Promise<Schedule> {
    return (await this.createOrFind(given, options)).schedule
  }

  /**
   * For `kalends/http`: like `put`, but also returns whether the schedule was created.
   *
   * @internal
   */
  async createOrFind(
    given: AnyScheduleInput & CreateOptions,
    options: TransactionOption = {},
  ): Promise<{ isNew: boolean; schedule: Schedule }> {
    checkKeys(options, ['tx'])
    const { ifExists, ...input } = given
    const isSameFine = oneOf('ifExists', ifExists, IF_EXISTS) === 'same'
    const { id } = input
    if (isSameFine && id === undefined)
      throw new InvalidInputError('ifExists', 'requires an id, to find the same schedule again')
    const { authority, onWrite } = this.#context
    const { schedules, inTurn } = this.#in(options)
    const stored = id === undefined ? newJobId(new Date()) : newId(authority.owner, id)
    const timer = isSameFine && id !== undefined ? (await schedules.get(id))?.timer : undefined
    const created = await newSchedule(stored, input, this.#context, schedules, timer, CREATE)
    const written = await inTurn(async () => {
      // The owner could also have a row with the same visible id whose stored id has no prefix.
      const isHidden = id !== undefined && id !== stored
      const existing = isSameFine || isHidden ? await schedules.get(id ?? '') : null
      if (existing !== null && !isSameFine) throw inUse(existing.id)
      if (existing === null) await checkCount(authority.limits, schedules)
      if (!isSameFine || id === undefined)
        return { isNew: true, schedule: await schedules.create(created, planEdit) }
      const { declaredBy: _, ...wanted } = created.settings
      const { result, schedule } = await schedules.put(
        id,
        () => created,
        (current) => {
          if (Object.keys(changedSettings(current, wanted)).length > 0) throw inUse(id, 'different ')
          return {}
        },
        planEdit,
      )
      return { isNew: result === 'created', schedule }
    })
    onWrite()
    return written
  }

  /**
   * Creates the schedule with this id, or changes those of its settings that differ. `enabled` only applies to a new
   * schedule, so a paused schedule stays paused. You can change the value that `get` returns and pass it to `put`,
   * which ignores the state.
   *
   * @throws as `create` does, except that the id may be in use
   */
  put<Input>(
    id: string,
    input: ScheduleInput<Input>,
    options?: WriteOptions,
  ): Promise<{ result: 'created' | 'changed' | 'unchanged'; schedule: Schedule }>
  put(
    id: string,
    input: AnyScheduleInput & { readonly task: string },
    options?: WriteOptions,
  ): Promise<{ result: 'created' | 'changed' | 'unchanged'; schedule: Schedule }>
  async put(
    id: string,
    input: AnyScheduleInput,
    options: WriteOptions = {},
  ): Promise<{ result: 'created' | 'changed' | 'unchanged'; schedule: Schedule }> {
    if ('id' in input && input.id !== id)
      throw new InvalidInputError('id', `the schedule '${id}' cannot get another id; leave it out`)
    const { schedules, inTurn } = this.#in(options)
    const existing = await schedules.get(id)
    const created = await newSchedule(id, input, this.#context, schedules, existing?.timer, WITH_STATE)
    // An existing schedule keeps these values, because `enabled` belongs to users.
    const { enabled: _, declaredBy: __, ...wanted } = created.settings
    const check = checkOf(id, options, this.#context)
    const { limits } = this.#context.authority
    const written = await inTurn(async () => {
      // If the owner has limits, another call may have created the schedule before this turn.
      const isNew = (limits === null ? existing : await schedules.get(id)) === null
      if (isNew) await checkCount(limits, schedules)
      return await schedules.put(
        id,
        () => {
          // The schedule was deleted in the meantime, and a schedule that was not counted must not be created.
          if ((options.ifVersion ?? null) !== null || !isNew) throw new VersionError(id)
          return created
        },
        (current) => {
          check(current)
          return changedSettings(current, wanted)
        },
        planEdit,
      )
    })
    if (written.result !== 'unchanged') this.#context.onWrite()
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
  get(id: string): Promise<Schedule | null> {
    return this.#stores.schedules.get(id)
  }

  /**
   * Lists schedules by id, or by next run. Large values are left out; see `truncated`. For each page, a text search
   * covers the next 100,000 rows that match the other filters.
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
   * @throws NotFoundError, and as `create` does
   */
  async update(id: string, changes: ScheduleChanges, options: WriteOptions = {}): Promise<Schedule> {
    const { ifVersion } = options
    const { schedules } = this.#in(options)
    const read =
      typeof ifVersion === 'object' && ifVersion !== null ? ifVersion : await this.#existing(id, schedules)
    const settings = await settingsChanges(read, changes, this.#context)
    const { limits } = this.#context.authority
    if (limits !== null && settings.timer !== undefined)
      checkPeriod(limits, settings.timer, await schedules.now())
    const check = checkOf(id, options, this.#context)
    return this.#written(
      id,
      await schedules.update(
        id,
        settings,
        (current) => {
          check(current)
          // The new args were checked for this task. If only the task is replaced, the stored args were checked for the
          // new task.
          const stay = settings.task !== undefined && settings.args === undefined
          if (current.task !== read.task || (stay && !isDeepStrictEqual(current.args, read.args)))
            throw new VersionError(id)
        },
        planEdit,
      ),
    )
  }

  /** Deletes a schedule and returns it. Jobs that were already submitted stay. @throws NotFoundError */
  async delete(id: string, options: WriteOptions = {}): Promise<Schedule> {
    return this.#written(
      id,
      await this.#in(options).schedules.delete(id, checkOf(id, options, this.#context)),
    )
  }

  /**
   * Submits nothing until `resume`. A running job continues.
   *
   * @throws NotFoundError
   * @throws ConflictError when the schedule is already paused, or has no further runs
   */
  async pause(id: string, options: PauseOptions = {}): Promise<Schedule> {
    const check = checkOf(id, options, this.#context, ['jobs', 'reason'])
    const jobs = oneOf('jobs', options.jobs, ['leave', 'cancel']) ?? 'leave'
    const reason = checkedReason(options.reason)
    const paused = await this.#in(options).schedules.pause(
      id,
      { jobs, reason },
      (current) => {
        check(current)
        requireStatus(current, isGoingOn(current.status), 'only an active schedule can be paused')
      },
      planEdit,
    )
    return this.#written(id, paused)
  }

  /**
   * Plans the schedule from now. Slots during the pause do not count as missed.
   *
   * @throws NotFoundError, ConflictError when the schedule is not paused
   */
  async resume(id: string, options: WriteOptions = {}): Promise<Schedule> {
    const check = checkOf(id, options, this.#context)
    const resumed = await this.#in(options).schedules.update(
      id,
      { enabled: true },
      (current) => {
        check(current)
        requireStatus(current, current.status === 'paused', 'only a paused schedule can be resumed')
      },
      planEdit,
    )
    return this.#written(id, resumed)
  }

  /**
   * Reactivates a schedule that is done or dead: its counters are cleared, and it is planned from now.
   *
   * @throws NotFoundError
   * @throws ConflictError when the schedule is neither done nor dead
   */
  async reset(id: string, options: WriteOptions = {}): Promise<Schedule> {
    const check = checkOf(id, options, this.#context)
    return this.#written(
      id,
      await this.#in(options).schedules.reset(
        id,
        (current) => {
          check(current)
          const isOver = current.status === 'done' || current.status === 'dead'
          requireStatus(current, isOver, 'only a schedule that is done or dead can be reset')
        },
        planEdit,
      ),
    )
  }

  /**
   * Submits a run now, in addition to the timer. This also works for a paused schedule.
   *
   * @param options.args  for this run only; default: the schedule's own
   * @returns the id of the job
   * @throws NotFoundError, VersionError
   * @throws InvalidInputError when the args do not match the task
   * @throws ConflictError naming the non-final job of the schedule, unless its runs may overlap
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
    if (job === null) throw new NotFoundError('schedule', id)
    this.#context.onWrite()
    return job
  }

  /**
   * The next elapses of the schedule's timer, strictly after `after` (default: now).
   *
   * @param options.limit  1 to 1000, default 5
   * @throws NotFoundError, CalendarSyntaxError when the timer is invalid
   */
  async elapses(id: string, options: { after?: Date; limit?: number } = {}): Promise<Date[]> {
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
   * Where a call writes. In the caller's transaction, do not wait for a turn, because the call before it could be
   * waiting for a lock of this transaction.
   */
  #in({ tx }: TransactionOption): Pick<SchedulesContext, 'inTurn'> & Pick<ScheduleStores, 'schedules'> {
    const { schedules } = this.#stores
    if (tx === undefined) return { schedules, inTurn: this.#context.inTurn }
    return { schedules: schedules.in(tx), inTurn: (work) => work() }
  }

  /** @throws NotFoundError when the schedule does not exist */
  #written(id: string, schedule: Schedule | null): Schedule {
    if (schedule === null) throw new NotFoundError('schedule', id)
    this.#context.onWrite()
    return schedule
  }

  async #existing(id: string, schedules = this.#stores.schedules): Promise<Schedule> {
    const schedule = await schedules.get(id)
    if (schedule === null) throw new NotFoundError('schedule', id)
    return schedule
  }
}

/** @throws ConflictError */
function requireStatus({ id, status }: Schedule, isRight: boolean, needed: string): void {
  if (!isRight) throw new ConflictError(`The schedule '${id}' is ${status}; ${needed}`)
}

function inUse(id: string, which = ''): ConflictError {
  return new ConflictError(
    `A ${which}schedule with the id '${id}' already exists; use put or update to change it`,
  )
}
