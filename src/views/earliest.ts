/** The earliest elapses of many schedules. Pure: it reads what the rows say. */
import { elapsesOf } from '../model/plan.ts'
import type { TimerRow } from '../store/list-store.ts'
import { timer } from '../timer/index.ts'

/** One elapse to come. */
export interface Upcoming {
  readonly at: Date
  readonly schedule: string
  readonly task: string
}

/** Which elapses are looked for: `from` included, `to` not, and how many at most. */
export interface Wanted {
  readonly from: Date
  readonly to: Date
  readonly limit: number
}

/** Keeps the earliest elapses of the rows that it is shown; of those at the same time, the ones shown first. */
export class Earliest {
  readonly #before: Date
  readonly #limit: number
  // What comes later than as many others is not looked for: of 20,000 hourly timers a day has half a million elapses.
  #until: Date
  #items: Upcoming[] = []
  #isAll = true

  constructor({ from, to, limit }: Wanted) {
    this.#before = new Date(from.getTime() - 1)
    this.#until = to
    this.#limit = limit
  }

  look(rows: readonly TimerRow[]): void {
    for (const row of rows) {
      for (const at of this.#elapses(row)) this.#items.push({ at, schedule: row.id, task: row.task })
      if (this.#items.length > 2 * this.#limit) this.#cut()
    }
    this.#cut()
  }

  /** @returns `isAll` false: there were more */
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
      // What is counted from the end of a run has no times of its own.
      if (timer(row.timer).kind === 'after finish') return []
      const event = elapsesOf(row)
      for (
        let at = event.next(this.#before);
        at !== null && at < this.#until && elapses.length <= this.#limit;
        at = event.next(at)
      )
        elapses.push(at)
    } catch {
      // A timer that cannot be read: its schedule says so.
    }
    return elapses
  }
}
