import type { JobState, ScheduleStatus } from '../model/states.ts'
import type { Attempt } from '../model/attempt.ts'
import type { Conditions, JOB_FILTERS, SCHEDULE_FILTERS } from '../model/filters.ts'
import type { LOG_COLUMNS, Values } from '../model/columns.ts'
import type { Job } from '../model/job.ts'
import type { Owner } from '../model/owner.ts'
import type { Schedule } from '../model/schedule.ts'

/** Limits on the cost of reading large tables. */
export interface ListBounds {
  /** Maximum number of rows that are counted for each value, such as each state. */
  readonly countUpTo: number
  /** Maximum number of rows that are searched, in order, if no index serves the conditions. */
  readonly searchWithin: number
  /** Milliseconds after which a search stops and returns what it has found. */
  readonly searchMs: number
}

/**
 * [With 1,000,000 rows on MariaDB, a count of 10,000 takes 2 ms, and a search through 100,000 rows takes 60 to 200 ms.]
 */
export const LIST_BOUNDS: ListBounds = { countUpTo: 10_000, searchWithin: 100_000, searchMs: 2000 }

export const NO_BOUNDS: ListBounds = { ...LIST_BOUNDS, searchWithin: Infinity, searchMs: Infinity }

/** The conditions that schedules must match; omitted conditions match all schedules. */
export interface ScheduleConditions extends Conditions<typeof SCHEDULE_FILTERS> {}

/** The conditions that jobs must match; omitted conditions match all jobs. */
export interface JobConditions extends Conditions<typeof JOB_FILTERS> {}

/** The part of a list to return. */
export interface PageQuery {
  /** 1 to 1000, default 100. */
  readonly limit?: number | undefined
  /** `next` of the previous page. If the order is by id, this can be any id: the page starts after it. */
  readonly after?: string | undefined
}

/** The schedules to list, and their order. */
export interface ScheduleQuery extends ScheduleConditions, PageQuery {
  /** `id` (default), or `nextRunAt`: earliest next run first; schedules without a next run come last, by id. */
  readonly order?: 'id' | 'nextRunAt' | undefined
}

/** The jobs to list, newest first. */
export interface JobQuery extends JobConditions, PageQuery {}

type Limited<Query extends PageQuery> = Query & { readonly limit: number }

/** Columns that may be large. */
export type LargeColumn = 'args' | 'result' | 'progress' | 'error' | 'lastError'

/**
 * A row of a list. Large values are left out: JSON columns are null, and errors are shortened to their first lines.
 * `get` returns the full row.
 */
export type Listed<Row> = Row & {
  /** The sizes in bytes of values that were left out or shortened; omitted if there are none. */
  readonly truncated?: Readonly<Partial<Record<LargeColumn, number>>>
}

/** Part of a list. */
export interface ListPage<Item> {
  /**
   * There may be fewer rows than `limit`, or none, even if more rows match, because a search reads a limited number of
   * rows.
   */
  readonly items: Item[]
  /**
   * The total across all pages: 1000 means 1000 or more; null if the search stopped before the total was known.
   */
  readonly total: number | null
  /** The value of `after` for the next page; null at the end. */
  readonly next: string | null
}

/** The number of rows for each name. */
export interface Counts<Name extends string> {
  /** Only names that occur. */
  readonly counts: Readonly<Partial<Record<Name, number>>>
  /** False if some counts may be too low. */
  readonly isExact: boolean
}

/** A run, as shown in a sparkline. */
export interface RecentRun extends Pick<Job, 'id' | 'state' | 'slot' | 'startedAt' | 'finishedAt'> {}

export interface Failure extends Pick<Job, 'id' | 'task' | 'finishedAt'> {
  /** The first part of the error. */
  readonly error: string
}

/**
 * The columns that determine when a schedule elapses. `nextRunAt` is null if the schedule has not been planned since it
 * was created or edited, or if it is waiting for a run to finish.
 */
export type TimerRow = Pick<
  Schedule,
  'id' | 'task' | 'timer' | 'jitter' | 'starts' | 'ends' | 'createdAt' | 'nextRunAt'
>

/** Schedules that elapse at the same times. */
export interface TimerGroup extends Omit<TimerRow, 'id' | 'task' | 'nextRunAt'> {
  readonly schedules: number
}

/** The number of jobs that ended in one state during one hour. */
export interface HourCount {
  /** The start of the hour. */
  readonly hour: Date
  readonly state: JobState
  readonly jobs: number
}

