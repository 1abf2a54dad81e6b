/** One schedule a second for ten minutes beside load, and what it costs when more of them go off each second. */
import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import { Child } from '../child.ts'
import { since } from '../counted.ts'
import type { BenchDatabase } from '../database.ts'
import { insertSchedules } from '../fixtures.ts'
import { type Bench, type Findings, type Measure, scaled, type Suite } from '../suite.ts'
import { quantile } from '../statistics.ts'
import { atMost } from '../target.ts'

const SECONDS = 600
const JOBS_PER_SECOND = 200
const CONCURRENCY = 20
const RATES = [1, 10, 100, 300, 1000]
const EVERY_SECOND = '*:*:*'
const resultSchema = z.object({
  late: z.array(z.number()),
  noops: z.number(),
  cpuShare: z.number(),
  rssMb: z.number(),
})
type Result = z.infer<typeof resultSchema> & { readonly perSecond: ReadonlyMap<string, number> }

export const steadySuite: Suite = {
  name: 'steady',
  title: 'Schedules that fire every second, under load',
  run: async (bench) => {
    const seconds = scaled(bench, SECONDS)
    const subject = 'Kalends on MariaDB'
    bench.say(`one a second for ${seconds} s`)
    const one = await measure(bench, 1, seconds, JOBS_PER_SECOND)
    const work = `one schedule a second for ${seconds} s, with ${JOBS_PER_SECOND} other jobs a second`
    const p50 = quantile(one.late, 0.5)
    const p99 = quantile(one.late, 0.99)
    const rates: { rate: number; result: Result }[] = []
    for (const rate of RATES) {
      bench.say(`${rate} a second`)
      rates.push({ rate, result: await measure(bench, rate, bench.quick ? 3 : 10, 0) })
    }
    const measures: Measure[] = [
      { work: `${work}, p50`, subject, unit: 'ms late', values: [p50] },
      { work: `${work}, p99`, subject, unit: 'ms late', values: [p99] },
      { work: `${work}, latest`, subject, unit: 'ms late', values: [Math.max(...one.late)] },
      ...rates.flatMap(({ rate, result }): Measure[] => {
        const work = `${rate} schedules a second`
        return [
          { work, subject, unit: 'ms late, p50', values: [quantile(result.late, 0.5)] },
          { work, subject, unit: 'ms late, p99', values: [quantile(result.late, 0.99)] },
          { work, subject, unit: '% of a core', values: [result.cpuShare * 100] },
          {
            work,
            subject,
            unit: 'statements per s',
            values: [result.perSecond.get('Questions') ?? Number.NaN],
          },
        ]
      }),
    ]
    return {
      measures,
      targets: [
        atMost(`${work}: p50 at most 5 ms`, p50, 5, ' ms'),
        atMost(`${work}: p99 at most 25 ms`, p99, 25, ' ms'),
      ],
      plots: [
        {
          name: 'rate',
          title: 'Cost of schedules that fire every second, for one worker',
          x: 'schedules a second',
          y: '% of a core',
          lines: [
            {
              label: 'worker',
              points: rates.map(({ rate, result }) => [rate, result.cpuShare * 100] as const),
            },
          ],
        },
      ],
      notes: [
        `One worker, concurrency ${CONCURRENCY}; another process submits the load, and the same worker runs it. One long run of each, not a median.`,
      ],
    } satisfies Findings
  },
}

async function measure(bench: Bench, rate: number, seconds: number, load: number): Promise<Result> {
  const database = await bench.servers.mariadb()
  const worker = new Child('programs/steady', { url: database.url, seconds, concurrency: CONCURRENCY })
  const loader =
    load === 0
      ? null
      : new Child('programs/load', { url: database.url, jobsPerSecond: load, seconds: seconds + 2 })
  try {
    await Promise.all([worker.ready(), loader?.ready()])
    await insertSchedules(database, {
      count: rate,
      at: new Date(Math.ceil(Date.now() / 1000) * 1000 + 1000),
      timer: EVERY_SECOND,
      task: 'tick',
    })
    loader?.go()
    await firstSlot(database)
    const before = await database.status()
    worker.go()
    const result = await worker.result(resultSchema)
    const perSecond = since(before, await database.status(), seconds)
    // The last second may be cut off, and the first come with it.
    const expected = rate * (seconds - 1)
    if (result.late.length < expected)
      bench.say(`of ${expected} runs there were ${result.late.length}: the rest was late or missed`)
    if (load > 0 && result.noops < (load * seconds) / 2)
      throw new Error(`Only ${result.noops} jobs were run beside: that is no load`)
    return { ...result, perSecond }
  } finally {
    await Promise.all([worker.kill(), loader?.kill()])
    await database.drop()
  }
}

/** Waits until the first of them have run. */
async function firstSlot(database: BenchDatabase): Promise<void> {
  const deadline = performance.now() + 30_000
  for (;;) {
    const [row] = await database.query(
      "SELECT COUNT(*) AS runs FROM job WHERE task = 'tick' AND state = 'success'",
    )
    if (Number(row?.['runs']) > 0) return
    if (performance.now() > deadline) throw new Error('No schedule has run within 30 s')
    await pause(50)
  }
}
