/** `kalends import …` */
import { Command } from 'commander'
import { crontabCommand } from './crontab.ts'
import { systemdCommand } from './systemd.ts'

export function importCommand(): Command {
  const group = new Command('import')
    .description("Makes schedules of what a machine's own schedulers run.")
    .addHelpText(
      'after',
      `
Examples:
  $ kalends import crontab <(crontab -l) --dry-run
  $ kalends import crontab /etc/crontab --system
  $ kalends import systemd /lib/systemd/system --dry-run`,
    )
  group.addCommand(crontabCommand())
  group.addCommand(systemdCommand())
  return group
}
