/** No-op jobs: submitted in bulk; claimed, run and completed. Beside BullMQ and graphile-worker. */
import { z } from 'zod'
import { Child } from '../child.ts'
import { countedMeasures, since } from '../counted.ts'
import { interleave } from '../rounds.ts'
import { DATABASES, type DatabaseName } from '../servers.ts'
import { type Bench, type Findings, type Measure, scaled, type Suite, type Target } from '../suite.ts'
import { atLeast, find, ratio } from '../target.ts'

const JOBS = 20_000
const WARM_UP = 1000
/** Jobs submitted with one call. */
const CHUNK = 1000
const CONCURRENCY = 100
const ENQUEUE = 'submit no-op jobs in bulk'
const RUN = 'claim, run and complete no-op jobs'

const BULLMQ = 'BullMQ'
const GRAPHILE = 'graphile-worker'
const TUNED = 'graphile-worker, tuned'
const resultSchema = z.object({ enqueueMs: z.number(), runMs: z.number() })

interface Subject {
  readonly name: string
  readonly measure: () => Promise<Result>
}
interface Result {
  readonly enqueueMs: number
  readonly runMs: number
  /** For each job. */
  readonly enqueueCounts: ReadonlyMap<string, number>
  readonly runCounts: ReadonlyMap<string, number>
}

export const queueSuite: Suite = {
  name: 'queue',
  title: 'Jobs of a queue, one process',
  run: async (bench) => {
    const jobs = scaled(bench, JOBS)
    const notes: string[] = [
      `${jobs.toLocaleString('en')} jobs, ${CHUNK} per call; one worker with a concurrency of ${CONCURRENCY}, which starts with a full queue.`,
    ]
    const subjects = await subjectsOf(bench, jobs, notes)
    const results = await interleave(subjects, bench.runs, (subject) => {
      bench.say(subject.name)
      return subject.measure()
    })
    const measures = [...results].flatMap(([{ name }, values]): Measure[] => [
      measure(ENQUEUE, name, jobs, values, ({ enqueueMs }) => enqueueMs),
      measure(RUN, name, jobs, values, ({ runMs }) => runMs),
      ...countedMeasures(
        `${ENQUEUE}, per job`,
        name,
        values.map((value) => value.enqueueCounts),
      ),
      ...countedMeasures(
        `${RUN}, per job`,
        name,
        values.map((value) => value.runCounts),
      ),
    ])
    return { measures, notes, targets: judge(measures) } satisfies Findings
  },
}

async function subjectsOf(bench: Bench, jobs: number, notes: string[]): Promise<Subject[]> {
  const params = { jobs, warmUp: Math.min(WARM_UP, jobs), chunk: CHUNK, concurrency: CONCURRENCY }
  const subjects: Subject[] = []
  for (const kind of DATABASES) {
    if (kind !== 'SQLite' && 'missing' in (await bench.servers.get(kind)))
      notes.push(`${kind} could not be had`)
    else subjects.push({ name: `Kalends on ${kind}`, measure: () => measureKalends(bench, kind, params) })
  }
  const redis = await bench.servers.get('Redis')
  if ('missing' in redis) notes.push(`${BULLMQ} was not measured: ${redis.missing}`)
  else
    subjects.push({
      name: BULLMQ,
      measure: () => measurePeer('peers/bullmq-queue', { url: redis.url, ...params }),
    })
  const postgres = await bench.servers.get('PostgreSQL')
  if ('missing' in postgres) notes.push(`${GRAPHILE} was not measured: ${postgres.missing}`)
  else
    for (const tuned of [false, true])
      subjects.push({
        name: tuned ? TUNED : GRAPHILE,
        measure: () => measurePeer('peers/graphile-queue', { url: postgres.url, ...params, tuned }),
      })
  return subjects
}

async function measureKalends(bench: Bench, kind: DatabaseName, params: { jobs: number }): Promise<Result> {
  const database = await bench.servers.database(kind)
  if (database === null) throw new Error(`${kind} was there, and is not any more`)
  const child = new Child('programs/queue', { url: database.url, ...params })
  try {
    await child.ready()
    const empty = await database.status()
    child.go()
    await child.ready()
    const full = await database.status()
    child.go()
    const result = await child.result(resultSchema)
    const done = await database.status()
    const [row] = await database.query("SELECT COUNT(*) AS jobs FROM job WHERE state <> 'success'")
    if (Number(row?.['jobs']) !== 0) throw new Error(`${String(row?.['jobs'])} jobs were not completed`)
    return {
      ...result,
      enqueueCounts: since(empty, full, params.jobs),
      runCounts: since(full, done, params.jobs),
    }
  } finally {
    await child.kill()
    await database.drop()
  }
}

async function measurePeer(name: string, params: unknown): Promise<Result> {
  const child = new Child(name, params)
  try {
    await child.ready()
    child.go()
    await child.ready()
    child.go()
    return { ...(await child.result(resultSchema)), enqueueCounts: new Map(), runCounts: new Map() }
  } finally {
    await child.kill()
  }
}

function measure(
  work: string,
  subject: string,
  jobs: number,
  results: readonly Result[],
  ms: (result: Result) => number,
): Measure {
  return { work, subject, unit: 'per s', values: results.map((result) => (jobs / ms(result)) * 1000) }
}

function judge(measures: readonly Measure[]): Target[] {
  const against = (work: string, peer: string, least: number) => {
    if (!measures.some((measure) => measure.subject === peer)) return []
    const of = ratio(find(measures, work, 'Kalends on MariaDB'), find(measures, work, peer))
    return [atLeast(`${work} on MariaDB: at least ${least} times ${peer}`, of, least, ' times')]
  }
  return [
    ...against(ENQUEUE, GRAPHILE, 1),
    ...against(ENQUEUE, BULLMQ, 2),
    ...against(RUN, BULLMQ, 3),
    ...against(RUN, TUNED, 1),
  ]
}
