/**
 * What people look at: pages and counts that cost little however large the tables are. A total stops counting, a
 * search stops looking, and both say so; whoever needs the last row filters, or goes on from the last id.
 */
import { setImmediate as turn } from 'node:timers/promises'
import { InvalidInputError, NotFoundError } from '../errors.ts'
import { checkedInstant, checkedPage, checkedWhole } from '../model/input.ts'
import type { Job, JobState } from '../model/job.ts'
import type { Schedule, ScheduleStatus } from '../model/schedule.ts'
import type {
  Counts,
  JobConditions,
  ListBounds,
  Listed,
  ListPage,
  ListStore,
  NumberedLine,
  RecentRun,
  Revisions,
  ScheduleConditions,
  TimerRow,
} from '../store/list-store.ts'
import { UpcomingRuns, type Upcoming } from './upcoming.ts'
import { hourLoads, type Load, planned } from './load.ts'

export type { Upcoming } from './upcoming.ts'

/** Which part of a view is wanted. */
export interface ViewPage {
  /** 1 to 1000, default 100. */
  readonly limit?: number | undefined
  /** At most 100,000: beyond it, go on from the last id, or filter. */
  readonly offset?: number | undefined
}

/** Which schedules are looked at, in which order. */
export interface ScheduleView extends ScheduleConditions, ViewPage {
  /** Only ids after this one. */
  readonly after?: string | undefined
  /** `id` (default), or `nextRun`: what comes next first. */
  readonly order?: 'id' | 'nextRun' | undefined
}

/** Which jobs are looked at, newest first. */
export interface JobView extends JobConditions, ViewPage {
  /** Only ids before this one. */
  readonly before?: string | undefined
}

/** Failed jobs with the same first line of their error. */
export interface FailureGroup {
  readonly error: string
  readonly jobs: number
  readonly tasks: readonly string[]
  /** The newest. */
  readonly lastJob: string
  readonly lastFinished: Date | null
}

/** Which hours are looked at, and whose runs. */
export interface LoadQuery {
  /** Rounded down to the hour. */
  readonly from: Date
  /** 1 to 744. */
  readonly hours: number
  readonly task?: string | undefined
  readonly group?: string | undefined
  readonly submitter?: string | undefined
}

/** Which time is looked at, `from` included and `to` not, and whose schedules. `limit` is 1 to 1000, default 100. */
export interface UpcomingQuery {
  readonly from: Date
  readonly to: Date
  readonly limit?: number | undefined
  readonly task?: string | undefined
  readonly group?: string | undefined
  readonly submitter?: string | undefined
}

/** [1,000,000 rows on MariaDB: a count of 10,000 takes 2 ms, a search through 100,000 rows 60 to 200 ms.] */
const BOUNDS: ListBounds = { countUpTo: 10_000, searchWithin: 100_000, searchMs: 2000 }
/** How long a view may compute, beside what the database takes. */
const COMPUTE_MS = 2000
/** The event loop runs other work at least this often meanwhile. */
const TURN_MS = 10
const LARGEST_OFFSET = 100_000
const HOUR_MS = 3_600_000
const MOST_HOURS = 744
/** Schedules whose elapses are looked at one by one. */
const MOST_TIMERS = 20_000
const TIMERS_AT_ONCE = 1000
/** Timers whose elapses are looked at without a break. */
const TIMERS_PER_TURN = 50
const MOST_FAILURES = 10_000
const MOST_TASKS = 1000

/** Pages, counts and times to come, for pages that people look at: `kalends.views`. */
export class Views {
  readonly #store: ListStore

  constructor(store: ListStore) {
    this.#store = store
  }

  /** By id, or what comes next first. */
  async schedules(view: ScheduleView = {}): Promise<ListPage<Listed<Schedule>>> {
    const { order = 'id' } = view
    if (order === 'nextRun' && view.after !== undefined)
      throw new InvalidInputError('after', 'goes with the order by id only; use offset')
    return this.#store.schedules({ ...BOUNDS, ...view, ...checkedView(view), order })
  }

  /** Newest first. */
  async jobs(view: JobView = {}): Promise<ListPage<Listed<Job>>> {
    return this.#store.jobs({ ...BOUNDS, ...view, ...checkedView(view) })
  }

  /** Schedules by their status. */
  scheduleCounts(conditions: ScheduleConditions = {}): Promise<Counts<ScheduleStatus>> {
    return this.#store.scheduleCounts(conditions, BOUNDS)
  }

  /** Jobs by their state. */
  jobCounts(conditions: JobConditions = {}): Promise<Counts<JobState>> {
    return this.#store.jobCounts(conditions, BOUNDS)
  }

  /** The last runs and skips of each of some schedules, newest first. @param limit  1 to 100 */
  recentRuns(
    schedules: readonly string[],
    limit: number,
  ): Promise<ReadonlyMap<string, readonly RecentRun[]>> {
    return this.#store.recentRuns(schedules, checkedWhole('runs', limit, 1, 100))
  }

