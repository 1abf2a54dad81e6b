/** `kalends jobs cancel`. */
import { Command } from 'commander'
import { withDatabaseOptions } from '../configuration.ts'
import { withKalends } from '../session.ts'
import { withFilter } from './filter.ts'
import { changeJobs, type ManyFlags } from './many.ts'

const OPEN = ['waiting', 'blocked', 'running'] as const

export function cancelCommand(): Command {
  const command = new Command('cancel')
    .summary('cancel jobs that wait, stop those that run')
    .description(
      'Cancels jobs that wait, and asks the workers to stop those that run, wherever that is: their handlers are\n' +
        'told within a second. Which: by id, or by a filter.',
    )
    .argument('[id...]')
  return withDatabaseOptions(withFilter(command, OPEN))
    .option('-y, --yes', 'do it without a question, when it is by a filter')
    .option('--json', 'print one JSON object a line')
    .addHelpText(
      'after',
      '\nExamples:\n  $ kalends jobs cancel 0193…\n  $ kalends jobs cancel --task mail --state waiting --yes',
    )
    .action((ids: readonly string[], options: ManyFlags) =>
      withKalends(options, (kalends) =>
        changeJobs(kalends, ids, options, { action: 'cancel', verb: 'Cancel', done: 'Cancelled' }),
      ),
    )
}
