/** Many schedules are due at one instant: what is the longest time that the worker's event loop is blocked? */
import { z } from 'zod'
import { Child } from '../child.ts'
import { insertSchedules, rewind } from '../fixtures.ts'
import { interleave } from '../rounds.ts'
import type { DatabaseName } from '../database.ts'
import { median } from '../statistics.ts'
import { type Bench, type Findings, scaled, type Suite } from '../suite.ts'
import type { Measure } from '../measure.ts'
import { eachAtMost, type Named } from '../target.ts'

const SCHEDULES = 20_000
const LEAD_MS = 3000
const MAX_MS = 100
const FAR = new Date('2100-01-01T00:00:00Z')
const resultSchema = z.object({ longest: z.number(), longestCommit: z.number() })

export const blocksSuite: Suite = {
  name: 'blocks',
  title: 'Longest block of the event loop',
  run: async (bench) => {
    const count = scaled(bench, SCHEDULES)
    const work = `${count.toLocaleString('en')} schedules due at one instant, submitted and run`
    const notes: string[] = []
    const subjects = await bench.servers.databases(notes)
    const commits: number[] = []
    const results = await interleave(subjects, bench.runs, async (kind) => {
      bench.say(kind)
      const { longest, longestCommit } = await blocked(bench, kind, count)
      if (kind === 'SQLite') commits.push(longestCommit)
      return longest
    })
    const measures = [...results].map(
      ([kind, values]): Measure => ({ work, subject: `Kalends on ${kind}`, unit: 'ms', values }),
    )
    return {
      measures: [
        ...measures,
        {
          work: `${work}: longest COMMIT, with its fsync`,
          subject: 'Kalends on SQLite',
          unit: 'ms',
          values: commits,
        },
      ],
      notes: [...notes, 'On SQLite, the time of COMMIT is not included; it has its own row.'],
      targets: [
        eachAtMost(
          `longest block of the event loop: at most ${MAX_MS} ms`,
          measures.map(({ subject, values }): Named => [subject, median(values)]),
          MAX_MS,
          ' ms',
        ),
      ],
    } satisfies Findings
  },
}

async function blocked(
  { servers }: Bench,
  kind: DatabaseName,
  count: number,
): Promise<z.infer<typeof resultSchema>> {
  const database = await servers.database(kind)
  try {
    await insertSchedules(database, { count, at: FAR })
    const child = new Child('programs/blocks', { url: database.url, schedules: count })
    try {
      await child.ready()
      await rewind(database, new Date(Math.ceil((Date.now() + LEAD_MS) / 1000) * 1000))
      child.go()
      return await child.result(resultSchema)
    } finally {
      await child.kill()
    }
  } finally {
    await database.drop()
  }
}
