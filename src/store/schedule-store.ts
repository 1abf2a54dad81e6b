import type { Schedule, ScheduleSettings, ScheduleStatus } from '../model/schedule.ts'

export interface ScheduleFilter {
  readonly status?: ScheduleStatus | undefined
  readonly task?: string | undefined
  readonly group?: string | undefined
  readonly submitter?: string | undefined
  readonly declaredBy?: string | undefined
  readonly limit: number
  readonly offset: number
}

export interface Page<Item> {
  readonly items: Item[]
  readonly total: number
}

export type PutResult = 'created' | 'changed' | 'unchanged'

/** What to do with the rows of a declared set, decided from what is there. */
export interface SetChanges {
  readonly create: readonly { readonly id: string; readonly settings: ScheduleSettings }[]
  readonly change: readonly { readonly id: string; readonly settings: Partial<ScheduleSettings> }[]
}

/** What people and code do to schedules. Planning is left to the scheduler, which sees every edit. */
export interface ScheduleStore {
  /** @throws ConflictError when the id is in use */
  create(id: string, settings: ScheduleSettings): Promise<void>
  /** Creates the schedule, or changes what differs; `enabled` and `declaredBy` are only for a new one. */
  put(id: string, settings: ScheduleSettings): Promise<PutResult>
  get(id: string): Promise<Schedule | null>
  list(filter: ScheduleFilter): Promise<Page<Schedule>>
  /** @returns whether there is such a schedule */
  update(id: string, changes: Partial<ScheduleSettings>): Promise<boolean>
  delete(id: string): Promise<boolean>
  /**
   * Submits a run now, beside the timer.
   *
   * @returns the job's id; null when there is no such schedule
   * @throws ConflictError naming the job that is not final
   */
  runNow(id: string): Promise<string | null>
  /** Reads the schedules of the given ids or set under lock, and writes what `decide` says, in one transaction. */
  sync(
    set: string,
    ids: readonly string[],
    decide: (existing: readonly Schedule[]) => SetChanges,
  ): Promise<void>
}
