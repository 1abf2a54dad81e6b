/** `kalends jobs show`. */
import { Command } from 'commander'
import { NotFoundError } from '../../errors.ts'
import type { Attempt, Job } from '../../index.ts'
import { type DatabaseFlags, withDatabaseOptions } from '../configuration.ts'
import { JOB_OPTION_NAMES } from '../../model/settings.ts'
import { print, printJson } from '../output.ts'
import { withKalends } from '../session.ts'
import { settingFacts } from '../setting-facts.ts'
import { type Column, factsText, tableText } from '../table.ts'
import { firstLine, spanShort, when } from '../words.ts'

export function showCommand(): Command {
  const command = new Command('show')
    .summary('all about a job')
    .description(
      'Shows a job and its attempts: what ran, when, where, and how it ended. Its log: kalends jobs logs.',
    )
    .argument('<id>')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nExamples:\n  $ kalends jobs show 0193…\n  $ kalends jobs show 0193… --json | jq .attempts',
    )
  return withDatabaseOptions(command).action(
    (id: string, options: DatabaseFlags & { readonly json?: boolean }) =>
      withKalends(options, async ({ jobs }) => {
        const job = await jobs.get(id)
        if (job === null) throw new NotFoundError('job', id)
        const attempts = await jobs.attempts(id)
        if (options.json === true) printJson({ ...job, attempts })
        else print(pageOf(job) + attemptsText(attempts))
      }),
  )
}

function pageOf(job: Job): string {
  const { started, finished } = job
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
    ['Submitted', time(job.submitted)],
    ['Not before', time(job.runAt)],
    ['Started', time(started)],
    ['Finished', time(finished)],
    ['Took', started && finished && spanShort(finished.getTime() - started.getTime())],
    ['Worker', job.worker],
    ['Progress', json(job.progress)],
    ['Result', json(job.result)],
    ['Error', job.error],
    ['Stop asked for', time(job.stopRequested)],
    ...settingFacts(job, JOB_OPTION_NAMES),
  ])
}

/** Of a job whose only attempt is running or has succeeded, its page says all. */
function attemptsText(attempts: readonly Attempt[]): string {
  const [first, ...others] = attempts
  const isSaid = first === undefined || first.outcome === null || first.outcome === 'success'
  return isSaid && others.length === 0 ? '' : `\n${tableText(ATTEMPT_COLUMNS, attempts)}`
}

const ATTEMPT_COLUMNS: readonly Column<Attempt>[] = [
  { title: 'ATTEMPT', value: ({ attempt }) => String(attempt), align: 'right' },
  { title: 'OUTCOME', value: ({ outcome }) => outcome ?? 'running' },
  { title: 'STARTED', value: ({ started }) => when(started) },
  { title: 'ENDED', value: ({ ended }) => when(ended) },
  { title: 'WORKER', value: ({ worker }) => worker ?? '-' },
  { title: 'ERROR', value: ({ error }) => firstLine(error), least: 12 },
]

function json(value: unknown): string | null {
  return value === null ? null : JSON.stringify(value)
}

function time(at: Date | null): string | null {
  return at && when(at)
}
