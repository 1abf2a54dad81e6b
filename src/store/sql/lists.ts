import type { Attempt } from '../../model/attempt.ts'
import type { Job, JobState } from '../../model/job.ts'
import { ANY_OWNER, type Owner, shownId, storedIds } from '../../model/owner.ts'
import type { Schedule, ScheduleStatus } from '../../model/schedule.ts'
import type { LogLevel } from '../executing-store.ts'
import { fromStored, fromText, toText } from '../instant.ts'
import type {
  Counts,
  Failure,
  HourCount,
  JobConditions,
  JobSelection,
  ListBounds,
  Listed,
  ListPage,
  ListStore,
  LogLine,
  MatchingIds,
  RecentRun,
  ChangeTokens,
  ScheduleConditions,
  ScheduleSelection,
  TimerGroup,
  TimerRow,
} from '../list-store.ts'
import { integerLiteral } from '../literals.ts'
import { attemptsOf } from './attempts.ts'
import type { TablesContext } from './context.ts'
import { jobRange, scheduleRange } from './list-ranges.ts'
import { failuresIn, hoursIn, timerGroupsIn, timersIn } from './overviews.ts'
import { findOwn, shownJob, shownSchedule } from './own-ids.ts'
import { type Condition, ownedBy } from './owned.ts'
import { countEach, countTogether, idsIn, page } from './pages.ts'
import {
  jobColumns,
  type JobRow,
  type ListedRow,
  previewBytes,
  scheduleColumns,
  type ScheduleRow,
  toListedJob,
  toListedSchedule,
} from './rows.ts'
import { both, NOTHING } from './selection.ts'

const STATUSES: readonly ScheduleStatus[] = ['active', 'paused', 'done', 'dead', 'invalid', 'retired']
const STATES: readonly JobState[] = [
  'waiting',
  'blocked',
  'running',
  'success',
  'failed',
  'cancelled',
  'skipped',
]
/** Selections in one statement. */
const MOST_SELECTIONS = 100
/** The form of generated ids. */
const GENERATED = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i
export class SqlLists implements ListStore {
  readonly #context: TablesContext
  readonly #owner: Owner
  readonly #own: Condition

  constructor(context: TablesContext, owner: Owner = ANY_OWNER) {
    this.#context = context
    this.#owner = owner
    this.#own = ownedBy(owner)
  }

