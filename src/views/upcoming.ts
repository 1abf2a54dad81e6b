/** The next run times of many schedules, calculated from their rows. Pure. */
import { elapsesOf } from '../model/plan.ts'
import type { TimerRow } from '../store/list-store.ts'
import { timer } from '../timer/index.ts'

/** One run time in the future. */
export interface Upcoming {
  readonly at: Date
  readonly scheduleId: string
  readonly task: string
}

/** The range to search: `from` inclusive, `to` exclusive, and the most run times to return. */
export interface UpcomingRange {
  readonly from: Date
  readonly to: Date
  readonly limit: number
}

/** Keeps the earliest run times of the rows that are added. At equal times, rows added first come first. */
export class UpcomingRuns {
  readonly #before: Date
  readonly #limit: number
  // Later run times than the first `limit` are not calculated: 20,000 hourly timers have half a million run times per
  // day.
  #until: Date
  #items: Upcoming[] = []
  #isAll = true

  constructor({ from, to, limit }: UpcomingRange) {
    this.#before = new Date(from.getTime() - 1)
    this.#until = to
    this.#limit = limit
  }

  add(rows: readonly TimerRow[]): void {
    for (const row of rows) {
      for (const at of this.#elapses(row)) this.#items.push({ at, scheduleId: row.id, task: row.task })
      if (this.#items.length > 2 * this.#limit) this.#cut()
    }
    this.#cut()
  }

  /** @returns `isAll` false: there are more run times than `limit` */
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

  #elapses(row: TimerRow): Date[] {
    const elapses: Date[] = []
    try {
      // These timers have no run time until the current run has ended.
      if (timer(row.timer).kind === 'after-finish') return []
      const event = elapsesOf(row, this.#before)
      for (
        let at = event.next(this.#before);
        at !== null && at < this.#until && elapses.length <= this.#limit;
        at = event.next(at)
      )
        elapses.push(at)
    } catch {
      // An invalid timer: the schedule shows the error.
    }
    return elapses
  }
}
