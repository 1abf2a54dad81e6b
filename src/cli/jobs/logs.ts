/** `kalends jobs logs`. */
import { setTimeout as pause } from 'node:timers/promises'
import { Command } from 'commander'
import { NotFoundError } from '../../errors.ts'
import type { Job, LogLevel, LogLine } from '../../index.ts'
import { type DatabaseFlags, withDatabaseOptions } from '../configuration.ts'
import { harmlessText, painted, print, printJson, say, type Style } from '../output.ts'
import { withKalends } from '../session.ts'
import { firstLine } from '../words.ts'

interface Options extends DatabaseFlags {
  readonly follow?: boolean
  readonly json?: boolean
}

/** How often to look for what was added. */
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
      for (let printed = 0; ; ) {
        // Before its lines: those that come between the two looks are in the second.
        const job = await jobs.get(id)
        if (job === null) throw new NotFoundError('job', id)
        const lines = await jobs.logs(id)
        for (const line of lines.slice(printed)) {
          if (options.json === true) printJson(line)
          else print(textOf(line))
        }
        printed = Math.max(printed, lines.length)
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

function textOf({ at, level, message }: LogLine): string {
  return `${at.toISOString()} ${painted(STYLES[level], level.padEnd(5))} ${harmlessText(message)}\n`
}
