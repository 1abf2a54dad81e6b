/** Nothing is submitted before its slot, nothing starts before it was submitted. */
import { type Evidence, editsAround, jobText } from '../evidence.ts'
import type { JobRow } from '../rows.ts'
import type { Violation } from '../verdict.ts'

export function early(evidence: Evidence): Violation[] {
  const violations: Violation[] = []
  const { times, jobEdits, runs } = evidence
  for (const schedule of evidence.schedules) {
    const highest = highWaters(schedule.edits.map(({ row }) => row?.['last_slot'] ?? null))
    for (const [index, job] of schedule.jobs.entries()) {
      const told = (text: string): Violation => ({
        rule: 'early',
        schedule: schedule.id,
        text: `${text}: ${jobText(job)}${editsAround(schedule, job.slot ?? 0)}`,
      })
      const { slot } = job
      if (slot === null) continue
      const aheadMs = slot - job.submitted
      // "Now" as a slot is later than the last one in any case, also where a hand or a clock has put that ahead.
      const pushed = schedule.jobs[index - 1]?.slot === slot - 1 || highest.has(slot - 1)
      if (aheadMs > times.backMs && !pushed) violations.push(told(`submitted ${aheadMs} ms before its slot`))
      if (jobEdits.has(job.id)) continue
      violations.push(...startedEarly(job, times.backMs).map(told))
      const first = runs.get(job.id)?.find(({ event }) => event === 'start')
      if (first === undefined) continue
      const beforeMs = slot - times.databaseAt(times.hostOfMono(first.mono))
      if (beforeMs > times.backMs + SLACK_MS && !pushed)
        violations.push(
          told(`its handler began ${Math.round(beforeMs)} ms before its slot on ${first.worker}`),
        )
    }
  }
  return violations
}

/** Between the harness's two clocks, and between its and the database's. */
const SLACK_MS = 500

function startedEarly(job: JobRow, backMs: number): string[] {
  const faults: string[] = []
  if (job.started !== null && job.submitted - job.started > backMs)
    faults.push(`started ${job.submitted - job.started} ms before it was submitted`)
  if (job.started !== null && job.finished !== null && job.started - job.finished > backMs)
    faults.push(`finished ${job.started - job.finished} ms before it started`)
  return faults
}

function highWaters(texts: readonly (string | number | null)[]): ReadonlySet<number> {
  return new Set(
    texts.flatMap((text) => (typeof text === 'string' ? [Date.parse(`${text.replace(' ', 'T')}Z`)] : [])),
  )
}
