import type { Schedule, ScheduleSettings } from '../model/schedule.ts'
import type { NewSchedule } from './schedule-store.ts'

/** One version of a declared set: what the code of some workers says. */
export interface SetVersion {
  readonly name: string
  readonly hash: string
  /** The ids that it declares. */
  readonly schedules: readonly string[]
}

/** What is in the database of a declared set. */
export interface SetState {
  /** The schedules of the set, and those that have one of its ids. */
  readonly existing: readonly Schedule[]
  /** Whether no newer version is declared by a live worker. */
  readonly isNewest: boolean
  /** All ids that some live worker declares. */
  readonly liveIds: ReadonlySet<string>
}

/** What to do with the rows of a declared set, decided from what is there. */
export interface SetChanges {
  readonly create: readonly NewSchedule[]
  readonly change: readonly { readonly id: string; readonly settings: Partial<ScheduleSettings> }[]
  /** Nothing is to come of them any more. */
  readonly retire: readonly string[]
  /** Retired once, and declared again: planned from now. */
  readonly lift: readonly string[]
  readonly delete: readonly string[]
}

export interface DeclaredStore {
  /** Reads the state of a set and writes what `decide` says, in one transaction; nothing is locked when it says nothing. */
  sync(version: SetVersion, decide: (state: SetState) => SetChanges): Promise<void>
}
