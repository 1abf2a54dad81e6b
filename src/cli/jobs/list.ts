/** `kalends jobs list`, and the filter that it shares with `cancel` and `retry`. */
import { firstLine } from '../../errors.ts'
import { durationText } from '../../duration.ts'
import type { Job, JobConditions, JobState, PageQuery } from '../../index.ts'
import { JOB_STATES } from '../../model/states.ts'
import { type AnyCommand, Command, examples, Option, type OptionValues, withFlags } from '../commander.ts'
import type { Style } from '../output.ts'
import { AFTER, printList } from '../pages.ts'
import { onDatabase } from '../session.ts'
import type { Column } from '../table.ts'
import { when, wholeNumber } from '../values.ts'

export type FilterFlags = {
  readonly state?: JobState
  readonly task?: string
  readonly schedule?: string
  readonly group?: string
  readonly submitter?: string
}

export const STATE_STYLES: Readonly<Partial<Record<JobState, Style>>> = {
  success: 'green',
  running: 'cyan',
  external: 'cyan',
  failed: 'red',
  cancelled: 'yellow',
  skipped: 'dim',
}

export function withFilter<Args extends unknown[], Flags extends OptionValues>(
  command: Command<Args, Flags>,
  states: readonly JobState[],
): Command<Args, Flags & FilterFlags> {
  return withFlags(command, (plain) => {
    plain
      .addOption(new Option('--state <state>', 'only jobs in this state').choices(states))
      .option('--task <name>', 'only jobs of this task')
      .option('--schedule <id>', 'only jobs of this schedule')
      .option('--group <name>', 'only jobs of this group')
      .option('--submitter <name>', 'only jobs of this owner')
  })
}

export function conditionsOf({ state, task, schedule, group, submitter }: FilterFlags): JobConditions {
  return { state, task, scheduleId: schedule, group, submitter }
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
  return onDatabase(withFilter(command, JOB_STATES), async ({ jobs }, flags) => {
    const filter = conditionsOf(flags)
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
