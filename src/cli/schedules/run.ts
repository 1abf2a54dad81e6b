/** `kalends schedules run`. */
import { Command } from 'commander'
import { type DatabaseFlags, withDatabaseOptions } from '../configuration.ts'
import { waitForJob } from '../jobs/wait.ts'
import { harmlessText, print, printJson, say } from '../output.ts'
import { withKalends } from '../session.ts'
import { jsonValue } from '../words.ts'

interface Options extends DatabaseFlags {
  readonly args?: unknown
  readonly wait?: boolean
  readonly json?: boolean
}

export function runCommand(): Command {
  const command = new Command('run')
    .summary('run now, beside the timer')
    .description(
      'Submits a run of a schedule now, also of a paused one; the timer goes on as it was. Prints the id of the job.\n' +
        'Refused with 4 while a run of it has not ended, unless its runs may overlap.',
    )
    .argument('<id>')
    .option('--args <json>', 'for this run alone', jsonValue)
    .option('--wait', 'wait for its end; fail when it fails')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nExamples:\n  $ kalends schedules run nightly --wait\n  $ kalends jobs logs --follow $(kalends schedules run nightly)',
    )
  return withDatabaseOptions(command).action((id: string, options: Options) =>
    withKalends(options, async (kalends) => {
      const job = await kalends.schedules.runNow(id, options.args === undefined ? {} : { args: options.args })
      if (options.wait === true) return waitForJob(kalends, job, options.json)
      if (options.json === true) printJson(await kalends.jobs.get(job))
      else print(`${job}\n`)
      say(`A run of '${harmlessText(id)}' was submitted.`)
    }),
  )
}
