import type { Job, JobState } from '../../model/job.ts'
import { ANY_OWNER, type Owner } from '../../model/owner.ts'
import type { Schedule, ScheduleStatus } from '../../model/schedule.ts'
import type { Database } from '../database.ts'
import type { LogLevel } from '../executing-store.ts'
import { fromStored, fromText } from '../instant.ts'
import type {
  Counts,
  Failure,
  HourCount,
  JobConditions,
  JobSelection,
  ListBounds,
  ListPage,
  ListStore,
  NumberedLine,
  PageBounds,
  RecentRun,
  Revisions,
  ScheduleConditions,
  ScheduleSelection,
  TimerGroup,
  TimerRow,
} from '../list-store.ts'
import { jobRange, scheduleRange } from './list-ranges.ts'
import { type Condition, ownedBy } from './owned.ts'
import { jobColumns, type JobRow, scheduleColumns, type ScheduleRow, toJob, toSchedule } from './rows.ts'
import { both, countOf, NOTHING, pageOf, type Range, searched, type Statement } from './selection.ts'
import type { Tables } from './tables.ts'

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
/** Characters of an error that tell failures apart. */
const ERROR_START = 500

interface TimerColumns {
  timer: string
  jitter: number
  starts: string | null
  ends: string | null
  created: string
}

export class SqlLists implements ListStore {
  readonly #database: Database
  readonly #tables: Tables
  readonly #owner: Owner
  readonly #own: Condition

  constructor(database: Database, tables: Tables, owner: Owner = ANY_OWNER) {
    this.#database = database
    this.#tables = tables
    this.#owner = owner
    this.#own = ownedBy(owner)
  }

