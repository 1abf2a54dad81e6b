/** `kalends import crontab` and `kalends import systemd`. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { messageOf } from '../../errors.ts'
import { checkedZone } from '../../timer/index.ts'
import { type AnyCommand, Command, examples } from '../commander.ts'
import { withDatabaseOptions } from '../configuration.ts'
import { CommandError, EXIT, UsageError } from '../failure.ts'
import { wholeNumber } from '../values.ts'
import { importAll } from './apply.ts'
import { readCrontab } from './crontab-file.ts'
import { readTimers, type Units } from './systemd-timers.ts'
import { readUnit, type UnitFile } from './unit-file.ts'

const CRONTAB_HELP = `
Times become calendar events, in the zone of this machine unless --zone or a CRON_TZ line says otherwise; names,
steps and macros such as @daily are understood. Commands become jobs of the task 'command', which run on a worker that
was started with --allow-commands: through a shell as cron does, with the variables of the crontab, as the user of the
line. Output goes to the log of the job instead of mail. As under cron, missed runs are not made up, and runs may
overlap. Importing again changes what has changed in the file.`

const SYSTEMD_HELP = `
OnCalendar= becomes the timer, in the zone of this machine unless --zone or the event itself says otherwise;
Persistent= becomes catch_up, RandomizedDelaySec= jitter, OnUnitActiveSec= 'every …', OnUnitInactiveSec= 'every …
after finish'. The ExecStart= of the service becomes a job of the task 'command', which runs on a worker that was
started with --allow-commands. Several OnCalendar= become several schedules. Drop-ins beside the units are read.`

export default function importCommand(): AnyCommand {
  return new Command('import')
    .description('Creates schedules from what the schedulers of a machine run.')
    .addHelpText(
      'after',
      examples(
        'import crontab <(crontab -l) --dry-run',
        'import crontab /etc/crontab --system',
        'import systemd /lib/systemd/system --dry-run',
      ),
    )
    .addCommand(crontabCommand())
    .addCommand(systemdCommand())
}

function sourceCommand(name: string, idPrefix: string) {
  const command = new Command(name)
    .option('--zone <zone>', 'the time zone of the machine: an IANA name', 'local')
    .option('--id-prefix <text>', 'before the ids of the schedules', idPrefix)
    .option('--iterations <n>', 'how many elapses to show of each', wholeNumber(0, 999_999), 3)
    .option('--paused', 'create new schedules paused')
    .option('--dry-run', 'only show the schedules; needs no database')
    .option('--json', 'print one JSON object a line')
  return withDatabaseOptions(command)
}

function crontabCommand(): AnyCommand {
  return sourceCommand('crontab', 'cron.')
    .summary('create schedules from the lines of a crontab')
    .description(
      'Creates a schedule from each line of a crontab, and shows the result and what cannot be carried over.',
    )
    .argument('<file>', "a crontab; '-' reads stdin")
    .option('--system', 'lines name a user, as in /etc/crontab and /etc/cron.d')
    .addHelpText('after', CRONTAB_HELP)
    .addHelpText(
      'after',
      `
Examples:
  $ crontab -l | kalends import crontab - --dry-run
  $ kalends import crontab /etc/crontab --system --zone Europe/Berlin
  $ kalends import crontab /etc/cron.d/php --system --id-prefix php.`,
    )
    .action(async (file, flags) => {
      const zone = checkedZone(flags.zone)
      const content = await reading(file, () => (file === '-' ? text(process.stdin) : readFile(file, 'utf8')))
      await importAll(readCrontab(content, { system: flags.system === true, zone }), flags)
    })
}

function systemdCommand(): AnyCommand {
  return sourceCommand('systemd', 'systemd.')
    .summary('create schedules from systemd timers')
    .description(
      'Creates schedules from the .timer units of a folder, and shows the results and what cannot be carried over.',
    )
    .argument('<folder>', 'with .timer and .service units')
    .option('--only <name...>', 'only these timers')
    .addHelpText('after', SYSTEMD_HELP)
    .addHelpText(
      'after',
      examples(
        'import systemd /lib/systemd/system --dry-run',
        'import systemd /etc/systemd/system --only backup --paused',
      ),
    )
    .action(async (folder, flags) => {
      const zone = checkedZone(flags.zone)
      const names = flags.only?.map((name) => (name.endsWith('.timer') ? name : `${name}.timer`))
      const units = await reading(folder, () => unitsIn(folder))
      const missing = names?.find((name) => !units.has(name))
      if (missing !== undefined)
        throw new CommandError(`there is no ${missing} in '${folder}'`, EXIT.notFound)
      const found = readTimers(units, zone)
      await importAll(
        names === undefined ? found : found.filter(({ source }) => names.includes(source)),
        flags,
      )
    })
}

async function reading<Content>(path: string, read: () => Promise<Content>): Promise<Content> {
  try {
    return await read()
  } catch (cause) {
    throw new UsageError(`'${path}' cannot be read: ${messageOf(cause)}`, { cause })
  }
}

async function unitsIn(folder: string): Promise<Units> {
  const units = new Map<string, UnitFile>()
  const names = await readdir(folder)
  for (const name of names.filter((one) => /\.(?:timer|service)$/.test(one))) {
    const dropIns = names.includes(`${name}.d`) ? await dropInsOf(join(folder, `${name}.d`)) : []
    // A dangling link, or a link to /dev/null, disables a unit.
    const content = await readFile(join(folder, name), 'utf8').catch(() => '')
    if (content !== '') units.set(name, readUnit([content, ...dropIns]))
  }
  return units
}

async function dropInsOf(folder: string): Promise<string[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.conf')).toSorted()
  return Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))
}
