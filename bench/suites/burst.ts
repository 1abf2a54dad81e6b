/** Many schedules due at one instant: until the last job is written, beside the least the database has to do. */
import { z } from 'zod'
import { Child } from '../child.ts'
import { countedMeasures, since } from '../counted.ts'
import type { BenchDatabase } from '../database.ts'
import { insertSchedules, rewind } from '../fixtures.ts'
import { signal } from '../programs/signal.ts'
import { DATABASES } from '../servers.ts'
import { type Bench, type Findings, type Measure, scaled, type Suite } from '../suite.ts'
import { median } from '../statistics.ts'
import { atLeast, find, ratio } from '../target.ts'

const SCHEDULES = 10_000
/** As many as the product has in one transaction. */
const BATCH = 500
/** Time to make the rows due, and for the worker to see when. */
const LEAD_MS = 3000
const FAR = new Date('2100-01-01T00:00:00Z')

export const burstSuite: Suite = {
  name: 'burst',
  title: 'Schedules due at one instant, until the last job is written',
  run: async (bench) => {
    const count = scaled(bench, SCHEDULES)
    const work = `${count.toLocaleString('en')} schedules due at one instant`
    const measures: Measure[] = []
    const notes: string[] = []
    for (const kind of DATABASES) {
      const database = await bench.servers.database(kind)
      if (database === null) {
        notes.push(`${kind} could not be had`)
        continue
      }
      bench.say(kind)
      try {
        measures.push(...(await measure(bench, database, work, count)))
      } finally {
        await database.drop()
      }
    }
    const mariadb = find(measures, work, 'Kalends on MariaDB')
    return {
      measures,
      notes,
      targets: [
        atLeast(`${work}: at least 10,000 per s on MariaDB`, median(mariadb.values), 10_000, ' per s'),
        atLeast(
          `${work}: at least 0.6 of the bare statements on MariaDB`,
          ratio(mariadb, find(measures, work, 'bare statements on MariaDB')),
          0.6,
        ),
      ],
    } satisfies Findings
  },
}

async function measure(
  { runs }: Bench,
  database: BenchDatabase,
  work: string,
  count: number,
): Promise<Measure[]> {
  await insertSchedules(database, { count, at: FAR })
  const values: number[] = []
  const floors: number[] = []
  const counted: ReadonlyMap<string, number>[] = []
  let answer = signal<number>()
  const onNews = (value: unknown) => answer.give(z.number().parse(value))
  // The first round of each is not counted: it warms up.
  const rounds = runs + 1
  const kalends = new Child('programs/burst', { url: database.url, schedules: count, rounds }, { onNews })
  const floor =
    database.kind === 'SQLite'
      ? null
      : new Child('programs/floor', { url: database.url, batch: BATCH, rounds }, { onNews })
  const round = async (child: Child, prepare: () => Promise<void>) => {
    await child.ready()
    await prepare()
    answer = signal()
    child.go()
    return Promise.race([answer.promise, child.endsEarly()])
  }
  try {
    for (let index = 0; index < rounds; index += 1) {
      let at = FAR
      let before: ReadonlyMap<string, number> = new Map()
      const last = await round(kalends, async () => {
        at = new Date(Math.ceil((Date.now() + LEAD_MS) / 1000) * 1000)
        await rewind(database, at)
        before = await database.status()
      })
      const spent = since(before, await database.status(), count)
      await checkJobs(database, count)
      const floorMs = floor && (await round(floor, () => rewind(database, FAR)))
      if (floor) await checkJobs(database, count)
      // Or what the floor has left would be due.
      await rewind(database, FAR)
      if (index === 0) continue
      values.push((count / (last - at.getTime())) * 1000)
      counted.push(spent)
      if (floorMs !== null) floors.push((count / floorMs) * 1000)
    }
  } finally {
    await Promise.all([kalends.kill(), floor?.kill()])
  }
  return [
    { work, subject: `Kalends on ${database.kind}`, unit: 'per s', values },
    ...(floors.length > 0
      ? [{ work, subject: `bare statements on ${database.kind}`, unit: 'per s', values: floors }]
      : []),
    ...countedMeasures(`${work}, per schedule`, `Kalends on ${database.kind}`, counted),
  ]
}

async function checkJobs(database: BenchDatabase, expected: number): Promise<void> {
  const [row] = await database.query('SELECT COUNT(*) AS jobs FROM job')
  if (Number(row?.['jobs']) !== expected)
    throw new Error(`There are ${String(row?.['jobs'])} jobs where ${expected} were due`)
}
