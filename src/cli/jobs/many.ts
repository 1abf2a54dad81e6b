/** One job by its id, or many by a filter: for `cancel` and `retry`. */
import type { Kalends, ManyJobs, ManyOptions, ManyResult } from '../../index.ts'
import type { DatabaseFlags } from '../configuration.ts'
import { confirm } from '../confirm.ts'
import { forEachId } from '../each.ts'
import { exitCodeOf, messageOf, QuietFailure } from '../failure.ts'
import { say } from '../output.ts'
import { progressBar } from '../progress-bar.ts'
import { counted, usage } from '../words.ts'
import { conditionsOf, type FilterFlags, isFiltered } from './filter.ts'

export interface ManyFlags extends DatabaseFlags, FilterFlags {
  readonly yes?: boolean
  readonly json?: boolean
}

export interface JobCommand {
  readonly action: 'cancel' | 'retry'
  /** As a question begins: `Cancel`. */
  readonly verb: string
  readonly done: string
  /** Changes the job and prints its state. */
  readonly act: (id: string) => Promise<void>
}

export async function doToJobs(
  kalends: Kalends,
  ids: readonly string[],
  options: ManyFlags,
  command: JobCommand,
): Promise<void> {
  if (ids.length > 0 && isFiltered(options)) throw usage('either ids or a filter is needed, not both')
  if (ids.length > 0) return forEachId(ids, command.act)
  if (!isFiltered(options))
    throw usage('which jobs? Give their ids, or a filter: --state, --task, --schedule, --group, --submitter')
  const which = { filter: conditionsOf(options) }
  const { matched, matchedIsExact } = await changeMany(kalends, command, which, { dryRun: true })
  if (matched === 0) return say('No job matches.')
  await confirm(`${command.verb} ${counted(matched, 'job')}${matchedIsExact ? '' : ' or more'}?`, options.yes)
  const bar = progressBar(command.done)
  let tried = 0
  const { changed, refused } = await changeMany(kalends, command, which, {
    around: async (id) => {
      bar.update(tried, matched)
      tried += 1
      await command.act(id)
    },
    isRefusal: (error) => {
      say(`error: ${messageOf(error)}`)
      return true
    },
  })
  bar.end()
  say(`${command.done} ${changed.length} of ${counted(changed.length + refused.length, 'job')}.`)
  const [first] = refused
  if (first !== undefined) throw new QuietFailure('some failed', { exitCode: exitCodeOf(first.error) })
}

function changeMany(
  { jobs }: Kalends,
  { action }: JobCommand,
  which: ManyJobs,
  options: ManyOptions,
): Promise<ManyResult> {
  return action === 'cancel' ? jobs.cancelMany(which, options) : jobs.retryMany(which, options)
}
