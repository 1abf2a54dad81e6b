/**
 * Isolates rows that cannot be written, so that each costs its batch only a few statements and delays no other row.
 *
 * If the database rejects a batch, the batch is halved until the rejected rows are found. If a batch times out on a
 * lock, its rows are written one at a time, because a wait takes equally long for one row and for many. No statement
 * can skip such a lock, because it is on a range or an entry of an index, or on a row that another transaction has
 * inserted and not yet committed.
 * Rows that could not be written are remembered and left out until their back-off ends.
 */
import { isA, messageOf, StoreUnavailableError } from '../../errors.ts'
import { AllRefusedError, type OnRefused, type Refusal } from '../refusal.ts'
import { LeftOut, type LeftOutRow, REFUSED, type Row, UNUSABLE, WAITED } from './left-out.ts'

/** How many rows of a call may wait, one at a time, after the whole batch has waited. */
const MAX_WAITS = 2
/**
 * If this many rows are rejected one by one for the same reason, and no row was accepted before them, the server may be
 * at fault rather than the rows.
 */
const FEW = 3
/**
 * The factor by which the number of rows to try grows with each call, so that a few calls are enough to identify a
 * batch that contains only bad rows.
 */
const MORE = 4
/** How long the increased number applies: longer than the longest back-off of a loop. */
const DOUBT_MS = 60_000

export interface IsolationOptions {
  /** Whether the error means that a statement timed out on a lock. */
  readonly isLockWait: (error: unknown) => boolean
  /** Whether the error means that the user may not run the statement, whatever its rows contain. Default: never. */
  readonly isDenied?: (error: unknown) => boolean
  /** Maximum back-off of rows that timed out on a lock. */
  readonly longestWaitedMs?: number
  /** After this many refusals without a success, the server may be at fault; Infinity means never. */
  readonly few?: number
  /** Called with the rows of a call that were rejected for the first time since they were written. */
  readonly onRefused?: (refused: readonly Refusal<Row>[]) => void
}

export interface Writing<Item, Result> {
  /** Writes these rows in one transaction. */
  readonly write: (items: readonly Item[]) => Promise<Result>
  /** Another way to write a row that is rejected even on its own. Default: none. */
  readonly alone?: (item: Item, error: unknown) => Promise<Result>
  /**
   * Whether something was accepted. Rows that other workers have locked or already taken do not count. Default:
   * always.
   */
  readonly wrote?: (result: Result) => boolean
  /** Whether the error is about the rows; by default it is, unless the database is unavailable. */
  readonly isOfARow?: (error: unknown) => boolean
}

export interface Written<Item, Result> {
  readonly results: readonly Result[]
  /** Rows that were neither written nor rejected, because of locks or because of an error that is not about a row. */
  readonly left: readonly Item[]
  readonly refused: readonly Refusal<Item>[]
}

interface Failure {
  readonly error: unknown
  /**
   * What the error means: the rows waited for a lock, the database rejected them, or the error is not about the rows.
   */
  readonly kind: 'waited' | 'refused' | 'other'
}

export interface Finding<Item, Result> {
  /** Finds rows, except those of `leftOut()`, reports them, and then writes them. */
  readonly together: (report: (found: readonly Item[]) => void) => Promise<Result[]>
  /** Writes the rows that have not changed since they were found. */
  readonly some: (items: readonly Item[]) => Promise<Result[]>
  readonly onRefused?: OnRefused | undefined
}

/** Each operation has its own instance; see isolations.ts. */
export class Isolation {
  readonly #options: IsolationOptions
  readonly #few: number
  /**
   * After this number of refusals for the same reason without a success, a write gives up and blames no row. After
   * `#doubtUntil`, `#few` applies instead.
   */
  #mostTried: number
  #doubtUntil = Number.NEGATIVE_INFINITY
  readonly #refused = new LeftOut(REFUSED)
  readonly #waited: LeftOut
  readonly #unusable = new LeftOut(UNUSABLE)

  constructor(options: IsolationOptions) {
    const { longestWaitedMs = WAITED.longestMs, few = FEW } = options
    this.#options = options
    this.#few = few
    this.#mostTried = few
    this.#waited = new LeftOut({ ...WAITED, longestMs: longestWaitedMs })
  }

