/**
 * A worker that lost a run while it was suspended does not change the job when it resumes, and its handler is
 * signalled. Only the outcome of the last attempt counts.
 */
import type { RunLine } from '../../record.ts'
import { type Evidence, jobText } from '../evidence.ts'
import type { JobRow } from '../rows.ts'
import { DEAF } from './ended.ts'
import { LOAD_MS } from '../times.ts'
import type { Violation } from '../verdict.ts'

export function zombie(evidence: Evidence): Violation[] {
  const violations: Violation[] = []
  for (const [id, lines] of evidence.runs) {
    const job = evidence.jobs.get(id)
    if (job === undefined || evidence.jobEdits.has(id)) continue
    const fault = faultOf(job, lines, evidence)
    if (fault !== null)
      violations.push({ rule: 'zombie', schedule: job.schedule, text: `${fault}: ${jobText(job)}` })
  }
  return violations
}

function faultOf(job: JobRow, lines: readonly RunLine[], { times, record }: Evidence): string | null {
  const last = lines.findLast(({ event }) => event === 'start')
  if (last === undefined || job.state === 'skipped') return null
  if (last.attempt > job.attempt && job.state === 'success')
    return `attempt ${last.attempt} started on ${last.worker}, but the row has attempt ${job.attempt}`
  const ended = lines.find(
    ({ event, attempt, worker }) => event !== 'start' && attempt === last.attempt && worker === last.worker,
  )
  if (
    job.finished !== null &&
    job.state === 'success' &&
    last.attempt === job.attempt &&
    ended !== undefined
  ) {
    const at = times.databaseAt(times.hostOfMono(ended.mono))
    if (at - job.finished > LOAD_MS && !times.isRepeated(job.finished))
      return `its success was stored ${Math.round(at - job.finished)} ms before its handler reached '${ended.event}' on ${ended.worker}`
  }
  return deafAfterLoss(job, lines, times, record.leaseMs)
}

/** Finds a handler that completed although another worker had started the next attempt long before. */
function deafAfterLoss(
  job: JobRow,
  lines: readonly RunLine[],
  times: Evidence['times'],
  leaseMs: number,
): string | null {
  if (DEAF.has(job.task)) return null
  for (const start of lines) {
    if (start.event !== 'start') continue
    const later = lines.find(
      ({ event, attempt, mono }) => event === 'start' && attempt > start.attempt && mono > start.mono,
    )
    const end = lines.find(
      ({ event, attempt, worker, mono }) =>
        event === 'end' && attempt === start.attempt && worker === start.worker && mono > start.mono,
    )
    if (later === undefined || end === undefined || end.worker === later.worker) continue
    // A fault may suspend the worker. Once resumed, the worker learns of the loss from a heartbeat, within the lease.
    const told = times.deadline(times.hostOfMono(later.mono), leaseMs + LOAD_MS)
    if (times.hostOfMono(end.mono) > told)
      return `attempt ${start.attempt} completed on ${start.worker} ${Math.round(end.mono - later.mono)} ms after attempt ${later.attempt} had started on ${later.worker}, and was never signalled`
  }
  return null
}
