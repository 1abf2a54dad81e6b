import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises'

/** How long one part of a larger piece of work should occupy the event loop, in milliseconds. */
export const PART_MS = 50
/** A rest after a shorter turn would take longer than the turn, because timers are only exact to a millisecond or two. */
const SHORT_MS = 5
/** A longer turn was mostly work of the application or a stop of the process, for which callers need not wait. */
const LONGEST_WAIT_MS = 250

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

/**
 * The returned function lets one caller continue per turn of the event loop, in the order of the calls, and lets the
 * next one wait for as long as that turn took, whatever else ran in it. Submitting the jobs of a single schedule needs about
 * twelve turns; if each of them waited for the work of another request, a flood of requests would delay all schedules.
 */
export function halfOfTheTime(wait: (ms: number) => Promise<unknown> = pause): () => Promise<void> {
  let last: Promise<unknown> = Promise.resolve()
  return () => {
    const mine = last.then(() => turn())
    last = mine.then(() => restAfter(wait))
    return mine
  }
}

/** Called right before synchronous work: waits for the end of this turn, and then for as long as the turn took. */
async function restAfter(wait: (ms: number) => Promise<unknown>): Promise<void> {
  const began = performance.now()
  await turn()
  const ms = performance.now() - began
  if (ms >= SHORT_MS) await wait(Math.min(ms, LONGEST_WAIT_MS))
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
