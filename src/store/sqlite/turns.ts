/**
 * Decides which use gets the one connection next. The loops come before the application's calls, and both come before
 * the API.
 *
 * The driver is synchronous. Each API turn starts after the event loop has run once, so that a flood of requests never
 * blocks timers and sockets for longer than one statement.
 */
import type { Use } from '../database.ts'

const ORDER: readonly Use[] = ['loops', 'calls', 'api']
/**
 * After this many turns that overtake another use, an overtaken use gets a turn. A busy worker must not lock out the
 * application, and neither must a flood of requests.
 */
const MOST_OVERTAKING = 10

interface Waiting {
  readonly begin: () => void
  readonly since: number
}

export class Turns {
  readonly #waiting: Readonly<Record<Use, Waiting[]>> = { loops: [], calls: [], api: [] }
  #isTaken = false
  #overtaking = 0
  /** The use that had the last reserved turn: overtaken uses take these turns alternately. */
  #lastReserved: Use | null = null

  /** Runs the work when its turn comes. */
  async take<Result>(use: Use, work: () => Promise<Result>): Promise<Result> {
    await this.#turn(use)
    try {
      return await work()
    } finally {
      this.#next()
    }
  }

  /** How long the longest-waiting work of this use has waited; 0: nothing waits. */
  longestWaitMs(use: Use): number {
    const [first] = this.#waiting[use]
    return first === undefined ? 0 : performance.now() - first.since
  }

  #turn(use: Use): Promise<void> {
    if (!this.#isTaken && use !== 'api') {
      this.#isTaken = true
      return Promise.resolve()
    }
    return new Promise((begin) => {
      this.#waiting[use].push({ begin, since: performance.now() })
      if (this.#isTaken) return
      this.#isTaken = true
      this.#next()
    })
  }

  #next(): void {
    const { loops, calls, api } = this.#waiting
    if (loops.length + calls.length + api.length === 0) this.#isTaken = false
    else if (loops.length + calls.length > 0 && this.#overtaking < MOST_OVERTAKING) this.#begin()
    else setImmediate(() => this.#begin())
  }

  #begin(): void {
    const uses = ORDER.filter((use) => this.#waiting[use].length > 0)
    const [first, ...overtaken] = uses
    const isReserved = this.#overtaking >= MOST_OVERTAKING && overtaken.length > 0
    this.#overtaking = overtaken.length > 0 && !isReserved ? this.#overtaking + 1 : 0
    const use = isReserved ? this.#reserved(overtaken) : first
    if (use !== undefined) this.#waiting[use].shift()?.begin()
  }

  #reserved(overtaken: readonly Use[]): Use | undefined {
    const use = overtaken.findLast((other) => other !== this.#lastReserved) ?? overtaken[0]
    this.#lastReserved = use ?? null
    return use
  }
}
