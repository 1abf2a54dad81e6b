/**
 * No-op jobs on Kalends and other queues: submitted in bulk, then claimed, run and completed with their own results.
 */
import { z } from 'zod'
import { Child } from '../child.ts'
import { countedMeasures } from '../counted.ts'
import { BOTH, cpuMeasures, measurePhase, type Metered, NODE, type Phase, SERVER } from '../cpu.ts'
import type { BenchDatabase } from '../database.ts'
import { installNode24 } from '../node24.ts'
import { interleave } from '../rounds.ts'
import { DATABASES, isDatabase, type ServerName } from '../servers.ts'
import type { DatabaseName } from '../database.ts'
import { type Bench, type Findings, scaled, type Suite, type Target } from '../suite.ts'
import type { Measure } from '../measure.ts'
import { median } from '../statistics.ts'
import { atMost, compare, find } from '../target.ts'

const JOBS = 20_000
/** Warm-up jobs, so that cold code is not measured. */
const WARM_UP = 5000
/** Jobs per submit call. */
const CHUNK = 1000
const CONCURRENCY = 100
const SUBMIT = 'submit no-op jobs in bulk'
const RUN = 'claim, run and complete no-op jobs'

interface Subject {
  readonly name: string
  readonly program: string
  readonly on: DatabaseName | ServerName
  /** What the queue stores, and what a crash can lose. */
  readonly keeps: string
  readonly tuned?: boolean
  /** Measured with this fraction of the jobs, because its rates do not depend on the number of jobs. */
  readonly part?: number
}

const OURS = 'Kalends on MariaDB'
const BULLMQ = 'BullMQ'
const BULLMQ_ALWAYS = 'BullMQ, appendfsync always'
const GRAPHILE = 'graphile-worker'
const TUNED = 'graphile-worker, tuned'
const SIDEQUEST = 'Sidequest on MariaDB'

const DURABLE = 'no acknowledged commit is lost'
const KALENDS = { program: 'programs/queue', keeps: `keeps jobs and results as rows; ${DURABLE}` }
const GRAPHILE_KEEPS = `deletes jobs that are done, and stores no results; ${DURABLE}`
const NODE24 = 'peers-node24/'
const SIDEQUEST_QUEUE = {
  program: `${NODE24}sidequest-queue`,
  keeps: `keeps jobs and results as rows, for 30 days; ${DURABLE}. It submits one job per call, ten calls at a time; measured with a tenth of the jobs`,
  part: 0.1,
}

const SUBJECTS: readonly Subject[] = [
  ...DATABASES.map((kind) => ({ name: `Kalends on ${kind}`, on: kind, ...KALENDS })),
  {
    name: BULLMQ,
    program: 'peers/bullmq-queue',
    on: 'Redis',
    keeps:
      'keeps jobs and results in memory; a crash of Redis loses everything since the last snapshot, a minute or more',
  },
  {
    name: BULLMQ_ALWAYS,
    program: 'peers/bullmq-queue',
    on: 'Redis, appendfsync always',
    keeps: 'keeps jobs and results in memory; no acknowledged write is lost',
  },
  { name: GRAPHILE, program: 'peers/graphile-queue', on: 'PostgreSQL', keeps: GRAPHILE_KEEPS },
  {
    name: TUNED,
    program: 'peers/graphile-queue',
    on: 'PostgreSQL',
    keeps: `${GRAPHILE_KEEPS}. If a worker crashes, up to 500 jobs that it had fetched wait for four hours`,
    tuned: true,
  },
  {
    name: 'pg-boss',
    program: `${NODE24}pg-boss-queue`,
    on: 'PostgreSQL',
    keeps: `keeps jobs and results as rows, for 7 days; ${DURABLE}`,
  },
  { name: SIDEQUEST, on: 'MariaDB', ...SIDEQUEST_QUEUE },
  { name: 'Sidequest on SQLite', on: 'SQLite', ...SIDEQUEST_QUEUE },
]

interface Result {
  readonly submit: Phase
  readonly run: Phase
}

