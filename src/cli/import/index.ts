import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { messageOf } from '../../errors.ts'
import { checkedZone } from '../../timer/index.ts'
import { type AnyCommand, Command, examples } from '../commander.ts'
import { UsageError } from '../failure.ts'
import { importAll, crontabOptions } from './apply.ts'
import { readCrontab } from './crontab-file.ts'

const CRONTAB_HELP = `
Times become calendar events, in the zone of this machine unless --zone or a CRON_TZ line says otherwise; names,
steps and macros such as @daily are understood. Commands become jobs of the task 'command', which run on a worker that
was started with --allow-commands: through a shell as cron does, with the variables of the crontab, as the user of the
line. Output goes to the log of the job instead of mail. As under cron, missed runs are not made up, and runs may
overlap.`

const AGAIN_HELP = `
Importing again updates the schedules whose ids start with the prefix: it finds them by their content, and updates what
has changed. It lists schedules whose entries are gone; --prune removes them. Use a different --id-prefix for each source.`

export default function importCommand(): AnyCommand {
  return new Command('import')
    .description("Creates schedules from a machine's crontabs.")
    .addHelpText(...examples('import crontab <(crontab -l) --dry-run', 'import crontab /etc/crontab'))
    .addCommand(crontabCommand())
}

function crontabCommand(): AnyCommand {
  return crontabOptions()
    .summary('create schedules from the entries of a crontab')
    .description(
      'Creates a schedule from each entry of a crontab, and shows the result and what cannot be carried over.',
    )
    .argument('<file>', "a crontab; '-' reads stdin")
    .option(
      '--system',
      'lines name a user, as in /etc/crontab and /etc/cron.d (default: only if all lines seem to)',
    )
    .option('--no-system', 'lines do not name a user')
    .addHelpText('after', CRONTAB_HELP)
    .addHelpText('after', AGAIN_HELP)
    .addHelpText(
      'after',
      `
Examples:
  $ crontab -l | kalends import crontab - --dry-run
  $ kalends import crontab /etc/crontab --zone Europe/Berlin
  $ kalends import crontab /etc/cron.d/php --id-prefix php.`,
    )
    .action(async (file, flags) => {
      const zone = checkedZone(flags.zone)
      const content = await contentOf(file)
      await importAll(readCrontab(content, { system: flags.system, zone }), flags)
    })
}

async function contentOf(file: string): Promise<string> {
  try {
    return await (file === '-' ? text(process.stdin) : readFile(file, 'utf8'))
  } catch (cause) {
    throw new UsageError(`'${file}' cannot be read: ${messageOf(cause)}`, { cause })
  }
}
