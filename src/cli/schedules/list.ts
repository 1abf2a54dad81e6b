/** `kalends schedules list`: its output resembles `systemctl list-timers`. */
import { durationText, relativeTime, retryText } from '../../duration.ts'
import type { PageQuery, Schedule, ScheduleStatus } from '../../index.ts'
import { SCHEDULE_FILTERS } from '../../model/filters.ts'
import { type AnyCommand, Command, examples } from '../commander.ts'
import { conditionsOf, withFilters } from '../filters.ts'
import type { Style } from '../output.ts'
import { AFTER, printList } from '../pages.ts'
import { onDatabase } from '../session.ts'
import type { Column } from '../table.ts'
import { when, wholeNumber } from '../values.ts'

const STYLES: Readonly<Partial<Record<ScheduleStatus, Style>>> = {
  active: 'green',
  retrying: 'yellow',
  frozen: 'yellow',
  paused: 'yellow',
  dead: 'red',
  invalid: 'red',
}
const HELP = `
Sorted by the next run. LEFT is the time until it, PASSED the time since the last one, both by the clock of this
machine. Times are in the time zone of this process; TZ=UTC shows them in UTC.`

export function listCommand(): AnyCommand {
  const plain = new Command('list')
    .alias('ls')
    .summary('list schedules, next run first')
    .description('Lists schedules like `systemctl list-timers`, next run first.')
  const command = withFilters(plain, SCHEDULE_FILTERS, 'schedule')
    .option('--limit <n>', 'at most this many (default: all)', wholeNumber(1, 999_999_999))
    .option('--after <id>', AFTER)
    .addHelpText('after', HELP)
    .addHelpText(
      'after',
      examples('schedules list', 'schedules list --status invalid --json', 'schedules list --task report'),
    )
  return onDatabase(command, async ({ schedules }, { limit = Infinity, after, json, ...flags }) => {
    const query = { ...conditionsOf(SCHEDULE_FILTERS, flags), order: 'nextRunAt' } as const
    const list = (page: PageQuery) => schedules.list({ ...query, ...page })
    const get = (id: string) => schedules.get(id)
    await printList({ list, get, columns: columns(new Date()), noun: 'schedule' }, { limit, after, json })
  })
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
  if (schedule.status === 'frozen') return `frozen until ${when(schedule.frozenUntil)}`
  return schedule.status === 'retrying' ? retryText(schedule, when(schedule.retryAt)) : schedule.status
}

function leftText(nextRunAt: Date | null, now: Date): string {
  if (nextRunAt === null) return '-'
  return nextRunAt < now ? relativeTime(nextRunAt, now) : durationText(nextRunAt.getTime() - now.getTime())
}
