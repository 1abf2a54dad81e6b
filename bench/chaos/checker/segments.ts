/**
 * Divides the history of a schedule at its edits into segments, in which only Kalends changes the schedule, and assigns
 * the decided slots to these segments.
 *
 * Deciding a slot and editing the schedule both lock the schedule's row. So the row that an edit found shows exactly
 * which slots were decided before: those up to its last_slot. Times are compared only if last_slot was set manually.
 */
import type { EditEntry, ScheduleEntry } from '../record.ts'
import { mayLowerLastSlot } from './begin.ts'
import { type JobRow, jobRow, type ScheduleRow, scheduleRow } from './rows.ts'
import type { Happening, Times } from './times.ts'

/** A decided slot, or several slots that are counted in one row. */
export interface Piece {
  /** The newest of these slots. */
  readonly slot: number
  readonly count: number
  readonly job: JobRow
  /** Whether the row also counts slots of other pieces, so that its times and counts describe more than this piece. */
  readonly isPart: boolean
}

export interface Segment {
  /** The row after the edit or creation that begins the segment. */
  readonly start: ScheduleRow
  /** The edit or creation happened between these times, by the database's clock. */
  readonly from: number
  readonly until: number
  /** The time of the edit, by the harness's clock. */
  readonly host: number
  /** The row as it was before the next edit, or at the end of the run; null if unknown. */
  readonly end: ScheduleRow | null
  readonly endFrom: number
  readonly endUntil: number
  readonly endHost: number
  /** Whether no edit followed, so that the segment ends with the run. */
  readonly isLast: boolean
  /** Whether the planner may have set last_slot back, because the clock was ahead at the previous planning. */
  readonly mayGoBack: boolean
  /**
   * Whether its slots are uncertain: an edit at one of its ends may have taken effect twice, a slot may belong to
   * another segment, or the planner may have dropped slots because the clock had been ahead.
   */
  isUncertain: boolean
  readonly pieces: Piece[]
}

export type ScheduleRowText = ScheduleRow['text']

export interface CourseOf {
  readonly written: ScheduleEntry | null
  readonly edits: readonly EditEntry[]
  readonly jobs: readonly JobRow[]
  readonly last: ScheduleRow | null
}

interface Cut {
  readonly before: ScheduleRow | null
  readonly after: ScheduleRow | null
  readonly from: number
  readonly until: number
  readonly host: number
  readonly tries: number
  readonly newest: JobRow | null
}

/** @param end  the end of the run, by the database's clock and by the harness's clock */
export function segmentsOf(
  course: CourseOf,
  end: { readonly at: number; readonly host: number },
  times: Times,
): Segment[] {
  const cuts = cutsOf(course, times)
  const endingAt = new Map<Cut, Segment>()
  const segments = cuts.flatMap((cut, index): Segment[] => {
    if (cut.after === null) return []
    const next = cuts[index + 1]
    const mayGoBack = mayLowerLastSlot(cut.after, times.range(cut.host, next?.host ?? end.host).low)
    const segment = {
      start: cut.after,
      from: cut.from,
      until: cut.until,
      host: cut.host,
      end: next === undefined ? course.last : next.before,
      endFrom: next?.from ?? end.at,
      endUntil: next?.until ?? end.at,
      endHost: next?.host ?? end.host,
      isLast: next === undefined,
      mayGoBack,
      isUncertain: cut.tries > 1 || (next?.tries ?? 1) > 1 || mayGoBack,
      pieces: [],
    }
    if (next !== undefined) endingAt.set(next, segment)
    return [segment]
  })
  for (const [piece, segment] of assigned(course.jobs, segments, endingAt, times)) segment?.pieces.push(piece)
  for (const { pieces } of segments) pieces.sort((a, b) => a.slot - b.slot)
  return segments
}

