/** A schedule on a page. */
import type { Kalends, Schedule } from '../../index.ts'
import { OPTION_NAMES } from '../../model/settings.ts'
import { print, printJson } from '../output.ts'
import { settingFacts } from '../setting-facts.ts'
import { factsText } from '../table.ts'
import { when } from '../words.ts'

const ELAPSES = 5
/** The others have a line of their own. */
const NAMES = OPTION_NAMES.filter((name) => name !== 'summary' && name !== 'enabled')

export async function showSchedule(
  kalends: Kalends,
  schedule: Schedule,
  json: boolean | undefined,
): Promise<void> {
  if (json === true) printJson(schedule)
  else print(await pageOf(kalends, schedule))
}

async function pageOf(kalends: Kalends, schedule: Schedule): Promise<string> {
  const { checkTimer } = await import('../../timer/index.ts')
  const checked = checkTimer(schedule.timer, { limit: 1, anchor: schedule.created })
  const elapses =
    schedule.status === 'active' && checked.valid
      ? await kalends.schedules.elapses(schedule.id, { limit: ELAPSES })
      : []
  return factsText([
    ['Schedule', schedule.id],
    ['Summary', schedule.summary],
    ['State', schedule.status],
    ['Task', schedule.task],
    ['Args', JSON.stringify(schedule.args)],
    ['Timer', schedule.timer],
    ['In words', checked.valid ? checked.description : checked.error.message],
    ['Next run', schedule.nextRun === null ? null : when(schedule.nextRun)],
    ['Elapses', elapses.map((at) => when(at)).join('\n')],
    ['Warnings', checked.valid ? checked.warnings.join('\n') : null],
    ...settingFacts(schedule, NAMES),
    ['Runs', `${schedule.runCount}, ${schedule.errorCount} failed`],
    ['Last run', schedule.lastRun && when(schedule.lastRun)],
    ['Last job', schedule.lastJob],
    ['Last error', schedule.lastError],
    ['Declared by', schedule.declaredBy],
    ['Created', when(schedule.created)],
  ])
}
