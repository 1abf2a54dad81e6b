import type { IsDue } from '../model/first-run.ts'
import type { ManualRun, ScheduleToRun } from '../model/manual-runs.ts'
import type { Owner } from '../model/owner.ts'
import type { OpenJobs, Plan, Plannable } from '../model/planning.ts'
import type { Schedule, ScheduleSettings } from '../model/schedule.ts'
import type { Transaction } from './job-store.ts'

export interface NewSchedule {
  /** The stored id. */
  readonly id: string
  readonly settings: ScheduleSettings
  /** Decides whether the first run is due immediately. Null if the timer alone determines the first run. */
  readonly isDue: IsDue | null
}

export interface Pause {
  readonly reason: string | null
  /** What happens to the schedule's waiting and blocked jobs. */
  readonly jobs: 'leave' | 'cancel'
}

/** What `put` did, and the schedule afterwards. */
export interface PutResult {
  readonly result: 'created' | 'changed' | 'unchanged'
  readonly schedule: Schedule
}

/** Plans a row that was just written, or returns null to leave it to a scheduler. */
export type PlanEdit = (schedule: Plannable, now: Date, open: OpenJobs) => Plan | null

/** Receives the locked row before the write. If the check throws, the row is not written. */
export type Check<Row> = (current: Row) => void

/** If a write has no `plan`, a scheduler plans the row. */
export interface ScheduleStore {
  ownedBy(owner: Owner): ScheduleStore
  /** The same store in a transaction of the application. @throws InvalidInputError when it cannot run statements */
  in(transaction: Transaction): ScheduleStore
  /** @throws ConflictError when the id is in use */
  create(created: NewSchedule, plan?: PlanEdit): Promise<Schedule>
  /** Creates the schedule, or changes the existing one, which is locked. If a callback throws, nothing is written. */
  put(
    id: string,
    create: () => Omit<NewSchedule, 'id'>,
    change: (current: Schedule) => Partial<ScheduleSettings>,
    plan?: PlanEdit,
  ): Promise<PutResult>
  get(id: string): Promise<Schedule | null>
  /** @returns the schedule afterwards; null when the schedule does not exist */
  update(
    id: string,
    changes: Partial<ScheduleSettings>,
    check?: Check<Schedule>,
    plan?: PlanEdit,
  ): Promise<Schedule | null>
  /** Sets `enabled` to false. @returns as `update` */
  pause(id: string, pause: Pause, check?: Check<Schedule>, plan?: PlanEdit): Promise<Schedule | null>
  /** @returns the deleted schedule; null when the schedule does not exist */
  delete(id: string, check?: Check<Schedule>): Promise<Schedule | null>
  /** Plans a schedule from now and clears its counters. @returns as `update` */
  reset(id: string, check?: Check<Schedule>, plan?: PlanEdit): Promise<Schedule | null>
  /** The number of this owner's schedules, counted up to `most`. */
  count(most: number): Promise<number>
  /**
   * Submits a run now, in addition to the timer.
   *
   * @param args  JSON text for this run only; null means the schedule's own args
   * @param decide  receives the locked schedule and the database's clock. If it throws, nothing is written.
   * @returns the job's id; null when the schedule does not exist
   */
  runNow(
    id: string,
    args: string | null,
    decide: (schedule: Schedule & ScheduleToRun, now: Date) => ManualRun,
  ): Promise<string | null>
  /** The database's clock. */
  now(): Promise<Date>
}
