/** `kalends schedules show`. */
import { Command } from 'commander'
import { NotFoundError } from '../../errors.ts'
import { type DatabaseFlags, withDatabaseOptions } from '../configuration.ts'
import { withKalends } from '../session.ts'
import { showSchedule } from './describe.ts'

export function showCommand(): Command {
  const command = new Command('show')
    .summary('all about a schedule')
    .description('Shows a schedule: what runs, when, how it went, its next elapses.')
    .argument('<id>')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nExamples:\n  $ kalends schedules show nightly\n  $ kalends schedules show nightly --json | jq .args',
    )
  return withDatabaseOptions(command).action(
    (id: string, options: DatabaseFlags & { readonly json?: boolean }) =>
      withKalends(options, async (kalends) => {
        const schedule = await kalends.schedules.get(id)
        if (schedule === null) throw new NotFoundError('schedule', id)
        await showSchedule(kalends, schedule, options.json)
      }),
  )
}
