import type { Kalends } from '../../index.ts'
import { EXIT, QuietFailure } from '../failure.ts'
import { harmlessText, print, printJson, say } from '../output.ts'
import { firstLine } from '../words.ts'

/** Waits for the end of a job and tells its outcome. @throws QuietFailure when it has not succeeded */
export async function waitForJob(kalends: Kalends, id: string, json: boolean | undefined): Promise<void> {
  say(`Waiting for the job ${id}; Ctrl-C leaves it alone.`)
  const job = await kalends.jobs.wait(id)
  if (json === true) printJson(job)
  else print(`${id}: ${job.state}${job.error === null ? '' : `: ${harmlessText(firstLine(job.error))}`}\n`)
  if (job.state !== 'success') throw new QuietFailure(job.state, { exitCode: EXIT.failed })
}
