/** `kalends schedules history`. */
import { Command } from 'commander'
import type { Job } from '../../index.ts'
import { type DatabaseFlags, withDatabaseOptions } from '../configuration.ts'
import { STATE_STYLES } from '../jobs/columns.ts'
import { print, printJson, say } from '../output.ts'
import { withKalends } from '../session.ts'
import { type Column, tableText } from '../table.ts'
import { counted, firstLine, instantOption, spanShort, when, wholeNumber } from '../words.ts'

interface Options extends DatabaseFlags {
  readonly limit: number
  readonly before?: string
  readonly json?: boolean
}

const COLUMNS: readonly Column<Job>[] = [
  { title: 'SLOT', value: ({ slot }) => when(slot) },
  { title: 'STATE', value: ({ state }) => state, style: ({ state }) => STATE_STYLES[state] },
  { title: 'REASON', value: ({ reason }) => reason ?? '-', optional: 3 },
  {
    title: 'MISSED',
    value: ({ missed }) => (missed === 0 ? '-' : String(missed)),
    align: 'right',
    optional: 4,
  },
  {
    title: 'ATTEMPT',
    value: ({ attempt }) => (attempt === 0 ? '-' : String(attempt)),
    align: 'right',
    optional: 2,
  },
  {
    title: 'TOOK',
    value: ({ started, finished }) =>
      started === null || finished === null ? '-' : spanShort(finished.getTime() - started.getTime()),
    align: 'right',
    optional: 2,
  },
  { title: 'JOB', value: ({ id }) => id, optional: 1 },
  { title: 'ERROR', value: ({ error }) => firstLine(error) || '-', least: 5, optional: 1 },
]

export function historyCommand(): Command {
  const command = new Command('history')
    .summary('runs and skips of a schedule, newest first')
    .description(
      'Lists what became of the slots of a schedule, the newest first: runs, and skips with their reason.',
    )
    .argument('<id>')
    .option('--limit <n>', 'at most so many', wholeNumber, 20)
    .option('--before <time>', 'only slots before it')
    .option('--json', 'print one JSON object a line')
    .addHelpText(
      'after',
      '\nExamples:\n  $ kalends schedules history nightly\n  $ kalends schedules history nightly --before yesterday',
    )
  return withDatabaseOptions(command).action((id: string, options: Options) =>
    withKalends(options, async ({ schedules }) => {
      const before = await instantOption('--before', options.before)
      const jobs = await schedules.history(id, { limit: options.limit, before })
      if (options.json === true) for (const job of jobs) printJson(job)
      else {
        if (jobs.length > 0) print(tableText(COLUMNS, jobs))
        say(`${counted(jobs.length, 'slot')} listed.`)
      }
    }),
  )
}
