/** `kalends schedules …` */
import { Command } from 'commander'
import { addCommand } from './add.ts'
import { editCommand } from './edit.ts'
import { explainCommand } from './explain.ts'
import { historyCommand } from './history.ts'
import { listCommand } from './list.ts'
import { pauseCommand, resumeCommand } from './pause.ts'
import { resetCommand } from './reset.ts'
import { rmCommand } from './rm.ts'
import { runCommand } from './run.ts'
import { showCommand } from './show.ts'

export function schedulesCommand(): Command {
  const group = new Command('schedules').description('When and with which args tasks run.').addHelpText(
    'after',
    `
Examples:
  $ kalends schedules list
  $ kalends schedules add report --task report --timer 'Mon..Fri 09:00 Europe/Berlin' --args '{"days":30}'
  $ kalends schedules explain report --at 'yesterday'`,
  )
  const commands = [
    listCommand(),
    showCommand(),
    addCommand(),
    editCommand(),
    pauseCommand(),
    resumeCommand(),
    runCommand(),
    resetCommand(),
    rmCommand(),
    historyCommand(),
    explainCommand(),
  ]
  for (const command of commands) group.addCommand(command)
  return group
}
