/** `kalends jobs list`. */
import { Command, InvalidArgumentError } from 'commander'
import type { Job } from '../../index.ts'
import { type DatabaseFlags, withDatabaseOptions } from '../configuration.ts'
import { print, say } from '../output.ts'
import { firstRows, listed, printWhole } from '../pages.ts'
import { withKalends } from '../session.ts'
import { type Column, tableText } from '../table.ts'
import { counted, firstLine, spanShort, when } from '../words.ts'
import { STATE_STYLES } from './columns.ts'
import { conditionsOf, type FilterFlags, STATES, withFilter } from './filter.ts'

interface Options extends DatabaseFlags, FilterFlags {
  readonly limit: number
  readonly json?: boolean
}

export function listCommand(): Command {
  const command = new Command('list')
    .alias('ls')
    .summary('list jobs, the newest first')
    .description('Lists jobs, the newest first.')
  return withDatabaseOptions(withFilter(command, STATES))
    .option('--limit <n>', 'at most so many', fromOne, 50)
    .option('--json', 'print one JSON object a line')
    .addHelpText(
      'after',
      '\nExamples:\n  $ kalends jobs list --state failed\n  $ kalends jobs list --schedule nightly --json | jq .result',
    )
    .action((options: Options) =>
      withKalends(options, async (kalends) => {
        const filter = conditionsOf(options)
        const found = await firstRows(
          // The jobs of a schedule are listed by slot, not by id.
          ({ limit, offset, last }) =>
            kalends.jobs.list({
              ...filter,
              limit,
              ...(filter.schedule === undefined ? { before: last } : { offset }),
            }),
          options.limit,
        )
        if (options.json === true) return printWhole(found.items, (id) => kalends.jobs.get(id))
        if (found.items.length > 0) print(tableText(columns(Date.now()), found.items))
        say(listed(found, counted(found.items.length, 'job')))
      }),
    )
}

function columns(now: number): Column<Job>[] {
  return [
    { title: 'JOB', value: ({ id }) => id },
    { title: 'STATE', value: ({ state }) => state, style: ({ state }) => STATE_STYLES[state] },
    { title: 'TASK', value: ({ task }) => task, least: 8 },
    { title: 'SCHEDULE', value: ({ scheduleId }) => scheduleId ?? '-', least: 8, optional: 1 },
    { title: 'SUBMITTED', value: ({ submitted }) => when(submitted), optional: 3 },
    { title: 'TOOK', value: (job) => took(job, now), align: 'right', optional: 2 },
    { title: 'ERROR', value: ({ error }) => firstLine(error) || '-', least: 5, optional: 1 },
  ]
}

function took({ started, finished }: Job, now: number): string {
  return started === null ? '-' : spanShort((finished?.getTime() ?? now) - started.getTime())
}

function fromOne(text: string): number {
  if (!/^[1-9]\d{0,6}$/.test(text)) throw new InvalidArgumentError('A whole number from 1 is needed.')
  return Number(text)
}
