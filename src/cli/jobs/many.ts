/** One job by its id, or many by a filter: for `cancel` and `retry`. */
import type { Job, Kalends } from '../../index.ts'
import type { DatabaseFlags } from '../configuration.ts'
import { confirm } from '../confirm.ts'
import { forEachId } from '../each.ts'
import { exitCodeOf, messageOf, QuietFailure } from '../failure.ts'
import { say } from '../output.ts'
import { progressBar } from '../progress-bar.ts'
import { counted, usage } from '../words.ts'
import { type FilterFlags, isFiltered, jobsOf, queryOf } from './filter.ts'

export interface ManyOptions extends DatabaseFlags, FilterFlags {
  readonly yes?: boolean
  readonly json?: boolean
}

export interface Deed {
  /** As a question begins: `Cancel`. */
  readonly verb: string
  readonly done: string
  /** The states that it can be done in. */
  readonly states: readonly Job['state'][]
  /** Does it and prints what became of the job. */
  readonly act: (id: string) => Promise<void>
}

export async function doToJobs(
  kalends: Kalends,
  ids: readonly string[],
  options: ManyOptions,
  deed: Deed,
): Promise<void> {
  if (ids.length > 0 && isFiltered(options)) throw usage('either ids or a filter is needed, not both')
  if (ids.length > 0) return forEachId(ids, deed.act)
  if (!isFiltered(options))
    throw usage('which jobs? Give their ids, or a filter: --state, --task, --schedule, --group, --submitter')
  const states = options.state === undefined ? deed.states : [options.state]
  const found: Job[] = []
  for (const state of states)
    found.push(...(await jobsOf(kalends, { ...queryOf(options), state }, Infinity)).jobs)
  if (found.length === 0) return say('No job fits.')
  await confirm(`${deed.verb} ${counted(found.length, 'job')}?`, options.yes)
  const bar = progressBar(deed.done)
  const faults: unknown[] = []
  for (const [index, { id }] of found.entries()) {
    bar.update(index, found.length)
    try {
      await deed.act(id)
    } catch (error) {
      faults.push(error)
      say(`error: ${messageOf(error)}`)
    }
  }
  bar.end()
  say(`${deed.done} ${found.length - faults.length} of ${counted(found.length, 'job')}.`)
  if (faults.length > 0) throw new QuietFailure('some failed', { exitCode: exitCodeOf(faults[0]) })
}
