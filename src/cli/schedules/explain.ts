/** `kalends schedules explain`. */
import { Command } from 'commander'
import { type DatabaseFlags, withDatabaseOptions } from '../configuration.ts'
import { harmlessText, print, printJson } from '../output.ts'
import { withKalends } from '../session.ts'
import { instantOption } from '../words.ts'

interface Options extends DatabaseFlags {
  readonly at?: string
  readonly json?: boolean
}

export function explainCommand(): Command {
  const command = new Command('explain')
    .summary('why it did or did not run')
    .description('Says why a schedule did or did not run, and when it will next.')
    .argument('<id>')
    .option('--at <time>', 'ask about this time')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      "\nExamples:\n  $ kalends schedules explain nightly\n  $ kalends schedules explain nightly --at '2026-03-29 02:30 Europe/Berlin'",
    )
  return withDatabaseOptions(command).action((id: string, options: Options) =>
    withKalends(options, async ({ schedules }) => {
      const explanation = await schedules.explain(id, { at: await instantOption('--at', options.at) })
      if (options.json === true) printJson(explanation)
      else print(explanation.reasons.map((reason) => `${harmlessText(reason)}\n`).join(''))
    }),
  )
}
