/**
 * What people and code do to schedules. Nothing here plans: the scheduler sees every edit, whether it was made
 * here or in SQL.
 */
import { ConflictError, NotFoundError } from '../errors.ts'
import { checkedInstant, checkedPage } from '../model/input.ts'
import { newJobId } from '../model/occurrence.ts'
import type { Schedule } from '../model/schedule.ts'
import { timer } from '../timer/index.ts'
import type { Page, PutResult, ScheduleFilter, ScheduleStore } from '../store/schedule-store.ts'
import {
  type AnyScheduleInput,
  checkedId,
  newSettings,
  type ScheduleChanges,
  type ScheduleInput,
  settingsChanges,
  type SettingsContext,
} from './settings.ts'

export type ScheduleQuery = Partial<ScheduleFilter>

const DEFAULT_ELAPSES = 5

export class Schedules {
  readonly #store: ScheduleStore
  readonly #context: SettingsContext
  readonly #onWrite: () => void

  /** @param onWrite  something was written that the scheduler of this process may act on at once */
  constructor(store: ScheduleStore, context: SettingsContext, onWrite: () => void) {
    this.#store = store
    this.#context = context
    this.#onWrite = onWrite
  }

  /**
   * Makes a schedule.
   *
   * @param input.id  1 to 190 characters of the application's choosing; default a new UUID
   * @throws InvalidInputError naming the field, CalendarSyntaxError when the timer cannot be read
   * @throws ConflictError when the id is in use
   */
  create<Input>(input: ScheduleInput<Input> & { readonly id?: string }): Promise<Schedule>
  create(input: AnyScheduleInput & { readonly task: string; readonly id?: string }): Promise<Schedule>
  async create(input: AnyScheduleInput & { readonly id?: string }): Promise<Schedule> {
    const id = input.id === undefined ? newJobId(new Date()) : checkedId(input.id)
    await this.#store.create(id, await newSettings(input, this.#context))
    this.#onWrite()
    return this.#existing(id)
  }

  /**
   * Creates the schedule with this id, or changes what differs. `enabled` counts only for a new one, so that
   * what was paused stays paused.
   *
   * @throws as `create` does, but never because the id is in use
   */
  put<Input>(id: string, input: ScheduleInput<Input>): Promise<{ result: PutResult; schedule: Schedule }>
  put(
    id: string,
    input: AnyScheduleInput & { readonly task: string },
  ): Promise<{ result: PutResult; schedule: Schedule }>
  async put(id: string, input: AnyScheduleInput): Promise<{ result: PutResult; schedule: Schedule }> {
    const result = await this.#store.put(checkedId(id), await newSettings(input, this.#context))
    if (result !== 'unchanged') this.#onWrite()
    return { result, schedule: await this.#existing(id) }
  }

  get(id: string): Promise<Schedule | null> {
    return this.#store.get(id)
  }

  /** In the order of their ids; `limit` is at most 1000, default 100. */
  async list(query: ScheduleQuery = {}): Promise<Page<Schedule>> {
    return this.#store.list({ ...query, ...checkedPage(query) })
  }

  /**
   * Changes what is given. A new timer is planned from now.
   *
   * @throws NotFoundError, and as `create` does
   */
  async update(id: string, changes: ScheduleChanges): Promise<Schedule> {
    const { task } = await this.#existing(id)
    if (!(await this.#store.update(id, await settingsChanges(task, changes, this.#context)))) {
      throw new NotFoundError('schedule', id)
    }
    this.#onWrite()
    return this.#existing(id)
  }

  /** Jobs that were submitted already stay. @throws NotFoundError */
  async delete(id: string): Promise<void> {
    if (!(await this.#store.delete(id))) throw new NotFoundError('schedule', id)
    this.#onWrite()
  }

  /** Nothing is submitted until `resume`; a job that is waiting or running is not touched. */
  pause(id: string): Promise<Schedule> {
    return this.#enable(id, false)
  }

  /** Plans from now: what a pause leaves out is not missed. */
  resume(id: string): Promise<Schedule> {
    return this.#enable(id, true)
  }

  /**
   * Submits a run now, beside the timer, also of a paused schedule.
   *
   * @returns the id of the job
   * @throws NotFoundError
   * @throws ConflictError naming the job of the schedule that is not final
   */
  async runNow(id: string): Promise<string> {
    const job = await this.#store.runNow(id)
    if (job === null) throw new NotFoundError('schedule', id)
    this.#onWrite()
    return job
  }

  /**
   * The next elapses of the schedule's timer, strictly later than `after` (default now).
   *
   * @param options.limit  1 to 1000, default 5
   * @throws NotFoundError, CalendarSyntaxError when the timer cannot be read
   */
  async elapses(id: string, options: { after?: Date; limit?: number } = {}): Promise<Date[]> {
    const limit = options.limit === undefined ? DEFAULT_ELAPSES : checkedPage(options).limit
    const after = checkedInstant('after', options.after) ?? new Date()
    const event = timer((await this.#existing(id)).timer)
    const elapses: Date[] = []
    for (let at = event.next(after); at !== null && elapses.length < limit; at = event.next(at))
      elapses.push(at)
    return elapses
  }

  async #enable(id: string, enabled: boolean): Promise<Schedule> {
    const { enabled: before } = await this.#existing(id)
    if (before === enabled)
      throw new ConflictError(`The schedule '${id}' is ${enabled ? 'not paused' : 'paused already'}`)
    return this.update(id, { enabled })
  }

  async #existing(id: string): Promise<Schedule> {
    const schedule = await this.#store.get(id)
    if (schedule === null) throw new NotFoundError('schedule', id)
    return schedule
  }
}