  ownedBy(owner: Owner): ListStore {
    return new SqlLists(this.#database, this.#tables, owner)
  }

  async schedules(selection: ScheduleSelection): Promise<ListPage<Schedule>> {
    const range = scheduleRange(this.#tables, this.#owner, selection, selection)
    const rows = await this.#page<ScheduleRow>(range, selection, scheduleColumns(this.#database.dialect))
    return { items: rows.map(toSchedule), ...(await this.#total(range, selection)) }
  }

  async jobs(selection: JobSelection): Promise<ListPage<Job>> {
    const range = jobRange(this.#tables, this.#owner, selection, selection)
    const rows = await this.#page<JobRow>(range, selection, jobColumns(this.#database.dialect))
    return { items: rows.map(toJob), ...(await this.#total(range, selection)) }
  }

  scheduleCounts(conditions: ScheduleConditions, bounds: ListBounds): Promise<Counts<ScheduleStatus>> {
    const { status, ...others } = conditions
    const range = scheduleRange(this.#tables, this.#owner, others)
    const names = status === undefined ? STATUSES : [status]
    if (range.index === null && range.rest.text === '') {
      return this.#countEach(
        names,
        (name) => scheduleRange(this.#tables, this.#owner, { status: name }),
        bounds,
      )
    }
    return this.#countTogether(range, 'status', names, bounds)
  }

  jobCounts(conditions: JobConditions, bounds: ListBounds): Promise<Counts<JobState>> {
    const { state, ...others } = conditions
    const range = jobRange(this.#tables, this.#owner, others)
    const names = state === undefined ? STATES : [state]
    if (range.index === null && range.where.text === '' && range.rest.text === '') {
      return this.#countEach(names, (name) => jobRange(this.#tables, this.#owner, { state: name }), bounds)
    }
    return this.#countTogether(range, 'state', names, bounds)
  }

  async recentRuns(
    schedules: readonly string[],
    limit: number,
  ): Promise<ReadonlyMap<string, readonly RecentRun[]>> {
    const { job, occurrenceIndex } = this.#tables
    const { dialect } = this.#database
    const runs = new Map<string, RecentRun[]>(schedules.map((id) => [id, []]))
    const columns = ['slot', 'started', 'finished'].map((column) => `${dialect.instant(column)} AS ${column}`)
    const selection = `SELECT id, periodic_task_id AS schedule, state, ${columns.join(', ')} FROM ${job} ${dialect.byIndex(occurrenceIndex)} WHERE periodic_task_id = ?${this.#own.text} ORDER BY ${job}.slot DESC LIMIT ${limit}`
    for (let start = 0; start < schedules.length; start += MOST_SELECTIONS) {
      const some = schedules.slice(start, start + MOST_SELECTIONS)
      const rows = await this.#database.rows<{
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
        runs.get(schedule)?.push({
          id,
          state,
          slot: fromText(slot),
          started: fromText(started),
          finished: fromText(finished),
        })
    }
    return runs
  }

  async logs(job: string, after: number, limit: number): Promise<NumberedLine[] | null> {
    const [found] = await this.#database.rows<{ id: string }>(
      `SELECT id FROM ${this.#tables.job} WHERE id = ?${this.#own.text}`,
      [job, ...this.#own.params],
    )
    if (found === undefined) return null
    // The index on job and id holds filter and order.
    const rows = await this.#database.rows<{ id: number; at: string; level: LogLevel; message: string }>(
      `SELECT id, ${this.#database.dialect.instant('at')} AS at, level, message FROM ${this.#tables.log} WHERE job_id = ? AND id > ? ORDER BY id LIMIT ${limit}`,
      [job, after],
    )
    return rows.map((row) => ({ ...row, at: fromStored(row.at) }))
  }

  async failures(conditions: JobConditions, bounds: PageBounds): Promise<Failure[]> {
    const range = jobRange(this.#tables, this.#owner, { ...conditions, state: 'failed' })
    const finished = this.#database.dialect.instant('finished')
    const rows = await this.#page<{ id: string; task: string; error: string | null; ended: string | null }>(
      range,
      bounds,
      `id, task, SUBSTR(error, 1, ${ERROR_START}) AS error, ${finished} AS ended`,
    )
    return rows.map(({ id, task, error, ended }) => ({
      id,
      task,
      error: error ?? '',
      finished: fromText(ended),
    }))
  }

  async tasks(limit: number): Promise<string[]> {
    const { schedule } = this.#tables
    const where = this.#own.text === '' ? '' : ` WHERE 1 = 1${this.#own.text}`
    const rows = await this.#database.rows<{ task: string }>(
      `SELECT DISTINCT task FROM ${schedule}${where} ORDER BY task LIMIT ${limit}`,
      this.#own.params,
    )
    return rows.map(({ task }) => task)
  }

  async timerGroups(conditions: ScheduleConditions, bounds: ListBounds): Promise<TimerGroup[]> {
    const { dialect } = this.#database
    const range = scheduleRange(this.#tables, this.#owner, { ...conditions, status: 'active' })
    const instants = ['starts', 'ends'].map((column) => `${dialect.instant(column)} AS ${column}`)
    const seen = searched(range, dialect, bounds.searchWithin, [
      'id',
      'timer',
      'jitter',
      'starts',
      'ends',
      'created',
    ])
    // Only slots of `every` begin with the creation.
    const anchor = "CASE WHEN LOWER(TRIM(timer)) LIKE 'every%' THEN created END"
    const rows = await this.#database.rows<TimerColumns & { schedules: number }>(
      `SELECT timer, jitter, ${instants.join(', ')}, ${dialect.instant('MIN(created)')} AS created, COUNT(*) AS schedules FROM (${seen.text}) AS seen WHERE hit = 1 GROUP BY timer, jitter, seen.starts, seen.ends, ${anchor}`,
      seen.params,
    )
    return rows.map((row) => ({ ...timed(row), schedules: row.schedules }))
  }

  async *timers(conditions: ScheduleConditions, atOnce: number): AsyncGenerator<TimerRow[], void> {
    const { dialect } = this.#database
    const served = scheduleRange(this.#tables, this.#owner, { ...conditions, status: 'active' })
    // Where most are active the key is the shorter way: from the index, every row is looked up by itself. [20,000 of
    // 1,000,000 rows on MariaDB: 15 ms by the key, 37 by the index; 63 for the keys of a page and then its rows.]
    const byKey = { ...served, index: null, where: NOTHING, rest: both(served.where, served.rest) }
    let range = served.index === this.#tables.scheduleStatusIndex ? byKey : served
    const columns = ['starts', 'ends', 'created'].map((column) => `${dialect.instant(column)} AS ${column}`)
    for (let after = ''; ; ) {
      const from = { text: ' AND id > ?', params: [after] }
      const rows = await this.#rows<TimerColumns & { id: string; task: string; hit: number }>(
        searched({ ...range, where: both(range.where, from) }, dialect, atOnce, [
          'id',
          'task',
          'timer',
          'jitter',
          ...columns,
        ]),
      )
      const active = rows.filter(({ hit }) => hit === 1)
      yield active.map((row) => ({ id: row.id, task: row.task, ...timed(row) }))
      const last = rows.at(-1)
      if (last === undefined || rows.length < atOnce) return
      after = last.id
      if (active.length < atOnce / 2) range = served
    }
  }

  async finishedPerHour(
    conditions: JobConditions & { readonly finishedFrom: Date; readonly finishedTo: Date },
    bounds: ListBounds,
  ): Promise<{ readonly hours: HourCount[]; readonly complete: boolean }> {
    const { id: _, schedule, worker: __, ...others } = conditions
    const range = jobRange(this.#tables, this.#owner, others)
    const rest = both(
      range.rest,
      schedule === undefined ? NOTHING : { text: ' AND periodic_task_id = ?', params: [schedule] },
    )
    const seen = searched({ ...range, rest }, this.#database.dialect, bounds.searchWithin, [
      'id',
      'finished',
      'state',
    ])
    const rows = await this.#database.rows<{ hour: string; state: JobState; hit: number; jobs: number }>(
      `SELECT SUBSTR(CAST(finished AS CHAR), 1, 13) AS hour, state, hit, COUNT(*) AS jobs FROM (${seen.text}) AS seen GROUP BY 1, 2, 3 ORDER BY 1`,
      seen.params,
    )
    const looked = rows.reduce((sum, { jobs }) => sum + jobs, 0)
    return {
      hours: rows
        .filter(({ hit }) => hit === 1)
        .map(({ hour, state, jobs }) => ({ hour: fromStored(`${hour}:00:00.000`), state, jobs })),
      complete: looked < bounds.searchWithin,
    }
  }

  async revisions(): Promise<Revisions> {
    const { schedule, job, worker } = this.#tables
    const [schedules = '', jobs = ''] = await this.#database.dialect.revisions(this.#database, [
      schedule,
      job,
    ])
    // Heartbeats change this table all the time; who is there is another matter.
    const rows = await this.#database.rows<{ id: string }>(`SELECT id FROM ${worker} ORDER BY id`)
    return { schedules, jobs, workers: rows.map(({ id }) => id).join(' ') }
  }

  /** The keys of the page first, then its rows by their keys. */
  #page<Row>(range: Range, bounds: PageBounds, columns: string): Promise<Row[]> {
    const { dialect } = this.#database
    const page = pageOf(range, dialect, bounds)
    return this.#rows<Row>({
      text: `SELECT ${columns} FROM (${page.text}) AS page ${dialect.straightJoin} ${range.table} ON id = page_id ORDER BY ${range.order.map((column) => `${range.table}.${column}`).join(', ')}`,
      params: page.params,
    })
  }

  async #total(
    range: Range,
    bounds: ListBounds,
  ): Promise<{ readonly total: number; readonly totalIsExact: boolean }> {
    const [row] = await this.#rows<{ total: number; looked: number }>(
      countOf(range, this.#database.dialect, bounds),
    )
    const { total = 0, looked = 0 } = row ?? {}
    if (range.rest.text !== '') return { total, totalIsExact: looked < bounds.searchWithin }
    return { total: Math.min(total, bounds.countUpTo), totalIsExact: total <= bounds.countUpTo }
  }