export const queueSuite: Suite = {
  name: 'queue',
  title: 'Jobs of a queue, one process',
  run: async (bench) => {
    const notes = [
      `${scaled(bench, JOBS).toLocaleString('en')} jobs, ${CHUNK} per call; one worker with a concurrency of ${CONCURRENCY}, which starts when all jobs are in the queue. Each handler returns its own result.`,
    ]
    const newer = await installNode24()
    const subjects: Subject[] = []
    for (const subject of SUBJECTS) {
      const missing = await whatIsMissing(bench, subject, newer)
      if (missing === null) subjects.push(subject)
      else notes.push(`${subject.name} was not measured: ${missing}.`)
    }
    for (const keeps of new Set(subjects.map((subject) => subject.keeps))) {
      const names = subjects.filter((subject) => subject.keeps === keeps).map(({ name }) => name)
      notes.push(`${names.join('; ')}: ${keeps}.`)
    }
    const results = await interleave(subjects, bench.runs, (subject) => {
      bench.say(subject.name)
      return measure(bench, subject, typeof newer === 'string' ? undefined : newer.node)
    })
    const measures = [...results].flatMap(([subject, rounds]) => [
      ...measuresOf(
        SUBMIT,
        subject,
        jobsOf(bench, subject),
        rounds.map(({ submit }) => submit),
      ),
      ...measuresOf(
        RUN,
        subject,
        jobsOf(bench, subject),
        rounds.map(({ run }) => run),
      ),
    ])
    return {
      measures,
      notes,
      targets: judge(measures),
      table: {
        rows: 'subject',
        columns: [
          { head: 'submit, per s', work: SUBMIT, unit: 'per s' },
          { head: 'CPU, µs per job', work: SUBMIT, unit: BOTH('job') },
          { head: 'run, per s', work: RUN, unit: 'per s' },
          { head: 'CPU of the server, µs per job', work: RUN, unit: SERVER('job') },
          { head: 'of Node', work: RUN, unit: NODE('job') },
          { head: 'of both', work: RUN, unit: BOTH('job') },
        ],
      },
    } satisfies Findings
  },
}

async function whatIsMissing(
  { servers }: Bench,
  { on, program }: Subject,
  newer: { readonly node: string } | string,
): Promise<string | null> {
  if (typeof newer === 'string' && program.startsWith(NODE24)) return newer
  if (on === 'SQLite') return null
  const server = await servers.get(on)
  return 'missing' in server ? server.missing : null
}

function jobsOf(bench: Bench, { part = 1 }: Subject): number {
  return Math.ceil(scaled(bench, JOBS) * part)
}

async function measure(bench: Bench, subject: Subject, node24: string | undefined): Promise<Result> {
  const { on } = subject
  if (!isDatabase(on)) return measureOn(await bench.servers.need(on), bench, subject, node24)
  const database = await bench.servers.database(on)
  try {
    const result = await measureOn(database, bench, subject, node24)
    if (subject.program === KALENDS.program) await checkDone(database)
    return result
  } finally {
    await database.drop()
  }
}

async function measureOn(
  server: Metered & { readonly url: string },
  bench: Bench,
  subject: Subject,
  node24: string | undefined,
): Promise<Result> {
  const { program, tuned } = subject
  const jobs = jobsOf(bench, subject)
  const child = new Child(
    program,
    { url: server.url, jobs, warmUp: Math.min(WARM_UP, jobs), chunk: CHUNK, concurrency: CONCURRENCY, tuned },
    { node: program.startsWith(NODE24) ? node24 : undefined },
  )
  try {
    const submit = await measurePhase(child, server, jobs)
    const run = await measurePhase(child, server, jobs)
    await child.result(z.null())
    return { submit, run }
  } finally {
    await child.kill()
  }
}

async function checkDone(database: BenchDatabase): Promise<void> {
  const [row] = await database.query("SELECT COUNT(*) AS jobs FROM job WHERE state <> 'success'")
  if (Number(row?.['jobs']) !== 0) throw new Error(`${String(row?.['jobs'])} jobs were not completed`)
}

function measuresOf(work: string, { name }: Subject, jobs: number, phases: readonly Phase[]): Measure[] {
  return [
    { work, subject: name, unit: 'per s', values: phases.map(({ ms }) => (jobs / ms) * 1000) },
    ...cpuMeasures(
      work,
      name,
      'job',
      phases.map(({ cpu }) => cpu),
    ),
    ...countedMeasures(
      `${work}, per job`,
      name,
      phases.map(({ counts }) => counts),
    ),
  ]
}

function judge(measures: readonly Measure[]): Target[] {
  const against = (work: string, peer: string, least: number) =>
    compare(measures, { work, unit: 'per s', peer, least })
  return [
    atMost(
      'CPU of server and Node for a no-op job on MariaDB: at most 65 µs',
      median(find(measures, RUN, OURS, BOTH('job')).values),
      65,
      ' µs',
    ),
    ...against(RUN, BULLMQ, 1),
    ...against(RUN, BULLMQ_ALWAYS, 1.3),
    ...against(RUN, TUNED, 0.7),
    ...against(RUN, SIDEQUEST, 20),
    ...against(SUBMIT, GRAPHILE, 1),
    ...against(SUBMIT, BULLMQ, 2),
  ]
}
