/** `kalends schedules list`: reads like `systemctl list-timers`. */
import { Command, Option } from 'commander'
import type { Kalends, Listed, ListPage, Schedule, ScheduleConditions, ScheduleStatus } from '../../index.ts'
import { relative } from '../calendar-report.ts'
import { type DatabaseFlags, withDatabaseOptions } from '../configuration.ts'
import { print, say, type Style } from '../output.ts'
import { firstRows, listed, printWhole } from '../pages.ts'
import { withKalends } from '../session.ts'
import { type Column, tableText } from '../table.ts'
import { counted, spanShort, when, wholeNumber } from '../words.ts'

interface Options extends DatabaseFlags {
  readonly status?: ScheduleStatus
  readonly task?: string
  readonly group?: string
  readonly submitter?: string
  readonly text?: string
  readonly limit?: number
  readonly json?: boolean
}

const STATUSES: readonly ScheduleStatus[] = ['active', 'paused', 'done', 'dead', 'invalid', 'retired']
const STYLES: Readonly<Partial<Record<ScheduleStatus, Style>>> = {
  active: 'green',
  paused: 'yellow',
  dead: 'red',
  invalid: 'red',
}
const HELP = `
Sorted by the next run. LEFT is the time until it, PASSED the time since the last one; both by this machine's
clock. Times are shown in the zone of this process; TZ=UTC shows them in UTC.

Examples:
  $ kalends schedules list
  $ kalends schedules list --status invalid --json
  $ TZ=America/New_York kalends schedules list --task report`

export function listCommand(): Command {
  const command = new Command('list')
    .alias('ls')
    .summary('list schedules, the next to run first')
    .description('Lists schedules like `systemctl list-timers`, the next to run first.')
    .addOption(new Option('--status <status>', 'only those').choices(STATUSES))
    .option('--task <name>', 'only those of this task')
    .option('--group <name>', 'only those of this group')
    .option('--submitter <name>', 'only those of this owner')
    .option('--text <text>', 'only those with this in their id, summary, subject or task')
    .option('--limit <n>', 'at most so many (default: all)', wholeNumber)
    .option('--json', 'print one JSON object a line')
    .addHelpText('after', HELP)
  return withDatabaseOptions(command).action((options: Options) =>
    withKalends(options, async (kalends) => {
      const { status, task, group, submitter, text, limit = Infinity } = options
      const found = await nextToRunFirst(kalends, { status, task, group, submitter, text }, limit)
      if (options.json === true) return printWhole(found.items, (id) => kalends.schedules.get(id))
      if (found.items.length > 0) print(tableText(columns(Date.now()), found.items))
      say(listed(found, counted(found.items.length, 'schedule')))
    }),
  )
}

/** The most schedules that are sorted by their next run. */
const MOST_SORTED = 100_000

/** Those that have a next run in its order, and then the others in the order of their ids. */
async function nextToRunFirst(
  { schedules }: Kalends,
  conditions: ScheduleConditions,
  limit: number,
): Promise<ListPage<Listed<Schedule>>> {
  const planned = await firstRows(
    ({ limit: size, offset }) => schedules.list({ ...conditions, limit: size, offset, order: 'nextRun' }),
    Math.min(limit, MOST_SORTED),
  )
  const all = await firstRows(
    ({ limit: size, last }) => schedules.list({ ...conditions, limit: size, after: last }),
    planned.items.length < limit ? limit + planned.items.length : 1,
  )
  const seen = new Set(planned.items.map(({ id }) => id))
  const inOrder = planned.items.toSorted(
    (one, other) => (one.nextRun?.getTime() ?? Infinity) - (other.nextRun?.getTime() ?? Infinity) || 0,
  )
  const others = all.items.filter(({ id }) => !seen.has(id))
  return { ...all, items: [...inOrder, ...others].slice(0, limit) }
}

function columns(now: number): Column<Schedule>[] {
  return [
    { title: 'NEXT', value: ({ nextRun }) => when(nextRun), optional: 1 },
    {
      title: 'LEFT',
      value: ({ nextRun }) =>
        nextRun === null
          ? '-'
          : `${spanShort(nextRun.getTime() - now)}${nextRun.getTime() < now ? ' ago' : ''}`,
      align: 'right',
    },
    { title: 'LAST', value: ({ lastRun }) => when(lastRun), optional: 3 },
    {
      title: 'PASSED',
      value: ({ lastRun }) => (lastRun === null ? '-' : relative(lastRun.getTime() * 1000, now * 1000)),
      optional: 2,
    },
    { title: 'SCHEDULE', value: ({ id }) => id, least: 10 },
    { title: 'STATE', value: ({ status }) => status, style: ({ status }) => STYLES[status] },
  ]
}
