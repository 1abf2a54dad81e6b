/** Counts and searches stop at a limit, and results say whether they did. */
import { firstLine } from '../errors.ts'
import { setImmediate as turn } from 'node:timers/promises'
import { betweenParts } from '../event-loop.ts'
import { checkKeys, namesOf } from '../keys.ts'
import { JOB_FILTERS, SCHEDULE_FILTERS } from '../model/filters.ts'
import {
  checkedConditions,
  checkedId,
  checkedLimit,
  checkedList,
  checkedWhole,
  requiredInstant,
} from '../model/input.ts'
import type {
  JobConditions,
  ListStore,
  RecentRun,
  ChangeTokens,
  ScheduleConditions,
} from '../store/list-store.ts'
import { UpcomingRuns, type Upcoming } from './upcoming.ts'
import { hourLoads, type Load, planned } from './load.ts'

/** Failed jobs whose errors have the same first line. */
export interface FailureGroup {
  readonly error: string
  readonly jobs: number
  readonly tasks: readonly string[]
  /** The newest of them. */
  readonly lastJobId: string
  readonly lastFinishedAt: Date | null
}

/** The hours to show, and filters for the runs. */
export interface LoadQuery extends Pick<JobConditions, 'task' | 'group' | 'submitter'> {
  /** The start of the first hour, rounded down to the minute. */
  readonly from: Date
  /** 1 to 744. */
  readonly hours: number
}

/**
 * The time range to search (`from` inclusive, `to` exclusive), and filters for the schedules. `limit` is 1 to 1000,
 * default 100.
 */
export interface UpcomingQuery extends Pick<ScheduleConditions, 'task' | 'group' | 'submitter'> {
  readonly from: Date
  readonly to: Date
  readonly limit?: number | undefined
}

const OF_OWNER = { task: true, group: true, submitter: true } as const
const LOAD_QUERY = namesOf<LoadQuery>({ ...OF_OWNER, from: true, hours: true })
const UPCOMING_QUERY = namesOf<UpcomingQuery>({ ...OF_OWNER, from: true, to: true, limit: true })
/** Maximum computing time of a view, not including time spent in the database. */
const COMPUTE_MS = 2000
/** Maximum time before the event loop can do other work. */
const TURN_MS = 10
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const MAX_HOURS = 744
const MAX_TIMERS = 20_000
const TIMERS_PER_TURN = 50
const MAX_FAILURES = 10_000
const MAX_TASKS = 1000

/** Overviews in `kalends.views`: recent runs, failures, load and upcoming runs. */
export class Views {
  readonly #store: ListStore

  constructor(store: ListStore) {
    this.#store = store
  }

  /** The last runs and skips of each of these schedules, newest first. @param limit  1 to 100 */
  async recentRuns(
    schedules: readonly string[],
    limit: number,
  ): Promise<ReadonlyMap<string, readonly RecentRun[]>> {
    for (const id of checkedList('schedules', schedules, 'ids')) checkedId('schedule', id, 'schedules')
    return await this.#store.recentRuns(schedules, checkedWhole('limit', limit ?? null, 1, 100))
  }

  /**
   * The newest 10,000 failed jobs, grouped by the first line of their error, most frequent first.
   *
   * @returns `complete` is false if there are, or may be, more failed jobs
   */
  async failures(
    conditions: JobConditions = {},
  ): Promise<{ readonly items: readonly FailureGroup[]; readonly complete: boolean }> {
    checkedConditions('', conditions, JOB_FILTERS)
    const { items: failures, complete } = await this.#store.failures(conditions, MAX_FAILURES)
    const groups = new Map<string, FailureGroup>()
    for (const { id, task, error, finishedAt: finished } of failures) {
      const line = firstLine(error)
      const group = groups.get(line)
      groups.set(line, {
        error: line,
        jobs: (group?.jobs ?? 0) + 1,
        tasks: [...new Set([...(group?.tasks ?? []), task])],
        lastJobId: group?.lastJobId ?? id,
        lastFinishedAt: group?.lastFinishedAt ?? finished,
      })
    }
    return { items: [...groups.values()].toSorted((one, other) => other.jobs - one.jobs), complete }
  }

  /** The distinct tasks of schedules, sorted; at most one thousand. */
  tasks(): Promise<string[]> {
    return this.#store.tasks(MAX_TASKS)
  }

  /** Planned and finished runs per hour. */
  async load(query: LoadQuery): Promise<Load> {
    checkKeys(query, LOAD_QUERY)
    const from = new Date(Math.floor(requiredInstant('from', query.from).getTime() / MINUTE_MS) * MINUTE_MS)
    const hours = checkedWhole('hours', query.hours ?? null, 1, MAX_HOURS)
    const to = new Date(from.getTime() + hours * HOUR_MS)
    const { task, group, submitter } = query
    const conditions = { task, group, submitter }
    checkedConditions('', conditions, SCHEDULE_FILTERS)
    const { groups, complete } = await this.#store.timerGroups(conditions)
    const ended = await this.#store.finishedPerHour({ ...conditions, finishedFrom: from, finishedTo: to })
    const plan = await planned(groups, from, hours, pauses())
    const schedules = groups.reduce((sum, one) => sum + one.schedules, 0)
    return {
      from,
      to,
      hours: hourLoads(from, plan.hours, ended.hours),
      schedules,
      plannedIsExact: plan.isExact && complete,
      endedIsComplete: ended.complete,
    }
  }

  /**
   * The run times between two instants, earliest first. Schedules are read in the order of their next runs until the
   * first `limit` run times are known; with a condition or a scope, all matching schedules are read. At most 20,000
   * schedules are searched.
   *
   * @returns `complete` is false if there are more schedules, if there are more run times than `limit`, or if the
   *   search took too long
   */
  async upcoming(
    query: UpcomingQuery,
  ): Promise<{ readonly items: readonly Upcoming[]; readonly complete: boolean }> {
    checkKeys(query, UPCOMING_QUERY)
    const limit = checkedLimit(query.limit)
    const from = requiredInstant('from', query.from)
    const to = requiredInstant('to', query.to)
    const { task, group, submitter } = query
    const conditions = { task, group, submitter }
    checkedConditions('', conditions, SCHEDULE_FILTERS)
    const upcoming = new UpcomingRuns(from, to, limit)
    let seen = 0
    let isComplete = true
    for await (const { rows, isLast } of this.#store.timers(conditions, () => upcoming.until)) {
      const relevant = rows.filter(({ nextRunAt }) => nextRunAt === null || nextRunAt < upcoming.until)
      const searched = relevant.slice(0, MAX_TIMERS - seen)
      for (let start = 0; start < searched.length; start += TIMERS_PER_TURN) {
        await turn()
        upcoming.add(searched.slice(start, start + TIMERS_PER_TURN))
      }
      seen += relevant.length
      isComplete = isLast && seen <= MAX_TIMERS
      if (seen >= MAX_TIMERS) break
    }
    const { items, isAll } = upcoming.found()
    return { items, complete: isAll && isComplete }
  }

  /** Tokens that change when a table changes, even if the change is made with SQL. */
  changeTokens(): Promise<ChangeTokens> {
    return this.#store.changeTokens()
  }
}

/** Creates a function that yields if the last break was too long ago, and that returns false after `COMPUTE_MS`. */
function pauses(): () => Promise<boolean> {
  const deadline = performance.now() + COMPUTE_MS
  const pause = betweenParts(TURN_MS)
  return async () => {
    await pause()
    return performance.now() < deadline
  }
}
