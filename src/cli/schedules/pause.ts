/** `kalends schedules pause` and `resume`. */
import { Command } from 'commander'
import { type DatabaseFlags, withDatabaseOptions } from '../configuration.ts'
import { forEachId } from '../each.ts'
import { harmlessText, print, printJson } from '../output.ts'
import { withKalends } from '../session.ts'
import { when } from '../words.ts'

type Options = DatabaseFlags & { readonly json?: boolean }

export function pauseCommand(): Command {
  const command = new Command('pause')
    .summary('submit nothing until resume')
    .description(
      'Pauses schedules: nothing is submitted until they are resumed, and no restart or deploy changes that. A job\n' +
        'that waits or runs is not touched.',
    )
    .argument('<id...>')
    .option('--json', 'print one JSON object a line')
    .addHelpText('after', '\nExamples:\n  $ kalends schedules pause nightly')
  return withDatabaseOptions(command).action((ids: readonly string[], options: Options) =>
    withKalends(options, ({ schedules }) =>
      forEachId(ids, async (id) => {
        const schedule = await schedules.pause(id)
        if (options.json === true) printJson(schedule)
        else print(`${harmlessText(id)}: paused\n`)
      }),
    ),
  )
}

export function resumeCommand(): Command {
  const command = new Command('resume')
    .summary('go on after a pause')
    .description(
      'Resumes paused schedules: they are planned from now on. What came during the pause counts as not missed.',
    )
    .argument('<id...>')
    .option('--json', 'print one JSON object a line')
    .addHelpText('after', '\nExamples:\n  $ kalends schedules resume nightly')
  return withDatabaseOptions(command).action((ids: readonly string[], options: Options) =>
    withKalends(options, ({ schedules }) =>
      forEachId(ids, async (id) => {
        const schedule = await schedules.resume(id)
        if (options.json === true) return printJson(schedule)
        const [next] = schedule.status === 'active' ? await schedules.elapses(id, { limit: 1 }) : []
        print(
          `${harmlessText(id)}: ${schedule.status}${next === undefined ? '' : `, next at ${when(next)}`}\n`,
        )
      }),
    ),
  )
}
