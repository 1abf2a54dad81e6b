import { counted } from '../../duration.ts'
import type { JobState } from '../../index.ts'
import { JOB_FILTERS } from '../../model/filters.ts'
import { type AnyCommand, Command, examples } from '../commander.ts'
import { confirm } from '../confirm.ts'
import { commandMessage, exitCodeOf, QuietFailure, UsageError } from '../failure.ts'
import { printResult, say } from '../output.ts'
import { onDatabase } from '../session.ts'
import { conditionsOf, namesOfFlags, withFilters } from '../flags.ts'

export function cancelCommand(): AnyCommand {
  const command = new Command('cancel')
    .summary('cancel waiting jobs, stop running ones')
    .description(
      'Cancels waiting jobs, and asks workers to stop running ones, whose handlers are notified within a second.\n' +
        'Select the jobs by their ids or with a filter.',
    )
    .addHelpText(...examples('jobs cancel 0193…', 'jobs cancel --task mail --state waiting --yes'))
  return changeCommand(command, ['waiting', 'blocked', 'running', 'external'], 'cancelMany')
}

export function retryCommand(): AnyCommand {
  const command = new Command('retry')
    .summary('run failed or cancelled jobs again')
    .description(
      'Runs failed or cancelled jobs again, from their first attempt. Select the jobs by their ids or with a filter.',
    )
    .addHelpText(...examples('jobs retry 0193…', 'jobs retry --task mail --state failed --yes'))
  return changeCommand(command, ['failed', 'cancelled'], 'retryMany')
}

/** The command tries all jobs; if any are refused, it then fails with the exit code of the first refusal. */
function changeCommand(
  command: Command,
  states: readonly JobState[],
  change: 'cancelMany' | 'retryMany',
): AnyCommand {
  const cancels = change === 'cancelMany'
  const complete = command
    .argument('[id...]')
    .option('-y, --yes', 'with a filter: do not ask for confirmation')
  return onDatabase(withFilters(complete, JOB_FILTERS, 'job', states), async ({ jobs }, ids, flags) => {
    const filter = conditionsOf(JOB_FILTERS, flags)
    const isFiltered = Object.values(filter).some((value) => value !== undefined)
    if (ids.length > 0 && isFiltered) throw new UsageError('pass either ids or a filter, not both')
    if (ids.length === 0 && !isFiltered)
      throw new UsageError(`pass the ids of jobs, or a filter: ${namesOfFlags(JOB_FILTERS)}`)
    const which = ids.length > 0 ? { ids } : { filter }
    const { matched } = await jobs[change](which, { dryRun: true })
    if (matched === 0) return say('No job matches.')
    const found = counted(matched, 'job')
    if (ids.length === 0) await confirm(`${cancels ? 'Cancel' : 'Retry'} ${found}?`, flags.yes)
    const { changed, refused } = await jobs[change](which, {
      each: async (id, act) => {
        const { state } = await act()
        const text = cancels && state === 'running' ? 'asked to stop' : state
        printResult(flags.json, { id, state }, `${id}: ${text}\n`)
      },
    })
    const [first] = refused
    if (first !== undefined && ids.length === 1) throw first.error
    for (const { error } of refused) say(`error: ${commandMessage(error)}`)
    const tried = counted(changed.length + refused.length, 'job')
    if (ids.length === 0) say(`${cancels ? 'Cancelled' : 'Retried'} ${changed.length} of ${tried}.`)
    if (first !== undefined) throw new QuietFailure(exitCodeOf(first.error))
  })
}
