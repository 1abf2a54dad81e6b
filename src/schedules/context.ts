import type { CallContext } from '../model/caller.ts'
import type { Schedule } from '../model/schedule.ts'
import type { TransactionOption } from '../store/job-store.ts'
import type { Store } from '../store/store.ts'
import type { SettingsContext } from './settings.ts'

export type ScheduleStores = Pick<Store, 'schedules' | 'jobs' | 'lists' | 'workers' | 'freezes'>

/** The part of a history to return. */
export interface HistoryQuery {
  /** 1 to 1000, default 100. */
  readonly limit?: number | undefined
  /** Returns only slots before this one, which is the last slot of the previous page. */
  readonly before?: Date | undefined
}

/** Makes a change only if the schedule still has the given version. */
export interface IfVersion {
  /** A version from `versionOf`, or the schedule as it was read, or null if it did not exist; default: any version. */
  readonly ifVersion?: string | Schedule | null | undefined
}

/** Options for changes to a schedule. */
export interface WriteOptions extends IfVersion, TransactionOption {}

/** Options of `pause`. */
export interface PauseOptions extends WriteOptions {
  /** What happens to waiting and blocked jobs; default `leave`: they run. */
  readonly jobs?: 'leave' | 'cancel' | undefined
  /** A note for people, up to 1000 characters. */
  readonly reason?: string | undefined
}

export interface SchedulesContext extends SettingsContext, CallContext {}

/** Where a call writes, and how it waits for its turn. */
export type WritePlace = Pick<ScheduleStores, 'schedules'> & Pick<SchedulesContext, 'inTurn'>
