import type { ScheduleSettings, StoredSchedule } from '../model/schedule.ts'
import type { NewSchedule } from './schedule-store.ts'

/** One version of a declared set, as it appears in the code of some workers. */
export interface SetVersion {
  readonly name: string
  readonly hash: string
  readonly schedules: readonly string[]
}

export interface SetState {
  /** The schedules of the set, and any other schedules whose ids the set declares. */
  readonly existing: readonly StoredSchedule[]
  /** Whether no live worker declares a newer version. */
  readonly isNewest: boolean
  /** The ids in all versions of the set that live workers declare. */
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
   * Writes the changes that `decide` returns for the state of a set. If there are no changes, nothing is locked.
   * Otherwise, `decide` is called again in the transaction, with the locked schedules, and may return other changes.
   *
   * @param isStart  whether to try even if the database has rejected the set recently
   * @returns false if the set is unchanged because the database rejects one of its rows, or has done so recently
   */
  sync(version: SetVersion, decide: (state: SetState) => SetChanges, isStart?: boolean): Promise<boolean>
}
