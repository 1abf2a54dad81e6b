import type { Schedule, ScheduleSettings } from '../model/schedule.ts'
import type { NewSchedule } from './schedule-store.ts'

/** One version of a declared set, as the code of some workers has it. */
export interface SetVersion {
  readonly name: string
  readonly hash: string
  /** The ids that it declares. */
  readonly schedules: readonly string[]
}

/** The state of a declared set in the database. */
export interface SetState {
  /** The schedules of the set, and those that have one of its ids. */
  readonly existing: readonly Schedule[]
  /** Whether no newer version is declared by a live worker. */
  readonly isNewest: boolean
  /** All ids that some live worker declares. */
  readonly liveIds: ReadonlySet<string>
}

/** The changes to make to the rows of a declared set. */
export interface SetChanges {
  readonly create: readonly NewSchedule[]
  readonly change: readonly { readonly id: string; readonly settings: Partial<ScheduleSettings> }[]
  /** No further runs. */
  readonly retire: readonly string[]
  /** Were retired and are declared again: planned from now. */
  readonly reactivate: readonly string[]
  readonly delete: readonly string[]
}

export interface DeclaredStore {
  /** Reads the state of a set and writes the changes that `decide` returns, in one transaction. Without changes, nothing is locked. */
  sync(version: SetVersion, decide: (state: SetState) => SetChanges): Promise<void>
}
