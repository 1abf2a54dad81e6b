/** The clocks of a run, and the workers' deadlines after faults. */
import type { ClockEntry, FaultEntry, JournalEntry } from '../record.ts'

/** Tolerance for a loaded machine, added to every limit. */
export const LOAD_MS = 2000

interface Piece {
  /** By the harness's clock. */
  readonly from: number
  readonly offsetMs: number
}

/** A period with one or more faults, by the harness's clock. */
export interface Window {
  readonly from: number
  readonly until: number
  readonly faults: readonly FaultEntry[]
}

/** An event with a duration. */
export interface Happening {
  /** By the database's clock. */
  readonly from: number
  readonly until: number
  /** When it ended, by the harness's clock. */
  readonly host: number
}

export class Times {
  readonly #pieces: readonly Piece[]
  /** By the harness's clock; disjoint, in order. */
  readonly #windows: readonly Window[]
  /** By the database's clock. */
  readonly #repeated: readonly { readonly from: number; readonly until: number }[]
  readonly #monoToHost: number

  constructor(journal: readonly JournalEntry[]) {
    const clocks = journal.filter((entry): entry is ClockEntry => entry.kind === 'clock')
    this.#pieces = clocks.map(({ host, offsetMs }) => ({ from: host, offsetMs }))
    this.#repeated = repeatedRanges(this.#pieces)
    this.#windows = windowsOf(journal, () => true)
    const [first] = journal
    this.#monoToHost = first === undefined ? 0 : first.host - first.mono
  }

  /** By the harness's clock. */
  hostOfMono(mono: number): number {
    return mono + this.#monoToHost
  }

  /** Converts a time from the harness's clock to the database's clock. */
  databaseAt(host: number): number {
    return host + (this.#pieces.findLast(({ from }) => from <= host)?.offsetMs ?? this.#firstOffset())
  }

  /** The earliest and latest times that the database's clock showed during a period by the harness's clock. */
  range(from: number, until: number): { readonly low: number; readonly high: number } {
    const ends = [from, until]
    for (const [index, piece] of this.#pieces.entries()) {
      // Include the times on both sides of each jump.
      if (index > 0 && piece.from >= from && piece.from <= until) ends.push(piece.from - 1, piece.from)
    }
    const shown = ends.map((host) => this.databaseAt(host))
    return { low: Math.min(...shown), high: Math.max(...shown) }
  }

  /**
   * The start of the uninterrupted period, up to `host`, in which the database's clock showed `at` or later.
   *
   * @param host  by the harness's clock, like the result
   * @returns Infinity if the clock shows an earlier time at `host`
   */
  dueSince(at: number, host: number): number {
    let since = Number.POSITIVE_INFINITY
    const pieces = this.#pieces.length > 0 ? this.#pieces : [{ from: 0, offsetMs: 0 }]
    for (let index = pieces.length - 1; index >= 0; index -= 1) {
      const piece = pieces[index]
      if (piece === undefined) break
      const begin = index === 0 ? Number.NEGATIVE_INFINITY : piece.from
      if (begin > host) continue
      const end = Math.min(host, pieces[index + 1]?.from ?? host)
      if (end + piece.offsetMs < at) break
      since = Math.max(begin, at - piece.offsetMs)
      if (since > begin) break
    }
    return since
  }

  /**
   * Compares an instant, by the database's clock, with an event.
   *
   * @returns negative if before, positive if after, 0 if during the event, or if the order is unknown because the clock
   *   was moved
   */
  order(at: number, { from, until, host }: Happening): number {
    const orders = new Set(
      this.#hostsOf(at).map((own) => {
        if (!this.#isMoved(Math.min(own, host), Math.max(own, host)))
          // If the clock went back during the event, its end time is before its start time.
          return at < Math.min(from, until) ? -1 : Number(at > Math.max(from, until))
        return Math.abs(own - host) > LOAD_MS + Math.abs(until - from) ? Math.sign(own - host) : 0
      }),
    )
    const [only] = orders
    return orders.size === 1 ? (only ?? 0) : 0
  }

  /**
   * The time, by the harness's clock, at which the database's clock first showed an instant; the start of the run if it
   * never did.
   */
  firstShown(at: number): number {
    const hosts = this.#hostsOf(at)
    return hosts.length > 0 ? Math.min(...hosts) : (this.#pieces[0]?.from ?? at)
  }

  /**
   * The times, by the harness's clock, at which the database's clock may have shown an instant. There can be several if
   * the database's clock was moved.
   */
  #hostsOf(at: number): number[] {
    if (this.#pieces.length === 0) return [at]
    return this.#pieces.flatMap(({ from, offsetMs }, index) => {
      const host = at - offsetMs
      const until = this.#pieces[index + 1]?.from ?? Infinity
      return host >= from - LOAD_MS && host <= until + LOAD_MS ? [host] : []
    })
  }

  #isMoved(from: number, until: number): boolean {
    return this.#pieces.some(
      (piece, index) => index > 0 && piece.from >= from - LOAD_MS && piece.from <= until,
    )
  }

  /**
   * Whether the database's clock showed an instant twice because it went back. Such times do not determine an order.
   */
  isRepeated(at: number): boolean {
    return this.#repeated.some(({ from, until }) => from <= at && at <= until)
  }

  /**
   * The deadline for work that became possible at the instant `host`: `allowedMs` later if there was no fault.
   *
   * @param host  by the harness's clock, like the result
   * @param windows  the periods with faults that count. Default: all
   */
  deadline(host: number, allowedMs: number, windows = this.#windows): number {
    let deadline = host + allowedMs
    for (const { from, until } of windows) {
      if (until < host) continue
      if (from > deadline) break
      deadline = Math.max(deadline, until + allowedMs)
    }
    return deadline
  }

  #firstOffset(): number {
    return this.#pieces[0]?.offsetMs ?? 0
  }
}

/** The times shown twice: from the new time after a jump back to the latest time before it, with a tolerance. */
function repeatedRanges(pieces: readonly Piece[]): { from: number; until: number }[] {
  const ranges: { from: number; until: number }[] = []
  let latest = Number.NEGATIVE_INFINITY
  for (const [index, { from, offsetMs }] of pieces.entries()) {
    const end = pieces[index + 1]?.from ?? Number.POSITIVE_INFINITY
    if (index > 0 && from + offsetMs < latest)
      ranges.push({ from: from + offsetMs - LOAD_MS, until: Math.min(end + offsetMs, latest) + LOAD_MS })
    latest = Math.max(latest, end + offsetMs)
  }
  return ranges
}

/**
 * The periods with faults other than those of scope `rows`.
 *
 * @param isCounted  selects the faults that count
 * @param moreMs  how long each period continues after its last fault
 */
export function windowsOf(
  journal: readonly JournalEntry[],
  isCounted: (fault: FaultEntry) => boolean,
  moreMs = 0,
): Window[] {
  const windows: { from: number; until: number; faults: FaultEntry[] }[] = []
  const sorted = journal
    .filter((entry) => entry.kind === 'fault')
    .filter((fault) => fault.scope !== 'rows' && isCounted(fault))
    .toSorted((a, b) => a.from - b.from)
  for (const fault of sorted) {
    const until = fault.until + moreMs
    const last = windows.at(-1)
    if (last !== undefined && fault.from <= last.until) {
      last.until = Math.max(last.until, until)
      last.faults.push(fault)
    } else windows.push({ from: fault.from, until, faults: [fault] })
  }
  return windows
}

export const instantText = (ms: number | null): string =>
  ms === null ? 'none' : Number.isFinite(ms) ? new Date(ms).toISOString() : String(ms)
