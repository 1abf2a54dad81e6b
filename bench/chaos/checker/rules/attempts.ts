/**
 * If the handler of a claim started, the claim is running, has succeeded, or is stored as an attempt. Jobs that were
 * claimed ahead may return to the queue without an attempt.
 */
import { groupBy } from '../../../../src/store/group-by.ts'
import { type Evidence, jobText } from '../evidence.ts'
import type { Violation } from '../verdict.ts'

export function attempts({ record, jobs, jobEdits, runs }: Evidence): Violation[] {
  const stored = groupBy(record.attempts, (row) => String(row['job_id']))
  return record.jobs.flatMap((row): Violation[] => {
    const job = jobs.get(String(row['id']))
    // A manual edit may end a run, or delete a job but leave its attempts.
    if (job === undefined || jobEdits.has(job.id)) return []
    const inJob = Number(job.state === 'success' || job.state === 'running')
    const most = Number(row['claim']) - inJob
    const claims = (stored.get(job.id) ?? []).map((attempt) => Number(attempt['claim']))
    const started = (runs.get(job.id) ?? []).filter(({ event }) => event === 'start').length - inJob
    const isPossible = new Set(claims).size === claims.length && claims.every((claim) => claim <= most)
    if (isPossible && claims.length >= Math.min(started, most)) return []
    const text = `of ${most} claims, attempts are stored for [${claims.join()}]; ${started} attempts started: ${jobText(job)}`
    return [{ rule: 'attempt', schedule: job.schedule, text }]
  })
}
