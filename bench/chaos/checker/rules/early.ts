/** No job is submitted before its slot, and none starts before it is submitted. */
import { type Evidence, editsAround, jobText } from '../evidence.ts'
import type { JobRow } from '../rows.ts'
import { msOf } from '../../dates.ts'
import { instantText, LOAD_MS, type Times } from '../times.ts'
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
      // If a manual edit or a clock moved the last slot ahead, a run at the current time gets the slot 1 ms after it.
      const pushed = schedule.jobs[index - 1]?.slot === slot - 1 || highest.has(slot - 1)
      if (aheadMs > 0 && !pushed && !times.isRepeated(job.submitted))
        violations.push(told(`submitted ${aheadMs} ms before its slot`))
      violations.push(...beforePutOff(evidence, job).map(told))
      if (jobEdits.has(job.id)) continue
      violations.push(...startedEarly(job, times).map(told))
      const first = runs.get(job.id)?.find(({ event }) => event === 'start')
      if (first === undefined) continue
      const begun = times.databaseAt(times.hostOfMono(first.mono))
      const beforeMs = slot - begun
      if (beforeMs > SLACK_MS && !pushed && !times.isRepeated(begun))
        violations.push(
          told(`its handler on ${first.worker} started ${Math.round(beforeMs)} ms before its slot`),
        )
    }
  }
  return violations
}

/** The tolerated difference between the harness's two clocks, and between the harness and the database. */
const SLACK_MS = 500

/**
 * The lines of the handlers show when a run started. The row's `started` is the time at which the claim's statement
 * began. On a loaded server, that statement may see jobs that were submitted while it was waiting.
 */
function startedEarly({ submitted, started, finished }: JobRow, times: Times): string[] {
  const faults: string[] = []
  if (started === null || times.isRepeated(started)) return faults
  if (submitted - started > LOAD_MS) faults.push(`started ${submitted - started} ms before it was submitted`)
  if (finished !== null && finished < started && !times.isRepeated(finished))
    faults.push(`finished ${started - finished} ms before it started`)
  return faults
}

/** A job that was postponed manually does not start before its new time, unless another manual edit changes that. */
function beforePutOff({ jobEdits, runs, times }: Evidence, job: JobRow): string[] {
  const edits = jobEdits.get(job.id) ?? []
  return edits.flatMap(({ row, mono }, index) => {
    const runAt = msOf(row?.['run_at'])
    if (runAt === null || row?.['state'] !== 'waiting') return []
    const until = edits[index + 1]?.mono ?? Number.POSITIVE_INFINITY
    const start = runs.get(job.id)?.find((line) => line.event === 'start' && line.mono > mono)
    if (start === undefined || start.mono > until) return []
    const begun = times.databaseAt(times.hostOfMono(start.mono))
    return runAt - begun > SLACK_MS && !times.isRepeated(begun)
      ? [
          `postponed to ${instantText(runAt)}, but it started ${Math.round(runAt - begun)} ms earlier on ${start.worker}`,
        ]
      : []
  })
}

function highWaters(texts: readonly (string | number | null)[]): ReadonlySet<number> {
  return new Set(
    texts.flatMap((text) => (typeof text === 'string' ? [Date.parse(`${text.replace(' ', 'T')}Z`)] : [])),
  )
}
