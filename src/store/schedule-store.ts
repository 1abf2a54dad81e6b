import type { Owner } from '../model/owner.ts'
import type { Schedule, ScheduleSettings } from '../model/schedule.ts'

/** What `put` did. */
export type PutResult = 'created' | 'changed' | 'unchanged'

/**
 * When a new schedule runs first: at the next time of its timer (`next`), now (`now`), or now if its timer has elapsed in
 * the current minute, otherwise at the next time (`if-due`).
 */
export type FirstRun = 'next' | 'now' | 'if-due'

export interface NewSchedule {
  readonly id: string
  readonly settings: ScheduleSettings
  readonly firstRun: FirstRun
}

/** Receives the locked row before it is written. If it throws, the row is not written. */
export type Check<Row> = (current: Row) => void

/** What people and code do with schedules. The scheduler plans: it notices every edit. */
export interface ScheduleStore {
  /** The same, reaching only the rows of an owner, under the names that this owner has for them. */
  ownedBy(owner: Owner): ScheduleStore
  /**
   * @param id  as it is stored
   * @param firstRun  default `next`
   * @throws ConflictError when the id is in use
   */
  create(id: string, settings: ScheduleSettings, firstRun?: FirstRun): Promise<Schedule>
  /**
   * Creates the schedule, or changes what differs; `enabled` and `declaredBy` are only for a new one.
   *
   * @param check  receives null when there is no such schedule yet
   */
  put(
    id: string,
    settings: ScheduleSettings,
    firstRun?: FirstRun,
    check?: Check<Schedule | null>,
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
   * @param args  JSON text for this run alone; null, the default: the schedule's own
   * @returns the job's id; null when there is no such schedule
   * @throws ConflictError naming the job that is not final, unless runs may overlap
   */
  runNow(id: string, args?: string | null, check?: Check<Pick<Schedule, 'task'>>): Promise<string | null>
  /** The database's clock. */
  now(): Promise<Date>
}
