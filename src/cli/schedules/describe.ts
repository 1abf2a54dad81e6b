/** A schedule on a page. */
import type { Kalends, Schedule } from '../../index.ts'
import { print, printJson } from '../output.ts'
import { factsText } from '../table.ts'
import { spanShort, when } from '../words.ts'

const ELAPSES = 5

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
    ['In words', checked.valid ? checked.words : checked.fault.message],
    ['Next run', schedule.nextRun === null ? null : when(schedule.nextRun)],
    ['Elapses', elapses.map((at) => when(at)).join('\n')],
    ['Warnings', checked.valid ? checked.warnings.join('\n') : null],
    ['Starts', schedule.starts && when(schedule.starts)],
    ['Ends', schedule.ends && when(schedule.ends)],
    ['Jitter', schedule.jitterMs === 0 ? null : span(schedule.jitterMs)],
    ['Missed runs', `at most ${schedule.catchUp} made up`],
    ['Overlap', schedule.overlap],
    ['Timeout', span(schedule.timeoutMs)],
    ['Retries', schedule.maxRetries === null ? null : String(schedule.maxRetries)],
    ['Retry delay', span(schedule.retryDelayMs)],
    ['On exhausted', schedule.onExhausted],
    [
      'Runs',
      `${schedule.runCount}, ${schedule.errorCount} failed${schedule.maxRuns === null ? '' : `; done after ${schedule.maxRuns} successes`}`,
    ],
    ['Last run', schedule.lastRun && when(schedule.lastRun)],
    ['Last job', schedule.lastJob],
    ['Last error', schedule.lastError],
    ['Group', schedule.group],
    ['Subject', schedule.subject],
    ['Submitter', schedule.submitter],
    ['Priority', schedule.priority === 0 ? null : String(schedule.priority)],
    ['Declared by', schedule.declaredBy],
    ['Created', when(schedule.created)],
  ])
}

function span(ms: number | null): string | null {
  return ms === null ? null : spanShort(ms)
}
