/** Remembers rows that could not be written, and leaves them out until their back-off ends. */

interface BackOff {
  readonly firstMs: number
  /** Maximum back-off; the back-off doubles with each further failure. */
  readonly longestMs: number
  /** How long a row is remembered after its back-off; default: until it is written. */
  readonly knownMs?: number
}

/** The back-off of rows that the database rejects. Rows that are not found again are forgotten: they may be deleted. */
export const REFUSED: BackOff = { firstMs: 10_000, longestMs: 300_000, knownMs: 3_900_000 }
/** The back-off of rows that timed out on a lock. */
export const WAITED: BackOff = { firstMs: 1000, longestMs: 60_000 }
/** The back-off of rows that were written, but that this process cannot work with. */
export const UNUSABLE: BackOff = { firstMs: 1000, longestMs: 300_000, knownMs: 300_000 }
/**
 * The maximum number of remembered rows of each kind. Beyond this number, the row that failed longest ago is forgotten.
 */
const MAX_REMEMBERED = 5000

export interface Row {
  /** Unique among the rows of the operation. */
  readonly id: string
  /** For a job, its group and its task. */
  readonly group_?: string | undefined
  readonly task?: string | undefined
}

export interface LeftOutRow extends Row {
  /** The error with which the row failed last; null if this process cannot work with it. */
  readonly error: unknown
}

interface Remembered extends LeftOutRow {
  /** The end of the row's back-off, by performance.now(). */
  readonly until: number
  readonly backOffMs: number
}

export class LeftOut {
  readonly #backOff: BackOff
  readonly #rows = new Map<string, Remembered>()

  constructor(backOff: BackOff) {
    this.#backOff = backOff
  }

  add({ id, group_, task }: Row, error: unknown): void {
    const { firstMs, longestMs } = this.#backOff
    const before = this.#get(id)
    const backOffMs = before === null ? firstMs : Math.min(longestMs, 2 * before.backOffMs)
    // Moves the row to the end of the map, which keeps insertion order.
    this.#rows.delete(id)
    this.#rows.set(id, { id, group_, task, error, until: now() + backOffMs, backOffMs })
    const [oldest] = this.#rows.keys()
    if (this.#rows.size > MAX_REMEMBERED && oldest !== undefined) this.#rows.delete(oldest)
  }

  forget(rows: readonly Row[]): void {
    if (this.#rows.size > 0) for (const { id } of rows) this.#rows.delete(id)
  }

  /** Whether the row has failed, even if its back-off has ended. */
  isKnown({ id }: Row): boolean {
    return this.#get(id) !== null
  }

  has({ id }: Row): boolean {
    const row = this.#get(id)
    return row !== null && now() < row.until
  }

  /** The rows that have failed and have not been written since. */
  known(): LeftOutRow[] {
    return [...this.#rows.values()].filter((row) => this.isKnown(row))
  }

  /** The rows whose back-off has not ended. */
  rows(): LeftOutRow[] {
    return [...this.#rows.values()].filter(({ until }) => now() < until)
  }

  /** Whether the next row that is added may displace another one. */
  isFull(): boolean {
    return this.#rows.size === MAX_REMEMBERED
  }

  #get(id: string): Remembered | null {
    const row = this.#rows.get(id)
    if (row === undefined) return null
    if (now() < row.until + (this.#backOff.knownMs ?? Infinity)) return row
    this.#rows.delete(id)
    return null
  }
}

const now = () => performance.now()
