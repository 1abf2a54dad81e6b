/** `kalends import systemd`. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Command } from 'commander'
import { checkedZone } from '../../timer/index.ts'
import { withDatabaseOptions } from '../configuration.ts'
import { CommandError, EXIT } from '../failure.ts'
import { wholeNumber } from '../words.ts'
import { importAll, type ImportOptions } from './apply.ts'
import { readTimers, type Units } from './systemd-timers.ts'
import { readUnit, type UnitFile } from './unit-file.ts'

const HELP = `
OnCalendar= becomes the timer, in the zone of this machine unless --zone or the event itself says otherwise;
Persistent= becomes catch_up, RandomizedDelaySec= jitter, OnUnitActiveSec= 'every …', OnUnitInactiveSec= 'every …
after finish'. The ExecStart= of the service becomes a job of the task 'command', which runs where a worker was
started with --allow-commands. Several OnCalendar= become several schedules. Drop-ins beside the units are read.

Examples:
  $ kalends import systemd /lib/systemd/system --dry-run
  $ kalends import systemd /etc/systemd/system --only backup --paused`

export function systemdCommand(): Command {
  const command = new Command('systemd')
    .summary('make schedules of systemd timers')
    .description(
      'Makes schedules of the .timer units of a folder, and shows what each became and what cannot be carried over.',
    )
    .argument('<folder>', 'with .timer and .service units')
    .option('--only <name...>', 'only these timers')
    .option('--zone <zone>', 'the zone of the machine: an IANA name', 'local')
    .option('--id-prefix <text>', 'before the ids of the schedules', 'systemd.')
    .option('--iterations <n>', 'how many elapses to show of each', wholeNumber, 3)
    .option('--paused', 'make new schedules, but paused')
    .option('--dry-run', 'only show what would be made; needs no database')
    .option('--json', 'print one JSON object a line')
  return withDatabaseOptions(command)
    .addHelpText('after', HELP)
    .action(
      async (
        folder: string,
        options: ImportOptions & { readonly only?: readonly string[]; readonly zone: string },
      ) => {
        const zone = checkedZone(options.zone)
        const names = options.only?.map((name) => (name.endsWith('.timer') ? name : `${name}.timer`))
        const units = await unitsIn(folder)
        const missing = names?.find((name) => !units.has(name))
        if (missing !== undefined)
          throw new CommandError(`there is no ${missing} in '${folder}'`, { exitCode: EXIT.notFound })
        const candidates = readTimers(units, zone)
        await importAll(
          names === undefined ? candidates : candidates.filter(({ source }) => names.includes(source)),
          options,
        )
      },
    )
}

async function unitsIn(folder: string): Promise<Units> {
  const units = new Map<string, UnitFile>()
  try {
    const names = await readdir(folder)
    for (const name of names.filter((one) => /\.(?:timer|service)$/.test(one))) {
      const dropIns = names.includes(`${name}.d`) ? await dropInsOf(join(folder, `${name}.d`)) : []
      // A link to nowhere, or to /dev/null, is how a unit is switched off.
      const text = await readFile(join(folder, name), 'utf8').catch(() => '')
      if (text !== '') units.set(name, readUnit([text, ...dropIns]))
    }
  } catch (cause) {
    throw new CommandError(
      `'${folder}' cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`,
      {
        exitCode: EXIT.usage,
        cause,
      },
    )
  }
  return units
}

async function dropInsOf(folder: string): Promise<string[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.conf')).toSorted()
  return Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))
}
