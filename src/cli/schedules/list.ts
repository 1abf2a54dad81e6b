/** `kalends schedules list`: reads like `systemctl list-timers`. */
import { Command, Option } from 'commander'
import type { Kalends, Schedule, ScheduleQuery, ScheduleStatus } from '../../index.ts'
import { relative } from '../calendar-report.ts'
import { type DatabaseFlags, withDatabaseOptions } from '../configuration.ts'
import { print, printJson, say, type Style } from '../output.ts'
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
/** Of the library. */
const PAGE = 1000

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
    .option('--text <text>', 'only those with this in their id or summary')
    .option('--limit <n>', 'at most so many (default: all)', wholeNumber)
    .option('--json', 'print one JSON object a line')
    .addHelpText('after', HELP)
  return withDatabaseOptions(command).action((options: Options) =>
    withKalends(options, async (kalends) => {
      const { status, task, group, submitter, text, limit = Infinity } = options
      const all = await allSchedules(kalends, { status, task, group, submitter, text })
      const shown = all.toSorted(byNextRun).slice(0, limit)
      if (options.json === true) {
        for (const schedule of shown) printJson(schedule)
        return
      }
      if (shown.length > 0) print(tableText(columns(Date.now()), shown))
      say(
        `${counted(shown.length, 'schedule')} listed${shown.length < all.length ? ` of ${all.length}` : ''}.`,
      )
    }),
  )
}

async function allSchedules(kalends: Kalends, query: ScheduleQuery): Promise<Schedule[]> {
  const all: Schedule[] = []
  for (;;) {
    const { items, total } = await kalends.schedules.list({ ...query, limit: PAGE, offset: all.length })
    all.push(...items)
    if (items.length === 0 || all.length >= total) return all
  }
}

function byNextRun(a: Schedule, b: Schedule): number {
  const [first, second] = [a.nextRun?.getTime() ?? Infinity, b.nextRun?.getTime() ?? Infinity]
  return first === second ? (a.id < b.id ? -1 : 1) : first - second
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