  ownedBy(owner: Owner): ListStore {
    return new SqlLists(this.#context, owner)
  }

  async schedules(selection: ScheduleSelection): Promise<ListPage<Listed<Schedule>>> {
    const { after } = selection
    const range = scheduleRange(this.#context, this.#owner, selection, {
      ...selection,
      after: after === undefined ? undefined : await this.#storedId('schedule', after),
    })
    const columns = scheduleColumns(this.#context.dialect, previewBytes(selection.limit))
    const { rows, ...total } = await page<ListedRow<ScheduleRow>>(this.#context, range, selection, columns)
    return { items: rows.map((row) => shownSchedule(this.#owner, toListedSchedule(row))), ...total }
  }

  async jobs(selection: JobSelection): Promise<ListPage<Listed<Job>>> {
    const { before } = selection
    const range = jobRange(this.#context, this.#owner, await this.#stored(selection), {
      before: before === undefined ? undefined : await this.#storedId('job', before),
    })
    const columns = jobColumns(this.#context.dialect, previewBytes(selection.limit))
    const { rows, ...total } = await page<ListedRow<JobRow>>(this.#context, range, selection, columns)
    return { items: rows.map((row) => shownJob(this.#owner, toListedJob(row))), ...total }
  }

  async jobIds(conditions: JobConditions, limit: number, bounds: ListBounds): Promise<MatchingIds> {
    const range = jobRange(this.#context, this.#owner, await this.#stored(conditions))
    const { ids, isComplete } = await idsIn(this.#context, range, limit, bounds)
    return { ids: ids.map((id) => shownId(this.#owner, id)), isComplete }
  }

  scheduleCounts(conditions: ScheduleConditions, bounds: ListBounds): Promise<Counts<ScheduleStatus>> {
    const { status, ...others } = conditions
    const range = scheduleRange(this.#context, this.#owner, others)
    const names = status === undefined ? STATUSES : [status]
    if (range.index === null && range.filter.text === '') {
      return countEach(
        this.#context,
        names,
        (name) => scheduleRange(this.#context, this.#owner, { status: name }),
        bounds,
      )
    }
    return countTogether(this.#context, range, 'status', names, bounds)
  }

  async jobCounts(conditions: JobConditions, bounds: ListBounds): Promise<Counts<JobState>> {
    const { state, ...others } = await this.#stored(conditions)
    const range = jobRange(this.#context, this.#owner, others)
    const names = state === undefined ? STATES : [state]
    if (range.index === null && range.where.text === '' && range.filter.text === '') {
      return countEach(
        this.#context,
        names,
        (name) => jobRange(this.#context, this.#owner, { state: name }),
        bounds,
      )
    }
    return countTogether(this.#context, range, 'state', names, bounds)
  }

  async recentRuns(
    schedules: readonly string[],
    limit: number,
  ): Promise<ReadonlyMap<string, readonly RecentRun[]>> {
    const { job, occurrenceIndex } = this.#context.tables
    const { dialect } = this.#context
    const runs = new Map<string, RecentRun[]>(schedules.map((id) => [id, []]))
    const ids = await findOwn(this.#context, 'schedule', this.#owner, schedules)
    const stored = [...ids.values()]
    const columns = ['slot', 'started', 'finished'].map((column) => `${dialect.instant(column)} AS ${column}`)
    const selection = `SELECT id, periodic_task_id AS schedule, state, ${columns.join(', ')}
      FROM ${dialect.found(job, { index: occurrenceIndex })}
      WHERE periodic_task_id = ?${this.#own.text}
      ORDER BY ${job}.slot DESC
      LIMIT ${integerLiteral(limit)}`
    for (let start = 0; start < stored.length; start += MOST_SELECTIONS) {
      const some = stored.slice(start, start + MOST_SELECTIONS)
      const rows = await this.#context.rows<{
        id: string
        schedule: string
        state: JobState
        slot: string | null
        started: string | null
        finished: string | null
      }>(
        dialect.union(some.map(() => selection)),
        some.flatMap((id) => [id, ...this.#own.params]),
      )
      for (const { id, schedule, state, slot, started, finished } of rows)
        runs.get(shownId(this.#owner, schedule))?.push({
          id: shownId(this.#owner, id),
          state,
          slot: fromText(slot),
          started: fromText(started),
          finished: fromText(finished),
        })
    }
    return runs
  }

  async history(
    schedule: string,
    slots: { readonly from: Date } | { readonly before: Date | null },
    limit: number,
  ): Promise<Listed<Job>[]> {
    const id = (await findOwn(this.#context, 'schedule', this.#owner, [schedule])).get(schedule)
    if (id === undefined) return []
    const [condition, order, slot] =
      'from' in slots ? [' AND slot >= ?', 'slot', slots.from] : [' AND slot < ?', 'slot DESC', slots.before]
    // The unique key of occurrences filters and orders.
    const rows = await this.#context.rows<ListedRow<JobRow>>(
      `SELECT ${jobColumns(this.#context.dialect, previewBytes(limit))}
       FROM ${this.#context.tables.job}
       WHERE periodic_task_id = ?${slot === null ? '' : condition}${this.#own.text}
       ORDER BY ${this.#context.tables.job}.${order}
       LIMIT ${integerLiteral(limit)}`,
      [id, ...(slot === null ? [] : [toText(slot)]), ...this.#own.params],
    )
    return rows.map((row) => shownJob(this.#owner, toListedJob(row)))
  }

  async logs(job: string, after: number, limit: number): Promise<LogLine[] | null> {
    const stored = await findOwn(this.#context, 'job', this.#owner, [job])
    const [found] = await this.#context.rows<{ id: string }>(
      `SELECT id FROM ${this.#context.tables.job} WHERE id = ?${this.#own.text}`,
      [stored.get(job) ?? null, ...this.#own.params],
    )
    if (found === undefined) return null
    // The index on job and id holds filter and order.
    const rows = await this.#context.rows<{ id: number; at: string; level: LogLevel; message: string }>(
      `SELECT id, ${this.#context.dialect.instant('at')} AS at, level, message
       FROM ${this.#context.tables.log}
       WHERE job_id = ? AND id > ?
       ORDER BY id
       LIMIT ${integerLiteral(limit)}`,
      [found.id, after],
    )
    return rows.map((row) => ({ ...row, at: fromStored(row.at) }))
  }

  attempts(job: string, limit: number): Promise<Listed<Attempt>[] | null> {
    return attemptsOf(this.#context, this.#owner, job, limit)
  }

  async failures(
    conditions: JobConditions,
    bounds: ListBounds & { readonly limit: number },
  ): Promise<{ readonly items: Failure[]; readonly complete: boolean }> {
    const range = jobRange(this.#context, this.#owner, {
      ...(await this.#stored(conditions)),
      state: 'failed',
    })
    const { items, complete } = await failuresIn(this.#context, range, bounds)
    return { items: items.map((item) => ({ ...item, id: shownId(this.#owner, item.id) })), complete }
  }

  async tasks(limit: number): Promise<string[]> {
    const { schedule } = this.#context.tables
    const where = this.#own.text === '' ? '' : ` WHERE 1 = 1${this.#own.text}`
    const rows = await this.#context.rows<{ task: string }>(
      `SELECT DISTINCT task FROM ${schedule}${where} ORDER BY task LIMIT ${integerLiteral(limit)}`,
      this.#own.params,
    )
    return rows.map(({ task }) => task)
  }

  timerGroups(
    conditions: ScheduleConditions,
    bounds: ListBounds,
  ): Promise<{ readonly groups: TimerGroup[]; readonly complete: boolean }> {
    const range = scheduleRange(this.#context, this.#owner, { ...conditions, status: 'active' })
    return timerGroupsIn(this.#context, range, bounds)
  }

  async *timers(conditions: ScheduleConditions, atOnce: number): AsyncGenerator<TimerRow[], void> {
    const range = scheduleRange(this.#context, this.#owner, { ...conditions, status: 'active' })
    const isByStatus = range.index === this.#context.tables.scheduleStatusIndex
    for await (const rows of timersIn(this.#context, range, { atOnce, isByStatus }))
      yield rows.map((row) => ({ ...row, id: shownId(this.#owner, row.id) }))
  }

  async finishedPerHour(
    conditions: JobConditions & { readonly finishedFrom: Date; readonly finishedTo: Date },
    bounds: ListBounds,
  ): Promise<{ readonly hours: HourCount[]; readonly complete: boolean }> {
    const { id: _, schedule, worker: __, ...others } = await this.#stored(conditions)
    const range = jobRange(this.#context, this.#owner, others)
    const ofSchedule =
      schedule === undefined ? NOTHING : { text: ' AND periodic_task_id = ?', params: [schedule] }
    return await hoursIn(this.#context, { ...range, filter: both(range.filter, ofSchedule) }, bounds)
  }

  async changeTokens(): Promise<ChangeTokens> {
    const { schedule, job, worker } = this.#context.tables
    const [schedules = '', jobs = ''] = await this.#context.dialect.changeTokens(this.#context.database, [
      schedule,
      job,
    ])
    // Heartbeats change this table all the time; who is there is another matter.
    const rows = await this.#context.rows<{ id: string }>(`SELECT id FROM ${worker} ORDER BY id`)
    return { schedules, jobs, workers: rows.map(({ id }) => id).join(' ') }
  }

  /** The conditions with the id under which the schedule is stored. */
  async #stored<Conditions extends JobConditions>(conditions: Conditions): Promise<Conditions> {
    const { schedule } = conditions
    if (schedule === undefined) return conditions
    return { ...conditions, schedule: await this.#storedId('schedule', schedule) }
  }

  /** The id under which a row is stored; of one that is gone, the likelier one. */
  async #storedId(table: 'schedule' | 'job', name: string): Promise<string> {
    const found = await findOwn(this.#context, table, this.#owner, [name])
    const [chosen = name, generated = name] = storedIds(this.#owner, name)
    return found.get(name) ?? (GENERATED.test(name) ? generated : chosen)
  }
}
