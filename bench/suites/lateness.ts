/** Many schedules are due at the same instant: how late do their handlers start? */
import { z } from 'zod'
import { Child, runProgram } from '../child.ts'
import { insertSchedules } from '../fixtures.ts'
import { interleave } from '../rounds.ts'
import type { DatabaseName } from '../database.ts'
import { type Bench, type Findings, scaled, type Suite, type Target } from '../suite.ts'
import type { Measure } from '../measure.ts'
import { quantile } from '../statistics.ts'
import { compare } from '../target.ts'

const SCHEDULES = 2000
const CONCURRENCY = 100
/** Time to set up before the due time. */
const LEAD_MS = 4000
const BULLMQ = "BullMQ's job schedulers"
/** Tuned, because its defaults are slower. Crontabs support only whole minutes, so each run waits for the next one. */
const TUNED = "graphile-worker's crontab, tuned"
const UNIT = 'ms late'
const lateSchema = z.array(z.number())

interface Subject {
  readonly name: string
  readonly measure: () => Promise<number[]>
}

export const latenessSuite: Suite = {
  name: 'lateness',
  title: 'Schedules due at the same instant: how late their handlers start',
  run: async (bench) => {
    const schedules = scaled(bench, SCHEDULES)
    const notes: string[] = [`One worker per subject, with a concurrency of ${CONCURRENCY}.`]
    const params = { schedules, concurrency: CONCURRENCY }
    const kinds = await bench.servers.databases(notes)
    const subjects: Subject[] = kinds.map((kind) => ({
      name: `Kalends on ${kind}`,
      measure: () => measureKalends(bench, kind, params),
    }))
    const redis = await bench.servers.get('Redis')
    if ('missing' in redis) notes.push(`${BULLMQ} were not measured: ${redis.missing}`)
    else
      subjects.push({
        name: BULLMQ,
        measure: () =>
          runProgram('peers/bullmq-lateness', { url: redis.url, ...params, leadMs: LEAD_MS }, lateSchema),
      })
    const postgres = await bench.servers.get('PostgreSQL')
    if ('missing' in postgres) notes.push(`${TUNED} was not measured: ${postgres.missing}`)
    else
      subjects.push({
        name: TUNED,
        measure: () =>
          runProgram('peers/graphile-lateness', { url: postgres.url, ...params, tuned: true }, lateSchema),
      })
    const results = await interleave(subjects, bench.quick ? 1 : bench.runs, async (subject) => {
      bench.say(subject.name)
      const late = await subject.measure()
      if (late.length !== schedules) throw new Error(`${subject.name} ran ${late.length} of ${schedules}`)
      if (Math.min(...late) < 0) throw new Error(`${subject.name} ran too early`)
      return late
    })
    const work = `start of ${schedules.toLocaleString('en')} handlers`
    const measures = [...results].flatMap(([{ name }, runs]): Measure[] =>
      [0.5, 0.99].map((part) => ({
        work: `${work}, p${part * 100}`,
        subject: name,
        unit: UNIT,
        values: runs.map((late) => quantile(late, part)),
      })),
    )
    return { measures, notes, targets: judge(measures, work) } satisfies Findings
  },
}

async function measureKalends(
  bench: Bench,
  kind: DatabaseName,
  params: { readonly schedules: number },
): Promise<number[]> {
  const database = await bench.servers.database(kind)
  const child = new Child('programs/lateness', { url: database.url, ...params })
  try {
    await child.ready()
    const at = new Date(Math.ceil((Date.now() + LEAD_MS) / 1000) * 1000)
    await insertSchedules(database, { count: params.schedules, at })
    child.go()
    return await child.result(lateSchema)
  } finally {
    await child.kill()
    await database.drop()
  }
}

function judge(measures: readonly Measure[], work: string): Target[] {
  return [0.5, 0.99].flatMap((part) =>
    [BULLMQ, TUNED].flatMap((peer) =>
      compare(measures, { work: `${work}, p${part * 100}`, unit: UNIT, peer, most: 0.6 }),
    ),
  )
}
