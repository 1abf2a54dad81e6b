/** Startup times of `kalends --help` and of a worker. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Child } from '../child.ts'
import { interleave } from '../rounds.ts'
import type { Bench, Findings, Suite } from '../suite.ts'
import { median } from '../statistics.ts'
import { atMost } from '../target.ts'

const run = promisify(execFile)
const CLI = join(import.meta.dirname, '../../dist/cli/main.js')
const HELP = 'kalends --help'
const START = 'open, migrate and start on a new SQLite file'
const NODE = 'node with an empty script'
const LIMITS: Readonly<Record<string, number>> = { [HELP]: 150, [START]: 400 }

export const startSuite: Suite = {
  name: 'start',
  title: 'Startup, from the start of the process',
  run: async (bench) => {
    const works: Readonly<Record<string, () => Promise<unknown>>> = {
      [NODE]: () => run(process.execPath, ['-e', '0']),
      [HELP]: () => run(process.execPath, [CLI, '--help']),
      [START]: () => startOnSqlite(bench),
    }
    for (const work of Object.values(works)) await work()
    const results = await interleave(Object.entries(works), Math.max(5, bench.runs), async ([, work]) => {
      const began = performance.now()
      const until = await work()
      return (typeof until === 'number' ? until : performance.now()) - began
    })
    const measures = [...results].map(([[work], values]) => ({
      work,
      subject: work === NODE ? 'Node.js' : 'Kalends',
      unit: 'ms',
      values,
    }))
    return {
      measures,
      targets: measures.flatMap(({ work, values }) => {
        const limit = LIMITS[work]
        return limit === undefined
          ? []
          : [atMost(`${work}: within ${limit} ms`, median(values), limit, ' ms')]
      }),
    } satisfies Findings
  },
}

/** @returns the time at which the worker was ready, by `performance.now()` */
async function startOnSqlite({ servers }: Bench): Promise<number> {
  const path = join(await servers.folder(), `start-${process.hrtime.bigint()}.db`)
  const child = new Child('programs/start', { url: `sqlite:${path}` })
  try {
    await child.ready()
    return performance.now()
  } finally {
    await child.kill()
  }
}
