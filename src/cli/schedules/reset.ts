/** `kalends schedules reset`. */
import { Command } from 'commander'
import { type DatabaseFlags, withDatabaseOptions } from '../configuration.ts'
import { forEachId } from '../each.ts'
import { harmlessText, print, printJson } from '../output.ts'
import { withKalends } from '../session.ts'

export function resetCommand(): Command {
  const command = new Command('reset')
    .summary('revive a schedule that is done or dead')
    .description(
      'Revives schedules that are done or dead: their counters begin anew, and they are planned from now.',
    )
    .argument('<id...>')
    .option('--json', 'print one JSON object a line')
    .addHelpText('after', '\nExamples:\n  $ kalends schedules reset nightly')
  return withDatabaseOptions(command).action(
    (ids: readonly string[], options: DatabaseFlags & { readonly json?: boolean }) =>
      withKalends(options, ({ schedules }) =>
        forEachId(ids, async (id) => {
          const schedule = await schedules.reset(id)
          if (options.json === true) printJson(schedule)
          else print(`${harmlessText(id)}: ${schedule.status}\n`)
        }),
      ),
  )
}
