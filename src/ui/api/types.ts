/** What the REST API gives and takes. Instants are RFC 3339 text in UTC. */
import type { JobSettings, Settings } from './generated/settings.ts'

export type Instant = string

export const SCHEDULE_STATUSES = ['active', 'paused', 'dead', 'invalid', 'done', 'retired'] as const
export type ScheduleStatus = (typeof SCHEDULE_STATUSES)[number]

export const JOB_STATES = [
  'running',
  'waiting',
  'blocked',
  'failed',
  'success',
  'skipped',
  'cancelled',
] as const
export type JobState = (typeof JOB_STATES)[number]

export interface Schedule extends Settings {
  readonly id: string
  readonly status: ScheduleStatus
  readonly nextRun: Instant | null
  readonly idle: string | null
  readonly declaredBy: string | null
  readonly created: Instant
  readonly lastSlot: Instant | null
  readonly runCount: number
  readonly errorCount: number
  readonly lastRun: Instant | null
  readonly lastFinished: Instant | null
  readonly lastJob: string | null
  readonly lastError: string | null
  readonly markedBy: string | null
}

export interface Job extends JobSettings {
  readonly id: string
  readonly scheduleId: string | null
  readonly slot: Instant | null
  readonly missed: number
  readonly run: number | null
  readonly state: JobState
  readonly reason: string | null
  readonly worker: string | null
  readonly attempt: number
  readonly submitted: Instant
  readonly runAt: Instant | null
  readonly started: Instant | null
  readonly finished: Instant | null
  readonly progress: unknown
  readonly result: unknown
  readonly error: string | null
  readonly stopRequested: Instant | null
  /** Of a row of a list: bytes of what the list leaves out or shortens. */
  readonly truncated?: Readonly<Record<string, number>>
}

export interface Page<Item> {
  readonly items: readonly Item[]
  readonly total: number
  /** False: there are more than `total`, or there may be. */
  readonly totalIsExact: boolean
}

export interface Counts<Name extends string> {
  readonly counts: Readonly<Partial<Record<Name, number>>>
  readonly isExact: boolean
}

export interface RecentRun {
  readonly id: string
  readonly state: JobState
  readonly slot: Instant | null
  readonly started: Instant | null
  readonly finished: Instant | null
}

/** A schedule as lists give it. */
export interface ListedSchedule extends Schedule {
  /** The timer in words; null when it cannot be read. */
  readonly timerDescription: string | null
  /** Newest first, where asked for. */
  readonly runs?: readonly RecentRun[]
}

export interface LogLine {
  /** For `after`. */
  readonly id: number
  readonly at: Instant
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  readonly message: string
}

export interface Worker {
  readonly id: string
  readonly name: string
  readonly host: string
  readonly pid: number
  readonly tasks: readonly string[]
  readonly sets: Readonly<Record<string, string>>
  readonly started: Instant
  readonly heartbeat: Instant
  /** By the database's clock and the lease. */
  readonly alive: boolean
  /** How many jobs it runs. */
  readonly running: number
}

/** Failed jobs with the same first line of their error. */
export interface FailureGroup {
  readonly error: string
  readonly jobs: number
  readonly tasks: readonly string[]
  /** The newest. */
  readonly lastJob: string
  readonly lastFinished: Instant | null
}

export interface HourLoad {
  /** The start of the hour. */
  readonly hour: Instant
  readonly planned: number
  readonly ended: Readonly<Partial<Record<JobState, number>>>
}

export interface Load {
  readonly from: Instant
  readonly to: Instant
  readonly hours: readonly HourLoad[]
  readonly schedules: number
  /** Else `planned` follows from rates. */
  readonly plannedIsExact: boolean
  /** Else the first hours are missing. */
  readonly endedIsComplete: boolean
}

export interface Upcoming {
  readonly at: Instant
  readonly schedule: string
  readonly task: string
}

export interface UpcomingList {
  readonly items: readonly Upcoming[]
  readonly complete: boolean
}

export interface Task {
  readonly name: string
  /** Live workers that run it. */
  readonly workers: number
}

/** What became of many jobs. */
export interface JobsAction {
  readonly matched: number
  readonly matchedIsExact: boolean
  readonly changed: readonly string[]
  readonly refused: readonly { readonly id: string; readonly detail: string }[]
  /** There may be more: do it again. */
  readonly more: boolean
}

export interface Explanation {
  readonly schedule: string
  readonly status: ScheduleStatus
  readonly nextRun: Instant | null
  readonly reasons: readonly string[]
}

export interface Elapse {
  readonly at: Instant
  readonly local: string
}

export type TimerCheck =
  | {
      readonly valid: false
      readonly error: {
        readonly message: string
        readonly column: number | null
        readonly token: string | null
        readonly hint: string | null
      }
    }
  | {
      readonly valid: true
      readonly kind: string
      readonly text: string
      readonly zone: string
      readonly description: string
      readonly elapses: readonly Elapse[]
      readonly warnings: readonly string[]
      /** Of cron: the calendar events that mean the same. */
      readonly events: readonly string[]
    }
