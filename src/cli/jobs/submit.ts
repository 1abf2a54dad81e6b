/** `kalends jobs submit`. */
import { Command } from 'commander'
import { COMMAND_TASK, commandArgs } from '../command-args.ts'
import { type DatabaseFlags, withDatabaseOptions } from '../configuration.ts'
import { JOB_OPTION_NAMES } from '../../model/settings.ts'
import { print, printJson } from '../output.ts'
import { withKalends } from '../session.ts'
import { givenSettings, type SettingFlags, withSettingFlags } from '../setting-flags.ts'
import { instantOption, jsonValue, usage } from '../words.ts'
import { waitForJob } from './wait.ts'

interface Options extends DatabaseFlags, SettingFlags {
  readonly args?: unknown
  readonly id?: string
  readonly runAt?: string
  readonly wait?: boolean
  readonly json?: boolean
}

export function submitCommand(): Command {
  const command = new Command('submit')
    .summary('submit a job, beside all schedules')
    .description(
      'Submits a job of a task, beside all schedules, and prints its id. What stands after -- is a command that a\n' +
        'worker runs, which needs one that was started with `kalends start --allow-commands`.',
    )
    .argument('<task>', "what runs; '--' and a command in its place")
    .argument('[command...]', 'after --: the rest of the command')
    .option('--args <json>', 'what the task gets', jsonValue)
    .option('--id <id>', 'up to 36 characters (default: a new UUID)')
    .option('--run-at <time>', 'not before it')
    .option('--wait', 'wait for its end; fail when it fails')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
Examples:
  $ kalends jobs submit mail --args '{"to":"x@example.org"}' --run-at '+10min'
  $ kalends jobs submit command --wait -- uname -a`,
    )
  return withDatabaseOptions(withSettingFlags(command, JOB_OPTION_NAMES)).action(
    (task: string, argv: readonly string[], options: Options) =>
      withKalends(options, async (kalends) => {
        if (argv.length > 0 && task !== COMMAND_TASK)
          throw usage(
            `what stands after the task '${task}' means nothing; args go into --args, commands after 'command --'`,
          )
        if (argv.length > 0 && options.args !== undefined)
          throw usage("option '--args' and a command after -- do not go together")
        const job = await kalends.jobs.submit(
          task,
          argv.length > 0 ? commandArgs(argv) : (options.args ?? {}),
          {
            ...(await givenSettings(options, JOB_OPTION_NAMES, false)),
            id: options.id,
            runAt: await instantOption('--run-at', options.runAt),
          },
        )
        if (options.wait === true) return waitForJob(kalends, job, options.json)
        if (options.json === true) printJson(await kalends.jobs.get(job))
        else print(`${job}\n`)
      }),
  )
}
