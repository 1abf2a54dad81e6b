import { elapsesOf } from '../model/plan.ts'
import type { TimerRow } from '../store/list-store.ts'
import { timer } from '../timer/index.ts'

/** One run time in the future. */
export interface Upcoming {
  readonly at: Date
  readonly scheduleId: string
  readonly task: string
}

/** Keeps the earliest run times of the rows that are added. At equal times, rows that are added first come first. */
export class UpcomingRuns {
  readonly #before: Date
  readonly #limit: number
  #until: Date
  #items: Upcoming[] = []
  // A schedule that is planned during the search gets a later next run, and may be read again.
  readonly #seen = new Set<string>()
  #isAll = true

  /** @param limit  maximum number of run times between `from` (inclusive) and `to` (exclusive) */
  constructor(from: Date, to: Date, limit: number) {
    this.#before = new Date(from.getTime() - 1)
    this.#until = to
    this.#limit = limit
  }

  /**
   * Run times after this instant are not among the first `limit`, and are not calculated: 20,000 hourly timers have
   * half a million run times per day.
   */
  get until(): Date {
    return this.#until
  }

  add(rows: readonly TimerRow[]): void {
    for (const row of rows) {
      if (this.#seen.has(row.id)) continue
      this.#seen.add(row.id)
      for (const at of this.#runTimes(row)) this.#items.push({ at, scheduleId: row.id, task: row.task })
      if (this.#items.length > 2 * this.#limit) this.#cut()
    }
    this.#cut()
  }

  /** @returns `isAll` is false if there are more run times than `limit` */
  found(): { readonly items: readonly Upcoming[]; readonly isAll: boolean } {
    return { items: this.#items, isAll: this.#isAll }
  }

  #cut(): void {
    this.#items.sort((one, other) => one.at.getTime() - other.at.getTime())
    if (this.#items.length <= this.#limit) return
    this.#isAll = false
    this.#items.length = this.#limit
    this.#until = this.#items.at(-1)?.at ?? this.#until
  }

  #runTimes(row: TimerRow): Date[] {
    const times: Date[] = []
    const { nextRunAt } = row
    if (nextRunAt !== null && nextRunAt >= this.#until) return times
    const first = nextRunAt !== null && nextRunAt > this.#before ? nextRunAt : null
    try {
      // The later run times of these timers depend on when their runs end.
      if (timer(row.timer).kind === 'after-finish') return first === null ? times : [first]
      const event = elapsesOf(row, this.#before)
      for (
        let at = first ?? event.next(this.#before);
        at !== null && at < this.#until && times.length <= this.#limit;
        at = event.next(at)
      )
        times.push(at)
    } catch {
      // The timer is invalid; the schedule shows the error.
    }
    return times
  }
}
