/** Each claim of a job has succeeded or is stored as an attempt. */
import { groupBy } from '../../../../src/store/sql/group-by.ts'
import { type Evidence, jobText } from '../evidence.ts'
import type { Violation } from '../verdict.ts'

export function attempts({ record, jobs, jobEdits }: Evidence): Violation[] {
  const stored = groupBy(record.attempts, (row) => String(row['job_id']))
  return record.jobs.flatMap((row): Violation[] => {
    const job = jobs.get(String(row['id']))
    // A manual edit may end a run, or leave the attempts of a deleted job behind.
    if (job === undefined || jobEdits.has(job.id)) return []
    const claims = Number(row['claim'])
    const isInJob = job.state === 'success' || job.state === 'running'
    const expected = Array.from({ length: isInJob ? claims - 1 : claims }, (_, index) => index + 1)
    const found = (stored.get(job.id) ?? [])
      .map((attempt) => Number(attempt['claim']))
      .toSorted((a, b) => a - b)
    if (found.join() === expected.join()) return []
    const text = `the stored attempts are those of the claims [${found.join()}], not [${expected.join()}]: ${jobText(job)}`
    return [{ rule: 'attempt', schedule: job.schedule, text }]
  })
}
