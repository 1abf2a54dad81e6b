/** setTimeout accepts only 31 bits; a longer delay would fire immediately. */
const LONGEST_TIMER_MS = 2_147_483_647

/** One timer for the deadlines of many items. Most items are deleted long before their deadlines. */
export class Deadlines<Item> {
  readonly #onReached: (item: Item) => void
  /** By performance.now(). */
  readonly #deadlines = new Map<Item, number>()
  #timer: NodeJS.Timeout | undefined
  /** The time at which the timer fires, no later than the earliest deadline. */
  #firesAt = Infinity

  constructor(onReached: (item: Item) => void) {
    this.#onReached = onReached
  }

  set(item: Item, ms: number): void {
    const deadline = performance.now() + ms
    this.#deadlines.set(item, deadline)
    if (deadline < this.#firesAt) this.#arm(deadline)
  }

  /**
   * The timer may still fire for a deleted item. If there are no items, there is no timer, because a timer would keep
   * the process alive.
   */
  delete(item: Item): void {
    this.#deadlines.delete(item)
    if (this.#deadlines.size > 0) return
    clearTimeout(this.#timer)
    this.#firesAt = Infinity
  }

  #arm(deadline: number): void {
    clearTimeout(this.#timer)
    this.#firesAt = deadline
    const ms = Math.min(Math.ceil(deadline - performance.now()), LONGEST_TIMER_MS)
    this.#timer = setTimeout(() => this.#check(), ms)
  }

  #check(): void {
    this.#firesAt = Infinity
    const now = performance.now()
    let next = Infinity
    for (const [item, deadline] of this.#deadlines) {
      if (deadline > now) next = Math.min(next, deadline)
      else {
        this.#deadlines.delete(item)
        this.#onReached(item)
      }
    }
    if (next < this.#firesAt) this.#arm(next)
  }
}
