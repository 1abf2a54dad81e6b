/** Each slot of a row of `periodic_task` is decided once, and each attempt starts once. */
import { groupBy } from '../../../../src/store/group-by.ts'
import type { RunLine, RunRecord } from '../../record.ts'
import { type Evidence, jobText } from '../evidence.ts'
import type { Violation } from '../verdict.ts'
import { instantText } from '../times.ts'

export function once(evidence: Evidence): Violation[] {
  return [...rowsOnce(evidence), ...runsOnce(evidence)]
}

function rowsOnce({ ofRow, twins, jobs }: Evidence): Violation[] {
  const violations: Violation[] = twins.map((job) => {
    const other = jobs.get(job.id)
    return {
      rule: 'doubled',
      schedule: job.schedule,
      text: `two rows for one occurrence: ${jobText(job)}${other === undefined ? '' : ` and ${jobText(other)}`}`,
    }
  })
  for (const of of ofRow.values()) {
    for (const [index, job] of of.entries()) {
      const before = of[index - 1]
      if (before !== undefined && before.slot === job.slot)
        violations.push({
          rule: 'doubled',
          schedule: job.schedule,
          text: `${instantText(job.slot)} was decided twice: ${jobText(before)} and ${jobText(job)}`,
        })
    }
  }
  return violations
}

function runsOnce({ runs, jobs, jobEdits, record }: Evidence): Violation[] {
  const violations: Violation[] = []
  const isReleased = releases(record)
  const bySlot = new Map<string, string>()
  for (const [id, lines] of runs) {
    const [first] = lines
    if (first === undefined) continue
    if (first.schedule !== null && first.slot !== null) {
      const slot = `${first.slot} ${jobs.get(id)?.scheduleUid ?? first.schedule}`
      const other = bySlot.get(slot)
      if (other !== undefined)
        violations.push({
          rule: 'doubled',
          schedule: first.schedule,
          text: `${instantText(first.slot)} ran as two jobs, ${other} and ${id}`,
        })
      bySlot.set(slot, id)
    }
    // A manual edit may reset the attempt number, so attempts may start again.
    if (jobEdits.has(id)) continue
    violations.push(...attemptsOnce(id, first.schedule, lines, isReleased))
    const job = jobs.get(id)
    const ended = job?.state === 'success' ? lastEnd(lines, job.attempt) : undefined
    const late = ended && lines.find(({ event, mono }) => event === 'start' && mono > ended.mono)
    if (job !== undefined && late !== undefined)
      violations.push({
        rule: 'doubled',
        schedule: first.schedule,
        text: `attempt ${late.attempt} started on ${late.worker} after the job had succeeded: ${jobText(job)}`,
      })
  }
  return violations
}

/**
 * Ends of earlier attempts do not count: if a worker logs the end of an attempt but is lost before it writes the
 * outcome, the job runs again.
 */
function lastEnd(lines: readonly RunLine[], attempt: number): RunLine | undefined {
  return lines.findLast((line) => line.event === 'end' && line.attempt === attempt)
}

const attemptKey = (job: unknown, attempt: unknown, worker: unknown) => [job, attempt, worker].join(' ')

type IsReleased = (start: RunLine, starts: number) => boolean

/**
 * Creates a check of whether a worker released an attempt as often as it started it (`starts` times), so that none of
 * these starts counts. The check is true for pruned jobs, whose attempts are unknown.
 */
function releases({ attempts, journal }: RunRecord): IsReleased {
  const counts = new Map<string, number>()
  for (const { job_id: job, attempt, worker, outcome } of attempts) {
    const key = attemptKey(job, attempt, worker)
    if (outcome === 'released') counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  const pruned = new Set(
    journal.flatMap((entry) => (entry.kind === 'prune' ? entry.jobs.map(({ id }) => id) : [])),
  )
  return ({ job, attempt, worker }, starts) =>
    pruned.has(job) || (counts.get(attemptKey(job, attempt, worker)) ?? 0) >= starts
}

/**
 * A worker that stops or loses its connection releases its jobs. Released attempts do not count, so an attempt with the
 * same number may start again.
 */
function attemptsOnce(
  job: string,
  schedule: string | null,
  lines: readonly RunLine[],
  isReleased: IsReleased,
): Violation[] {
  const violations: Violation[] = []
  for (const [attempt, of] of groupBy(lines, (line) => String(line.attempt))) {
    const starts = of.filter(({ event }) => event === 'start')
    for (const [index, start] of starts.entries()) {
      const before = starts[index - 1]
      if (before === undefined) continue
      const ended = of.find(
        ({ event, worker, mono }) =>
          worker === before.worker && mono < start.mono && (event === 'end' || event === 'throw'),
      )
      // The handler's signal fired, and the handler then threw.
      const aborted = of.find(
        ({ event, worker, mono }) =>
          worker === before.worker && event === 'aborted' && mono > before.mono && mono < start.mono,
      )
      const same = starts.slice(0, index).filter(({ worker }) => worker === start.worker).length
      const isAgain = before.worker === start.worker && (aborted === undefined || !isReleased(before, same))
      if (isAgain || ended !== undefined)
        violations.push({
          rule: 'doubled',
          schedule,
          text: `attempt ${attempt} of job ${job} started twice: on ${before.worker}${ended === undefined ? '' : `, where it reached '${ended.event}',`} and on ${start.worker}`,
        })
    }
  }
  return violations
}
