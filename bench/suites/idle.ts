/** Measures several idle workers at a time, because they do not affect each other. */
import { z } from 'zod'
import { Child } from '../child.ts'
import { since } from '../counted.ts'
import { measuredSchema } from '../cpu.ts'
import { insertSchedules } from '../fixtures.ts'
import type { Bench, Findings, Suite } from '../suite.ts'
import type { Measure } from '../measure.ts'
import { median } from '../statistics.ts'
import { atMost } from '../target.ts'

/** As long as a lease, to include the work that happens once per lease. */
const SECONDS = 60
const QUICK_SECONDS = 20
const FAR = new Date('2100-01-01T00:00:00Z')
const idleSchema = measuredSchema.extend({ value: z.object({ rssMb: z.number() }) })

export const idleSuite: Suite = {
  name: 'idle',
  title: 'An idle worker',
  run: async (bench) => {
    const seconds = bench.quick ? QUICK_SECONDS : SECONDS
    const { workers, statements } = await measure(bench, seconds)
    const subject = 'Kalends on MariaDB'
    const work = 'an idle worker'
    const cpu = workers.map(({ cpuMs, ms }) => (cpuMs / ms) * 100)
    const memory = workers.map(({ value }) => value.rssMb)
    const measures: Measure[] = [
      { work, subject, unit: 'statements per s', values: [statements] },
      { work, subject, unit: '% of a core', values: cpu },
      { work, subject, unit: 'MB resident', values: memory },
    ]
    return {
      measures,
      targets: [
        atMost(`${work}: at most 1.2 statements per s`, statements, 1.2, ' per s'),
        atMost(`${work}: at most 1 % of a core`, median(cpu), 1, ' %'),
        atMost(`${work}: at most 90 MB`, median(memory), 90, ' MB'),
      ],
      notes: [
        `${workers.length} workers at a time for ${seconds} s, each with its own database and 100 schedules that are not due soon. The number of statements is the average per worker.`,
      ],
    } satisfies Findings
  },
}

async function measure({ runs, servers }: Bench, seconds: number) {
  const databases = await Promise.all(Array.from({ length: runs }, () => servers.mariadb()))
  const children = databases.map(({ url }) => new Child('programs/idle', { url, seconds }))
  try {
    for (const database of databases) await insertSchedules(database, { count: 100, at: FAR })
    const [first] = databases
    if (first === undefined) throw new RangeError('No worker to measure')
    await Promise.all(children.map((child) => child.ready()))
    const before = await first.status()
    for (const child of children) child.go()
    const told = await Promise.all(children.map((child) => child.ready()))
    // Read the server's counters before the workers deregister.
    const after = await first.status()
    const workers = told.map((value) => idleSchema.parse(value))
    // One statement is our own query.
    const statements = (since(before, after).get('Questions') ?? Number.NaN) - 1
    const elapsedMs = workers.reduce((sum, { ms }) => sum + ms, 0)
    return { workers, statements: (statements / elapsedMs) * 1000 }
  } finally {
    await Promise.all(children.map((child) => child.kill()))
    await Promise.all(databases.map((database) => database.drop()))
  }
}
