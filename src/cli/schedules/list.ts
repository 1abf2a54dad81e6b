/** `kalends schedules list`: reads like `systemctl list-timers`. */
import { durationText, relativeTime, retryText } from '../../duration.ts'
import type { Kalends, Listed, ListPage, Schedule, ScheduleConditions, ScheduleStatus } from '../../index.ts'
import { STATUSES } from '../../model/settings.ts'
import { type AnyCommand, Command, examples, Option } from '../commander.ts'
import { print, say, type Style } from '../output.ts'
import { firstRows, listed, printWhole } from '../pages.ts'
import { onDatabase } from '../session.ts'
import { type Column, tableText } from '../table.ts'
import { counted, when, wholeNumber } from '../values.ts'

const STYLES: Readonly<Partial<Record<ScheduleStatus, Style>>> = {
  active: 'green',
  retrying: 'yellow',
  paused: 'yellow',
  dead: 'red',
  invalid: 'red',
}
const HELP = `
Sorted by the next run. LEFT is the time until it, PASSED the time since the last one; both by the clock of this
machine. Times are in the time zone of this process; TZ=UTC shows them in UTC.`

export function listCommand(): AnyCommand {
  const command = new Command('list')
    .alias('ls')
    .summary('list schedules, next run first')
    .description('Lists schedules like `systemctl list-timers`, next run first.')
    .addOption(new Option('--status <status>', 'only schedules with this status').choices(STATUSES))
    .option('--task <name>', 'only schedules of this task')
    .option('--group <name>', 'only schedules of this group')
    .option('--submitter <name>', 'only schedules of this owner')
    .option('--text <text>', 'only schedules with this text in their id, summary, subject or task')
    .option('--limit <n>', 'at most this many (default: all)', wholeNumber(0, 999_999_999))
    .addHelpText('after', HELP)
    .addHelpText(
      'after',
      examples('schedules list', 'schedules list --status invalid --json', 'schedules list --task report'),
    )
  return onDatabase(command, async (kalends, { limit = Infinity, json, ...flags }) => {
    const { status, task, group, submitter, text } = flags
    const found = await nextToRunFirst(kalends, { status, task, group, submitter, text }, limit)
    if (json === true) return printWhole(found.items, (id) => kalends.schedules.get(id))
    if (found.items.length > 0) print(tableText(columns(new Date()), found.items))
    say(listed(found, counted(found.items.length, 'schedule')))
  })
}

/** The most schedules that are sorted by their next run. */
const MOST_SORTED = 100_000

/** First the schedules with a next run, in that order, then the others by id. */
async function nextToRunFirst(
  { schedules }: Kalends,
  conditions: ScheduleConditions,
  limit: number,
): Promise<ListPage<Listed<Schedule>>> {
  const planned = await firstRows(
    ({ limit: size, offset }) => schedules.list({ ...conditions, limit: size, offset, order: 'nextRunAt' }),
    Math.min(limit, MOST_SORTED),
  )
  const all = await firstRows(
    ({ limit: size, last }) => schedules.list({ ...conditions, limit: size, after: last }),
    planned.items.length < limit ? limit + planned.items.length : 1,
  )
  const seen = new Set(planned.items.map(({ id }) => id))
  const inOrder = planned.items.toSorted(
    (one, other) => (one.nextRunAt?.getTime() ?? Infinity) - (other.nextRunAt?.getTime() ?? Infinity) || 0,
  )
  const others = all.items.filter(({ id }) => !seen.has(id))
  return { ...all, items: [...inOrder, ...others].slice(0, limit) }
}

function columns(now: Date): Column<Schedule>[] {
  return [
    { title: 'NEXT', value: ({ nextRunAt }) => when(nextRunAt), optional: 1 },
    { title: 'LEFT', value: ({ nextRunAt }) => leftText(nextRunAt, now), align: 'right' },
    { title: 'LAST', value: ({ lastRunAt }) => when(lastRunAt), optional: 3 },
    {
      title: 'PASSED',
      value: ({ lastRunAt }) => (lastRunAt === null ? '-' : relativeTime(lastRunAt, now)),
      optional: 2,
    },
    { title: 'SCHEDULE', value: ({ id }) => id, least: 10 },
    { title: 'STATE', value: statusText, style: ({ status }) => STYLES[status] },
  ]
}

/** `active`, or `retrying, 2 of 3, next at …`. */
export function statusText(schedule: Schedule): string {
  return schedule.status === 'retrying' ? retryText(schedule, when(schedule.retryAt)) : schedule.status
}

function leftText(nextRunAt: Date | null, now: Date): string {
  if (nextRunAt === null) return '-'
  return nextRunAt < now ? relativeTime(nextRunAt, now) : durationText(nextRunAt.getTime() - now.getTime())
}
