import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { messageOf } from '../../errors.ts'
import { checkedZone } from '../../timer/index.ts'
import { type CommandUser, findUser } from '../command-user.ts'
import { type AnyCommand, Command, examples } from '../commander.ts'
import { CommandError, EXIT, UsageError } from '../failure.ts'
import { importAll, sourceCommand } from './apply.ts'
import { isNameOf, readCrontab } from './crontab-file.ts'
import { readTimerUnit } from './systemd-timers.ts'
import { SYSTEM_FOLDERS, unitsIn } from './unit-folders.ts'

const CRONTAB_HELP = `
Times become calendar events, in the zone of this machine unless --zone or a CRON_TZ line says otherwise; names,
steps and macros such as @daily are understood. Commands become jobs of the task 'command', which run on a worker that
was started with --allow-commands: through a shell as cron does, with the variables of the crontab, as the user of the
line. Output goes to the log of the job instead of mail. As under cron, missed runs are not made up, and runs may
overlap.`

const AGAIN_HELP = `
Importing again updates the schedules whose ids start with the prefix: it finds them by their content, and updates what
has changed. It lists schedules whose entries are gone; --prune removes them. Use a different --id-prefix for each source.`

const SYSTEMD_HELP = `
OnCalendar= becomes the timer, in the zone of this machine unless --zone or the event itself says otherwise;
Persistent= becomes catch_up, RandomizedDelaySec= jitter, OnUnitActiveSec= 'every …', OnUnitInactiveSec= 'every …
after finish'. The ExecStart= of the service becomes a job of the task 'command', which runs on a worker that was
started with --allow-commands. Several OnCalendar= become several schedules.

Units are found as systemd finds them: in the folders of the system's service manager or in those that you name
(earlier folders take precedence), with drop-ins and instances of templates. Timers that are not enabled and masked
units are left out. User units run as the owner of the file or as --user; import them separately from system units.`

export default function importCommand(): AnyCommand {
  return new Command('import')
    .description("Creates schedules from a machine's crontabs and systemd timers.")
    .addHelpText(
      ...examples(
        'import crontab <(crontab -l) --dry-run',
        'import crontab /etc/crontab',
        'import systemd --dry-run',
      ),
    )
    .addCommand(crontabCommand())
    .addCommand(systemdCommand())
}

function crontabCommand(): AnyCommand {
  return sourceCommand('crontab', 'cron.')
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
      const content = await reading(`'${file}'`, () =>
        file === '-' ? text(process.stdin) : readFile(file, 'utf8'),
      )
      await importAll(readCrontab(content, { system: flags.system, zone }), flags, isNameOf)
    })
}

function systemdCommand(): AnyCommand {
  return sourceCommand('systemd', 'systemd.')
    .summary('create schedules from systemd timers')
    .description('Creates schedules from .timer units, and shows the result and what cannot be carried over.')
    .argument('[folder...]', 'folders that contain units; default: the system folders')
    .option('--only <name...>', 'only these timers')
    .option('--all', 'include timers that are not enabled, and units hidden by masks')
    .option(
      '--user <name>',
      'the user whose units these are (default: for user units, the owner of the file)',
    )
    .addHelpText('after', SYSTEMD_HELP)
    .addHelpText('after', AGAIN_HELP)
    .addHelpText(
      ...examples(
        'import systemd --dry-run',
        'import systemd --only backup --paused',
        'import systemd ~/.config/systemd/user --id-prefix mine.',
      ),
    )
    .action(async (named, flags) => {
      const zone = checkedZone(flags.zone)
      const folders = named.length === 0 ? SYSTEM_FOLDERS.filter((one) => existsSync(one)) : named
      const only = flags.only?.map((name) => (name.endsWith('.timer') ? name : `${name}.timer`))
      const found = await reading('a unit', () => {
        const units = unitsIn(folders, flags.all === true, flags.user !== undefined)
        const missing = only?.find((name) => units.find(name) === null)
        const where = named.length === 0 ? 'the system folders' : named.join(', ')
        if (missing !== undefined)
          throw new CommandError(`${missing} does not exist in ${where}`, EXIT.notFound)
        const options = { zone, all: flags.all === true, user: userNamed(flags.user) }
        return (only ?? units.timers()).flatMap((name) => readTimerUnit(name, units, options))
      })
      await importAll(found, flags, (name) => only === undefined && !name.includes('.'))
    })
}

function userNamed(name: string | undefined): CommandUser | null {
  if (name === undefined) return null
  const user = findUser(name)
  if (user !== null) return user
  throw new UsageError(`option '--user': the user '${name}' does not exist on this machine`)
}

async function reading<Content>(what: string, read: () => Content | Promise<Content>): Promise<Content> {
  try {
    return await read()
  } catch (cause) {
    if (cause instanceof CommandError) throw cause
    throw new UsageError(`${what} cannot be read: ${messageOf(cause)}`, { cause })
  }
}
