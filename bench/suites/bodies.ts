/** The largest request bodies: how long do they block the event loop, and how late do they make a schedule? */
import { z } from 'zod'
import { runProgram } from '../child.ts'
import type { Measure } from '../measure.ts'
import { median } from '../statistics.ts'
import { type Bench, type Findings, scaled, type Suite } from '../suite.ts'
import { eachAtLeast, eachAtMost, type Named } from '../target.ts'

const MAX_MS = 50
/** A schedule per second is on time if its run starts before the next one is due. */
const MAX_LATE_MS = 1000
const SECONDS = 20
const REDACT = ['args.a.pin', 'args.a.*.pin']
const resultSchema = z.object({
  blocks: z.array(z.object({ work: z.string(), ms: z.number(), status: z.number() })),
  late: z.array(z.number()),
})

export const bodiesSuite: Suite = {
  name: 'bodies',
  title: 'The largest request bodies',
  run: async (bench) => {
    const measures: Measure[] = []
    const longest: Named[] = []
    const latest: Named[] = []
    const runs: Named[] = []
    const seconds = scaled(bench, SECONDS)
    for (const [subject, redact] of [
      ['Kalends', []],
      ['Kalends with redact', REDACT],
    ] as const) {
      const { blocks, late } = await sent(bench, redact, seconds)
      const worst = blocks.toSorted((one, other) => other.ms - one.ms)
      for (const { work, ms, status } of worst.slice(0, 3))
        bench.say(`${subject}: ${work}: ${ms} ms, ${status}`)
      const values = worst.slice(0, 1).map(({ ms }) => ms)
      measures.push(
        { work: 'longest block of the event loop by one body', subject, unit: 'ms', values },
        { work: 'a schedule per second beside eight connections', subject, unit: 'ms late', values: late },
      )
      longest.push([subject, median(values)])
      latest.push([subject, Math.max(...late)])
      runs.push([subject, late.length])
    }
    return {
      measures,
      targets: [
        eachAtMost(`longest block by a body: at most ${MAX_MS} ms`, longest, MAX_MS, ' ms'),
        eachAtMost(
          `a schedule per second beside eight connections: at most ${MAX_LATE_MS} ms late`,
          latest,
          MAX_LATE_MS,
          ' ms',
        ),
        // The first and the last second are partly outside.
        eachAtLeast(`runs of that schedule in ${seconds} s: at least ${seconds - 1}`, runs, seconds - 1),
      ],
    } satisfies Findings
  },
}

async function sent(
  bench: Bench,
  redact: readonly string[],
  seconds: number,
): Promise<z.infer<typeof resultSchema>> {
  const params = { redact, calls: bench.runs, seconds }
  return await runProgram('programs/bodies', params, resultSchema)
}
