/** Each occurrence is decided once, and each attempt of it begins once. */
import { groupBy } from '../../../../src/store/sql/group-by.ts'
import type { RunLine } from '../../record.ts'
import { type Evidence, jobText } from '../evidence.ts'
import type { Violation } from '../verdict.ts'
import { instantText } from '../times.ts'

export function once(evidence: Evidence): Violation[] {
  return [...rowsOnce(evidence), ...runsOnce(evidence)]
}

function rowsOnce({ schedules, twins, jobs }: Evidence): Violation[] {
  const violations: Violation[] = twins.map((job) => {
    const other = jobs.get(job.id)
    return {
      rule: 'doubled',
      schedule: job.schedule,
      text: `two rows for one occurrence: ${jobText(job)}${other === undefined ? '' : ` and ${jobText(other)}`}`,
    }
  })
  for (const { id, jobs: of } of schedules) {
    for (const [index, job] of of.entries()) {
      const before = of[index - 1]
      if (before !== undefined && before.slot === job.slot)
        violations.push({
          rule: 'doubled',
          schedule: id,
          text: `${instantText(job.slot)} was decided twice: ${jobText(before)} and ${jobText(job)}`,
        })
    }
  }
  return violations
}

function runsOnce({ runs, jobs, jobEdits }: Evidence): Violation[] {
  const violations: Violation[] = []
  const bySlot = new Map<string, string>()
  for (const [id, lines] of runs) {
    const [first] = lines
    if (first === undefined) continue
    if (first.schedule !== null && first.slot !== null) {
      const slot = `${first.slot} ${first.schedule}`
      const other = bySlot.get(slot)
      if (other !== undefined)
        violations.push({
          rule: 'doubled',
          schedule: first.schedule,
          text: `${instantText(first.slot)} ran as two jobs, ${other} and ${id}`,
        })
      bySlot.set(slot, id)
    }
    // Who puts a job back by hand wants its attempts again.
    if (jobEdits.has(id)) continue
    violations.push(...attemptsOnce(id, first.schedule, lines))
    const job = jobs.get(id)
    const ended = job?.state === 'success' ? lastEnd(lines, job.attempt) : undefined
    const late =
      ended && lines.find(({ event, mono }) => event === 'start' && mono > ended.mono + AFTER_END_MS)
    if (job !== undefined && late !== undefined)
      violations.push({
        rule: 'doubled',
        schedule: first.schedule,
        text: `attempt ${late.attempt} began on ${late.worker} after the job had succeeded: ${jobText(job)}`,
      })
  }
  return violations
}

/** The end of a handler is written before the end of its job is; a worker that is lost between them is made up for. */
const AFTER_END_MS = 0

function lastEnd(lines: readonly RunLine[], attempt: number): RunLine | undefined {
  return lines.findLast((line) => line.event === 'end' && line.attempt === attempt)
}

/** A worker that stops gives its runs back, and that attempt has not been: the same number begins again elsewhere. */
function attemptsOnce(job: string, schedule: string | null, lines: readonly RunLine[]): Violation[] {
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
      if (before.worker === start.worker || ended !== undefined)
        violations.push({
          rule: 'doubled',
          schedule,
          text: `attempt ${attempt} of job ${job} began twice: on ${before.worker}${ended === undefined ? '' : `, where it came to '${ended.event}',`} and on ${start.worker}`,
        })
    }
  }
  return violations
}
