/** Every job has ended, and as its handler and its policy say. */
import type { RunLine } from '../../record.ts'
import { type Evidence, jobText } from '../evidence.ts'
import type { JobRow } from '../rows.ts'
import type { Violation } from '../verdict.ts'

const FINAL: ReadonlySet<string> = new Set(['success', 'failed', 'cancelled', 'skipped'])

export function ended(evidence: Evidence): Violation[] {
  const violations: Violation[] = []
  for (const job of evidence.jobs.values()) {
    const edited = evidence.jobEdits.has(job.id)
    const fault = !FINAL.has(job.state)
      ? `left in state ${job.state}`
      : edited
        ? null
        : faultOf(job, evidence.runs.get(job.id) ?? [])
    if (fault !== null)
      violations.push({ rule: 'unfinished', schedule: job.schedule, text: `${fault}: ${jobText(job)}` })
  }
  return violations
}

function faultOf(job: JobRow, lines: readonly RunLine[]): string | null {
  if (job.finished === null) return 'final without a time at which it finished'
  switch (job.state) {
    case 'success':
      return lines.some(({ event, attempt }) => event === 'end' && attempt === job.attempt)
        ? null
        : 'succeeded, but no handler came to the end of that attempt'
    case 'failed':
      return failureFault(job)
    case 'skipped':
      return lines.length > 0 ? 'skipped, but a handler ran' : null
    default:
      return null
  }
}

/** Whoever fails for good was tried as often as the policy in its row says. */
function failureFault(job: JobRow): string | null {
  if (job.reason === 'permanent') return null
  const retries = Number(job.text['max_retries'])
  return job.attempt <= retries ? `failed for good after ${job.attempt} of ${retries + 1} attempts` : null
}
