import type { Redaction } from '../model/redaction.ts'
import type { Schedule } from '../model/schedule.ts'
import type { JobStore } from '../store/job-store.ts'
import type { ListStore } from '../store/list-store.ts'
import type { ScheduleStore } from '../store/schedule-store.ts'
import type { WorkerStore } from '../store/worker-store.ts'
import type { SettingsContext } from './settings.ts'

/** Where schedules and what became of them are kept. */
export interface ScheduleStores {
  readonly schedules: ScheduleStore
  readonly jobs: Pick<JobStore, 'countOpen'>
  readonly lists: ListStore
  readonly workers: WorkerStore
}

/** Which part of a history is wanted. */
export interface HistoryQuery {
  /** 1 to 1000, default 100. */
  readonly limit?: number | undefined
  /** Only slots earlier than this: the slot of the last one of the page before. */
  readonly before?: Date | undefined
}

/** What the row must still be for a change to be made. */
export interface IfVersion {
  /** What `versionOf` told, or the schedule as it was read; default: whatever it is. */
  readonly ifVersion?: string | Schedule | undefined
}

export interface SchedulesContext extends SettingsContext {
  /** Explanations quote errors. */
  readonly redaction: Redaction
  /** Something was written that the scheduler of this process may act on at once. */
  readonly onWrite: () => void
  /** Runs what counts against a limit of this owner after what did so before it. */
  readonly inTurn: <Result>(work: () => Promise<Result>) => Promise<Result>
}
