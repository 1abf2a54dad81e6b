import type { LogLevel } from './executing-store.ts'
import type { Attempt } from '../model/attempt.ts'
import type { Job, JobState } from '../model/job.ts'
import type { Owner } from '../model/owner.ts'
import type { Schedule, ScheduleStatus } from '../model/schedule.ts'

/** What reading large tables may cost. */
export interface ListBounds {
  /** Rows beyond it are not counted. */
  readonly countUpTo: number
  /** Rows that are looked through for conditions that no index serves, first ones first. */
  readonly searchWithin: number
  /** Milliseconds after which a search ends with what it has found. */
  readonly searchMs: number
}

/** [1,000,000 rows on MariaDB: a count of 10,000 takes 2 ms, a search through 100,000 rows 60 to 200 ms.] */
export const LIST_BOUNDS: ListBounds = { countUpTo: 10_000, searchWithin: 100_000, searchMs: 2000 }

/** All rows are searched. */
export const NO_BOUNDS: ListBounds = {
  countUpTo: Number.MAX_SAFE_INTEGER - 1,
  searchWithin: Number.MAX_SAFE_INTEGER,
  searchMs: Infinity,
}

export interface PageBounds extends ListBounds {
  readonly limit: number
  readonly offset: number
}

/** Which schedules are meant; what is left out restricts nothing. */
export interface ScheduleConditions {
  readonly status?: ScheduleStatus | undefined
  readonly task?: string | undefined
  readonly group?: string | undefined
  readonly submitter?: string | undefined
  readonly declaredBy?: string | undefined
  /** Part of the id, the summary, the subject or the task, in any case. */
  readonly text?: string | undefined
}

/** Which jobs are meant; what is left out restricts nothing. */
export interface JobConditions {
  readonly state?: JobState | undefined
  readonly task?: string | undefined
  readonly schedule?: string | undefined
  readonly group?: string | undefined
  readonly submitter?: string | undefined
  /** The worker that runs it now. */
  readonly worker?: string | undefined
  /** The beginning of the id. */
  readonly id?: string | undefined
  /** Part of the error, in any case. */
  readonly error?: string | undefined
  /** Part of the stored args, in any case. */
  readonly args?: string | undefined
  /** Ended at or after. */
  readonly finishedFrom?: Date | undefined
  /** Ended before. */
  readonly finishedTo?: Date | undefined
}

/** Which part of a list is wanted. */
export interface PageQuery {
  /** 1 to 1000, default 100. */
  readonly limit?: number | undefined
  /** At most 100,000: beyond it, go on from the last id, or filter. */
  readonly offset?: number | undefined
}

/** Which schedules are listed, in which order. */
export interface ScheduleQuery extends ScheduleConditions, PageQuery {
  /** Only ids after this one: the last one of the page before. */
  readonly after?: string | undefined
  /** `id` (default), or `nextRun`: the next to run first, without the schedules that have no next run. */
  readonly order?: 'id' | 'nextRun' | undefined
}

/** Which jobs are listed, newest first. */
export interface JobQuery extends JobConditions, PageQuery {
  /** Only ids before this one: the last one of the page before. */
  readonly before?: string | undefined
}

export type ScheduleSelection = ScheduleQuery & PageBounds
export type JobSelection = JobQuery & PageBounds

/** Columns that may be large. */
export type LargeColumn = 'args' | 'result' | 'progress' | 'error' | 'lastError'

/**
 * A row of a list. What is large is left out: JSON is null, of an error there are its first lines. `get` reads all of it.
 */
export type Listed<Row> = Row & {
  /** The bytes of what is left out or shortened; missing: nothing is. */
  readonly truncated?: Readonly<Partial<Record<LargeColumn, number>>>
}

/** Part of a list, and how many there are, as far as was counted. */
export interface ListPage<Item> {
  readonly items: Item[]
  readonly total: number
  /** False: there are more than `total`, or there may be. */
  readonly totalIsExact: boolean
}

/** How many there are of each name. */
export interface Counts<Name extends string> {
  /** Of each name that occurs. */
  readonly counts: Readonly<Partial<Record<Name, number>>>
  /** False: some are larger than said. */
  readonly isExact: boolean
}

/** The ids of rows that match some conditions. */
export interface MatchingIds {
  readonly ids: readonly string[]
  /** False: there are more, or there may be. */
  readonly isComplete: boolean
}

