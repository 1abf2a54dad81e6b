/** Which jobs: the same options for listing and for doing something to many. */
import { type Command, Option } from 'commander'
import type { Job, JobQuery, JobState, Kalends } from '../../index.ts'

export interface FilterFlags {
  readonly state?: JobState
  readonly task?: string
  readonly schedule?: string
  readonly group?: string
  readonly submitter?: string
}

export const STATES: readonly JobState[] = [
  'waiting',
  'blocked',
  'running',
  'success',
  'failed',
  'cancelled',
  'skipped',
]
/** Of the library. */
const PAGE = 1000

export function withFilter(command: Command, states: readonly JobState[]): Command {
  return command
    .addOption(new Option('--state <state>', 'only those').choices(states))
    .option('--task <name>', 'only those of this task')
    .option('--schedule <id>', 'only those of this schedule')
    .option('--group <name>', 'only those of this group')
    .option('--submitter <name>', 'only those of this owner')
}

export function queryOf({ state, task, schedule, group, submitter }: FilterFlags): JobQuery {
  return { state, task, scheduleId: schedule, group, submitter }
}

export function isFiltered(flags: FilterFlags): boolean {
  return Object.values(queryOf(flags)).some((value) => value !== undefined)
}

/** The newest first. */
export async function jobsOf(
  kalends: Kalends,
  query: JobQuery,
  limit: number,
): Promise<{ jobs: Job[]; total: number }> {
  const jobs: Job[] = []
  for (;;) {
    const { items, total } = await kalends.jobs.list({
      ...query,
      limit: Math.min(PAGE, limit - jobs.length),
      offset: jobs.length,
    })
    jobs.push(...items)
    if (items.length === 0 || jobs.length >= Math.min(limit, total)) return { jobs, total }
  }
}
