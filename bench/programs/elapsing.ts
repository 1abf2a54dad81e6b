/** Measures the `next` function of a library. Every library finds the same elapses, from the same instants. */
import { z } from 'zod'

export const elapsingParams = z.object({
  library: z.string(),
  /** Used in turn. */
  timers: z.array(z.object({ event: z.string(), cron: z.string(), zone: z.string() })),
  from: z.string(),
  /** The number of steps before it starts again at `from`. */
  steps: z.number(),
  ms: z.number(),
})

export type Next = (after: Date) => Date | null

/** @returns the number of elapses found per second, and the elapses of the first round */
export function measureNext(
  nexts: readonly Next[],
  { from, steps, ms }: z.infer<typeof elapsingParams>,
): { perSecond: number; elapses: string[] } {
  const start = new Date(from)
  const elapses = round(nexts, start, steps)
  // Warm up the JIT compiler.
  timed(nexts, start, steps, ms / 2)
  return { perSecond: timed(nexts, start, steps, ms), elapses: elapses.map((at) => at.toISOString()) }
}

function timed(nexts: readonly Next[], start: Date, steps: number, ms: number): number {
  const began = performance.now()
  let found = 0
  for (;;) {
    found += round(nexts, start, steps).length
    const tookMs = performance.now() - began
    if (tookMs >= ms) return (found / tookMs) * 1000
  }
}

function round(nexts: readonly Next[], start: Date, steps: number): Date[] {
  const found: Date[] = []
  let at = start
  for (let step = 0; step < steps; step += 1) {
    for (const next of nexts) {
      const elapse = next(at)
      if (elapse === null) throw new RangeError(`Nothing elapses after ${at.toISOString()}`)
      found.push(elapse)
    }
    at = found.at(-1) ?? start
  }
  return found
}
