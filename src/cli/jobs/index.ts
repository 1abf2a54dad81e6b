/** `kalends jobs …` */
import { type AnyCommand, Command, examples } from '../commander.ts'
import { cancelCommand, retryCommand } from './change.ts'
import { listCommand } from './list.ts'
import { logsCommand, showCommand } from './show.ts'
import { submitCommand } from './submit.ts'

export default function jobsCommand(): AnyCommand {
  return new Command('jobs')
    .description('Jobs: the runs of schedules, and jobs submitted without a schedule.')
    .addHelpText(
      'after',
      examples(
        'jobs list --state failed',
        'jobs logs --follow 0193…',
        'jobs retry --state failed --task mail',
      ),
    )
    .addCommand(listCommand())
    .addCommand(showCommand())
    .addCommand(logsCommand())
    .addCommand(cancelCommand())
    .addCommand(retryCommand())
    .addCommand(submitCommand())
}
