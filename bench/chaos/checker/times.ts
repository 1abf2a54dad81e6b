/** The clocks of a run, and how much time the workers have when something is broken. */
import type { ClockEntry, FaultEntry, JournalEntry } from '../record.ts'

/** What a loaded machine adds to every allowance. */
export const LOAD_MS = 2000

interface Piece {
  /** Of the harness's clock. */
  readonly from: number
  readonly offsetMs: number
}

/** A period with one or several faults, by the harness's clock. */
export interface Window {
  readonly from: number
  readonly until: number
  readonly faults: readonly FaultEntry[]
}

/** Something that took its time. */
export interface Happening {
  /** By the database's clock. */
  readonly from: number
  readonly until: number
  /** When it was over, by the harness's clock. */
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

  /** The database's clock at an instant of the harness's. */
  databaseAt(host: number): number {
    return host + (this.#pieces.findLast(({ from }) => from <= host)?.offsetMs ?? this.#firstOffset())
  }

  /** What the database's clock showed at least and at most in a time of the harness's. */
  range(from: number, until: number): { readonly low: number; readonly high: number } {
    const ends = [from, until]
    for (const [index, piece] of this.#pieces.entries()) {
      // On both sides of each jump.
      if (index > 0 && piece.from >= from && piece.from <= until) ends.push(piece.from - 1, piece.from)
    }
    const shown = ends.map((host) => this.databaseAt(host))
    return { low: Math.min(...shown), high: Math.max(...shown) }
  }

  /**
   * Since when, at an instant, the database's clock has shown `at` or later without a break.
   *
   * @param host  by the harness's clock, as is the answer
   * @returns Infinity: it does not show it
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
   * Whether something that the database's clock dates was before something else, after it, or cannot be told from it.
   *
   * @returns negative: before; positive: after; 0: meanwhile, or the clock was moved so that it is not told
   */
  order(at: number, { from, until, host }: Happening): number {
    const orders = new Set(
      this.#hostsOf(at).map((own) => {
        if (!this.#isMoved(Math.min(own, host), Math.max(own, host)))
          // Where the clock went back meanwhile, the end has the smaller time.
          return at < Math.min(from, until) ? -1 : Number(at > Math.max(from, until))
        return Math.abs(own - host) > LOAD_MS + Math.abs(until - from) ? Math.sign(own - host) : 0
      }),
    )
    const [only] = orders
    return orders.size === 1 ? (only ?? 0) : 0
  }

  /** When the database's clock showed an instant first, by the harness's clock; where it never did, when the run began. */
  firstShown(at: number): number {
    const hosts = this.#hostsOf(at)
    return hosts.length > 0 ? Math.min(...hosts) : (this.#pieces[0]?.from ?? at)
  }

  /** When the database's clock may have shown an instant, by the harness's clock: several times, where it was moved. */
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

  /** Whether the database's clock has shown an instant twice, because it went back: then order is not told by it. */
  isRepeated(at: number): boolean {
    return this.#repeated.some(({ from, until }) => from <= at && at <= until)
  }

  /**
   * Until when something must have been done that could be done from an instant on: `allowedMs` without a fault.
   *
   * @param host  by the harness's clock, as is the answer
   * @param windows  the faults that count; default: all of them
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

/** What lies between a jump back and the latest time that was shown before it, and what was submitted on the way. */
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
 * The periods with faults, apart from those of scope `rows`.
 *
 * @param isCounted  counts only these faults
 * @param moreMs  how much longer than its faults each period lasts
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
