/** Turns of the event loop for work that does not wait for anything, so that timers, sockets and signals are served. */
import { setImmediate as turn } from 'node:timers/promises'

/** How long one part of a larger piece of work should keep the event loop, in milliseconds. */
export const PART_MS = 50

/** For work in parts: call the result between two parts. It gives the event loop a turn if that is due. */
export function betweenParts(ms = PART_MS): () => Promise<void> {
  let turned = performance.now()
  return async () => {
    if (performance.now() - turned < ms) return
    await turn()
    turned = performance.now()
  }
}

interface FittingOptions {
  readonly first: number
  readonly most: number
  /** The time for one part, in milliseconds. */
  readonly ms: number
}

/** The largest growth factor from one part to the next. */
const GROWTH = 8

/** How many rows of a kind fit into a time, by how long the last ones took. */
export class Fitting {
  readonly #options: FittingOptions
  #rows: number

  constructor(options: FittingOptions) {
    this.#options = options
    this.#rows = options.first
  }

  /** At least one. */
  rows(): number {
    return this.#rows
  }

  /** A few rows that were quick say little about many. */
  took(rows: number, ms: number): void {
    if (rows < this.#rows && ms <= this.#options.ms) return
    const fitting = Math.max(1, (rows * this.#options.ms) / Math.max(1, ms))
    this.#rows = Math.round(Math.min(this.#options.most, rows * GROWTH, fitting))
  }
}
