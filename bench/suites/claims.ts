/** The cost of a claim while many other jobs are waiting, compared with the cost in an empty queue. */
import { z } from 'zod'
import { runProgram } from '../child.ts'
import { insertJobs, type JobRows } from '../fixtures.ts'
import { interleave } from '../rounds.ts'
import { type Bench, type Findings, scaled, type Suite } from '../suite.ts'
import type { Measure } from '../measure.ts'
import { median } from '../statistics.ts'
import { eachAtMost, find, type Named, ratio } from '../target.ts'

const EMPTY = 'an empty queue'

interface Scene {
  readonly name: string
  readonly jobs: JobRows | null
  /** The groups of the claimed jobs. */
  readonly groups: readonly string[]
}

export const claimsSuite: Suite = {
  name: 'claims',
  title: 'Claims of ten jobs when many are waiting',
  run: async (bench) => {
    const many = scaled(bench, 100_000)
    const groups = scaled(bench, 20_000)
    const scenes: Scene[] = [
      { name: EMPTY, jobs: null, groups: [''] },
      {
        name: `${many.toLocaleString('en')} jobs of a task without a handler here`,
        jobs: { count: many, state: 'waiting', task: 'foreign' },
        groups: [''],
      },
      {
        name: `one group with ${many.toLocaleString('en')} jobs`,
        jobs: { count: many, state: 'waiting', task: 'mine', group: "'big'" },
        groups: ['small'],
      },
      {
        name: `${groups.toLocaleString('en')} groups`,
        jobs: { count: groups, state: 'waiting', task: 'mine', group: "CONCAT('g', 10000000 + n)" },
        groups: [''],
      },
    ]
    const subject = 'Kalends on MariaDB'
    const results = await interleave(scenes, bench.runs, (scene) => {
      bench.say(scene.name)
      return measure(bench, scene)
    })
    const measures = [...results].flatMap(([{ name }, values]): Measure[] => [
      { work: `claim, ${name}`, subject, unit: 'ms', values: values.map(({ claimMs }) => median(claimMs)) },
      { work: `poll, ${name}`, subject, unit: 'ms', values: values.map(({ lookMs }) => median(lookMs)) },
    ])
    const claim = (name: string) => find(measures, `claim, ${name}`, subject)
    const times = scenes
      .filter(({ name }) => name !== EMPTY)
      .map(({ name }): Named => [name, ratio(claim(name), claim(EMPTY))])
    const text = `a claim of ten jobs when many are waiting: at most 1.3 times that in ${EMPTY}`
    return { measures, targets: [eachAtMost(text, times, 1.3, ' times')] } satisfies Findings
  },
}

async function measure(
  bench: Bench,
  { jobs, groups }: Scene,
): Promise<{ claimMs: number[]; lookMs: number[] }> {
  const database = await bench.servers.mariadb()
  try {
    if (jobs !== null) await insertJobs(database, jobs)
    await database.query('ANALYZE TABLE job')
    const schema = z.object({ claimMs: z.array(z.number()), lookMs: z.array(z.number()) })
    return await runProgram(
      'programs/claims',
      { url: database.url, claims: scaled(bench, 200), groups },
      schema,
    )
  } finally {
    await database.drop()
  }
}
