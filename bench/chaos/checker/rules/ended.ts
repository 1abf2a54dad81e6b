/** Every job has ended, with the outcome that its handler and its policy require. */
import type { RunLine } from '../../record.ts'
import { type Evidence, jobText } from '../evidence.ts'
import type { JobRow } from '../rows.ts'
import { LOAD_MS } from '../times.ts'
import type { Violation } from '../verdict.ts'

const FINAL: ReadonlySet<string> = new Set(['success', 'failed', 'cancelled', 'skipped'])

export function ended(evidence: Evidence): Violation[] {
  const violations: Violation[] = []
  for (const job of evidence.jobs.values()) {
    const edits = evidence.jobEdits.get(job.id)
    // Deleted jobs need not end.
    if (edits?.some(({ columns }) => columns === 'delete') === true) continue
    const fault = !FINAL.has(job.state)
      ? `left in state ${job.state}`
      : edits === undefined
        ? (faultOf(job, evidence.runs.get(job.id) ?? []) ?? overTime(job, evidence))
        : null
    if (fault !== null)
      violations.push({ rule: 'unfinished', schedule: job.schedule, text: `${fault}: ${jobText(job)}` })
  }
  return violations
}

function faultOf(job: JobRow, lines: readonly RunLine[]): string | null {
  if (job.finished === null) return 'final, but without a finish time'
  switch (job.state) {
    case 'success':
      return lines.some(({ event, attempt }) => event === 'end' && attempt === job.attempt)
        ? null
        : 'succeeded, but no handler completed its last attempt'
    case 'failed':
      return failureFault(job)
    case 'skipped':
      return lines.length > 0 ? 'skipped, but a handler ran' : null
    default:
      return null
  }
}

/** A job fails only after all attempts that the policy in its row allows, unless its error was permanent. */
function failureFault(job: JobRow): string | null {
  if (job.reason === 'permanent') return null
  const retries = Number(job.text['max_retries'])
  return job.attempt <= retries ? `failed after ${job.attempt} of ${retries + 1} attempts` : null
}

/** Tasks of the fleet whose handlers do not or cannot react to their signal. */
export const DEAF: ReadonlySet<string> = new Set(['deaf', 'block', 'exit'])

/** Maximum time from the end of a process stall to the signal to the handler. */
const TELL_MS = 1000

/** A handler must be signalled after its timeout, or once its process runs again if that is later. */
function overTime(job: JobRow, { runs, runsBy, times }: Evidence): string | null {
  const timeoutMs = Number(job.text['timeout'] ?? Number.NaN)
  if (DEAF.has(job.task) || !Number.isFinite(timeoutMs)) return null
  const lines = runs.get(job.id) ?? []
  for (const start of lines) {
    if (start.event !== 'start') continue
    const end = lines.find(
      (line) => line.event !== 'start' && line.mono > start.mono && line.worker === start.worker,
    )
    if (end === undefined || end.attempt !== start.attempt) continue
    const deadline = times.deadline(times.hostOfMono(start.mono), timeoutMs + LOAD_MS)
    const isAwake = ({ mono }: RunLine) => times.hostOfMono(mono) > deadline && mono < end.mono - TELL_MS
    if (runsBy.get(start.worker)?.some(isAwake) === true)
      return `attempt ${start.attempt} ran for ${Math.round(end.mono - start.mono)} ms, although its timeout is ${timeoutMs} ms`
  }
  return null
}
