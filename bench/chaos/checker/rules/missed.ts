/** Skips have reasons that the policy allows, and each run records the number of slots that were dropped before it. */
import { occurrenceId } from '../../../../src/model/occurrence.ts'
import { type Evidence, editsAround, jobText, type ScheduleEvidence } from '../evidence.ts'
import type { Piece, Segment } from '../segments.ts'
import type { Violation } from '../verdict.ts'

export function missed({ schedules }: Evidence): Violation[] {
  return schedules.flatMap((schedule) =>
    schedule.segments.flatMap((segment) => {
      if (segment.isUncertain) return []
      return [...reasons(schedule, segment), ...counts(segment)].map(
        ({ text, at }): Violation => ({
          rule: 'missed',
          schedule: schedule.id,
          text: `${text}${editsAround(schedule, at)}`,
        }),
      )
    }),
  )
}

interface Fault {
  readonly text: string
  readonly at: number
}

const REASONS: ReadonlySet<string | null> = new Set(['missed', 'overlap', 'max-runs', 'unsubmittable'])

function reasons(schedule: ScheduleEvidence, { start, pieces }: Segment): Fault[] {
  return pieces.flatMap(({ job, slot }): Fault[] => {
    if (job.state !== 'skipped') return []
    const why = reasonFault(schedule, start, job.reason, job.missed)
    return why === null ? [] : [{ text: `${why}: ${jobText(job)}`, at: slot }]
  })
}

function reasonFault(
  { edits }: ScheduleEvidence,
  { overlap, maxRuns }: Segment['start'],
  reason: string | null,
  count: number,
): string | null {
  if (!REASONS.has(reason)) return `a skip with the unknown reason '${reason}'`
  if (count < 1) return 'a skip that counts no slot'
  if (reason === 'overlap' && overlap === 'allow') return "skipped for overlap, which is 'allow'"
  if (reason === 'max-runs' && maxRuns === null) return 'skipped for max_runs, which is not set'
  // Generated schedules can always be submitted, unless manual edits prevent it.
  if (reason === 'unsubmittable' && edits.length === 0)
    return 'skipped as unsubmittable, although the schedule was never edited'
  return null
}

/**
 * The planner writes the rows of one pass in one statement: first the dropped slots, then the kept ones. It keeps
 * catch_up slots or, if catch_up is 0, at most the slot that is on time. The first run records how many were dropped.
 */
function counts({ start, pieces }: Segment): Fault[] {
  const faults: Fault[] = []
  for (const [index, piece] of pieces.entries()) {
    const { job, slot } = piece
    if (job.state !== 'skipped') {
      const dropped = droppedBefore(pieces, index)
      if (dropped !== null && job.missed !== dropped)
        faults.push({
          text: `records ${job.missed} missed slots, but ${dropped} were dropped before it: ${jobText(job)}`,
          at: slot,
        })
    } else if (job.reason === 'missed' && isWhole(piece)) {
      const made = madeUp(pieces, index)
      if (made !== null && made !== start.catchUp && !(start.catchUp === 0 && made === 1))
        faults.push({
          text: `${made} due slots were not dropped, but catch_up is ${start.catchUp}: ${jobText(job)}`,
          at: slot,
        })
    }
  }
  return faults
}

/** Whether the slot has its own row, to which no other slots were added. */
function isWhole({ job, slot, isPart }: Piece): boolean {
  return !isPart && job.id === occurrenceId(job.scheduleUid ?? '', new Date(slot))
}

/** @returns null if the rows do not show how many were dropped */
function droppedBefore(pieces: readonly Piece[], index: number): number | null {
  const run = pieces[index]
  if (run === undefined) return null
  for (let back = index - 1; back >= 0; back -= 1) {
    const before = pieces[back]
    if (before === undefined) return null
    const { job } = before
    if (job.state === 'skipped' && job.reason === 'missed') {
      if (isWhole(before)) return job.submitted === run.job.submitted ? before.count : 0
      // The row counts slots from several passes, so it counts at least as many as this pass dropped.
      return run.job.missed <= before.count ? run.job.missed : before.count
    }
    // An earlier run of the same pass has recorded the dropped slots.
    if (job.state !== 'skipped') return 0
    // This skip is from another pass.
    if (job.submitted !== run.job.submitted) return isWhole(before) ? 0 : null
  }
  // This is the first run of its segment. After an edit, planning starts at the time of the edit, so nothing was
  // dropped before it. If the row was not planned again, earlier slots are in the previous segment.
  return null
}

/** @returns null if slots were added later to one of the rows */
function madeUp(pieces: readonly Piece[], index: number): number | null {
  const submitted = pieces[index]?.job.submitted
  let count = 0
  for (const piece of pieces.slice(index + 1)) {
    if (piece.job.state === 'skipped' && !isWhole(piece)) return null
    if (piece.job.submitted !== submitted) break
    count += piece.count
  }
  return count
}
