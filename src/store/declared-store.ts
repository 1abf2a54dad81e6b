import type { ScheduleSettings, StoredSchedule } from '../model/schedule.ts'
import type { NewSchedule } from './schedule-store.ts'

/** One version of a declared set, as it appears in the code of some workers. */
export interface SetVersion {
  readonly name: string
  readonly hash: string
  readonly schedules: readonly string[]
}

export interface SetState {
  /** The schedules of the set, and any others that use one of its ids. */
  readonly existing: readonly StoredSchedule[]
  /** Whether no live worker declares a newer version. */
  readonly isNewest: boolean
  /** All ids that live workers declare. */
  readonly liveIds: ReadonlySet<string>
}

export interface SetChanges {
  readonly create: readonly NewSchedule[]
  readonly change: readonly { readonly id: string; readonly settings: Partial<ScheduleSettings> }[]
  /** Schedules that will have no more runs. */
  readonly retire: readonly string[]
  /** Retired schedules that are declared again; they are planned from now. */
  readonly reactivate: readonly string[]
  readonly delete: readonly string[]
}

export interface DeclaredStore {
  /**
   * Reads the state of a set and writes the changes that `decide` returns, in one transaction. If there are no changes,
   * nothing is locked.
   */
  sync(version: SetVersion, decide: (state: SetState) => SetChanges): Promise<void>
}
