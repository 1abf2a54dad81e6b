/** `kalends schedules edit`. */
import { Command } from 'commander'
import { type DatabaseFlags, withDatabaseOptions } from '../configuration.ts'
import { say } from '../output.ts'
import { withKalends } from '../session.ts'
import { usage } from '../words.ts'
import { showSchedule } from './describe.ts'
import { CLEARABLE, type SettingFlags, settingsOf, withSettings } from './settings.ts'

const HELP = `
What is left out stays. A new timer is planned from now and never fires because of the edit. 'none' clears
${CLEARABLE.join(', ')}.

Examples:
  $ kalends schedules edit nightly --timer '*-*-* 04:00' --zone Europe/Berlin
  $ kalends schedules edit nightly --max-runs none --retries 5`

export function editCommand(): Command {
  const command = new Command('edit')
    .summary('change a schedule')
    .description('Changes what is given of a schedule.')
    .argument('<id>')
  return withDatabaseOptions(withSettings(command))
    .option('--json', 'print the schedule as JSON')
    .addHelpText('after', HELP)
    .action((id: string, options: DatabaseFlags & SettingFlags & { readonly json?: boolean }) =>
      withKalends(options, async (kalends) => {
        const changes = await settingsOf(options, true)
        if (Object.keys(changes).length === 0) throw usage('nothing to change was given')
        const schedule = await kalends.schedules.update(id, changes)
        if (schedule.declaredBy !== null)
          say(
            `'${id}' is declared by the set '${schedule.declaredBy}': the next start of its code sets it back. Change the code, too.`,
          )
        await showSchedule(kalends, schedule, options.json)
      }),
    )
}
