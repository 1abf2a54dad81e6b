import type { Job, JobState } from '../../model/job.ts'
import { ANY_OWNER, type Owner, shownId, storedIds } from '../../model/owner.ts'
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
  Listed,
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
import { integerLiteral } from '../literals.ts'
import { jobRange, scheduleRange } from './list-ranges.ts'
import { findOwn, shownJob, shownSchedule } from './own-ids.ts'
import { type Condition, ownedBy } from './owned.ts'
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
import {
  both,
  columnsOf,
  countOf,
  NOTHING,
  pageOf,
  type Range,
  searched,
  type Statement,
} from './selection.ts'
import { type Slice, slices } from './slices.ts'
import { placeholders, type Tables } from './tables.ts'

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

/** The form of generated ids. */
const GENERATED = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i
/** The rows of a page, and how many there are in all. */
interface Found<Row> {
  readonly rows: Row[]
  readonly total: number
  readonly totalIsExact: boolean
}

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

  async schedules(selection: ScheduleSelection): Promise<ListPage<Listed<Schedule>>> {
    const { after } = selection
    const range = scheduleRange(this.#tables, this.#owner, selection, {
      ...selection,
      after: after === undefined ? undefined : await this.#storedId('schedule', after),
    })
    const columns = scheduleColumns(this.#database.dialect, previewBytes(selection.limit))
    const { rows, ...total } = await this.#page<ListedRow<ScheduleRow>>(range, selection, columns)
    return { items: rows.map((row) => shownSchedule(this.#owner, toListedSchedule(row))), ...total }
  }

  async jobs(selection: JobSelection): Promise<ListPage<Listed<Job>>> {
    const { before } = selection
    const range = jobRange(this.#tables, this.#owner, await this.#stored(selection), {
      before: before === undefined ? undefined : await this.#storedId('job', before),
    })
    const columns = jobColumns(this.#database.dialect, previewBytes(selection.limit))
    const { rows, ...total } = await this.#page<ListedRow<JobRow>>(range, selection, columns)
    return { items: rows.map((row) => shownJob(this.#owner, toListedJob(row))), ...total }
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

  async jobCounts(conditions: JobConditions, bounds: ListBounds): Promise<Counts<JobState>> {
    const { state, ...others } = await this.#stored(conditions)
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
    const ids = await findOwn(this.#database, dialect, this.#tables, 'schedule', this.#owner, schedules)
    const stored = [...ids.values()]
    const columns = ['slot', 'started', 'finished'].map((column) => `${dialect.instant(column)} AS ${column}`)
    const selection = `SELECT id, periodic_task_id AS schedule, state, ${columns.join(', ')} FROM ${job} ${dialect.byIndex(occurrenceIndex)} WHERE periodic_task_id = ?${this.#own.text} ORDER BY ${job}.slot DESC LIMIT ${integerLiteral(limit)}`
    for (let start = 0; start < stored.length; start += MOST_SELECTIONS) {
      const some = stored.slice(start, start + MOST_SELECTIONS)
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

  async logs(job: string, after: number, limit: number): Promise<NumberedLine[] | null> {
    const { dialect } = this.#database
    const stored = await findOwn(this.#database, dialect, this.#tables, 'job', this.#owner, [job])
    const [found] = await this.#database.rows<{ id: string }>(
      `SELECT id FROM ${this.#tables.job} WHERE id = ?${this.#own.text}`,
      [stored.get(job) ?? null, ...this.#own.params],
    )
    if (found === undefined) return null
    // The index on job and id holds filter and order.
    const rows = await this.#database.rows<{ id: number; at: string; level: LogLevel; message: string }>(
      `SELECT id, ${this.#database.dialect.instant('at')} AS at, level, message FROM ${this.#tables.log} WHERE job_id = ? AND id > ? ORDER BY id LIMIT ${integerLiteral(limit)}`,
      [found.id, after],
    )
    return rows.map((row) => ({ ...row, at: fromStored(row.at) }))
  }

  async failures(
    conditions: JobConditions,
    { limit, ...bounds }: ListBounds & { readonly limit: number },
  ): Promise<{ readonly items: Failure[]; readonly complete: boolean }> {
    const range = jobRange(this.#tables, this.#owner, {
      ...(await this.#stored(conditions)),
      state: 'failed',
    })
    const finished = this.#database.dialect.instant('finished')
    const items = new Map<string, Failure>()
    const found = slices(this.#database, range, bounds)
    for (let next = await found.next(); ; next = await found.next()) {
      if (next.done === true) return { items: [...items.values()], complete: next.value }
      const columns = [
        'id',
        'task',
        `SUBSTR(error, 1, ${integerLiteral(ERROR_START)}) AS message`,
        `${finished} AS ended`,
      ]
      const rows = await this.#hits<{
        id: string
        task: string
        message: string | null
        ended: string | null
      }>(next.value, columns, 'id, task, message, ended')
      for (const { id, task, message, ended } of rows) {
        if (items.size === limit) return { items: [...items.values()], complete: false }
        items.set(id, { id: shownId(this.#owner, id), task, error: message ?? '', finished: fromText(ended) })
      }
    }
  }

  async tasks(limit: number): Promise<string[]> {
    const { schedule } = this.#tables
    const where = this.#own.text === '' ? '' : ` WHERE 1 = 1${this.#own.text}`
    const rows = await this.#database.rows<{ task: string }>(
      `SELECT DISTINCT task FROM ${schedule}${where} ORDER BY task LIMIT ${integerLiteral(limit)}`,
      this.#own.params,
    )
    return rows.map(({ task }) => task)
  }

  async timerGroups(
    conditions: ScheduleConditions,
    bounds: ListBounds,
  ): Promise<{ readonly groups: TimerGroup[]; readonly complete: boolean }> {
    const { dialect } = this.#database
    const range = scheduleRange(this.#tables, this.#owner, { ...conditions, status: 'active' })
    const instants = ['starts', 'ends'].map((column) => `${dialect.instant(column)} AS ${column}`)
    // Only slots of `every` begin with the creation.
    const anchor = "CASE WHEN LOWER(TRIM(timer)) LIKE 'every%' THEN created END"
    const groups = new Map<string, TimerGroup>()
    const found = slices(this.#database, range, bounds)
    for (let next = await found.next(); ; next = await found.next()) {
      if (next.done === true) return { groups: [...groups.values()], complete: next.value }
      const seen = searched(next.value, dialect, ['id', 'timer', 'jitter', 'starts', 'ends', 'created'])
      const rows = await this.#database.rows<TimerColumns & { schedules: number; anchor: string | null }>(
        `SELECT timer, jitter, ${instants.join(', ')}, ${dialect.instant('MIN(created)')} AS created, ${anchor} AS anchor, COUNT(*) AS schedules FROM (${seen.text}) AS seen WHERE hit = 1 GROUP BY timer, jitter, seen.starts, seen.ends, ${anchor}`,
        seen.params,
      )
      for (const row of rows) {
        const key = JSON.stringify([row.timer, row.jitter, row.starts, row.ends, row.anchor])
        const known = groups.get(key)
        const group = { ...timed(row), schedules: row.schedules + (known?.schedules ?? 0) }
        const created = known !== undefined && known.created < group.created ? known.created : group.created
        groups.set(key, { ...group, created })
      }
    }
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
        searched({ range: { ...range, where: both(range.where, from) }, rows: atOnce, offset: 0 }, dialect, [
          'id',
          'task',
          'timer',
          'jitter',
          ...columns,
        ]),
      )
      const active = rows.filter(({ hit }) => hit === 1)
      yield active.map((row) => ({ id: shownId(this.#owner, row.id), task: row.task, ...timed(row) }))
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
    const { id: _, schedule, worker: __, ...others } = await this.#stored(conditions)
    const range = jobRange(this.#tables, this.#owner, others)
    const rest = both(
      range.rest,
      schedule === undefined ? NOTHING : { text: ' AND periodic_task_id = ?', params: [schedule] },
    )
    const hours = new Map<string, HourCount>()
    const found = slices(this.#database, { ...range, rest }, bounds)
    for (let next = await found.next(); ; next = await found.next()) {
      if (next.done === true)
        return {
          hours: [...hours.values()].toSorted((one, other) => one.hour.getTime() - other.hour.getTime()),
          complete: next.value,
        }
      const seen = searched(next.value, this.#database.dialect, ['id', 'finished', 'state'])
      const rows = await this.#database.rows<{ hour: string; state: JobState; jobs: number }>(
        `SELECT SUBSTR(CAST(finished AS CHAR), 1, 13) AS hour, state, COUNT(*) AS jobs FROM (${seen.text}) AS seen WHERE hit = 1 GROUP BY 1, 2`,
        seen.params,
      )
      for (const { hour, state, jobs } of rows) {
        const key = `${hour} ${state}`
        hours.set(key, {
          hour: fromStored(`${hour}:00:00.000`),
          state,
          jobs: jobs + (hours.get(key)?.jobs ?? 0),
        })
      }
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

  /** The conditions with the id under which the schedule is stored. */
  async #stored<Conditions extends JobConditions>(conditions: Conditions): Promise<Conditions> {
    const { schedule } = conditions
    if (schedule === undefined) return conditions
    return { ...conditions, schedule: await this.#storedId('schedule', schedule) }
  }

  /** The id under which a row is stored; of one that is gone, the likelier one. */
  async #storedId(table: 'schedule' | 'job', name: string): Promise<string> {
    const { dialect } = this.#database
    const found = await findOwn(this.#database, dialect, this.#tables, table, this.#owner, [name])
    const [chosen = name, generated = name] = storedIds(this.#owner, name)
    return found.get(name) ?? (GENERATED.test(name) ? generated : chosen)
  }

  async #page<Row extends { readonly id: string }>(
    range: Range,
    bounds: PageBounds,
    columns: string,
  ): Promise<Found<Row>> {
    if (range.rest.text !== '') return this.#search(range, bounds, columns)
    const { dialect } = this.#database
    // The keys of the page first, then its rows by their keys.
    const page = pageOf(range, dialect, bounds)
    const rows = await this.#rows<Row>({
      text: `SELECT ${columns} FROM (${page.text}) AS page ${dialect.straightJoin} ${range.table} ON id = page_id ORDER BY ${range.order.map((column) => `${range.table}.${column}`).join(', ')}`,
      params: page.params,
    })
    const [count] = await this.#rows<{ total: number }>(countOf(range, dialect, bounds.countUpTo))
    const total = count?.total ?? 0
    return { rows, total: Math.min(total, bounds.countUpTo), totalIsExact: total <= bounds.countUpTo }
  }

  /** One look for the page and for the total: the keys of what is found, until the page is full. */
  async #search<Row extends { readonly id: string }>(
    range: Range,
    bounds: PageBounds,
    columns: string,
  ): Promise<Found<Row>> {
    const { offset, limit } = bounds
    // A row that moves to another place meanwhile is found twice.
    const ids = new Set<string>()
    let total = 0
    // The total counts from the beginning, also of a page that begins after an id.
    const before = range.from.text === '' ? null : await this.#countHits(range, bounds)
    const found = slices(this.#database, { ...range, where: both(range.where, range.from) }, bounds)
    for (let next = await found.next(); ; next = await found.next()) {
      if (next.done === true) {
        const rows = await this.#byKeys<Row>(range, [...ids].slice(offset, offset + limit), columns)
        return { rows, total: before?.total ?? total, totalIsExact: before?.isExact ?? next.value }
      }
      const isFull = ids.size >= offset + limit
      if (isFull && before !== null) {
        const rows = await this.#byKeys<Row>(range, [...ids].slice(offset, offset + limit), columns)
        return { rows, total: before.total, totalIsExact: before.isExact }
      }
      if (isFull) total += await this.#countOfHits(next.value)
      else {
        const hits = await this.#hits<{ id: string }>(next.value, ['id', ...columnsOf(range)], 'id')
        total += hits.length
        for (const { id } of hits) ids.add(id)
      }
    }
  }

  async #countHits(
    range: Range,
    bounds: ListBounds,
  ): Promise<{ readonly total: number; readonly isExact: boolean }> {
    const found = slices(this.#database, range, bounds)
    let total = 0
    for (let next = await found.next(); ; next = await found.next()) {
      if (next.done === true) return { total, isExact: next.value }
      total += await this.#countOfHits(next.value)
    }
  }

  async #countOfHits(slice: Slice): Promise<number> {
    const seen = searched(slice, this.#database.dialect, [])
    const [row] = await this.#database.rows<{ total: number }>(
      `SELECT COALESCE(SUM(hit), 0) AS total FROM (${seen.text}) AS seen`,
      seen.params,
    )
    return row?.total ?? 0
  }

  /** What of a slice meets the rest of the conditions, in its order. */
  #hits<Row>(slice: Slice, columns: readonly string[], selected: string): Promise<Row[]> {
    const { order } = slice.range
    const seen = searched(slice, this.#database.dialect, [...columns, ...columnsOf(slice.range)])
    return this.#rows<Row>({
      text: `SELECT ${selected} FROM (${seen.text}) AS seen WHERE hit = 1 ORDER BY ${order.join(', ')}`,
      params: seen.params,
    })
  }

  /** In the order of the keys. */
  async #byKeys<Row extends { readonly id: string }>(
    { table }: Range,
    ids: readonly string[],
    columns: string,
  ): Promise<Row[]> {
    if (ids.length === 0) return []
    const rows = await this.#database.rows<Row>(
      `SELECT ${columns} FROM ${table} ${this.#database.dialect.byKey} WHERE id IN (${placeholders(ids)})`,
      ids,
    )
    const byId = new Map(rows.map((row) => [row.id, row]))
    return ids.flatMap((id) => byId.get(id) ?? [])
  }

  /** Short ranges of an index, one for each name. */
  async #countEach<Name extends string>(
    names: readonly Name[],
    rangeOf: (name: Name) => Range,
    bounds: ListBounds,
  ): Promise<Counts<Name>> {
    const { dialect } = this.#database
    const statements = names.map((name) => countOf(rangeOf(name), dialect, bounds.countUpTo))
    const rows = await this.#rows<{ total: number }>({
      text: dialect.union(
        statements.map(({ text }, index) =>
          text.replace(/^SELECT/, `SELECT ${integerLiteral(index)} AS place,`),
        ),
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
    const counts: Partial<Record<Name, number>> = {}
    const found = slices(this.#database, range, bounds)
    for (let next = await found.next(); ; next = await found.next()) {
      if (next.done === true) return { counts, isExact: next.value }
      const seen = searched(next.value, this.#database.dialect, ['id', column, ...columnsOf(range)])
      const rows = await this.#rows<{ name: Name; total: number }>({
        text: `SELECT ${column} AS name, COUNT(*) AS total FROM (${seen.text}) AS seen WHERE hit = 1 GROUP BY ${column}`,
        params: seen.params,
      })
      for (const { name, total } of rows) if (names.includes(name)) counts[name] = (counts[name] ?? 0) + total
    }
  }

  #rows<Row>({ text, params }: Statement): Promise<Row[]> {
    return this.#database.rows<Row>(text, params)
  }
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
