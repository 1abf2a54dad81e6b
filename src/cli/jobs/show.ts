/** `kalends jobs show`. */
import { Command } from 'commander'
import { NotFoundError } from '../../errors.ts'
import type { Job } from '../../index.ts'
import { type DatabaseFlags, withDatabaseOptions } from '../configuration.ts'
import { JOB_OPTION_NAMES } from '../../model/settings.ts'
import { print, printJson } from '../output.ts'
import { withKalends } from '../session.ts'
import { settingFacts } from '../setting-facts.ts'
import { factsText } from '../table.ts'
import { spanShort, when } from '../words.ts'

export function showCommand(): Command {
  const command = new Command('show')
    .summary('all about a job')
    .description('Shows a job: what ran, when, where, and how it ended. Its log: kalends jobs logs.')
    .argument('<id>')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nExamples:\n  $ kalends jobs show 0193…\n  $ kalends jobs show 0193… --json | jq .result',
    )
  return withDatabaseOptions(command).action(
    (id: string, options: DatabaseFlags & { readonly json?: boolean }) =>
      withKalends(options, async ({ jobs }) => {
        const job = await jobs.get(id)
        if (job === null) throw new NotFoundError('job', id)
        if (options.json === true) printJson(job)
        else print(pageOf(job))
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

function json(value: unknown): string | null {
  return value === null ? null : JSON.stringify(value)
}

function time(at: Date | null): string | null {
  return at && when(at)
}
