/** One schedule that fires every second, for ten minutes under load; and the cost of more such schedules. */
import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import { Child } from '../child.ts'
import { type Cpu, cpuMeasures, measurePhase, type Phase } from '../cpu.ts'
import type { BenchDatabase } from '../database.ts'
import { insertSchedules } from '../fixtures.ts'
import { type Bench, type Findings, scaled, type Suite } from '../suite.ts'
import type { Measure } from '../measure.ts'
import { quantile } from '../statistics.ts'
import { atMost } from '../target.ts'

const SECONDS = 600
const JOBS_PER_SECOND = 200
const CONCURRENCY = 20
const RATES = [1, 10, 100, 300, 1000]
const EVERY_SECOND = '*:*:*'
/** The lowest rate for which CPU per run is reported. At lower rates, most of it is the cost of an idle worker. */
const LEAST_FOR_CPU = 100
const SUBJECT = 'Kalends on MariaDB'
const resultSchema = z.object({ late: z.array(z.number()), noops: z.number() })
type Result = z.infer<typeof resultSchema> & { readonly phase: Phase }

export const steadySuite: Suite = {
  name: 'steady',
  title: 'Schedules that fire every second, under load',
  run: async (bench) => {
    const seconds = scaled(bench, SECONDS)
    bench.say(`one a second for ${seconds} s`)
    const one = await measure(bench, 1, seconds, JOBS_PER_SECOND)
    const work = `one schedule a second for ${seconds} s, with ${JOBS_PER_SECOND} other jobs a second`
    const rates: { rate: number; result: Result }[] = []
    for (const rate of RATES) {
      bench.say(`${rate} a second`)
      rates.push({ rate, result: await measure(bench, rate, bench.quick ? 3 : 10, 0) })
    }
    const withCpu = rates.filter(({ rate }) => rate >= LEAST_FOR_CPU)
    return {
      measures: [
        ...measuresOf(work, one),
        ...rates.flatMap(({ rate, result }) => measuresOf(worksOf(rate), result)),
        ...withCpu.flatMap(({ rate, result }) =>
          cpuMeasures(worksOf(rate), SUBJECT, 'run', [perRun(result, rate)]),
        ),
      ],
      targets: [
        atMost(`${work}: p50 at most 6 ms`, quantile(one.late, 0.5), 6, ' ms'),
        atMost(`${work}: p99 at most 20 ms`, quantile(one.late, 0.99), 20, ' ms'),
      ],
      plots: [
        {
          name: 'rate',
          title: 'CPU per run, as more schedules fire each second',
          x: 'schedules a second',
          y: 'µs',
          lines: [
            {
              label: 'server',
              points: withCpu.map(({ rate, result }) => [rate, perRun(result, rate).server] as const),
            },
            {
              label: 'Node',
              points: withCpu.map(({ rate, result }) => [rate, perRun(result, rate).node] as const),
            },
          ],
        },
      ],
      notes: [
        `One worker, concurrency ${CONCURRENCY}; another process submits the load, and the same worker runs it. The figures are from one long run each, not medians.`,
      ],
    } satisfies Findings
  },
}

function worksOf(rate: number): string {
  return `${rate} schedules a second`
}

function measuresOf(work: string, { late, phase }: Result): Measure[] {
  return [
    { work, subject: SUBJECT, unit: 'ms late, p50', values: [quantile(late, 0.5)] },
    { work, subject: SUBJECT, unit: 'ms late, p99', values: [quantile(late, 0.99)] },
    { work, subject: SUBJECT, unit: 'ms late, latest', values: [Math.max(...late)] },
    // Converts µs per second to percent.
    { work, subject: SUBJECT, unit: '% of a core', values: [phase.cpu.node / 10_000] },
    {
      work,
      subject: SUBJECT,
      unit: 'statements per s',
      values: [phase.counts.get('Questions') ?? Number.NaN],
    },
  ]
}

function perRun({ phase }: Result, rate: number): Cpu {
  return { server: phase.cpu.server / rate, node: phase.cpu.node / rate }
}

/** The figures in the result's `phase` are per second. */
async function measure(bench: Bench, rate: number, seconds: number, load: number): Promise<Result> {
  const database = await bench.servers.mariadb()
  const worker = new Child('programs/steady', { url: database.url, seconds, concurrency: CONCURRENCY })
  const loader =
    load === 0
      ? null
      : new Child('programs/load', { url: database.url, jobsPerSecond: load, seconds: seconds + 2 })
  try {
    const phase = await measurePhase(worker, database, seconds, async () => {
      await loader?.ready()
      await insertSchedules(database, {
        count: rate,
        at: new Date(Math.ceil(Date.now() / 1000) * 1000 + 1000),
        timer: EVERY_SECOND,
        task: 'tick',
      })
      loader?.go()
      await firstSlot(database)
    })
    const result = resultSchema.parse(phase.value)
    // The period need not begin at a slot, so the runs of one slot may be cut off.
    const expected = rate * (seconds - 1)
    if (result.late.length < expected)
      bench.say(`${result.late.length} of ${expected} runs: the others were late or missed`)
    if (load > 0 && result.noops < (load * seconds) / 2)
      throw new Error(`Only ${result.noops} other jobs ran: the load was too low`)
    return { ...result, phase }
  } finally {
    await Promise.all([worker.kill(), loader?.kill()])
    await database.drop()
  }
}

/** Waits until the first run has succeeded. */
async function firstSlot(database: BenchDatabase): Promise<void> {
  const deadline = performance.now() + 30_000
  for (;;) {
    const [row] = await database.query(
      "SELECT COUNT(*) AS runs FROM job WHERE task = 'tick' AND state = 'success'",
    )
    if (Number(row?.['runs']) > 0) return
    if (performance.now() > deadline) throw new Error('No run succeeded within 30 s')
    await pause(50)
  }
}
