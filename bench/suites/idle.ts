/** A worker with nothing to do. */
import { z } from 'zod'
import { Child } from '../child.ts'
import { since } from '../counted.ts'
import { insertSchedules } from '../fixtures.ts'
import { interleave } from '../rounds.ts'
import type { Bench, Findings, Measure, Suite } from '../suite.ts'
import { median } from '../statistics.ts'
import { atMost } from '../target.ts'

const SECONDS = 20
const FAR = new Date('2100-01-01T00:00:00Z')
const idleSchema = z.object({ cpuPercent: z.number(), rssMb: z.number(), elapsedMs: z.number() })

export const idleSuite: Suite = {
  name: 'idle',
  title: 'An idle worker',
  run: async (bench) => {
    const subject = 'Kalends on MariaDB'
    const results = await interleave([subject], bench.runs, () => measure(bench))
    const values = results.get(subject) ?? []
    const work = 'an idle worker'
    const measures: Measure[] = [
      { work, subject, unit: 'statements per s', values: values.map((each) => each.statements) },
      { work, subject, unit: '% of a core', values: values.map((each) => each.cpuPercent) },
      { work, subject, unit: 'MB resident', values: values.map((each) => each.rssMb) },
    ]
    const [statements, cpu, memory] = measures.map((measure) => median(measure.values))
    return {
      measures,
      targets: [
        atMost(`${work}: at most 1.2 statements per s`, statements ?? Number.NaN, 1.2, ' per s'),
        atMost(`${work}: at most 1 % of a core`, cpu ?? Number.NaN, 1, ' %'),
        atMost(`${work}: at most 90 MB`, memory ?? Number.NaN, 90, ' MB'),
      ],
      notes: [`100 schedules that are far from due; ${secondsOf(bench)} s each.`],
    } satisfies Findings
  },
}

async function measure(bench: Bench): Promise<{ statements: number; cpuPercent: number; rssMb: number }> {
  const database = await bench.servers.mariadb()
  let told: (value: unknown) => void = () => {}
  const news = new Promise<unknown>((resolve) => {
    told = resolve
  })
  const params = { url: database.url, seconds: secondsOf(bench) }
  const child = new Child('programs/idle', params, { onNews: (value) => told(value) })
  try {
    await insertSchedules(database, { count: 100, at: FAR })
    await child.ready()
    const before = await database.status()
    child.go()
    await child.ready()
    const after = await database.status()
    const { elapsedMs, ...idle } = idleSchema.parse(await news)
    // One of them is our own question for the status.
    const statements = (since(before, after).get('Questions') ?? Number.NaN) - 1
    child.go()
    return { ...idle, statements: (statements / elapsedMs) * 1000 }
  } finally {
    await child.kill()
    await database.drop()
  }
}

function secondsOf({ quick }: Bench): number {
  return quick ? 5 : SECONDS
}
