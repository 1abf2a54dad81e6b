/** The same burst for one to eight workers on one database. */
import { z } from 'zod'
import { Child } from '../child.ts'
import { since } from '../counted.ts'
import { insertSchedules } from '../fixtures.ts'
import { signal } from '../programs/signal.ts'
import { interleave } from '../rounds.ts'
import { type Bench, type Findings, type Measure, scaled, type Suite } from '../suite.ts'
import { median } from '../statistics.ts'
import { atMost } from '../target.ts'

const SCHEDULES = 5000
const WORKERS = [1, 2, 4, 8]
const LEAD_MS = 2500
/** As far as two runs of the same may lie apart. */
const TOLERANCE = 1.1
const newsSchema = z.object({ ended: z.number(), at: z.number(), errors: z.number() })

interface Result {
  readonly ms: number
  readonly errors: number
  readonly counts: ReadonlyMap<string, number>
}

export const workersSuite: Suite = {
  name: 'workers',
  title: 'One burst, several workers',
  run: async (bench) => {
    const count = scaled(bench, SCHEDULES)
    const work = `${count.toLocaleString('en')} schedules due at one instant, submitted and run`
    const results = await interleave(WORKERS, bench.runs, (workers) => {
      bench.say(`${workers} workers`)
      return measure(bench, workers, count)
    })
    const measures = [...results].flatMap(([workers, values]): Measure[] => {
      const subject = `${workers} ${workers === 1 ? 'worker' : 'workers'} on MariaDB`
      const counted = (unit: string, key: string) => ({
        work,
        subject,
        unit,
        values: values.map(({ counts }) => counts.get(key) ?? Number.NaN),
      })
      return [
        { work, subject, unit: 'ms', values: values.map(({ ms }) => ms) },
        counted('deadlocks', 'Innodb_deadlocks'),
        counted('lock waits', 'Innodb_row_lock_waits'),
        counted('statements', 'Questions'),
        { work, subject, unit: 'errors reported', values: values.map(({ errors }) => errors) },
      ]
    })
    const points = [...results].map(
      ([workers, values]) => [workers, median(values.map(({ ms }) => ms))] as const,
    )
    return {
      measures,
      targets: points.slice(1).map(([workers, ms], index) => {
        const [fewer, before] = points[index] ?? [Number.NaN, Number.NaN]
        return atMost(
          `${work}: ${workers} workers take at most ${TOLERANCE} times as long as ${fewer}`,
          ms / before,
          TOLERANCE,
          ' times',
        )
      }),
      plots: [
        {
          name: 'workers',
          title: work,
          x: 'workers',
          y: 'ms',
          lines: [{ label: 'from the instant to the last end of a run', points }],
        },
      ],
      notes: [
        'Each worker is a process with concurrency 10. If there are more workers than cores, they share the cores.',
      ],
    } satisfies Findings
  },
}

async function measure(bench: Bench, workers: number, count: number): Promise<Result> {
  const database = await bench.servers.mariadb()
  let ended = 0
  let last = 0
  let errors = 0
  const all = signal()
  const onNews = (value: unknown) => {
    const news = newsSchema.parse(value)
    ended += news.ended
    errors += news.errors
    last = Math.max(last, news.at)
    if (ended >= count) all.give()
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
  try {
    await Promise.all(children.map((child) => child.ready()))
    for (const child of children) child.go()
    await Promise.all(children.map((child) => child.ready()))
    const at = new Date(Math.ceil((Date.now() + LEAD_MS) / 1000) * 1000)
    await insertSchedules(database, { count, at })
    const before = await database.status()
    await Promise.race([all.promise, ...children.map((child) => child.endsEarly())])
    const counts = since(before, await database.status())
    const [row] = await database.query("SELECT COUNT(*) AS runs FROM job WHERE state = 'success'")
    if (Number(row?.['runs']) !== count) throw new Error(`${String(row?.['runs'])} of ${count} jobs were run`)
    return { ms: last - at.getTime(), errors, counts }
  } finally {
    await Promise.all(children.map((child) => child.kill()))
    await database.drop()
  }
}
