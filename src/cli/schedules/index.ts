/** `kalends schedules …` */
import { type AnyCommand, Command, examples } from '../commander.ts'
import { pauseCommand, resetCommand, resumeCommand, rmCommand, runCommand } from './change.ts'
import { listCommand } from './list.ts'
import { explainCommand, historyCommand, showCommand } from './show.ts'
import { addCommand, editCommand } from './write.ts'

export default function schedulesCommand(): AnyCommand {
  return new Command('schedules')
    .description('Schedules: when tasks run, and with which args.')
    .addHelpText(
      'after',
      examples(
        'schedules list',
        `schedules add report --task report --timer 'Mon..Fri 09:00 Europe/Berlin' --args '{"days":30}'`,
        "schedules explain report --at 'yesterday'",
      ),
    )
    .addCommand(listCommand())
    .addCommand(showCommand())
    .addCommand(addCommand())
    .addCommand(editCommand())
    .addCommand(pauseCommand())
    .addCommand(resumeCommand())
    .addCommand(runCommand())
    .addCommand(resetCommand())
    .addCommand(rmCommand())
    .addCommand(historyCommand())
    .addCommand(explainCommand())
}
