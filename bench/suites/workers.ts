/** The same burst for one to eight workers on one database. */
import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import { Child } from '../child.ts'
import { since } from '../counted.ts'
import { BOTH, type Cpu, cpuMeasures, measuredSchema, NODE, perUnit, SERVER } from '../cpu.ts'
import { insertSchedules } from '../fixtures.ts'
import { round } from '../numbers.ts'
import { signal } from '../programs/signal.ts'
import { interleave } from '../rounds.ts'
import { type Bench, type Findings, scaled, type Suite } from '../suite.ts'
import type { Measure } from '../measure.ts'
import { find, ratio } from '../target.ts'

const SCHEDULES = 5000
/** Warm-up jobs per worker on average, after which V8 has compiled the code. */
const WARM_UP = 2000
const WORKERS = [1, 2, 4, 8]
const LEAD_MS = 2500
/** The measurement starts this long before the due time. */
const READY_MS = 200
const TOLERANCE = 1.1
const newsSchema = z.object({ ended: z.number(), at: z.number(), errors: z.number() })

interface Result {
  readonly ms: number
  readonly errors: number
  readonly cpu: Cpu
  readonly counts: ReadonlyMap<string, number>
}

export const workersSuite: Suite = {
  name: 'workers',
  title: 'One burst, several workers',
  run: async (bench) => {
    const count = scaled(bench, SCHEDULES)
    const work = `${count.toLocaleString('en')} schedules due at one instant, submitted and run`
    const results = await interleave(WORKERS, bench.runs, (workers) => {
      bench.say(subjectOf(workers))
      return measure(bench, workers, count)
    })
    const measures = [...results].flatMap(([workers, values]): Measure[] => {
      const subject = subjectOf(workers)
      const counted = (unit: string, key: string) => ({
        work,
        subject,
        unit,
        values: values.map(({ counts }) => counts.get(key) ?? Number.NaN),
      })
      return [
        ...cpuMeasures(
          work,
          subject,
          'job',
          values.map(({ cpu }) => cpu),
        ),
        { work, subject, unit: 'ms', values: values.map(({ ms }) => ms) },
        counted('deadlocks', 'Innodb_deadlocks'),
        counted('lock waits', 'Innodb_row_lock_waits'),
        counted('statements', 'Questions'),
        { work, subject, unit: 'errors reported', values: values.map(({ errors }) => errors) },
      ]
    })
    const cpuOf = (workers: number) => find(measures, work, subjectOf(workers), BOTH('job'))
    const times = WORKERS.slice(1).map((workers) => ratio(cpuOf(workers), cpuOf(1)))
    return {
      measures,
      targets: [
        {
          text: `CPU per job with ${WORKERS.slice(1).join(', ')} workers: never above ${TOLERANCE} times that of one`,
          measured: `${times.map(round).join(', ')} times`,
          reached: times.every((each) => each <= TOLERANCE),
        },
      ],
      table: {
        rows: 'subject',
        columns: [
          { head: `${work}: CPU of the server, µs per job`, unit: SERVER('job'), work },
          { head: 'of Node', unit: NODE('job'), work },
          { head: 'of both', unit: BOTH('job'), work },
          { head: 'statements', unit: 'statements', work },
          { head: 'ms', unit: 'ms', work },
        ],
      },
      notes: [
        `Each worker is a process with concurrency 10, and has already run ${WARM_UP.toLocaleString('en')} jobs. If there are more workers than cores, they share the cores.`,
      ],
    } satisfies Findings
  },
}

function subjectOf(workers: number): string {
  return `${workers} ${workers === 1 ? 'worker' : 'workers'} on MariaDB`
}

async function measure(bench: Bench, workers: number, count: number): Promise<Result> {
  const database = await bench.servers.mariadb()
  let ended = 0
  let last = 0
  let errors = 0
  const early = WARM_UP * workers
  const [warm, all] = [signal(), signal()]
  const onNews = (value: unknown) => {
    const news = newsSchema.parse(value)
    ended += news.ended
    errors += news.errors
    last = Math.max(last, news.at)
    if (ended >= early) warm.give()
    if (ended >= early + count) all.give()
  }
  const children = Array.from(
    { length: workers },
    (_, index) =>
      new Child(
        'programs/worker',
        { url: database.url, name: `worker-${index}`, concurrency: 10 },
        { onNews },
      ),
  )
  const ready = () => Promise.all(children.map((child) => child.ready()))
  const go = () => {
    for (const child of children) child.go()
  }
  try {
    await ready()
    await insertSchedules(database, { count: early, at: new Date(), prefix: 'early' })
    await Promise.race([warm.promise, ...children.map((child) => child.endsEarly())])
    const at = new Date(Math.ceil((Date.now() + LEAD_MS) / 1000) * 1000)
    await insertSchedules(database, { count, at })
    await pause(at.getTime() - Date.now() - READY_MS)
    const before = await database.status()
    const serverMs = await database.cpuMs()
    go()
    await ready()
    await Promise.race([all.promise, ...children.map((child) => child.endsEarly())])
    go()
    const told = z.array(measuredSchema).parse(await ready())
    const cpu = {
      server: perUnit((await database.cpuMs()) - serverMs, count),
      node: perUnit(
        told.reduce((sum, { cpuMs }) => sum + cpuMs, 0),
        count,
      ),
    }
    const counts = since(before, await database.status())
    const [row] = await database.query("SELECT COUNT(*) AS runs FROM job WHERE state = 'success'")
    if (Number(row?.['runs']) !== early + count)
      throw new Error(`${String(row?.['runs'])} of ${early + count} jobs were run`)
    return { ms: last - at.getTime(), errors, cpu, counts }
  } finally {
    await Promise.all(children.map((child) => child.kill()))
    await database.drop()
  }
}