function cutsOf({ written, edits, last }: CourseOf, times: Times): Cut[] {
  const first = edits[0]?.before ?? last?.text ?? null
  const creation: Cut[] = []
  if (written !== null) {
    // These columns have defaults, so they are not in `written` but in the row itself.
    const defaults = { created: first?.['created'] ?? null, uid: first?.['uid'] ?? null }
    const row = { ...written.columns, id: written.id, ...defaults }
    const { from, until, host } = written
    creation.push({ before: null, after: scheduleRow(row), from, until, host, tries: 1, newest: null })
  } else if (edits.length === 0 && last !== null) {
    // The schedule is declared in code, so it exists from its `created` time onwards.
    const { created } = last
    const row = { ...last.text, nextrun: null, planned_from: null, last_slot: null, idle: null, enabled: 1 }
    creation.push({
      before: null,
      after: scheduleRow({
        ...row,
        worker: null,
        marked: null,
        mark_ends: null,
        run_count: 0,
        error_count: 0,
      }),
      from: created,
      until: created,
      host: times.firstShown(created),
      tries: 1,
      newest: null,
    })
  }
  return [
    ...creation,
    ...edits.map((edit) => ({
      before: edit.before === null ? null : scheduleRow(edit.before),
      after: edit.row === null ? null : scheduleRow(edit.row),
      from: edit.from,
      until: edit.until,
      host: edit.host,
      tries: edit.tries ?? 1,
      newest: edit.newest === undefined || edit.newest === null ? null : jobRow(edit.newest),
    })),
  ]
}

function* assigned(
  jobs: readonly JobRow[],
  segments: readonly Segment[],
  endingAt: ReadonlyMap<Cut, Segment>,
  times: Times,
): Generator<[Piece, Segment | undefined]> {
  const [only] = segments
  for (const job of jobs) {
    const { slot } = job
    if (slot === null) continue
    const all = job.state === 'skipped' ? job.missed : 1
    if (segments.length === 1) {
      yield [{ slot, count: all, job, isPart: false }, only]
      continue
    }
    let counted = 0
    for (const [{ newest }, segment] of endingAt) {
      if (newest === null || newest.id !== job.id || newest.state !== 'skipped' || newest.slot === null)
        continue
      if (newest.missed <= counted || newest.missed >= all) continue
      const piece = { slot: newest.slot, count: newest.missed - counted, job, isPart: true }
      yield [piece, segment]
      counted = newest.missed
    }
    const of = segmentsFor(slot, job.submitted, segments, times)
    // A slot that may belong to several segments proves nothing about any of them.
    if (of.length > 1) for (const segment of of) segment.isUncertain = true
    yield [{ slot, count: all - counted, job, isPart: counted > 0 }, of[0]]
  }
}

/**
 * The segments in which the slot may have been decided. There can be several only if last_slot was set manually and
 * the times do not determine the order.
 */
function segmentsFor(
  slot: number,
  submitted: number,
  segments: readonly Segment[],
  times: Times,
): readonly Segment[] {
  const inside = segments.filter(
    ({ start, end, mayGoBack }) =>
      (mayGoBack || slot > (start.lastSlot ?? Number.NEGATIVE_INFINITY)) &&
      slot <= (end?.lastSlot ?? Number.NEGATIVE_INFINITY),
  )
  const inTime = (among: readonly Segment[]) => among.filter((segment) => canBeIn(segment, submitted, times))
  // While the clock is hours behind, slots are in the range of an earlier segment, so only the submission time counts.
  const found = [inTime(inside), inTime(segments), inside.slice(-1), segments.slice(-1)]
  return found.find(({ length }) => length > 0) ?? []
}

/** Whether an event at this time, by the database's clock, may be in the segment: between its edits or during one. */
export function canBeIn(segment: Segment, at: number, times: Times): boolean {
  return times.order(at, segment) >= 0 && (segment.isLast || times.order(at, endOf(segment)) <= 0)
}

/** Whether the event must have happened between the segment's edits. */
export function mustBeIn(segment: Segment, at: number, times: Times): boolean {
  return times.order(at, segment) > 0 && (segment.isLast || times.order(at, endOf(segment)) < 0)
}

const endOf = ({ endFrom, endUntil, endHost }: Segment): Happening => ({
  from: endFrom,
  until: endUntil,
  host: endHost,
})
