import type { IsDue } from '../model/first-run.ts'
import type { ManualRun, ScheduleToRun } from '../model/manual-runs.ts'
import type { Owner } from '../model/owner.ts'
import type { Schedule, ScheduleSettings } from '../model/schedule.ts'

/** What `put` did. */
export type PutResult = 'created' | 'changed' | 'unchanged'

/** A schedule to create. */
export interface NewSchedule {
  /** As it is stored. */
  readonly id: string
  readonly settings: ScheduleSettings
  /** Whether it is due at once; null: its timer is planned, whatever the clock shows. */
  readonly isDue: IsDue | null
}

/** Receives the locked row before it is written. If it throws, the row is not written. */
export type Check<Row> = (current: Row) => void

/** What people and code do with schedules. The scheduler plans: it notices every edit. */
export interface ScheduleStore {
  /** The same, reaching only the rows of an owner, under the names that this owner has for them. */
  ownedBy(owner: Owner): ScheduleStore
  /** @throws ConflictError when the id is in use */
  create(created: NewSchedule): Promise<Schedule>
  /**
   * Creates the schedule, or changes the one that is there. If a decision throws, nothing is written.
   *
   * @param create  decides what is created where there is no such schedule
   * @param change  receives the locked schedule and decides what changes
   */
  put(
    id: string,
    create: () => Omit<NewSchedule, 'id'>,
    change: (current: Schedule) => Partial<ScheduleSettings>,
  ): Promise<{ readonly result: PutResult; readonly schedule: Schedule }>
  get(id: string): Promise<Schedule | null>
  /** @returns the schedule afterwards; null when there is no such schedule */
  update(id: string, changes: Partial<ScheduleSettings>, check?: Check<Schedule>): Promise<Schedule | null>
  /** @returns the deleted schedule; null when there is no such schedule */
  delete(id: string, check?: Check<Schedule>): Promise<Schedule | null>
  /** Plans a schedule from now, with cleared counters. @returns as `update` */
  reset(id: string, check?: Check<Schedule>): Promise<Schedule | null>
  /** How many schedules this owner has; counted up to `most`. */
  count(most: number): Promise<number>
  /**
   * Submits a run now, in addition to the timer.
   *
   * @param args  JSON text for this run alone; null: the schedule's own
   * @param decide  receives the locked schedule and the database's clock. If it throws, nothing is written.
   * @returns the job's id; null when there is no such schedule
   */
  runNow(
    id: string,
    args: string | null,
    decide: (schedule: ScheduleToRun, now: Date) => ManualRun,
  ): Promise<string | null>
  /** The database's clock. */
  now(): Promise<Date>
}
