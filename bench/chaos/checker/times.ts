/** The clocks of a run, and how much time the workers have when something is broken. */
import type { ClockEntry, FaultEntry, JournalEntry } from '../record.ts'

/** What a loaded machine adds to every allowance. */
export const LOAD_MS = 2000

interface Piece {
  /** Of the harness's clock. */
  readonly from: number
  readonly offsetMs: number
}

export class Times {
  /** How far the database's clock went back in all; 0 where it never did. */
  readonly backMs: number
  readonly #pieces: readonly Piece[]
  /** By the harness's clock; disjoint, in order. */
  readonly #windows: readonly { from: number; until: number }[]
  readonly #monoToHost: number

  constructor(journal: readonly JournalEntry[]) {
    const clocks = journal.filter((entry): entry is ClockEntry => entry.kind === 'clock')
    this.#pieces = clocks.map(({ host, offsetMs }) => ({ from: host, offsetMs }))
    this.backMs = clocks.reduce((sum, { offsetMs }, index) => {
      const before = clocks[index - 1]
      return before === undefined ? sum : sum + Math.max(0, before.offsetMs - offsetMs)
    }, 0)
    this.#windows = merged(journal.filter((entry) => entry.kind === 'fault' && entry.scope !== 'rows'))
    const [first] = journal
    this.#monoToHost = first === undefined ? 0 : first.host - first.mono
  }

  get jumps(): boolean {
    return this.#pieces.length > 1
  }

  /** By the harness's clock. */
  hostOfMono(mono: number): number {
    return mono + this.#monoToHost
  }

  /** The database's clock at an instant of the harness's. */
  databaseAt(host: number): number {
    return host + (this.#pieces.findLast(({ from }) => from <= host)?.offsetMs ?? this.#firstOffset())
  }

  /** The earliest instant of the harness's clock at which the database's showed `at` or more, not before `notBefore`. */
  hostAt(at: number, notBefore = Number.NEGATIVE_INFINITY): number {
    const pieces = this.#pieces.length > 0 ? this.#pieces : [{ from: Number.NEGATIVE_INFINITY, offsetMs: 0 }]
    let latest = notBefore
    for (const [index, { from, offsetMs }] of pieces.entries()) {
      const begin = Math.max(index === 0 ? Number.NEGATIVE_INFINITY : from, notBefore)
      const end = pieces[index + 1]?.from ?? Number.POSITIVE_INFINITY
      if (begin > end) continue
      latest = Math.max(begin, at - offsetMs)
      if (latest < end) return latest
    }
    return latest
  }

  /**
   * Until when something must have been done that could be done from an instant on: `allowedMs` without a fault.
   *
   * @param host  by the harness's clock, as is the answer
   */
  deadline(host: number, allowedMs: number): number {
    let deadline = host + allowedMs
    for (const { from, until } of this.#windows) {
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

function merged(faults: readonly JournalEntry[]): { from: number; until: number }[] {
  const windows: { from: number; until: number }[] = []
  const sorted = faults
    .filter((entry): entry is FaultEntry => entry.kind === 'fault')
    .toSorted((a, b) => a.from - b.from)
  for (const { from, until } of sorted) {
    const last = windows.at(-1)
    if (last !== undefined && from <= last.until) last.until = Math.max(last.until, until)
    else windows.push({ from, until })
  }
  return windows
}

export const instantText = (ms: number | null): string =>
  ms === null ? 'none' : Number.isFinite(ms) ? new Date(ms).toISOString() : String(ms)
