/**
 * The counters of a schedule match its jobs. After a manual edit of a counter, counting continues from the new value.
 */
import { type Evidence, editsAround, type ScheduleEvidence } from '../evidence.ts'
import type { JobRow } from '../rows.ts'
import { canBeIn, mustBeIn, type Segment } from '../segments.ts'
import { instantText } from '../times.ts'
import type { Rule, Violation } from '../verdict.ts'

/** Maximum time between two statements of one transaction on a busy server. */
const WITHIN_MS = 10_000

export function counters(evidence: Evidence): Violation[] {
  return evidence.schedules.flatMap((schedule) => {
    const tell = (rule: Rule, text: string, at: number): Violation => ({
      rule,
      schedule: schedule.id,
      text: `${text}${editsAround(schedule, at)}`,
    })
    return schedule.segments.flatMap((segment) => {
      if (segment.isUncertain || segment.end === null) return []
      return [
        ...counted(evidence, segment).map(({ text, rule }) => tell(rule, text, segment.from)),
        ...lastOnes(evidence, schedule, segment).map((text) => tell('counter', text, segment.from)),
      ]
    })
  })
}

function counted(evidence: Evidence, segment: Segment): { text: string; rule: Rule }[] {
  const { start, end } = segment
  if (end === null) return []
  const faults: { text: string; rule: Rule }[] = []
  const jobs = evidence.ofRow.get(start.uid ?? '') ?? []
  const ends = jobs.filter(({ state }) => state === 'success' || state === 'failed')
  const compare = (name: string, grown: number, jobs: readonly JobRow[]) => {
    const { least, most } = within(jobs, segment, evidence)
    if (grown >= least && grown <= most) return
    const twice = jobs.some((job) => endedTwice(evidence, job))
    faults.push({
      // If two workers wrote the outcome, it was counted twice.
      rule: grown > most && twice ? 'zombie' : 'counter',
      text: `${name} grew by ${grown} between ${instantText(segment.from)} and ${instantText(segment.endUntil)}, but the schedule's jobs account for ${least === most ? least : `${least} to ${most}`}`,
    })
  }
  compare('run_count', end.runCount - start.runCount, ends)
  compare(
    'error_count',
    end.errorCount - start.errorCount,
    ends.filter(({ state }) => state === 'failed'),
  )
  return faults
}

/** How many of the jobs ended within a segment. Jobs that ended during an edit may count as before or after it. */
function within(
  jobs: readonly JobRow[],
  segment: Segment,
  { jobEdits, times }: Evidence,
): { least: number; most: number } {
  let least = 0
  let most = 0
  for (const job of jobs) {
    const canBe = job.finished !== null && canBeIn(segment, job.finished, times)
    const mustBe = job.finished !== null && mustBeIn(segment, job.finished, times)
    // A manual edit may have reopened the job after it was counted, or ended it without counting it.
    const edits = jobEdits.get(job.id)?.length ?? 0
    if (canBe || edits > 0) most += 1 + edits
    if (mustBe && edits === 0) least += 1
  }
  return { least, most: most + handledElsewhere(jobEdits, jobs) }
}

/** The number of edits to other jobs of these schedules. Those jobs may have been counted before they were edited. */
function handledElsewhere(jobEdits: Evidence['jobEdits'], jobs: readonly JobRow[]): number {
  const own = new Set(jobs.map(({ id }) => id))
  const schedules = new Set(jobs.map(({ schedule }) => schedule))
  let count = 0
  for (const [id, edits] of jobEdits) {
    if (own.has(id)) continue
    const of = edits.find(({ before }) => before !== null)?.before?.['periodic_task_id']
    if (typeof of === 'string' && schedules.has(of)) count += edits.length
  }
  return count
}

function endedTwice({ runs }: Evidence, { id }: JobRow): boolean {
  const ends = (runs.get(id) ?? []).filter(({ event }) => event === 'end')
  return new Set(ends.map(({ attempt }) => attempt)).size > 1
}

/**
 * last_job and last_run describe the newest job, last_finished the job that ended last, and last_slot the last decided
 * slot.
 */
function lastOnes(evidence: Evidence, { jobs }: ScheduleEvidence, segment: Segment): string[] {
  const { start, end, pieces } = segment
  if (end === null) return []
  const faults: string[] = []
  const latest = pieces.reduce(
    (most, { slot }) => Math.max(most, slot),
    start.lastSlot ?? Number.NEGATIVE_INFINITY,
  )
  // If last_slot was set back manually, a slot may be decided, and skipped, a second time.
  const isKnown = jobs.some(({ slot }) => slot === end.lastSlot) && (end.lastSlot ?? 0) > latest
  if ((end.lastSlot ?? Number.NEGATIVE_INFINITY) !== latest && !isKnown)
    faults.push(
      `last_slot is ${instantText(end.lastSlot)}, but the last decided slot is ${instantText(latest)}`,
    )
  if (end.lastJobId === null || end.lastJobId === start.lastJobId) return faults
  const job = evidence.jobs.get(end.lastJobId)
  if (job === undefined) {
    faults.push(`last_job is ${end.lastJobId}, which never existed`)
    return faults
  }
  if (evidence.jobEdits.has(job.id)) return faults
  // One transaction writes the job and last_run, but in two statements, and the clock may go back between them.
  const isDated = !evidence.times.isRepeated(job.submitted)
  if (isDated && Math.abs(job.submitted - (end.lastRunAt ?? 0)) > WITHIN_MS)
    faults.push(
      `last_job ${job.id} was submitted at ${instantText(job.submitted)}, but last_run is ${instantText(end.lastRunAt)}`,
    )
  const newer = jobs.find(
    ({ state, slot, submitted }) =>
      state !== 'skipped' &&
      (slot ?? 0) > (job.slot ?? 0) &&
      submitted > job.submitted + WITHIN_MS &&
      mustBeIn(segment, submitted, evidence.times),
  )
  if (newer !== undefined) faults.push(`last_job is ${job.id}, but ${newer.id} is newer`)
  const { times } = evidence
  // last_finished is written together with the job's outcome, so no counted job ended later.
  const lastEnd = end.lastFinishedAt ?? Infinity
  const later = jobs.find(
    ({ id, state, finished }) =>
      (state === 'success' || state === 'failed') &&
      finished !== null &&
      finished > lastEnd &&
      mustBeIn(segment, finished, times) &&
      !times.isRepeated(finished) &&
      !times.isRepeated(lastEnd) &&
      !evidence.jobEdits.has(id),
  )
  if (later !== undefined)
    faults.push(
      `last_finished is ${instantText(end.lastFinishedAt)}, but job ${later.id} ended at ${instantText(later.finished)}`,
    )
  return faults
}
