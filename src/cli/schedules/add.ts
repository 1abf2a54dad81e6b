/** `kalends schedules add`. */
import { Command } from 'commander'
import { commandArgs, COMMAND_TASK } from '../command-args.ts'
import { type DatabaseFlags, withDatabaseOptions } from '../configuration.ts'
import { usage } from '../words.ts'
import { withKalends } from '../session.ts'
import { showSchedule } from './describe.ts'
import { type SettingFlags, settingsOf, withSettings } from './settings.ts'

interface Options extends DatabaseFlags, SettingFlags {
  readonly task?: string
  readonly paused?: boolean
  readonly now?: boolean
  readonly json?: boolean
}

const HELP = `
What stands after -- is a command that a worker runs, without a shell; it needs a worker started with
\`kalends start --allow-commands\`.

Examples:
  $ kalends schedules add nightly --task cleanup --timer '*-*-* 03:00 Europe/Berlin' --args '{"days":30}'
  $ kalends schedules add poll --task poll --timer 'every 5min after finish' --retries 0
  $ kalends schedules add backup --timer daily --jitter 1h -- /usr/local/bin/backup --all`

export function addCommand(): Command {
  const command = new Command('add')
    .summary('make a schedule')
    .description('Makes a schedule. Its first run is the next elapse of its timer.')
    .argument('<id>', 'its name, 1 to 190 characters')
    .argument('[command...]', 'after --: a command to run, in place of --task')
    .option('--task <name>', 'what runs')
  return withDatabaseOptions(withSettings(command))
    .option('--paused', 'make it, but paused')
    .option('--now', 'run it at once, too')
    .option('--json', 'print the schedule as JSON')
    .addHelpText('after', HELP)
    .action((id: string, argv: readonly string[], options: Options) =>
      withKalends(options, async (kalends) => {
        if (options.timer === undefined) throw usage("option '--timer' is needed: when it is to run")
        if ((options.task === undefined) === (argv.length === 0))
          throw usage("either option '--task' or a command after -- is needed: what is to run")
        if (argv.length > 0 && options.args !== undefined)
          throw usage("option '--args' goes with --task; a command has its own after --")
        const settings = await settingsOf(options, false)
        const schedule = await kalends.schedules.create({
          ...settings,
          id,
          task: options.task ?? COMMAND_TASK,
          timer: settings.timer ?? options.timer,
          ...(argv.length > 0 && { args: commandArgs(argv) }),
          enabled: options.paused !== true,
          firstRun: options.now === true ? 'now' : 'next',
        })
        await showSchedule(kalends, schedule, options.json)
      }),
    )
}
