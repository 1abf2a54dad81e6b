/** The cost of a pass and of API pages as schedules and history grow. */
import { z } from 'zod'
import { runProgram } from '../child.ts'
import type { BenchDatabase } from '../database.ts'
import { faster } from '../faster.ts'
import { insertJobs, insertSchedules } from '../fixtures.ts'
import { type Bench, type Findings, scaled, type Suite } from '../suite.ts'
import type { Measure } from '../measure.ts'
import { round } from '../numbers.ts'
import { median } from '../statistics.ts'
import { eachAtMost, type Named } from '../target.ts'

const SCHEDULES = [1000, 10_000, 100_000, 1_000_000]
const HISTORY = [0, 100_000, 1_000_000, 10_000_000]
/** Schedules per pass. */
const DUE = 100
const FAR = new Date('2100-01-01T00:00:00Z')

const PAGES = [
  '/api/v1/schedules?limit=50',
  '/api/v1/schedules?limit=50&status=active',
  '/api/v1/jobs?limit=50',
  '/api/v1/jobs?limit=50&state=success',
  '/api/v1/jobs?limit=50&state=failed',
  '/api/v1/jobs?limit=50&task=noop',
  '/api/v1/schedules/s10000001',
  '/api/v1/schedules/s10000001/history?limit=50',
  '/api/v1/counts/schedules',
  '/api/v1/counts/jobs',
  '/api/v1/upcoming',
  '/api/v1/upcoming?from=2100-01-01T00:00:00Z',
]

export const sizeSuite: Suite = {
  name: 'size',
  title: 'Large tables',
  run: async (bench) => {
    const database = await bench.servers.mariadb()
    try {
      return await measure(bench, database)
    } finally {
      await database.drop()
    }
  },
}

async function measure(bench: Bench, database: BenchDatabase): Promise<Findings> {
  const subject = 'Kalends on MariaDB'
  const medians: number[] = []
  const measures: Measure[] = []
  const pass = async (work: string) => {
    bench.say(work)
    const values = await passes(bench, database)
    measures.push({ work: `a pass of ${DUE} with ${work}`, subject, unit: 'ms', values })
    medians.push(median(values))
  }
  let there = 0
  for (const size of SCHEDULES.map((full) => scaled(bench, full))) {
    await faster(database, () =>
      insertSchedules(database, {
        count: size - there,
        at: new Date(FAR.getTime() + there * 1000),
        prefix: there === 0 ? 's' : `s${size}-`,
        spread: true,
      }),
    )
    there = size
    await pass(`${size.toLocaleString('en')} schedules`)
  }
  let old = 0
  for (const size of HISTORY.map((full) => scaled(bench, full))) {
    await faster(database, () => insertJobs(database, { count: size - old, state: 'success', from: old }))
    old = size
    await pass(sizes(there, size))
  }
  const pages = await measurePages(bench, database)
  const [small = Number.NaN] = medians
  const large = medians.at(-1) ?? Number.NaN
  return {
    measures: [...measures, ...pages],
    targets: [
      {
        text: `a pass of ${DUE} with ${sizes(there, old)}: at most 1.3 times one with the fewest schedules and no jobs`,
        measured: `${round(large / small)} times (${round(large)} and ${round(small)} ms)`,
        reached: large / small <= 1.3,
      },
      eachAtMost(
        `lists and pages with ${sizes(there, old)}: under 50 ms`,
        pages.map(({ work, values }): Named => [work, median(values)]),
        50,
        ' ms',
      ),
    ],
    notes: [
      `In a pass, ${DUE} schedules fire at the start of the same second. The figure is the time from then until the last of their jobs is written. InnoDB's buffer pool has its default size.`,
    ],
  }
}

function sizes(schedules: number, jobs: number): string {
  return `${schedules.toLocaleString('en')} schedules and ${jobs.toLocaleString('en')} finished jobs`
}

async function passes({ quick }: Bench, database: BenchDatabase): Promise<number[]> {
  const at = new Date(Math.ceil(Date.now() / 1000) * 1000 + 2000)
  await insertSchedules(database, { count: DUE, at, timer: '*:*:*', prefix: 'due', task: 'other' })
  try {
    const params = { url: database.url, due: DUE, seconds: quick ? 3 : 10 }
    return await runProgram('programs/pass', params, z.array(z.number()))
  } finally {
    await database.query("DELETE FROM periodic_task WHERE task = 'other'")
    await database.query("DELETE FROM job WHERE task = 'other'")
  }
}

async function measurePages(bench: Bench, database: BenchDatabase): Promise<Measure[]> {
  const schema = z.array(z.object({ path: z.string(), ms: z.array(z.number()) }))
  const params = { url: database.url, paths: PAGES, calls: Math.max(5, bench.runs) }
  const pages = await runProgram('programs/pages', params, schema)
  return pages.map(({ path, ms }) => ({
    work: `GET ${path}`,
    subject: 'Kalends on MariaDB',
    unit: 'ms',
    values: ms,
  }))
}
