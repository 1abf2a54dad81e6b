/**
 * Decides which use gets the single connection next. The loops come before the application's calls, and both come
 * before the API.
 *
 * The driver is synchronous, and continuations run as microtasks. The connection is therefore passed on in a
 * setImmediate callback, so that timers, sockets and signals wait for at most one turn. The imported setImmediate also
 * works in tests that replace the global timers.
 */
import { setImmediate } from 'node:timers'
import type { Use } from '../database.ts'

const ORDER: readonly Use[] = ['loops', 'calls', 'api']
/**
 * After this many consecutive turns that overtake another use, one overtaken use gets a turn, so that neither a busy
 * worker nor a flood of requests can lock out the application.
 */
const MAX_OVERTAKING = 10

interface Waiting {
  readonly begin: () => void
  readonly since: number
}

export class Turns {
  readonly #waiting: Readonly<Record<Use, Waiting[]>> = { loops: [], calls: [], api: [] }
  #isTaken = false
  #overtaking = 0
  /** The use that got the last reserved turn: if two uses are overtaken, they alternate. */
  #lastReserved: Use | null = null

  async take<Result>(use: Use, work: () => Promise<Result>): Promise<Result> {
    await this.#turn(use)
    try {
      return await work()
    } finally {
      setImmediate(() => this.#next())
    }
  }

  longestWaitMs(use: Use): number {
    const [first] = this.#waiting[use]
    return first === undefined ? 0 : performance.now() - first.since
  }

  #turn(use: Use): Promise<void> {
    if (!this.#isTaken) {
      this.#isTaken = true
      return Promise.resolve()
    }
    return new Promise((begin) => {
      this.#waiting[use].push({ begin, since: performance.now() })
    })
  }

  #next(): void {
    const [first, ...overtaken] = ORDER.filter((use) => this.#waiting[use].length > 0)
    const isReserved = this.#overtaking >= MAX_OVERTAKING && overtaken.length > 0
    this.#overtaking = overtaken.length > 0 && !isReserved ? this.#overtaking + 1 : 0
    const use = isReserved ? this.#reserved(overtaken) : first
    if (use === undefined) this.#isTaken = false
    else this.#waiting[use].shift()?.begin()
  }

  #reserved(overtaken: readonly Use[]): Use | undefined {
    const use = overtaken.findLast((other) => other !== this.#lastReserved) ?? overtaken[0]
    this.#lastReserved = use ?? null
    return use
  }
}
