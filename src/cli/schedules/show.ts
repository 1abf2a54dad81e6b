import { counted, durationText, relativeTime, retryText } from '../../duration.ts'
import { firstLine, missing } from '../../errors.ts'
import type { Job, Kalends, Schedule, ScheduleStatus } from '../../index.ts'
import { SCHEDULE_FILTERS } from '../../model/filters.ts'
import { OPTION_NAMES } from '../../model/settings.ts'
import { type AnyCommand, Command, examples } from '../commander.ts'
import { conditionsOf, settingFacts, withFilters } from '../flags.ts'
import { STATE_STYLES, took } from '../jobs/index.ts'
import { harmlessText, print, printJson, printResult, type Style } from '../output.ts'
import { onDatabase } from '../session.ts'
import { AFTER, type Column, factsText, printList, printRows } from '../table.ts'
import { instantOption, when, wholeNumber } from '../values.ts'

const STATUS_STYLES: Readonly<Partial<Record<ScheduleStatus, Style>>> = {
  active: 'green',
  retrying: 'yellow',
  frozen: 'yellow',
  paused: 'yellow',
  dead: 'red',
  invalid: 'red',
}
const LIST_HELP = `
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
    .addHelpText('after', LIST_HELP)
    .addHelpText(
      ...examples('schedules list', 'schedules list --status invalid --json', 'schedules list --task report'),
    )
  return onDatabase(command, async ({ schedules }, { limit = Infinity, ...flags }) => {
    const query = { ...conditionsOf(SCHEDULE_FILTERS, flags), order: 'nextRunAt' } as const
    await printList(schedules, query, listColumns(new Date()), 'schedule', { ...flags, limit })
  })
}

function listColumns(now: Date): Column<Schedule>[] {
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
    { title: 'STATE', value: statusText, style: ({ status }) => STATUS_STYLES[status] },
  ]
}

/** Such as `active`, `frozen until …` or `retrying, 2 of 3, next at …`. */
function statusText(schedule: Schedule): string {
  if (schedule.status === 'frozen') return `frozen until ${when(schedule.frozenUntil)}`
  return schedule.status === 'retrying' ? retryText(schedule, when(schedule.retryAt)) : schedule.status
}

function leftText(nextRunAt: Date | null, now: Date): string {
  if (nextRunAt === null) return '-'
  return nextRunAt < now ? relativeTime(nextRunAt, now) : durationText(nextRunAt.getTime() - now.getTime())
}

const ELAPSES = 5
/** The settings that have no separate line. The line that shows the status covers `enabled`. */
const NAMES = OPTION_NAMES.filter((name) => name !== 'summary' && name !== 'enabled')

export function showCommand(): AnyCommand {
  const command = new Command('show')
    .summary('show a schedule')
    .description('Shows a schedule: its settings, its upcoming runs, and how the last run went.')
    .argument('<id>')
    .addHelpText(...examples('schedules show nightly', 'schedules show nightly --json | jq .args'))
  return onDatabase(command, async (kalends, id, { json }) => {
    const schedule = (await kalends.schedules.get(id)) ?? missing('schedule', id)
    await showSchedule(kalends, schedule, json)
  })
}

export async function showSchedule(
  kalends: Kalends,
  schedule: Schedule,
  json: boolean | undefined,
): Promise<void> {
  if (json === true) return printJson(schedule)
  const { checkTimer } = await import('../../timer/index.ts')
  const checked = checkTimer(schedule.timer, { limit: 1, anchor: schedule.createdAt })
  const elapses =
    (schedule.status === 'active' || schedule.status === 'retrying') && checked.valid
      ? await kalends.schedules.elapses(schedule.id, { limit: ELAPSES })
      : []
  const facts = factsText([
    ['Schedule', schedule.id],
    ['Summary', schedule.summary],
    ['State', statusText(schedule)],
    ['Reason', schedule.pauseReason],
    ['Task', schedule.task],
    ['Args', JSON.stringify(schedule.args)],
    ['Timer', schedule.timer],
    ['In words', checked.valid ? checked.description : checked.error.message],
    ['Next run', schedule.nextRunAt && when(schedule.nextRunAt)],
    ['Elapses', elapses.map((at) => when(at)).join('\n')],
    ['Warnings', checked.valid ? checked.warnings.join('\n') : null],
    ...settingFacts(schedule, NAMES),
    [
      'Runs',
      `${schedule.runCount}, ${schedule.errorCount} failed; ${counted(schedule.failedAttempts, 'attempt')} failed`,
    ],
    ['Last run', schedule.lastRunAt && when(schedule.lastRunAt)],
    ['Last job', schedule.lastJobId],
    ['Last error', schedule.lastError],
    ['Declared by', schedule.declaredBy],
    ['Created', when(schedule.createdAt)],
  ])
  print(facts)
}

export function historyCommand(): AnyCommand {
  const command = new Command('history')
    .summary('list the runs and skips of a schedule, newest first')
    .description('Lists the slots of a schedule, newest first: runs, and skips with their reason.')
    .argument('<id>')
    .option('--limit <n>', 'at most this many', wholeNumber(0, 999_999_999), 20)
    .option('--before <time>', 'only earlier slots')
    .addHelpText(...examples('schedules history nightly', 'schedules history nightly --before yesterday'))
  return onDatabase(command, async ({ schedules }, id, flags) => {
    const before = await instantOption('--before', flags.before)
    const jobs = await schedules.history(id, { limit: flags.limit, before })
    printRows(flags.json, HISTORY, jobs, 'slot')
  })
}

const HISTORY: readonly Column<Job>[] = [
  { title: 'SLOT', value: ({ slot }) => when(slot) },
  { title: 'STATE', value: ({ state }) => state, style: ({ state }) => STATE_STYLES[state] },
  { title: 'REASON', value: ({ reason }) => reason ?? '-', optional: 3 },
  { title: 'MISSED', value: ({ missed }) => countText(missed), align: 'right', optional: 4 },
  { title: 'ATTEMPT', value: ({ attempt }) => countText(attempt), align: 'right', optional: 2 },
  { title: 'TOOK', value: (job) => took(job, null), align: 'right', optional: 2 },
  { title: 'JOB', value: ({ id }) => id, optional: 1 },
  { title: 'ERROR', value: ({ error }) => firstLine(error) || '-', least: 5, optional: 1 },
]

function countText(count: number): string {
  return count === 0 ? '-' : String(count)
}

export function explainCommand(): AnyCommand {
  const command = new Command('explain')
    .summary('explain why a schedule did or did not run')
    .description('Explains why a schedule did or did not run, and when it runs next.')
    .argument('<id>')
    .option('--at <time>', 'explain this time')
    .addHelpText(
      ...examples(
        'schedules explain nightly',
        "schedules explain nightly --at '2026-03-29 02:30 Europe/Berlin'",
      ),
    )
  return onDatabase(command, async ({ schedules }, id, { at, json }) => {
    const explanation = await schedules.explain(id, { at: await instantOption('--at', at) })
    printResult(json, explanation, explanation.reasons.map((reason) => `${harmlessText(reason)}\n`).join(''))
  })
}
