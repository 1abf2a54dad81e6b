/** `kalends jobs logs`. */
import { setTimeout as pause } from 'node:timers/promises'
import { Command } from 'commander'
import { NotFoundError } from '../../errors.ts'
import type { Job, Jobs, LogLevel, LogLine } from '../../index.ts'
import { type DatabaseFlags, withDatabaseOptions } from '../configuration.ts'
import { harmlessText, painted, print, printJson, say, type Style } from '../output.ts'
import { withKalends } from '../session.ts'
import { firstLine } from '../words.ts'

interface Options extends DatabaseFlags {
  readonly follow?: boolean
  readonly json?: boolean
}

/** How often to look for new lines. */
const LOOK_MS = 500
const STYLES: Readonly<Partial<Record<LogLevel, Style>>> = { debug: 'dim', warn: 'yellow', error: 'red' }
const FINAL: readonly string[] = ['success', 'failed', 'cancelled', 'skipped'] satisfies Job['state'][]

export function logsCommand(): Command {
  const command = new Command('logs')
    .summary('what a job has logged')
    .description("Prints what a job's attempts have logged, in order.")
    .argument('<id>')
    .option('-f, --follow', 'go on with what is added, until the job has ended')
    .option('--json', 'print one JSON object a line')
    .addHelpText(
      'after',
      '\nExamples:\n  $ kalends jobs logs 0193…\n  $ kalends jobs logs --follow 0193… | grep -i error',
    )
  return withDatabaseOptions(command).action((id: string, options: Options) =>
    withKalends(options, async ({ jobs }) => {
      for (let last = 0; ; ) {
        // Read before its lines: a line that is logged between the two reads is printed.
        const job = await jobs.get(id)
        if (job === null) throw new NotFoundError('job', id)
        for await (const line of linesAfter(jobs, id, last)) {
          if (options.json === true) printJson(line)
          else print(textOf(line))
          last = line.id
        }
        if (options.follow !== true) return
        if (FINAL.includes(job.state)) {
          say(
            `The job is ${job.state}${job.error === null ? '' : `: ${harmlessText(firstLine(job.error))}`}.`,
          )
          return
        }
        await pause(LOOK_MS)
      }
    }),
  )
}

async function* linesAfter(jobs: Jobs, id: string, last: number): AsyncGenerator<LogLine, void> {
  for (let after = last; ; ) {
    const lines = await jobs.logs(id, { after })
    yield* lines
    const newest = lines.at(-1)
    if (newest === undefined) return
    after = newest.id
  }
}

function textOf({ at, level, message }: LogLine): string {
  return `${at.toISOString()} ${painted(STYLES[level], level.padEnd(5))} ${harmlessText(message)}\n`
}
