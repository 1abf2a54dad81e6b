/** Skips have the reasons that the policy gives, and what was dropped before a run is what the run says. */
import { occurrenceId } from '../../../../src/model/occurrence.ts'
import { CANARY } from '../../workload.ts'
import { type Evidence, editsAround, jobText, type ScheduleEvidence } from '../evidence.ts'
import type { Piece, Segment } from '../segments.ts'
import type { Violation } from '../verdict.ts'

export function missed({ schedules }: Evidence): Violation[] {
  return schedules.flatMap((schedule) =>
    schedule.segments.flatMap((segment) => {
      if (segment.isUncertain) return []
      return [...reasons(schedule, segment), ...counts(schedule, segment)].map(
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
  { id, edits }: ScheduleEvidence,
  { overlap, maxRuns, catchUp }: Segment['start'],
  reason: string | null,
  count: number,
): string | null {
  if (!REASONS.has(reason)) return `a skip for the reason '${reason}' that there is not`
  if (count < 1) return 'a skip that stands for no slot'
  if (reason === 'overlap' && overlap === 'allow') return "skipped for overlap, which is 'allow'"
  if (reason === 'max-runs' && maxRuns === null) return 'skipped for max_runs, of which there is none'
  // Nothing about them is bad, but what people write by hand may be.
  if (reason === 'unsubmittable' && edits.length === 0)
    return 'skipped as unsubmittable, although nobody had touched it'
  if (reason === 'missed' && catchUp >= 1000 && count < 1000 && id.startsWith(CANARY))
    return `${count} slots were dropped at once, though a thousand are made up`
  return null
}

/**
 * One planning leaves its rows in one statement: first what it dropped, then what it kept: as many slots as catch_up
 * says, or for 0 perhaps the slot that is on time. The first run says how many were dropped.
 */
function counts({ id }: ScheduleEvidence, { start, pieces }: Segment): Fault[] {
  const faults: Fault[] = []
  for (const [index, piece] of pieces.entries()) {
    const { job, slot } = piece
    if (job.state !== 'skipped') {
      const dropped = droppedBefore(id, pieces, index)
      if (dropped !== null && job.missed !== dropped)
        faults.push({
          text: `says ${job.missed} missed, but ${dropped} were dropped before it: ${jobText(job)}`,
          at: slot,
        })
    } else if (job.reason === 'missed' && isWhole(id, piece)) {
      const made = madeUp(id, pieces, index)
      if (made !== null && made !== start.catchUp && !(start.catchUp === 0 && made === 1))
        faults.push({
          text: `of the slots that were due, ${made} were not dropped, but catch_up is ${start.catchUp}: ${jobText(job)}`,
          at: slot,
        })
    }
  }
  return faults
}

/** Neither was it added to a row that was there, nor anything to it. */
function isWhole(schedule: string, { job, slot, isPart }: Piece): boolean {
  return !isPart && job.id === occurrenceId(schedule, new Date(slot))
}

/** @returns null: the rows do not tell */
function droppedBefore(schedule: string, pieces: readonly Piece[], index: number): number | null {
  const run = pieces[index]
  if (run === undefined) return null
  for (let back = index - 1; back >= 0; back -= 1) {
    const before = pieces[back]
    if (before === undefined) return null
    const { job } = before
    if (job.state === 'skipped' && job.reason === 'missed') {
      if (isWhole(schedule, before)) return job.submitted === run.job.submitted ? before.count : 0
      // Of several plannings together, at least as many as of this one.
      return run.job.missed <= before.count ? run.job.missed : before.count
    }
    // A run before it in the same planning has told of them.
    if (job.state !== 'skipped') return 0
    // A skip of another planning.
    if (job.submitted !== run.job.submitted) return isWhole(schedule, before) ? 0 : null
  }
  // The first of its segment: nothing was dropped before it, for an edit is planned from its own time. Where the
  // row was not planned anew, what came before it is in the segment before.
  return null
}

/** @returns null: one of them was added to later, and tells of that time */
function madeUp(schedule: string, pieces: readonly Piece[], index: number): number | null {
  const submitted = pieces[index]?.job.submitted
  let count = 0
  for (const piece of pieces.slice(index + 1)) {
    if (piece.job.state === 'skipped' && !isWhole(schedule, piece)) return null
    if (piece.job.submitted !== submitted) break
    count += piece.count
  }
  return count
}
