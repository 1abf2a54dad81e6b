import { setTimeout as pause } from 'node:timers/promises'
import { durationText } from '../../duration.ts'
import { firstLine, missing } from '../../errors.ts'
import type { Attempt, Job, JobState, LogLevel, LogLine } from '../../index.ts'
import { JOB_FILTERS } from '../../model/filters.ts'
import { JOB_OPTION_NAMES } from '../../model/settings.ts'
import { isFinal } from '../../model/states.ts'
import { type AnyCommand, Command, examples } from '../commander.ts'
import { conditionsOf, settingFacts, withFilters } from '../flags.ts'
import { harmlessText, painted, printResult, say, type Style } from '../output.ts'
import { onDatabase } from '../session.ts'
import { AFTER, type Column, factsText, printList, tableText } from '../table.ts'
import { when, wholeNumber } from '../values.ts'
import { cancelCommand, retryCommand } from './change.ts'
import { submitCommand } from './submit.ts'

export default function jobsCommand(): AnyCommand {
  return new Command('jobs')
    .description('Jobs: the runs of schedules, and jobs submitted without a schedule.')
    .addHelpText(
      ...examples(
        'jobs list --state failed',
        'jobs logs --follow 0193…',
        'jobs retry --state failed --task mail',
      ),
    )
    .addCommand(listCommand())
    .addCommand(showCommand())
    .addCommand(logsCommand())
    .addCommand(cancelCommand())
    .addCommand(retryCommand())
    .addCommand(submitCommand())
}

export const STATE_STYLES: Readonly<Partial<Record<JobState, Style>>> = {
  success: 'green',
  running: 'cyan',
  external: 'cyan',
  failed: 'red',
  cancelled: 'yellow',
  skipped: 'dim',
}

function listCommand(): AnyCommand {
  const command = new Command('list')
    .alias('ls')
    .summary('list jobs, newest first')
    .description('Lists jobs, newest first.')
    .option('--limit <n>', 'at most this many', wholeNumber(1, 9_999_999), 50)
    .option('--after <id>', AFTER)
    .addHelpText(...examples('jobs list --state failed', 'jobs list --schedule nightly --json | jq .result'))
  return onDatabase(withFilters(command, JOB_FILTERS, 'job'), async ({ jobs }, flags) => {
    await printList(jobs, conditionsOf(JOB_FILTERS, flags), jobColumns(Date.now()), 'job', flags)
  })
}

function jobColumns(now: number): Column<Job>[] {
  return [
    { title: 'JOB', value: ({ id }) => id },
    { title: 'STATE', value: ({ state }) => state, style: ({ state }) => STATE_STYLES[state] },
    { title: 'TASK', value: ({ task }) => task, least: 8 },
    { title: 'SCHEDULE', value: (job) => scheduleText(job) ?? '-', least: 8, optional: 1 },
    { title: 'SUBMITTED', value: ({ submittedAt }) => when(submittedAt), optional: 3 },
    { title: 'TOOK', value: (job) => took(job, now), align: 'right', optional: 2 },
    { title: 'ERROR', value: ({ error }) => firstLine(error) || '-', least: 5, optional: 1 },
  ]
}

function scheduleText({ scheduleId, scheduleDeleted }: Job): string | null {
  return scheduleDeleted === true ? `${scheduleId ?? ''} (deleted)` : scheduleId
}

/** @param now  the time up to which the duration of a running job is measured, or null to show none */
export function took(
  { startedAt: started, finishedAt: finished }: Pick<Job, 'startedAt' | 'finishedAt'>,
  now: number | null,
): string {
  const end = finished?.getTime() ?? now
  return started === null || end === null ? '-' : durationText(end - started.getTime())
}

const POLL_MS = 500
const LEVEL_STYLES: Readonly<Partial<Record<LogLevel, Style>>> = {
  debug: 'dim',
  warn: 'yellow',
  error: 'red',
}

