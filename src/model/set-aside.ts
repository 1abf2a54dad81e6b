export interface SetAsideOptions {
  /** How long a row is left alone after its first failure. The time doubles with each further failure. */
  readonly firstMs: number
  readonly longestMs: number
  /** The most rows. Beyond it, the row that failed longest ago is forgotten. */
  readonly most: number
  /** A monotonic clock, in milliseconds. */
  readonly now: () => number
  readonly onAdded?: (id: string, error: unknown) => void
}

/** For rows that the database refuses to write. */
export const ROW_BACK_OFF = { firstMs: 10_000, longestMs: 300_000, most: 1000 }

/**
 * The rows that a worker leaves alone during their back-off because its work on them failed. Otherwise each pass would
 * fail again, together with the rest of its batch.
 */
export class SetAside {
  readonly #options: SetAsideOptions
  readonly #now: () => number
  readonly #rows = new Map<string, { readonly until: number; readonly failures: number }>()

  constructor(options: SetAsideOptions) {
    this.#options = options
    this.#now = options.now
  }

  /** Records that the work on a row failed. */
  add(id: string, error: unknown): void {
    const { firstMs, longestMs, most, onAdded } = this.#options
    const failures = (this.#rows.get(id)?.failures ?? 0) + 1
    // Moves the row to the end of the map, which keeps insertion order.
    this.#rows.delete(id)
    this.#rows.set(id, {
      until: this.#now() + Math.min(longestMs, firstMs * 2 ** (failures - 1)),
      failures,
    })
    const [oldest] = this.#rows.keys()
    if (this.#rows.size > most && oldest !== undefined) this.#rows.delete(oldest)
    onAdded?.(id, error)
  }

  /** Records that the work on a row succeeded. */
  forget(id: string): void {
    this.#rows.delete(id)
  }

  /** Whether the work on a row failed and has not succeeded since then, even if its back-off has ended. */
  isKnown(id: string): boolean {
    return this.#rows.has(id)
  }

  has(id: string): boolean {
    const row = this.#rows.get(id)
    return row !== undefined && row.until > this.#now()
  }

  /** The rows whose back-off has not ended. */
  ids(): string[] {
    return [...this.#rows.keys()].filter((id) => this.has(id))
  }
}
