/** `kalends prune`: what workers do every hour, now. */
import { Command } from 'commander'
import { type DatabaseFlags, withDatabaseOptions } from './configuration.ts'
import { confirm } from './confirm.ts'
import { print, printJson } from './output.ts'
import { progressBar } from './progress-bar.ts'
import { withKalends } from './session.ts'
import { counted, wholeNumber } from './words.ts'

interface Options extends DatabaseFlags {
  readonly age: string
  readonly perSchedule: number
  readonly yes?: boolean
  readonly json?: boolean
}

export function pruneCommand(): Command {
  const command = new Command('prune')
    .description(
      'Removes final jobs and their logs: those that ended longer ago than --age, and of each schedule all but the\n' +
        'newest --per-schedule. Also removes schedules that are done, have no jobs left, and have after_done set to\n' +
        'delete. Workers do this every hour. Jobs that wait or run are never removed.',
    )
    .option('--age <span>', 'how long final jobs stay', '30d')
    .option('--per-schedule <n>', 'the newest final jobs of each schedule that stay', wholeNumber, 10_000)
    .option('-y, --yes', 'do it without a question')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nExamples:\n  $ kalends prune --age 7d\n  $ kalends prune --per-schedule 100 --yes',
    )
  return withDatabaseOptions(command).action((options: Options) =>
    withKalends(options, async (kalends) => {
      const { age, perSchedule } = options
      await confirm(
        `Remove final jobs that ended more than ${age} ago, all but the newest ${perSchedule} of each schedule, and done schedules with after_done = delete?`,
        options.yes,
      )
      const bar = progressBar('Removing jobs:')
      const removed = await kalends
        .prune({ age, perSchedule, onProgress: (done) => bar.update(done, null) })
        .finally(() => bar.end())
      if (options.json === true) printJson({ removed })
      else print(`${counted(removed, 'job')} removed\n`)
    }),
  )
}
