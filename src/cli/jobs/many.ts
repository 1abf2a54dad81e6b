/** One job by its id, or many by a filter: for `cancel` and `retry`. */
import type { Kalends, ManyOptions } from '../../index.ts'
import type { DatabaseFlags } from '../configuration.ts'
import { confirm } from '../confirm.ts'
import { exitCodeOf, messageOf, QuietFailure } from '../failure.ts'
import { print, printJson, say } from '../output.ts'
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
}

/** @throws QuietFailure with the exit code of the first job that was refused, once all were tried */
export async function changeJobs(
  kalends: Kalends,
  ids: readonly string[],
  options: ManyFlags,
  { action, verb, done }: JobCommand,
): Promise<void> {
  const { jobs } = kalends
  if (ids.length > 0 && isFiltered(options)) throw usage('either ids or a filter is needed, not both')
  if (ids.length === 0 && !isFiltered(options))
    throw usage('which jobs? Give their ids, or a filter: --state, --task, --schedule, --group, --submitter')
  const which = ids.length > 0 ? { ids } : { filter: conditionsOf(options) }
  const change = (given: ManyOptions) =>
    action === 'cancel' ? jobs.cancelMany(which, given) : jobs.retryMany(which, given)
  const { matched } = await change({ dryRun: true })
  if (matched === 0) return say('No job matches.')
  if (ids.length === 0) await confirm(`${verb} ${counted(matched, 'job')}?`, options.yes)
  const bar = progressBar(done)
  let tried = 0
  try {
    const { changed, refused } = await change({
      each: async (id, act) => {
        bar.update(tried, matched)
        tried += 1
        const state = await act()
        if (options.json === true) printJson({ id, state })
        else print(`${id}: ${action === 'cancel' && state === 'running' ? 'asked to stop' : state}\n`)
      },
    })
    bar.end()
    const [first] = refused
    if (first !== undefined && ids.length === 1) throw first.error
    for (const { error } of refused) say(`error: ${messageOf(error)}`)
    if (ids.length === 0)
      say(`${done} ${changed.length} of ${counted(changed.length + refused.length, 'job')}.`)
    if (first !== undefined) throw new QuietFailure('some failed', { exitCode: exitCodeOf(first.error) })
  } finally {
    bar.end()
  }
}
