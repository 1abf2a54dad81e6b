/** The application's own queue contains exactly the jobs that were handed over. */
import { type Evidence, jobText } from '../evidence.ts'
import type { Violation } from '../verdict.ts'

const HANDED = new Set(['external', 'success', 'failed'])

export function handed({ record, jobs, jobEdits }: Evidence): Violation[] {
  if (record.queue === null) return []
  const there = new Set(record.queue.map(({ id }) => String(id)))
  const violations: Violation[] = []
  for (const job of jobs.values()) {
    if ((job.text['queue'] ?? null) === null || jobEdits.has(job.id)) continue
    const { id, schedule } = job
    if (HANDED.has(job.state) && !there.has(id))
      violations.push({ rule: 'lost', schedule, text: `handed over, but not in the queue: ${jobText(job)}` })
    // If the submit callback rolls back and then inserts a row, the row remains, and the job is handed over again.
    if ((job.state === 'waiting' || job.state === 'blocked') && there.has(id))
      violations.push({
        rule: 'unfinished',
        schedule,
        text: `in the queue, but not handed over: ${jobText(job)}`,
      })
  }
  for (const { id, schedule } of record.queue)
    if (!jobs.has(String(id)))
      violations.push({
        rule: 'doubled',
        schedule: schedule === null ? null : String(schedule),
        text: `in the queue, but there is no job ${String(id)}`,
      })
  return violations
}
