/** Unless overlap is 'allow', a row of `periodic_task` never has two runs at the same time. */
import type { RunLine } from '../../record.ts'
import { type Evidence, jobText } from '../evidence.ts'
import type { JobRow } from '../rows.ts'
import { LOAD_MS } from '../times.ts'
import type { Violation } from '../verdict.ts'

export function together(evidence: Evidence): Violation[] {
  const { ofRow, jobEdits, times } = evidence
  const violations: Violation[] = []
  for (const jobs of ofRow.values()) {
    const id = jobs[0]?.schedule ?? ''
    const exclusive = jobs.filter((job) => job.exclusive && job.started !== null && !jobEdits.has(job.id))
    violations.push(...rowsTogether(id, exclusive, times), ...handlersTogether(id, exclusive, evidence))
  }
  return violations
}

/**
 * Compares rows: the last attempt of a job must not start before the previous job is final. The comparison has a
 * tolerance, because a statement stores the time at which it began, but may see jobs that ended while it was waiting.
 * The handlers' lines need no tolerance, because their times are accurate to the millisecond.
 */
function rowsTogether(schedule: string, jobs: readonly JobRow[], times: Evidence['times']): Violation[] {
  const violations: Violation[] = []
  let latest: JobRow | undefined
  for (const job of jobs.toSorted((a, b) => (a.started ?? 0) - (b.started ?? 0))) {
    const { started } = job
    const until = latest?.finished ?? null
    // If the clock went back, these times do not determine an order.
    if (times.isRepeated(started ?? 0) || times.isRepeated(job.finished ?? 0)) continue
    if (latest !== undefined && until !== null && started !== null && until - started > LOAD_MS)
      violations.push({
        rule: 'together',
        schedule,
        text: `${jobText(job)} started ${until - started} ms before ${jobText(latest)} had ended`,
      })
    if (until === null || (job.finished ?? 0) >= until) latest = job
  }
  return violations
}

interface Span {
  readonly job: JobRow
  readonly from: number
  readonly until: number
}

/**
 * Compares the lines of handlers, which all use one clock. No other run of the schedule may start during an attempt
 * whose success was stored.
 */
function handlersTogether(schedule: string, jobs: readonly JobRow[], { runs }: Evidence): Violation[] {
  const taken: Span[] = []
  const starts: { readonly job: JobRow; readonly line: RunLine }[] = []
  for (const job of jobs) {
    const lines = runs.get(job.id) ?? []
    for (const line of lines) if (line.event === 'start') starts.push({ job, line })
    const of = lines.filter(({ attempt, worker }) => attempt === job.attempt && worker === job.worker)
    const start = of.find(({ event }) => event === 'start')
    const end = of.find(({ event }) => event === 'end')
    if (job.state === 'success' && start !== undefined && end !== undefined)
      taken.push({ job, from: start.mono, until: end.mono })
  }
  taken.sort((a, b) => a.from - b.from)
  starts.sort((a, b) => a.line.mono - b.line.mono)
  const violations: Violation[] = []
  let index = 0
  for (const { job, line } of starts) {
    while ((taken[index]?.until ?? Infinity) <= line.mono) index += 1
    const span = taken[index]
    if (span !== undefined && span.job !== job && span.from < line.mono)
      violations.push({
        rule: 'together',
        schedule,
        text: `attempt ${line.attempt} of ${jobText(job)} started on ${line.worker} while ${jobText(span.job)} was still running on ${span.job.worker}`,
      })
  }
  return violations
}
