import { counted } from '../../duration.ts'
import { NotFoundError } from '../../errors.ts'
import type { Schedule, Schedules } from '../../index.ts'
import { type AnyCommand, Command, examples, Option } from '../commander.ts'
import { confirm } from '../confirm.ts'
import { commandMessage, exitCodeOf, QuietFailure } from '../failure.ts'
import { showSubmitted } from '../jobs/submit.ts'
import { harmlessText, printResult, say } from '../output.ts'
import { onDatabase } from '../session.ts'
import { jsonValue, when } from '../values.ts'
import { explainCommand, historyCommand, listCommand, showCommand } from './show.ts'
import { addCommand, editCommand } from './write.ts'

export default function schedulesCommand(): AnyCommand {
  return new Command('schedules')
    .description('Schedules: when tasks run, and with which args.')
    .addHelpText(
      ...examples(
        'schedules list',
        `schedules add report --task report --timer 'Mon..Fri 09:00 Europe/Berlin' --args '{"days":30}'`,
        "schedules explain report --at 'yesterday'",
      ),
    )
    .addCommand(listCommand())
    .addCommand(showCommand())
    .addCommand(addCommand())
    .addCommand(editCommand())
    .addCommand(pauseCommand())
    .addCommand(resumeCommand())
    .addCommand(runCommand())
    .addCommand(resetCommand())
    .addCommand(rmCommand())
    .addCommand(historyCommand())
    .addCommand(explainCommand())
}

function pauseCommand(): AnyCommand {
  const command = new Command('pause')
    .summary('pause schedules')
    .description(
      'Pauses schedules: nothing is submitted until you resume them; restarts and deploys do not change that. Running\n' +
        'jobs continue. To stop something until a given time, use kalends freeze.',
    )
    .argument('<id...>')
    .addOption(
      new Option('--jobs <what>', 'what happens to waiting jobs')
        .choices(['leave', 'cancel'])
        .default('leave'),
    )
    .option('--reason <text>', 'a note for people')
    .addHelpText(...examples('schedules pause nightly', "schedules pause nightly --reason 'See #123'"))
  return onDatabase(command, ({ schedules }, ids, { jobs, reason, json }) =>
    forEachId(ids, async (id) => {
      const schedule = await schedules.pause(id, { jobs, reason })
      const what = jobs === 'leave' ? 'run' : 'were cancelled'
      printResult(json, schedule, `${harmlessText(id)}: paused; waiting jobs ${what}\n`)
    }),
  )
}

function resumeCommand(): AnyCommand {
  return changeCommand(
    new Command('resume')
      .summary('resume paused schedules')
      .description(
        'Resumes paused schedules: they are planned from now. Slots during the pause do not count as missed.',
      ),
    (schedules, id) => schedules.resume(id),
    ({ status, nextRunAt }) => `${status}${nextRunAt === null ? '' : `, next at ${when(nextRunAt)}`}`,
  )
}

function resetCommand(): AnyCommand {
  return changeCommand(
    new Command('reset')
      .summary('reactivate schedules that are done or dead')
      .description(
        'Reactivates schedules that are done or dead: their counters start again from 0, and they are planned from now.',
      ),
    (schedules, id) => schedules.reset(id),
    ({ status }) => status,
  )
}

function changeCommand(
  command: Command,
  change: (schedules: Schedules, id: string) => Promise<Schedule>,
  textOf: (schedule: Schedule) => string,
): AnyCommand {
  const withIds = command.argument('<id...>').addHelpText(...examples(`schedules ${command.name()} nightly`))
  return onDatabase(withIds, ({ schedules }, ids, { json }) =>
    forEachId(ids, async (id) => {
      const schedule = await change(schedules, id)
      printResult(json, schedule, `${harmlessText(id)}: ${textOf(schedule)}\n`)
    }),
  )
}

function rmCommand(): AnyCommand {
  const command = new Command('rm')
    .summary('delete schedules')
    .description(
      'Deletes schedules. Their jobs are kept. A schedule that code declares is created again at the next start: pause it, or\n' +
        'remove it from the code.',
    )
    .argument('<id...>')
    .option('-y, --yes', 'do not ask for confirmation')
    .addHelpText(...examples('schedules rm nightly', 'schedules rm one two three --yes'))
  return onDatabase(command, async ({ schedules }, ids, { yes, json }) => {
    const [only = ''] = ids
    if (ids.length === 1 && (await schedules.get(only)) === null) throw new NotFoundError('schedule', only)
    const what = ids.length === 1 ? `the schedule '${harmlessText(only)}'` : counted(ids.length, 'schedule')
    await confirm(`Delete ${what}?`, yes)
    await forEachId(ids, async (id) => {
      const declaredBy = (await schedules.get(id))?.declaredBy
      await schedules.delete(id)
      if (typeof declaredBy === 'string')
        say(
          `'${harmlessText(id)}' is declared by the set '${declaredBy}': it is created again while it is in the code.`,
        )
      printResult(json, { id, deleted: true }, `${harmlessText(id)}: deleted\n`)
    })
  })
}

/** @throws the error of a single id; for several, QuietFailure with the first error's exit code after trying all ids */
async function forEachId(ids: readonly string[], work: (id: string) => Promise<void>): Promise<void> {
  if (ids.length === 1 && ids[0] !== undefined) return work(ids[0])
  let first: number | null = null
  for (const id of ids) {
    try {
      await work(id)
    } catch (error) {
      say(`error: ${commandMessage(error)}`)
      first ??= exitCodeOf(error)
    }
  }
  if (first !== null) throw new QuietFailure(first)
}

function runCommand(): AnyCommand {
  const command = new Command('run')
    .summary('run a schedule now')
    .description(
      'Submits a run of a schedule now, even if it is paused; the timer is not affected. Prints the id of the job.\n' +
        'Exits with 4 if an earlier run is unfinished, unless the runs of the schedule may overlap.',
    )
    .argument('<id>')
    .option('--args <json>', 'args for this run only', jsonValue)
    .option('--wait', 'wait until it finishes; fail unless it succeeds')
    .addHelpText(
      ...examples('schedules run nightly --wait', 'jobs logs --follow $(kalends schedules run nightly)'),
    )
  return onDatabase(command, async (kalends, id, flags) => {
    const { args } = flags
    const job = await kalends.schedules.runNow(id, args === undefined ? {} : { args })
    say(`A run of '${harmlessText(id)}' was submitted.`)
    await showSubmitted(kalends, job, flags)
  })
}
