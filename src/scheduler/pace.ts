import type { Submission } from '../store/scheduling-store.ts'

/** After this many consecutive submissions with missed slots, a schedule counts as unable to keep up. */
const TOO_MANY = 5
/** Older entries do not count: the schedule may have been changed since, or another worker may submit it. */
const RECENT_MS = 60_000
/** Maximum number of schedules to remember; after an outage, every schedule may have missed slots once. */
const MAX = 1000

/** Finds schedules that cannot keep up, because they miss slots in consecutive submissions. */
export class Pace {
  readonly #behind = new Map<string, { readonly times: number; readonly at: number }>()

  submitted({ id, plan }: Pick<Submission, 'id' | 'plan'>): void {
    const times = (this.#behind.get(id)?.times ?? 0) + 1
    // The entry is deleted first, so that the map stays in order of each schedule's last submission.
    this.#behind.delete(id)
    if (!plan.skips.some(({ reason }) => reason === 'missed')) return
    this.#behind.set(id, { times, at: performance.now() })
    for (const [oldest] of this.#behind) {
      if (this.#behind.size <= MAX) break
      this.#behind.delete(oldest)
    }
  }

  behind(): string[] {
    const since = performance.now() - RECENT_MS
    return [...this.#behind].filter(([, { times, at }]) => times >= TOO_MANY && at >= since).map(([id]) => id)
  }
}
