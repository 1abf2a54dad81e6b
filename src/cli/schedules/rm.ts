/** `kalends schedules rm`. */
import { Command } from 'commander'
import { NotFoundError } from '../../errors.ts'
import { type DatabaseFlags, withDatabaseOptions } from '../configuration.ts'
import { confirm } from '../confirm.ts'
import { forEachId } from '../each.ts'
import { harmlessText, print, printJson, say } from '../output.ts'
import { withKalends } from '../session.ts'
import { counted } from '../words.ts'

export function rmCommand(): Command {
  const command = new Command('rm')
    .summary('delete schedules')
    .description(
      'Deletes schedules. Jobs that were submitted already stay. One that code declares comes back with the next\n' +
        'start: pause it, or take it out of the code.',
    )
    .argument('<id...>')
    .option('-y, --yes', 'do it without a question')
    .option('--json', 'print one JSON object a line')
    .addHelpText(
      'after',
      '\nExamples:\n  $ kalends schedules rm nightly\n  $ kalends schedules rm one two three --yes',
    )
  return withDatabaseOptions(command).action(
    (ids: readonly string[], options: DatabaseFlags & { readonly json?: boolean; readonly yes?: boolean }) =>
      withKalends(options, async ({ schedules }) => {
        const [only] = ids
        if (ids.length === 1 && only !== undefined && (await schedules.get(only)) === null)
          throw new NotFoundError('schedule', only)
        const what =
          ids.length === 1 ? `the schedule '${harmlessText(only ?? '')}'` : counted(ids.length, 'schedule')
        await confirm(`Delete ${what}?`, options.yes)
        await forEachId(ids, async (id) => {
          const declaredBy = (await schedules.get(id))?.declaredBy
          await schedules.delete(id)
          if (typeof declaredBy === 'string')
            say(
              `'${harmlessText(id)}' is declared by the set '${declaredBy}': it comes back while that is in the code.`,
            )
          if (options.json === true) printJson({ id, deleted: true })
          else print(`${harmlessText(id)}: deleted\n`)
        })
      }),
  )
}
