/** `kalends jobs …` */
import { Command } from 'commander'
import { cancelCommand } from './cancel.ts'
import { listCommand } from './list.ts'
import { logsCommand } from './logs.ts'
import { retryCommand } from './retry.ts'
import { showCommand } from './show.ts'
import { submitCommand } from './submit.ts'

export function jobsCommand(): Command {
  const group = new Command('jobs')
    .description('Single runs, of schedules and submitted by themselves.')
    .addHelpText(
      'after',
      `
Examples:
  $ kalends jobs list --state failed
  $ kalends jobs logs --follow 0193…
  $ kalends jobs retry --state failed --task mail`,
    )
  const commands = [
    listCommand(),
    showCommand(),
    logsCommand(),
    cancelCommand(),
    retryCommand(),
    submitCommand(),
  ]
  for (const command of commands) group.addCommand(command)
  return group
}
