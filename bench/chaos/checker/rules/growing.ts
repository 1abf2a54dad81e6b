/** The slots of a schedule increase in the order of submission. */
import { type Evidence, editsAround, jobText } from '../evidence.ts'
import type { Violation } from '../verdict.ts'

export function growing({ schedules, times }: Evidence): Violation[] {
  const violations: Violation[] = []
  for (const schedule of schedules) {
    // After a manual change to the high-water mark, slots increase from the new mark.
    if (schedule.edits.some(({ before, row }) => before?.['last_slot'] !== row?.['last_slot'])) continue
    if (schedule.segments.some(({ mayGoBack }) => mayGoBack)) continue
    // Slots before the schedule's creation come from a clock that was set back by hours.
    const created = schedule.segments[0]?.from ?? Number.NEGATIVE_INFINITY
    const [first, ...jobs] = schedule.jobs.filter(({ slot }) => (slot ?? created) >= created)
    let latest = first
    for (const job of jobs) {
      if (latest !== undefined && latest.submitted > job.submitted && !times.isRepeated(job.submitted))
        violations.push({
          rule: 'backwards',
          schedule: schedule.id,
          text: `${jobText(job)} was submitted ${latest.submitted - job.submitted} ms before ${jobText(latest)}${editsAround(schedule, job.submitted)}`,
        })
      if (latest === undefined || job.submitted >= latest.submitted) latest = job
    }
  }
  return violations
}
