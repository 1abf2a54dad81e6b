/** `kalends jobs show` and `kalends jobs logs`. */
import { setTimeout as pause } from 'node:timers/promises'
import { missing, firstLine } from '../../errors.ts'
import type { Attempt, Job, LogLevel, LogLine } from '../../index.ts'
import { JOB_OPTION_NAMES } from '../../model/settings.ts'
import { isFinal } from '../../model/states.ts'
import { type AnyCommand, Command, examples } from '../commander.ts'
import { harmlessText, painted, printResult, say, type Style } from '../output.ts'
import { onDatabase } from '../session.ts'
import { settingFacts } from '../settings.ts'
import { type Column, factsText, tableText } from '../table.ts'
import { when } from '../values.ts'
import { took } from './list.ts'

/** How often to check for new lines. */
const LOOK_MS = 500
const STYLES: Readonly<Partial<Record<LogLevel, Style>>> = { debug: 'dim', warn: 'yellow', error: 'red' }

export function showCommand(): AnyCommand {
  const command = new Command('show')
    .summary('show a job')
    .description(
      'Shows a job and its attempts: what ran, when, where, and how it ended. Its log: kalends jobs logs.',
    )
    .argument('<id>')
    .addHelpText('after', examples('jobs show 0193…', 'jobs show 0193… --json | jq .attempts'))
  return onDatabase(command, async ({ jobs }, id, { json }) => {
    const job = (await jobs.get(id)) ?? missing('job', id)
    const attempts = await jobs.attempts(id)
    printResult(json, { ...job, attempts }, pageOf(job) + attemptsText(attempts))
  })
}

export function logsCommand(): AnyCommand {
  const command = new Command('logs')
    .summary('print the log of a job')
    .description('Prints the log lines of all attempts of a job, in order.')
    .argument('<id>')
    .option('-f, --follow', 'continue with new lines until the job ends')
    .addHelpText('after', examples('jobs logs 0193…', 'jobs logs --follow 0193… | grep -i error'))
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
      await pause(LOOK_MS)
    }
  })
}

/** If a job has had only one attempt, and it is running or succeeded, the job's facts include those of the attempt. */
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

function pageOf(job: Job): string {
  return factsText([
    ['Job', job.id],
    ['State', job.state],
    ['Reason', job.reason],
    ['Task', job.task],
    ['Args', json(job.args)],
    ['Schedule', job.scheduleId],
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
  return `${at.toISOString()} ${painted(STYLES[level], level.padEnd(5))} ${harmlessText(message)}\n`
}