  leftOut(): LeftOutRow[] {
    return [this.#refused, this.#waited, this.#unusable].flatMap((of) => of.rows())
  }

  /** The rows that were refused, and those that cannot be used, until their back-off ends. */
  refused(): LeftOutRow[] {
    return [this.#refused, this.#unusable].flatMap((of) => of.rows())
  }

  /** Whether so many rows were refused that the oldest ones are forgotten. */
  isFull(): boolean {
    return this.#refused.isFull()
  }

  /** The rows that were refused when they were last tried, and those that cannot be used. */
  setAside(): LeftOutRow[] {
    return [...this.#refused.known(), ...this.#unusable.rows()]
  }

  /** The items that are not left out. */
  without<Item extends Row>(items: readonly Item[]): Item[] {
    return items.filter((item) => ![this.#refused, this.#waited, this.#unusable].some((of) => of.has(item)))
  }

  /**
   * Leaves out a row that this process cannot work with.
   *
   * @param error  the reason, if it is to be reported
   */
  leaveOut(row: Row, error: Error | null = null): void {
    const isKnown = this.#unusable.isKnown(row)
    this.#unusable.add(row, error)
    if (error !== null && !isKnown) this.#options.onRefused?.([{ item: row, error }])
  }

  /** Forgets rows that were written or postponed. */
  forget(rows: readonly Row[]): void {
    for (const known of [this.#refused, this.#waited]) known.forget(rows)
  }

  /**
   * Writes rows together, except those in a back-off because of a lock. Rows that were rejected earlier come last.
   *
   * @throws AllRefusedError when the first rows were all refused for the same reason; an error that is not about a row,
   *   if nothing was written before it
   */
  async write<Item extends Row, Result>(
    items: readonly Item[],
    how: Writing<Item, Result>,
  ): Promise<Written<Item, Result>> {
    const resting = items.filter((item) => this.#waited.has(item))
    const suspects = items.filter((item) => this.#refused.isKnown(item) && !this.#waited.has(item))
    const apart = new Set([...resting, ...suspects])
    const others = apart.size === 0 ? items : items.filter((item) => !apart.has(item))
    const again = others.filter((item) => this.#waited.isKnown(item))
    const fresh = again.length === 0 ? others : others.filter((item) => !again.includes(item))
    const first = await this.#inParts([fresh, ...singly(again)], how)
    if (first.failure !== null && first.results.length === 0) throw first.failure.error
    if (suspects.length === 0) return { ...first, left: [...resting, ...first.left] }
    if (first.failure !== null) return { ...first, left: [...resting, ...first.left, ...suspects] }
    const last = await this.#inParts(singly(suspects), how)
    const results = [...first.results, ...last.results]
    if (last.failure !== null && results.length === 0) throw last.failure.error
    return {
      results,
      left: [...resting, ...first.left, ...last.left],
      refused: [...first.refused, ...last.refused],
    }
  }

  /**
   * Finds rows and writes them.
   *
   * @throws AllRefusedError as for `write`; errors that are not about a row, after which it is unknown what was written
   */
  async find<Item extends Row, Result>({
    together,
    some,
    onRefused,
  }: Finding<Item, Result>): Promise<Result[]> {
    let found: readonly Item[] = []
    try {
      const written = await together((items) => {
        found = items
      })
      if (written.length > 0) this.forget(found)
      return written
    } catch (error) {
      if (found.length === 0 || !(this.#options.isLockWait(error) || this.#isOfARow(error))) throw error
      const how = { write: some, wrote: ({ length }: Result[]) => length > 0 }
      const known = found.filter((item) => this.#refused.isKnown(item))
      const fresh = known.length === 0 ? found : found.filter((item) => !known.includes(item))
      // A single row gets a second chance, because the error may have been temporary.
      const isKnownToFail = known.length === 0 && (found.length > 1 || this.#options.isLockWait(error))
      const { results, refused, failure } = await this.#inParts(
        [fresh, ...singly(known)],
        how,
        isKnownToFail ? { error } : null,
      )
      for (const { item, error: refusal } of refused) onRefused?.(item.id, refusal)
      if (failure !== null) throw failure.error
      return results.flat()
    }
  }

  /**
   * Writes the parts in turn, splitting those that fail into smaller parts.
   *
   * @param failed  the error with which the first part has already failed, or null
   */
  async #inParts<Item extends Row, Result>(
    parts: readonly (readonly Item[])[],
    { write, alone, wrote = () => true, isOfARow = this.#isOfARow }: Writing<Item, Result>,
    failed: { readonly error: unknown } | null = null,
  ): Promise<Written<Item, Result> & { readonly failure: Failure | null }> {
    const results: Result[] = []
    const waited: Item[] = []
    const refused: Refusal<Item>[] = []
    let isAccepted = false
    const attempt = async (part: readonly Item[], work: () => Promise<Result>): Promise<Failure | null> => {
      try {
        const result = await work()
        results.push(result)
        if (wrote(result)) {
          isAccepted = true
          this.forget(part)
        }
        return null
      } catch (error) {
        const isWait = this.#options.isLockWait(error)
        return { error, kind: isWait ? 'waited' : isOfARow(error) ? 'refused' : 'other' }
      }
    }
    const mostTried = now() < this.#doubtUntil ? this.#mostTried : this.#few
    /** The number of rejected rows that were not already known to fail. */
    let doubtful = 0
    let left = parts.filter(({ length }) => length > 0)
    let other: Failure | null = null
    for (let known = failed; other === null && left.length > 0 && waited.length < MAX_WAITS; known = null) {
      const [part = [], ...others] = left
      const single = part.length === 1 ? part[0] : undefined
      let failure = await attempt(
        part,
        known === null ? () => write(part) : () => Promise.reject(known.error),
      )
      if (failure?.kind === 'refused' && single !== undefined && alone !== undefined) {
        const { error } = failure
        failure = await attempt(part, () => alone(single, error))
      }
      left = others
      if (failure === null) continue
      if (failure.kind === 'other') {
        other = failure
        left = [part, ...others]
      } else if (single === undefined) {
        const middle = Math.ceil(part.length / 2)
        left =
          failure.kind === 'refused'
            ? [part.slice(0, middle), part.slice(middle), ...others]
            : [...singly(part), ...others]
      } else if (failure.kind === 'waited') {
        this.#waited.add(single, failure.error)
        waited.push(single)
      } else {
        refused.push({ item: single, error: failure.error })
        doubtful += Number(!this.#refused.isKnown(single))
        if (!isAccepted && left.length > 0 && doubtful >= mostTried)
          this.#giveUp(refused, mostTried, parts.flat().length)
      }
    }
    // The server accepts other rows, so it is not at fault.
    if (isAccepted && refused.length > 0) this.#doubtUntil = Number.NEGATIVE_INFINITY
    // If the server is at fault, no row is blamed.
    const isToBlame = other === null || isAccepted
    if (isToBlame) this.#refuse(refused)
    const others = isToBlame ? [] : refused.map(({ item }) => item)
    return {
      results,
      left: [...others, ...left.flat(), ...waited],
      refused: isToBlame ? refused : [],
      failure: other,
    }
  }

  /** Whether the error is about the written rows, and not about the user, the connection or the server. */
  readonly #isOfARow = (error: unknown) =>
    !isA(error, StoreUnavailableError) && this.#options.isDenied?.(error) !== true

  #refuse(refused: readonly Refusal<Row>[]): void {
    const fresh = refused.filter(({ item }) => !this.#refused.isKnown(item))
    for (const { item, error } of refused) this.#refused.add(item, error)
    if (fresh.length > 0) this.#options.onRefused?.(fresh)
  }

  /** Unless the reasons differ, gives up without blaming any row. The next call tries more rows. */
  #giveUp(refused: readonly Refusal<Row>[], mostTried: number, of: number): void {
    const [reason = '', ...others] = new Set(refused.map(({ error }) => messageOf(error)))
    if (others.length > 0) return
    this.#mostTried = mostTried * MORE
    this.#doubtUntil = now() + DOUBT_MS
    const tried = `all ${String(refused.length)} rows that were tried`
    throw new AllRefusedError(
      `The database rejected ${tried}; all ${String(of)} rows of the batch will be retried: ${reason}`,
      { cause: refused[0]?.error },
    )
  }
}

const now = () => performance.now()

const singly = <Item>(items: readonly Item[]) => items.map((item) => [item])
