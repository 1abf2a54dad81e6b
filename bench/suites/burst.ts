/**
 * Many schedules are due at one instant: how long does it take until the last job is written, compared with the minimum
 * database work?
 */
import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import { Child } from '../child.ts'
import { countedMeasures } from '../counted.ts'
import { BOTH, cpuMeasures, measurePhase, NODE, type Phase, SERVER } from '../cpu.ts'
import type { BenchDatabase } from '../database.ts'
import { insertSchedules, rewind } from '../fixtures.ts'
import { type Bench, type Findings, scaled, type Suite } from '../suite.ts'
import type { Measure } from '../measure.ts'
import { median } from '../statistics.ts'
import { atLeast, compare, find } from '../target.ts'

const SCHEDULES = 10_000
/** As many as Kalends writes in one transaction. */
const BATCH = 500
/** Time for the benchmark to make the rows due, and for the worker to read the due time. */
const LEAD_MS = 3000
/** The measurement starts this long before the due time; by then, the server has finished writing the rows. */
const READY_MS = 200
/** A pause for the server after the rows are reset, before the bare statements run. */
const REST_MS = 1000
const FAR = new Date('2100-01-01T00:00:00Z')

export const burstSuite: Suite = {
  name: 'burst',
  title: 'Schedules due at one instant, until the last job is written',
  run: async (bench) => {
    const count = scaled(bench, SCHEDULES)
    const work = `${count.toLocaleString('en')} schedules due at one instant`
    const measures: Measure[] = []
    const notes: string[] = []
    for (const kind of await bench.servers.databases(notes)) {
      bench.say(kind)
      const database = await bench.servers.database(kind)
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
      table: {
        rows: 'subject',
        columns: [
          { head: `${work}, per s`, work, unit: 'per s' },
          { head: 'CPU of the server, µs per schedule', work, unit: SERVER('schedule') },
          { head: 'of Node', work, unit: NODE('schedule') },
          { head: 'of both', work, unit: BOTH('schedule') },
        ],
      },
      targets: [
        atLeast(`${work}, on MariaDB: at least 16,000 per s`, median(mariadb.values), 16_000, ' per s'),
        ...compare(measures, { work, unit: 'per s', peer: 'bare statements on MariaDB', least: 0.75 }),
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
  // The first round of each program is a warm-up and does not count.
  const rounds = runs + 1
  const kalends = new Child('programs/burst', { url: database.url, schedules: count, rounds })
  const floor =
    database.kind === 'SQLite'
      ? null
      : new Child('programs/floor', { url: database.url, batch: BATCH, rounds })
  const phases: Phase[] = []
  const floors: Phase[] = []
  try {
    for (let index = 0; index < rounds; index += 1) {
      let at = FAR
      const phase = await measurePhase(kalends, database, count, async () => {
        at = new Date(Math.ceil((Date.now() + LEAD_MS) / 1000) * 1000)
        await rewind(database, at)
        await pause(at.getTime() - Date.now() - READY_MS)
      })
      phases.push({ ...phase, ms: z.number().parse(phase.value) - at.getTime() })
      await checkJobs(database, count)
      if (floor) {
        floors.push(
          await measurePhase(floor, database, count, async () => {
            await rewind(database, FAR)
            await pause(REST_MS)
          }),
        )
        await checkJobs(database, count)
      }
      // Otherwise, the rows that the floor program wrote would become due.
      await rewind(database, FAR)
    }
  } finally {
    await Promise.all([kalends.kill(), floor?.kill()])
  }
  const subject = `Kalends on ${database.kind}`
  return [
    ...measuresOf(work, subject, count, phases.slice(1)),
    ...countedMeasures(
      `${work}, per schedule`,
      subject,
      phases.slice(1).map(({ counts }) => counts),
    ),
    ...(floor ? measuresOf(work, `bare statements on ${database.kind}`, count, floors.slice(1)) : []),
  ]
}

function measuresOf(work: string, subject: string, count: number, phases: readonly Phase[]): Measure[] {
  return [
    { work, subject, unit: 'per s', values: phases.map(({ ms }) => (count / ms) * 1000) },
    ...cpuMeasures(
      work,
      subject,
      'schedule',
      phases.map(({ cpu }) => cpu),
    ),
  ]
}

async function checkJobs(database: BenchDatabase, expected: number): Promise<void> {
  const [row] = await database.query('SELECT COUNT(*) AS jobs FROM job')
  if (Number(row?.['jobs']) !== expected)
    throw new Error(`There are ${String(row?.['jobs'])} jobs, but ${expected} were due`)
}
