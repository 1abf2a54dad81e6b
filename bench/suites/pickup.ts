/** How long do jobs that one process submits wait for a free worker in another process? */
import { z } from 'zod'
import { Child } from '../child.ts'
import { interleave } from '../rounds.ts'
import type { DatabaseName } from '../database.ts'
import { type Bench, type Findings, scaled, type Suite } from '../suite.ts'
import type { Measure } from '../measure.ts'
import { median, quantile } from '../statistics.ts'
import { eachAtMost, type Named } from '../target.ts'

const JOBS = 200
/** The worker polls every 100 ms while such jobs arrive. */
const MAX_MS = 60
const WORK = 'from the submission in one process to the start in another'

export const pickupSuite: Suite = {
  name: 'pickup',
  title: 'Jobs of another process: how long they wait for a free worker',
  run: async (bench) => {
    const jobs = scaled(bench, JOBS)
    const notes = [
      `${jobs} jobs, one every 100 to 300 ms. The worker looks for jobs of other processes every 100 ms while they arrive.`,
    ]
    const kinds = await bench.servers.databases(notes)
    const results = await interleave(kinds, bench.quick ? 1 : bench.runs, (kind) => {
      bench.say(kind)
      return measure(bench, kind, jobs)
    })
    const measures = [...results].flatMap(([kind, runs]): Measure[] =>
      [0.5, 0.99].map((part) => ({
        work: `${WORK}, p${part * 100}`,
        subject: `Kalends on ${kind}`,
        unit: 'ms',
        values: runs.map((waited) => quantile(waited, part)),
      })),
    )
    return {
      measures,
      notes,
      targets: [
        eachAtMost(
          `${WORK}, p50: within ${MAX_MS} ms`,
          measures
            .filter(({ work }) => work === `${WORK}, p50`)
            .map(({ subject, values }): Named => [subject, median(values)]),
          MAX_MS,
          ' ms',
        ),
      ],
    } satisfies Findings
  },
}

async function measure(bench: Bench, kind: DatabaseName, jobs: number): Promise<number[]> {
  const database = await bench.servers.database(kind)
  const children: Child[] = []
  try {
    const start = async (role: 'submit' | 'run') => {
      const child = new Child('programs/pickup', { url: database.url, role, jobs })
      children.push(child)
      await child.ready()
      return child
    }
    const runs = await start('run')
    const submits = await start('submit')
    runs.go()
    submits.go()
    return await runs.result(z.array(z.number()))
  } finally {
    for (const child of children) await child.kill()
    await database.drop()
  }
}