/** A line that a job logged. */
export interface LogLine extends Omit<Values<typeof LOG_COLUMNS>, 'jobId'> {
  /** A number that increases from line to line. */
  readonly id: number
}

/** Tokens that change when a table changes; two changes within one second may result in the same token. */
export interface ChangeTokens {
  readonly schedules: string
  readonly jobs: string
  readonly workers: string
}

/** Lists, counts and overviews. Their cost is bounded, regardless of the size of the tables. */
export interface ListStore {
  ownedBy(owner: Owner): ListStore
  /** @throws InvalidInputError when `after` does not match the order */
  schedules(query: Limited<ScheduleQuery>, bounds?: ListBounds): Promise<ListPage<Listed<Schedule>>>
  /**
   * Newest first, in the order of the index that serves the conditions (see list-ranges.ts): by finish time for a final
   * state or a range of finish times, and otherwise by id.
   *
   * @throws InvalidInputError when `after` does not match the order
   */
  jobs(query: Limited<JobQuery>, bounds?: ListBounds): Promise<ListPage<Listed<Job>>>
  /** The ids of jobs, in the order of `jobs`. `isComplete` is false if there are, or may be, more jobs. */
  jobIds(
    conditions: JobConditions,
    limit: number,
    bounds?: ListBounds,
  ): Promise<{ readonly ids: readonly string[]; readonly isComplete: boolean }>
  scheduleCounts(conditions: ScheduleConditions, bounds?: ListBounds): Promise<Counts<ScheduleStatus>>
  jobCounts(conditions: JobConditions, bounds?: ListBounds): Promise<Counts<JobState>>
  /** The most recent runs and skips of each of these schedules, newest first. */
  recentRuns(schedules: readonly string[], limit: number): Promise<ReadonlyMap<string, readonly RecentRun[]>>
  /** The newest non-final jobs of the schedule that has this id now, at most `limit` in each state. */
  openJobs(schedule: string, limit: number): Promise<Listed<Job>[]>
  /** Runs and skips of a schedule: starting from a slot, oldest first; or before a slot, newest first. */
  history(
    schedule: string,
    slots: { readonly from: Date } | { readonly before: Date | null },
    limit: number,
  ): Promise<Listed<Job>[]>
  /** The lines that a job logged after a given line, in order; null when the job does not exist. */
  logs(job: string, after: number, limit: number): Promise<LogLine[] | null>
  /** The newest attempts of a job, oldest first; null when the job does not exist. */
  attempts(job: string, limit: number): Promise<Listed<Attempt>[] | null>
  /** The newest failed jobs. `complete` is false if there are, or may be, more jobs. */
  failures(
    conditions: JobConditions,
    limit: number,
    bounds?: ListBounds,
  ): Promise<{ readonly items: Failure[]; readonly complete: boolean }>
  /** The distinct tasks of schedules, in order. */
  tasks(limit: number): Promise<string[]>
  /**
   * Active, retrying and frozen schedules, grouped by the times at which they elapse. `complete` is false if there may
   * be more schedules.
   */
  timerGroups(
    conditions: ScheduleConditions,
    bounds?: ListBounds,
  ): Promise<{ readonly groups: TimerGroup[]; readonly complete: boolean }>
  /** Whether any of the 100 oldest jobs of this task has an attempt that counts; a released or snoozed one does not. */
  hasRun(task: string): Promise<boolean>
  /**
   * Schedules that still have runs to come, in batches. Without conditions, schedules whose next run is at `until` or
   * later may be left out; `until` is called after each batch. If `isLast` is false in the final batch, there may be
   * more schedules.
   */
  timers(
    conditions: ScheduleConditions,
    until: () => Date,
    bounds?: ListBounds,
  ): AsyncGenerator<{ readonly rows: TimerRow[]; readonly isLast: boolean }, void>
  /**
   * The number of ended jobs by state and by hour; the first hour begins at the minute of `finishedFrom`. `complete` is
   * false if jobs are missing: the jobs that ended first or, for an owner, the jobs that were submitted first.
   */
  finishedPerHour(
    conditions: Pick<JobConditions, 'task' | 'group' | 'submitter'> & {
      readonly finishedFrom: Date
      readonly finishedTo: Date
    },
    bounds?: ListBounds,
  ): Promise<{ readonly hours: HourCount[]; readonly complete: boolean }>
  changeTokens(): Promise<ChangeTokens>
}