function showCommand(): AnyCommand {
  const command = new Command('show')
    .summary('show a job')
    .description(
      'Shows a job and its attempts: what ran, when, where, and how it ended. For its log, see kalends jobs logs.',
    )
    .argument('<id>')
    .addHelpText(...examples('jobs show 0193…', 'jobs show 0193… --json | jq .attempts'))
  return onDatabase(command, async ({ jobs }, id, { json }) => {
    const job = (await jobs.get(id)) ?? missing('job', id)
    const attempts = await jobs.attempts(id)
    const explanation = await jobs.explain(id)
    printResult(json, { ...job, explanation, attempts }, pageOf(job, explanation) + attemptsText(attempts))
  })
}

function logsCommand(): AnyCommand {
  const command = new Command('logs')
    .summary('print the log of a job')
    .description('Prints the log lines of all attempts of a job, in order.')
    .argument('<id>')
    .option('-f, --follow', 'keep printing new lines until the job ends')
    .addHelpText(...examples('jobs logs 0193…', 'jobs logs --follow 0193… | grep -i error'))
  return onDatabase(command, async ({ jobs }, id, { follow, json }) => {
    let last = 0
    const newLines = () => jobs.logs(id, { after: last })
    for (;;) {
      // Read the job before its lines, so that a line logged between the two reads is printed.
      const { state, error } = (await jobs.get(id)) ?? missing('job', id)
      for (let lines = await newLines(); lines.length > 0; lines = await newLines())
        for (const line of lines) {
          printResult(json, line, textOf(line))
          last = line.id
        }
      if (follow !== true) return
      if (isFinal(state))
        return say(`The job is ${state}${error === null ? '' : `: ${harmlessText(firstLine(error))}`}.`)
      await pause(POLL_MS)
    }
  })
}

/** Empty if there is no attempt, or only one that is running or succeeded: the job's facts then show everything. */
function attemptsText(attempts: readonly Attempt[]): string {
  const [first, ...others] = attempts
  const isInFacts = first === undefined || first.outcome === null || first.outcome === 'success'
  return isInFacts && others.length === 0 ? '' : `\n${tableText(ATTEMPT_COLUMNS, attempts)}`
}

const ATTEMPT_COLUMNS: readonly Column<Attempt>[] = [
  { title: 'ATTEMPT', value: ({ attempt }) => String(attempt), align: 'right' },
  { title: 'OUTCOME', value: ({ outcome }) => outcome ?? 'running' },
  { title: 'STARTED', value: ({ startedAt }) => when(startedAt) },
  { title: 'ENDED', value: ({ endedAt }) => when(endedAt) },
  { title: 'WORKER', value: ({ worker }) => worker ?? '-' },
  { title: 'ERROR', value: ({ error }) => firstLine(error), least: 12 },
]

function pageOf(job: Job, explanation: string | null): string {
  return factsText([
    ['Job', job.id],
    ['State', job.state],
    ['Reason', job.reason],
    ['Explanation', explanation],
    ['Task', job.task],
    ['Args', json(job.args)],
    ['Schedule', scheduleText(job)],
    ['Slot', time(job.slot)],
    ['Missed before it', job.missed === 0 ? null : String(job.missed)],
    ['Run', job.run === null ? null : String(job.run)],
    ['Attempt', job.attempt === 0 ? null : String(job.attempt)],
    ['Submitted', time(job.submittedAt)],
    ['Not before', time(job.runAt)],
    ['Started', time(job.startedAt)],
    ['Finished', time(job.finishedAt)],
    ['Took', job.startedAt && job.finishedAt && took(job, null)],
    ['External queue', job.queue],
    ['Worker', job.worker],
    ['Progress', json(job.progress)],
    ['Result', json(job.result)],
    ['Error', job.error],
    ['Stop requested', time(job.stopRequestedAt)],
    ...settingFacts(job, JOB_OPTION_NAMES),
  ])
}

function json(value: unknown): string | null {
  return value === null ? null : JSON.stringify(value)
}

function time(at: Date | null): string | null {
  return at && when(at)
}

function textOf({ at, level, message }: LogLine): string {
  return `${at.toISOString()} ${painted(LEVEL_STYLES[level], level.padEnd(5))} ${harmlessText(message)}\n`
}