  /**
   * What a job has logged, in order.
   *
   * @param query.after  the `id` of a line; default from the first on
   * @throws NotFoundError
   */
  async logs(
    job: string,
    query: { readonly after?: number | undefined; readonly limit?: number | undefined } = {},
  ): Promise<NumberedLine[]> {
    const after = checkedWhole('after', query.after, 0, Number.MAX_SAFE_INTEGER) ?? 0
    const lines = await this.#store.logs(job, after, checkedPage({ limit: query.limit }).limit)
    if (lines === null) throw new NotFoundError('job', job)
    return lines
  }

  /**
   * The newest 10,000 failed jobs by the first line of their error, most frequent first.
   *
   * @returns `complete` false: there are more, or there may be
   */
  async failures(
    conditions: JobConditions = {},
  ): Promise<{ readonly items: readonly FailureGroup[]; readonly complete: boolean }> {
    const { items: failures, complete } = await this.#store.failures(conditions, {
      ...BOUNDS,
      limit: MOST_FAILURES,
    })
    const groups = new Map<string, FailureGroup>()
    for (const { id, task, error, finished } of failures) {
      const line = error.split(/\r?\n/, 1)[0] ?? ''
      const group = groups.get(line)
      groups.set(line, {
        error: line,
        jobs: (group?.jobs ?? 0) + 1,
        tasks: [...new Set([...(group?.tasks ?? []), task])],
        lastJob: group?.lastJob ?? id,
        lastFinished: group?.lastFinished ?? finished,
      })
    }
    return { items: [...groups.values()].toSorted((one, other) => other.jobs - one.jobs), complete }
  }

  /** The tasks of schedules, each once, in order; at most a thousand. */
  tasks(): Promise<string[]> {
    return this.#store.tasks(MOST_TASKS)
  }

  /** Planned and past runs of each hour. */
  async load(query: LoadQuery): Promise<Load> {
    const from = new Date(
      Math.floor((checkedInstant('from', query.from)?.getTime() ?? 0) / HOUR_MS) * HOUR_MS,
    )
    const hours = checkedWhole('hours', query.hours, 1, MOST_HOURS)
    const to = new Date(from.getTime() + hours * HOUR_MS)
    const { task, group, submitter } = query
    const conditions = { task, group, submitter }
    const { groups, complete } = await this.#store.timerGroups(conditions, BOUNDS)
    const ended = await this.#store.finishedPerHour(
      { ...conditions, finishedFrom: from, finishedTo: to },
      BOUNDS,
    )
    const deadline = performance.now() + COMPUTE_MS
    const steps = planned(groups, from, hours, () => performance.now() < deadline)
    let turned = performance.now()
    let step = steps.next()
    while (step.done !== true) {
      if (performance.now() - turned >= TURN_MS) {
        await turn()
        turned = performance.now()
      }
      step = steps.next()
    }
    const schedules = groups.reduce((sum, one) => sum + one.schedules, 0)
    return {
      from,
      to,
      hours: hourLoads(from, step.value, ended.hours),
      schedules,
      plannedIsExact: step.value.isExact && complete,
      endedIsComplete: ended.complete,
    }
  }

  /**
   * The elapses between two instants, earliest first, of the first 20,000 active schedules by id.
   *
   * @returns `complete` false: there are more schedules, or more elapses than `limit`, or it took too long
   */
  async upcoming(
    query: UpcomingQuery,
  ): Promise<{ readonly items: readonly Upcoming[]; readonly complete: boolean }> {
    const { limit } = checkedPage({ limit: query.limit })
    const from = checkedInstant('from', query.from)
    const to = checkedInstant('to', query.to)
    const { task, group, submitter } = query
    const upcoming = new UpcomingRuns({ from, to, limit })
    const deadline = performance.now() + COMPUTE_MS
    const pages = this.#store.timers({ task, group, submitter }, TIMERS_AT_ONCE)
    let page = await pages.next()
    for (let seen = 0, looked = TIMERS_AT_ONCE; page.done !== true; looked += TIMERS_AT_ONCE) {
      const rows = page.value.slice(0, MOST_TIMERS - seen)
      seen += rows.length
      const goesOn = seen < MOST_TIMERS && looked < BOUNDS.searchWithin && performance.now() < deadline
      const [next] = await Promise.all([
        goesOn ? pages.next() : null,
        // The statement has been sent by then, so the database reads while this process calculates.
        addInTurns(upcoming, rows),
      ])
      if (next === null) return { items: upcoming.found().items, complete: false }
      page = next
    }
    const { items, isAll } = upcoming.found()
    return { items, complete: isAll }
  }

  /** One look that tells what has changed, whoever changed it. */
  revisions(): Promise<Revisions> {
    return this.#store.revisions()
  }
}

async function addInTurns(upcoming: UpcomingRuns, rows: readonly TimerRow[]): Promise<void> {
  for (let start = 0; start < rows.length; start += TIMERS_PER_TURN) {
    await turn()
    upcoming.add(rows.slice(start, start + TIMERS_PER_TURN))
  }
}

function checkedView({ limit, offset }: ViewPage): { limit: number; offset: number } {
  checkedWhole('offset', offset, 0, LARGEST_OFFSET)
  return checkedPage({ limit, offset })
}