/** A run as it is drawn in a line of them. */
export interface RecentRun {
  readonly id: string
  readonly state: JobState
  readonly slot: Date | null
  readonly started: Date | null
  readonly finished: Date | null
}

/** The end of a job that failed. */
export interface Failure {
  readonly id: string
  readonly task: string
  /** The beginning of the error. */
  readonly error: string
  readonly finished: Date | null
}

/** What decides when a schedule elapses. */
export interface TimerRow {
  readonly id: string
  readonly task: string
  readonly timer: string
  readonly jitterMs: number
  readonly starts: Date | null
  readonly ends: Date | null
  readonly created: Date
}

/** Schedules that elapse alike. */
export interface TimerGroup extends Omit<TimerRow, 'id' | 'task'> {
  readonly schedules: number
}

/** Jobs of one state that ended within an hour. */
export interface HourCount {
  /** The start of the hour. */
  readonly hour: Date
  readonly state: JobState
  readonly jobs: number
}

/** A line that a job has logged. */
export interface LogLine {
  /** Grows from line to line. */
  readonly id: number
  readonly at: Date
  readonly level: LogLevel
  readonly message: string
}

/** Texts that differ when something in a table has changed; two that are equal say that nothing has. */
export interface ChangeTokens {
  readonly schedules: string
  readonly jobs: string
  readonly workers: string
}

/** Lists, counts and overviews, whose cost is bounded however large the tables are. */
export interface ListStore {
  /** The same, reaching only the rows of an owner, under the names that this owner has for them. */
  ownedBy(owner: Owner): ListStore
  schedules(selection: ScheduleSelection): Promise<ListPage<Listed<Schedule>>>
  /** Newest first; those of a schedule by slot, and those that ended within a time by their end, except for an owner. */
  jobs(selection: JobSelection): Promise<ListPage<Listed<Job>>>
  /** The ids of jobs, in the order of `jobs`. */
  jobIds(conditions: JobConditions, limit: number, bounds: ListBounds): Promise<MatchingIds>
  scheduleCounts(conditions: ScheduleConditions, bounds: ListBounds): Promise<Counts<ScheduleStatus>>
  jobCounts(conditions: JobConditions, bounds: ListBounds): Promise<Counts<JobState>>
  /** The last runs and skips of each of some schedules, newest first. */
  recentRuns(schedules: readonly string[], limit: number): Promise<ReadonlyMap<string, readonly RecentRun[]>>
  /** Runs and skips of a schedule: from a slot on, oldest first, or before a slot, newest first. */
  history(
    schedule: string,
    slots: { readonly from: Date } | { readonly before: Date | null },
    limit: number,
  ): Promise<Listed<Job>[]>
  /** What a job has logged after a line, in order; null when there is no such job. */
  logs(job: string, after: number, limit: number): Promise<LogLine[] | null>
  /** The newest attempts of a job, oldest first; null when there is no such job. */
  attempts(job: string, limit: number): Promise<Listed<Attempt>[] | null>
  /** The newest jobs that failed. `complete` false: there are more, or there may be. */
  failures(
    conditions: JobConditions,
    bounds: ListBounds & { readonly limit: number },
  ): Promise<{ readonly items: Failure[]; readonly complete: boolean }>
  /** The tasks of schedules, each once, in order. */
  tasks(limit: number): Promise<string[]>
  /** Active schedules, those together that elapse alike. `complete` false: there may be more. */
  timerGroups(
    conditions: ScheduleConditions,
    bounds: ListBounds,
  ): Promise<{ readonly groups: TimerGroup[]; readonly complete: boolean }>
  /** Active schedules, in the order of their ids. @param atOnce  how many are looked at for one piece */
  timers(conditions: ScheduleConditions, atOnce: number): AsyncGenerator<TimerRow[], void>
  /**
   * Jobs that ended, by hour and state. `complete` false: those that ended first are missing, or of an owner, those
   * that were submitted first.
   */
  finishedPerHour(
    conditions: JobConditions & { readonly finishedFrom: Date; readonly finishedTo: Date },
    bounds: ListBounds,
  ): Promise<{ readonly hours: HourCount[]; readonly complete: boolean }>
  /** Texts that are different after each change of a table, also by SQL. */
  changeTokens(): Promise<ChangeTokens>
}
