/** `kalends jobs retry`. */
import { Command } from 'commander'
import { withDatabaseOptions } from '../configuration.ts'
import { withKalends } from '../session.ts'
import { withFilter } from './filter.ts'
import { changeJobs, type ManyFlags } from './many.ts'

const RETRIABLE = ['failed', 'cancelled'] as const

export function retryCommand(): Command {
  const command = new Command('retry')
    .summary('let failed or cancelled jobs run again')
    .description(
      'Lets jobs that failed or were cancelled run again, from their first attempt. Which: by id, or by a filter.',
    )
    .argument('[id...]')
  return withDatabaseOptions(withFilter(command, RETRIABLE))
    .option('-y, --yes', 'do it without a question, when it is by a filter')
    .option('--json', 'print one JSON object a line')
    .addHelpText(
      'after',
      '\nExamples:\n  $ kalends jobs retry 0193…\n  $ kalends jobs retry --task mail --state failed --yes',
    )
    .action((ids: readonly string[], options: ManyFlags) =>
      withKalends(options, (kalends) =>
        changeJobs(kalends, ids, options, { action: 'retry', verb: 'Retry', done: 'Retried' }),
      ),
    )
}
