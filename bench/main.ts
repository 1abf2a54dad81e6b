/**
 * `npm run bench [-- suite …] [--runs 5] [--quick]`: measures Kalends and its peers side by side, on private servers.
 *
 * Prints the findings of each suite and writes bench/results/<time>.json. A complete run of all suites also writes the
 * tables and plots of docs/contributing/benchmarks.md. The processes of a run end with it, even on Ctrl-C.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readArguments } from './arguments.ts'
import { buildPrograms } from './build.ts'
import { killAll } from './child.ts'
import { describeRun } from './machine.ts'
import { writePage } from './page.ts'
import { type Report, tellReport } from './report.ts'
import { Servers } from './servers.ts'
import type { Suite } from './suite.ts'
import { blocksSuite } from './suites/blocks.ts'
import { bodiesSuite } from './suites/bodies.ts'
import { burstSuite } from './suites/burst.ts'
import { calendarSuite } from './suites/calendar.ts'
import { claimsSuite } from './suites/claims.ts'
import { idleSuite } from './suites/idle.ts'
import { latenessSuite } from './suites/lateness.ts'
import { locksSuite } from './suites/locks.ts'
import { pickupSuite } from './suites/pickup.ts'
import { queueSuite } from './suites/queue.ts'
import { sizeSuite } from './suites/size.ts'
import { startSuite } from './suites/start.ts'
import { steadySuite } from './suites/steady.ts'
import { workersSuite } from './suites/workers.ts'

const SUITES: readonly Suite[] = [
  calendarSuite,
  startSuite,
  idleSuite,
  burstSuite,
  blocksSuite,
  bodiesSuite,
  queueSuite,
  latenessSuite,
  pickupSuite,
  locksSuite,
  claimsSuite,
  workersSuite,
  sizeSuite,
  steadySuite,
]

process.exitCode = await main()

async function main(): Promise<number> {
  const known = SUITES.map(({ name }) => name)
  const { suites: names, runs, quick } = readArguments(process.argv.slice(2), known)
  const servers = new Servers()
  let interrupted = false
  // Handle every signal, because Ctrl-C arrives from the terminal and again from the parent process.
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.on(signal, () => {
      interrupted = true
      // Code that is waiting for a program then fails, and the servers are stopped below.
      void killAll()
    })
  const reports: Report[] = []
  let failed = false
  try {
    await buildPrograms()
    for (const suite of SUITES.filter(({ name }) => names.includes(name))) {
      if (interrupted) break
      say(`\n${suite.name}: ${suite.title}`)
      const began = performance.now()
      try {
        const findings = await suite.run({ runs, quick, servers, say: (line) => say(`  … ${line}`) })
        const report = { suite, findings, seconds: (performance.now() - began) / 1000 }
        reports.push(report)
        process.stdout.write(`\n${tellReport(report)}\n`)
      } catch (error) {
        // Continue with the other suites.
        failed = true
        if (!interrupted) say(`${suite.name} could not be measured: ${describeError(error)}`)
      }
    }
    if (interrupted) return 130
    const run = { ...(await describeRun(servers)), command: commandOf(process.argv.slice(2)), runs, quick }
    await writeResults({ run, reports })
    if (!quick && !failed && reports.length === SUITES.length) await writePage({ run, reports })
    else say('docs/contributing/benchmarks.md is written only by a complete run of all suites')
    return failed ? 1 : 0
  } finally {
    await killAll()
    await servers.stop()
  }
}

async function writeResults(results: {
  readonly run: object
  readonly reports: readonly Report[]
}): Promise<void> {
  const folder = join(import.meta.dirname, 'results')
  await mkdir(folder, { recursive: true })
  const file = join(folder, `${new Date().toISOString().replaceAll(':', '-')}.json`)
  await writeFile(file, `${JSON.stringify(results, null, 2)}\n`)
  say(`\nwritten: ${file}`)
}

function commandOf(words: readonly string[]): string {
  return words.length === 0 ? 'npm run bench' : `npm run bench -- ${words.join(' ')}`
}

function describeError(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

/** Progress messages go to stderr; the results go to stdout. */
function say(line: string): void {
  process.stderr.write(`${line}\n`)
}
