import { firstLine } from '../../errors.ts'
import type { Kalends } from '../../index.ts'
import { JOB_OPTION_NAMES, NAME_LIMIT } from '../../model/settings.ts'
import { type AnyCommand, Command, examples } from '../commander.ts'
import { QuietFailure, UsageError } from '../failure.ts'
import { harmlessText, print, printJson, printResult, say } from '../output.ts'
import { onDatabase, warnOfTask } from '../session.ts'
import { givenSettings, withSettingFlags } from '../flags.ts'
import { COMMAND_TASK, instantOption, jsonValue } from '../values.ts'

export function submitCommand(): AnyCommand {
  const command = new Command('submit')
    .summary('submit a job without a schedule')
    .description(
      'Submits a job of a task, without a schedule, and prints its id. The words after -- are a command, which runs on\n' +
        'a worker that was started with `kalends start --allow-commands`.',
    )
    .argument('<task>', "the task; 'command' to run a command")
    .argument('[command...]', 'after --: the command')
    .option('--args <json>', 'the args of the task', jsonValue)
    .option('--id <id>', `1 to ${NAME_LIMIT} ASCII characters (default: a new UUID)`)
    .option('--run-at <time>', 'the earliest start')
    .option('--wait', 'wait until it finishes; fail unless it succeeds')
    .addHelpText(
      ...examples(
        `jobs submit mail --args '{"to":"x@example.org"}' --run-at '+10min'`,
        'jobs submit command --wait -- uname -a',
      ),
    )
  return onDatabase(withSettingFlags(command, JOB_OPTION_NAMES), async (kalends, task, argv, flags) => {
    const { args, id, runAt } = flags
    if (argv.length > 0 && task !== COMMAND_TASK)
      throw new UsageError(
        `only the task 'command' accepts words after --; pass the args of '${task}' as --args '{…}'`,
      )
    if (argv.length > 0 && args !== undefined)
      throw new UsageError("option '--args' cannot be combined with a command after --")
    const job = await kalends.jobs.submit(task, argv.length > 0 ? { argv } : (args ?? {}), {
      ...(await givenSettings(flags, JOB_OPTION_NAMES, false)),
      id,
      runAt: await instantOption('--run-at', runAt),
    })
    await warnOfTask(kalends, task)
    await showSubmitted(kalends, job, flags)
  })
}

/** @throws QuietFailure if `wait` is set and the job does not succeed */
export async function showSubmitted(
  { jobs }: Kalends,
  id: string,
  { wait, json }: { readonly wait?: boolean | undefined; readonly json?: boolean | undefined },
): Promise<void> {
  if (wait !== true) {
    if (json === true) printJson(await jobs.get(id))
    else print(`${id}\n`)
    return
  }
  say(`Waiting for the job ${id}; Ctrl-C stops waiting, not the job.`)
  const job = await jobs.wait(id)
  const { state, error } = job
  printResult(json, job, `${id}: ${state}${error === null ? '' : `: ${harmlessText(firstLine(error))}`}\n`)
  if (state !== 'success') throw new QuietFailure()
}
