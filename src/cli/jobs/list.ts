/** `kalends jobs list` */
import { firstLine } from '../../errors.ts'
import { durationText } from '../../duration.ts'
import type { Job, JobState, PageQuery } from '../../index.ts'
import { JOB_FILTERS } from '../../model/filters.ts'
import { type AnyCommand, Command, examples } from '../commander.ts'
import { conditionsOf, withFilters } from '../filters.ts'
import type { Style } from '../output.ts'
import { AFTER, printList } from '../pages.ts'
import { onDatabase } from '../session.ts'
import type { Column } from '../table.ts'
import { when, wholeNumber } from '../values.ts'

export const STATE_STYLES: Readonly<Partial<Record<JobState, Style>>> = {
  success: 'green',
  running: 'cyan',
  external: 'cyan',
  failed: 'red',
  cancelled: 'yellow',
  skipped: 'dim',
}

export function listCommand(): AnyCommand {
  const command = new Command('list')
    .alias('ls')
    .summary('list jobs, newest first')
    .description('Lists jobs, newest first.')
    .option('--limit <n>', 'at most this many', wholeNumber(1, 9_999_999), 50)
    .option('--after <id>', AFTER)
    .addHelpText(
      'after',
      examples('jobs list --state failed', 'jobs list --schedule nightly --json | jq .result'),
    )
  return onDatabase(withFilters(command, JOB_FILTERS, 'job'), async ({ jobs }, flags) => {
    const filter = conditionsOf(JOB_FILTERS, flags)
    const list = (page: PageQuery) => jobs.list({ ...filter, ...page })
    const get = (id: string) => jobs.get(id)
    await printList({ list, get, columns: columns(Date.now()), noun: 'job' }, flags)
  })
}

function columns(now: number): Column<Job>[] {
  return [
    { title: 'JOB', value: ({ id }) => id },
    { title: 'STATE', value: ({ state }) => state, style: ({ state }) => STATE_STYLES[state] },
    { title: 'TASK', value: ({ task }) => task, least: 8 },
    { title: 'SCHEDULE', value: ({ scheduleId }) => scheduleId ?? '-', least: 8, optional: 1 },
    { title: 'SUBMITTED', value: ({ submittedAt }) => when(submittedAt), optional: 3 },
    { title: 'TOOK', value: (job) => took(job, now), align: 'right', optional: 2 },
    { title: 'ERROR', value: ({ error }) => firstLine(error) || '-', least: 5, optional: 1 },
  ]
}

/** @param now  the time up to which to measure the duration of a running job, or null to show no duration */
export function took(
  { startedAt: started, finishedAt: finished }: Pick<Job, 'startedAt' | 'finishedAt'>,
  now: number | null,
): string {
  const end = finished?.getTime() ?? now
  return started === null || end === null ? '-' : durationText(end - started.getTime())
}