  /** Short ranges of an index, one for each name. */
  async #countEach<Name extends string>(
    names: readonly Name[],
    rangeOf: (name: Name) => Range,
    bounds: ListBounds,
  ): Promise<Counts<Name>> {
    const { dialect } = this.#database
    const statements = names.map((name) => countOf(rangeOf(name), dialect, bounds))
    const rows = await this.#rows<{ total: number }>({
      text: dialect.union(
        statements.map(({ text }, index) => text.replace(/^SELECT/, `SELECT ${index} AS place,`)),
      ),
      params: statements.flatMap(({ params }) => params),
    })
    const totals = new Map(rows.map((row, index) => [names[index], row.total]))
    const counts: Partial<Record<Name, number>> = {}
    for (const name of names) {
      const total = totals.get(name) ?? 0
      if (total > 0) counts[name] = Math.min(total, bounds.countUpTo)
    }
    return { counts, isExact: rows.every(({ total }) => total <= bounds.countUpTo) }
  }

  async #countTogether<Name extends string>(
    range: Range,
    column: string,
    names: readonly Name[],
    bounds: ListBounds,
  ): Promise<Counts<Name>> {
    const seen = searched(range, this.#database.dialect, bounds.searchWithin, ['id', column, ...extra(range)])
    const rows = await this.#rows<{ name: Name; hit: number; total: number }>({
      text: `SELECT ${column} AS name, hit, COUNT(*) AS total FROM (${seen.text}) AS seen GROUP BY ${column}, hit`,
      params: seen.params,
    })
    const counts: Partial<Record<Name, number>> = {}
    for (const { name, hit, total } of rows) if (hit === 1 && names.includes(name)) counts[name] = total
    return { counts, isExact: rows.reduce((sum, { total }) => sum + total, 0) < bounds.searchWithin }
  }

  #rows<Row>({ text, params }: Statement): Promise<Row[]> {
    return this.#database.rows<Row>(text, params)
  }
}

function extra(range: Range): string[] {
  return range.order.map((column) => column.replace(/ DESC$/, ''))
}

function timed(row: TimerColumns): Omit<TimerRow, 'id' | 'task'> {
  return {
    timer: row.timer,
    jitterMs: row.jitter,
    starts: fromText(row.starts),
    ends: fromText(row.ends),
    created: fromStored(row.created),
  }
}
