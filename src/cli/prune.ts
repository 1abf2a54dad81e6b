import { counted } from '../duration.ts'
import { type AnyCommand, Command, examples } from './commander.ts'
import { confirm } from './confirm.ts'
import { printResult } from './output.ts'
import { onDatabase } from './session.ts'
import { wholeNumber } from './values.ts'

export default function pruneCommand(): AnyCommand {
  const command = new Command('prune')
    .description(
      'Removes final jobs and their logs: those that ended longer ago than --age, and all but the newest\n' +
        '--per-schedule of each schedule. Also removes schedules that are done, have no jobs left, have after_done\n' +
        'set to delete, and are not declared in code. Workers do this every hour. Waiting and running jobs are never removed.',
    )
    .option('--age <span>', 'how long final jobs are kept', '30d')
    .option(
      '--per-schedule <n>',
      'how many of the newest final jobs of each schedule are kept',
      wholeNumber(0, 999_999_999),
      10_000,
    )
    .option('-y, --yes', 'do not ask for confirmation')
    .addHelpText(...examples('prune --age 7d', 'prune --per-schedule 100 --yes'))
  return onDatabase(command, async (kalends, { age, perSchedule, yes, json }) => {
    await confirm(
      `Remove final jobs that ended more than ${age} ago or are not among the newest ${perSchedule} of their schedule, and done schedules with after_done = delete?`,
      yes,
    )
    const removed = await kalends.prune({ age, perSchedule })
    printResult(json, { removed }, `${counted(removed, 'job')} removed\n`)
  })
}
