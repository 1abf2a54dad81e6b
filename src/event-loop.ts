import { setImmediate as turn } from 'node:timers/promises'

/** How long one part of a larger piece of work should occupy the event loop, in milliseconds. */
export const PART_MS = 50

/**
 * For synchronous work in parts: call the returned function between parts. It yields to timers, sockets and signals if
 * the last yield was at least `ms` ago.
 */
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
  /** The target time for one part, in milliseconds. */
  readonly ms: number
}

const GROWTH = 8

/** Estimates how many rows can be processed in a given time, based on how long the last rows took. */
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

  /** A quick read of fewer rows than estimated is ignored, because it says little about the time for many rows. */
  took(rows: number, ms: number): void {
    if (rows < this.#rows && ms <= this.#options.ms) return
    const fitting = Math.max(1, (rows * this.#options.ms) / Math.max(1, ms))
    this.#rows = Math.round(Math.min(this.#options.most, rows * GROWTH, fitting))
  }
}
