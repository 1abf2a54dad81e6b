/** Timers that count from the end of a run: each slot is one span after the end of the previous run. */
import type { Begin } from '../begin.ts'
import type { Course } from '../elapses.ts'
import { jobText, type ScheduleEvidence } from '../evidence.ts'
import type { JobRow } from '../rows.ts'
import type { Segment } from '../segments.ts'
import { instantText, type Times } from '../times.ts'
import type { Rule } from '../verdict.ts'

export interface Fault {
  readonly rule: Rule
  readonly text: string
  /** By the database's clock. */
  readonly at: number
}

export interface Window {
  readonly low: number
  readonly high: number
}

export interface Surroundings {
  readonly begin: Begin
  /** When the row may have been planned, if planning was necessary. */
  readonly window: Window
  readonly allowedMs: number
  readonly times: Times
  readonly isStopped: string | null
  /**
   * When the schedule's jobs were edited or deleted manually: after that, the sweep plans from the time at which it
   * finds no open job.
   */
  readonly handled: readonly { readonly from: number; readonly until: number }[]
}

/** The end times of runs, by the database's clock, in order. */
export function endsOfRuns(jobs: readonly JobRow[]): { readonly job: JobRow; readonly at: number }[] {
  return jobs
    .flatMap((job) => (job.finished === null || job.state === 'skipped' ? [] : [{ job, at: job.finished }]))
    .toSorted((a, b) => a.at - b.at)
}

export function lostAfterFinish(
  schedule: ScheduleEvidence,
  segment: Segment,
  course: Course,
  { begin, window, allowedMs, times, isStopped, handled }: Surroundings,
): Fault[] {
  const faults: Fault[] = []
  const ends = endsOfRuns(schedule.jobs)
  const fromEnds = new Set(ends.flatMap(({ at }) => course.next(at) ?? []))
  const spanMs = course.afterFinishMs ?? 0
  // Slots before the schedule's creation come from a clock that was set back by hours.
  const created = schedule.segments[0]?.from ?? Number.NEGATIVE_INFINITY
  const pieces = segment.pieces.filter(({ slot }) => slot >= created)
  for (const [index, { slot, job, count }] of pieces.entries()) {
    const before = pieces[index - 1]
    const isFirst = before === undefined
    const isPlanned =
      isFirst &&
      slot >= (course.next(window.low) ?? Infinity) &&
      slot <= (course.next(window.high) ?? Infinity)
    const isByHand =
      isFirst &&
      begin.kind === 'by hand' &&
      (slot === begin.slot || (slot > begin.slot && slot >= window.low && slot <= window.high))
    const isNext = isFirst && begin.kind === 'at' && slot === begin.slot
    // After a skipped slot, the timer counts from that slot, or from the time at which the skip was noticed.
    const isAfterSkip = before?.job.state === 'skipped' && slot >= before.slot + spanMs
    // If the clock went back, so that the run's end plus a span is not after the last slot, the slot is the time of
    // planning.
    const isOvertaken =
      before !== undefined && (course.next(before.job.finished ?? Number.NaN) ?? Infinity) <= before.slot
    const isSwept = handled.some(({ from, until }) => {
      const seenBy = times.range(until, times.deadline(until, 2 * allowedMs))
      return slot > times.databaseAt(from) && slot <= seenBy.high + spanMs
    })
    const isFolded = count > 1
    // Slots only increase: if a clock or a manual edit moved the last slot ahead, the next slot directly follows it.
    const isPushed = slot === (before?.slot ?? segment.start.lastSlot ?? Number.NaN) + 1
    if (
      !(
        isPlanned ||
        isByHand ||
        isNext ||
        isAfterSkip ||
        isFolded ||
        isPushed ||
        isOvertaken ||
        isSwept ||
        fromEnds.has(slot)
      )
    )
      faults.push({
        rule: 'lost',
        text: `not ${spanMs} ms after the end of a run; the previous run ended at ${instantText(ends.findLast(({ at }) => at < slot)?.at ?? null)}: ${jobText(job)}`,
        at: slot,
      })
  }
  if (isStopped !== null) return faults
  const due = nextDue(segment, course, begin, window, ends)
  if (due === null) return faults
  const since = Math.max(times.dueSince(due, segment.endHost), segment.host)
  // If a run is still active when the segment ends, nothing is due before the run ends.
  const isRunning = schedule.jobs.some(
    ({ submitted, finished, state }) =>
      state !== 'skipped' &&
      submitted <= segment.endUntil &&
      (finished === null || finished >= segment.endFrom - spanMs - allowedMs),
  )
  if (!isRunning && times.deadline(since, 2 * allowedMs) < segment.endHost)
    faults.push({
      rule: 'lost',
      text: `${instantText(due)} was due for ${Math.round((segment.endHost - since) / 1000)} s and was not decided`,
      at: due,
    })
  return faults
}

function nextDue(
  { pieces, start, endFrom }: Segment,
  course: Course,
  begin: Begin,
  window: Window,
  ends: ReturnType<typeof endsOfRuns>,
): number | null {
  const last = pieces.at(-1)
  const lastEnd = ends.findLast(({ at }) => at <= endFrom)?.at
  if (last === undefined && begin.kind === 'at') return begin.slot
  if (last === undefined && begin.kind === 'by hand') return Math.max(begin.slot, window.high)
  const from = Math.max(last === undefined ? window.high : last.slot, lastEnd ?? 0, start.lastSlot ?? 0)
  return course.next(from)
}
