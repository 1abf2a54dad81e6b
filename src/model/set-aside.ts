export interface SetAsideOptions {
  /** How long a row is left alone after its first failure; the time doubles with each further one. */
  readonly firstMs: number
  readonly longestMs: number
  /** Most rows; the one that has waited longest is forgotten first. */
  readonly most: number
  /** A clock that only grows, in milliseconds. */
  readonly now: () => number
  readonly onAdded?: (id: string, error: unknown) => void
}

/** Of rows that the database refuses to write. */
export const ROW_BACK_OFF = { firstMs: 10_000, longestMs: 300_000, most: 1000 }

/**
 * The rows that a worker leaves alone for the length of their back-off, because its work on them failed: with every
 * other row of their batch, they would fail again with each pass.
 */
export class SetAside {
  readonly #options: SetAsideOptions
  readonly #now: () => number
  readonly #rows = new Map<string, { readonly until: number; readonly failures: number }>()

  constructor(options: SetAsideOptions) {
    this.#options = options
    this.#now = options.now
  }

  /** The work on the row failed. */
  add(id: string, error: unknown): void {
    const { firstMs, longestMs, most, onAdded } = this.#options
    const failures = (this.#rows.get(id)?.failures ?? 0) + 1
    // At the end of the map, which keeps the order in which rows were added.
    this.#rows.delete(id)
    this.#rows.set(id, {
      until: this.#now() + Math.min(longestMs, firstMs * 2 ** (failures - 1)),
      failures,
    })
    const [oldest] = this.#rows.keys()
    if (this.#rows.size > most && oldest !== undefined) this.#rows.delete(oldest)
    onAdded?.(id, error)
  }

  /** The work on the row went well. */
  forget(id: string): void {
    this.#rows.delete(id)
  }

  has(id: string): boolean {
    const row = this.#rows.get(id)
    return row !== undefined && row.until > this.#now()
  }

  /** The rows whose back-off is not over. */
  ids(): string[] {
    return [...this.#rows.keys()].filter((id) => this.has(id))
  }
}
