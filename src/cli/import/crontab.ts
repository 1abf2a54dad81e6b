/** `kalends import crontab`. */
import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { Command } from 'commander'
import { checkedZone } from '../../timer/index.ts'
import { withDatabaseOptions } from '../configuration.ts'
import { CommandError, EXIT } from '../failure.ts'
import { wholeNumber } from '../words.ts'
import { importAll, type ImportOptions } from './apply.ts'
import { readCrontab } from './crontab-file.ts'

const HELP = `
Times become calendar events, in the zone of this machine unless --zone or a CRON_TZ line says otherwise; names,
steps and macros such as @daily are understood. Commands become jobs of the task 'command', which run where a
worker was started with --allow-commands: through a shell as cron does, with the variables of the crontab, as
the user of the line. Output goes to the log of the job, in place of mail. What is missed is not made up, and runs
may overlap, as under cron. Importing again changes what has changed in the file.

Examples:
  $ crontab -l | kalends import crontab - --dry-run
  $ kalends import crontab /etc/crontab --system --zone Europe/Berlin
  $ kalends import crontab /etc/cron.d/php --system --id-prefix php.`

export function crontabCommand(): Command {
  const command = new Command('crontab')
    .summary('make schedules of the lines of a crontab')
    .description(
      'Makes a schedule of each line of a crontab, and shows what it became and what cannot be carried over.',
    )
    .argument('<file>', "a crontab; '-' reads stdin")
    .option('--system', 'lines name a user, as in /etc/crontab and /etc/cron.d')
    .option('--zone <zone>', 'the zone that cron follows: an IANA name', 'local')
    .option('--id-prefix <text>', 'before the ids of the schedules', 'cron.')
    .option('--iterations <n>', 'how many elapses to show of each', wholeNumber, 3)
    .option('--paused', 'make new schedules, but paused')
    .option('--dry-run', 'only show what would be made; needs no database')
    .option('--json', 'print one JSON object a line')
  return withDatabaseOptions(command)
    .addHelpText('after', HELP)
    .action(
      async (file: string, options: ImportOptions & { readonly system?: boolean; readonly zone: string }) => {
        const zone = checkedZone(options.zone)
        const candidates = readCrontab(await contentOf(file), { system: options.system === true, zone })
        await importAll(candidates, options)
      },
    )
}

async function contentOf(file: string): Promise<string> {
  try {
    return file === '-' ? await text(process.stdin) : await readFile(file, 'utf8')
  } catch (cause) {
    throw new CommandError(
      `'${file}' cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`,
      {
        exitCode: EXIT.usage,
        cause,
      },
    )
  }
}
