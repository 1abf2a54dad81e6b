/**
 * Nothing is lost: between two edits, the decided slots are exactly the elapses of the timer, from the first elapse
 * after planning to the last one that was due. This compares slots, not times, so it is valid even during outages and
 * clock jumps.
 */
import { type Begin, beginOf, isEdited } from '../begin.ts'
import { type Course, courseOf } from '../elapses.ts'
import { type Evidence, editsAround, jobText, type ScheduleEvidence } from '../evidence.ts'
import type { ScheduleRow } from '../rows.ts'
import type { Piece, Segment } from '../segments.ts'
import { instantText, LOAD_MS, type Times } from '../times.ts'
import type { Rule, Violation } from '../verdict.ts'
import { endsOfRuns, type Fault, lostAfterFinish, type Window } from './after-finish.ts'
import { isOfTwoVersions, versionFaults } from './versions.ts'

export function lost(evidence: Evidence): Violation[] {
  return evidence.schedules.flatMap((schedule) => {
    const tell = (rule: Rule, text: string, at: number): Violation => ({
      rule,
      schedule: schedule.id,
      text: `${text}${editsAround(schedule, at)}`,
    })
    if (schedule.segments.length === 0)
      return schedule.jobs.map((job) =>
        tell('lost', `${jobText(job)} belongs to a schedule that never existed`, 0),
      )
    if (isOfTwoVersions(schedule.id))
      return versionFaults(schedule).map(({ text, at }) => tell('lost', text, at))
    return schedule.segments.flatMap((segment) =>
      new Stretch(evidence, schedule, segment).faults().map(({ rule, text, at }) => tell(rule, text, at)),
    )
  })
}

/** Maximum number of missed slots that are counted. */
const MAX_COUNTED = 10_000

/** How long the product may take to notice an edit or a due slot, even if a mark holds the row. */
export function allowanceMs({ record }: Pick<Evidence, 'record'>, { start }: Pick<Segment, 'start'>): number {
  const usual = record.leaseMs + record.pollIntervalMs + LOAD_MS
  // A manual mark lasts up to two leases, or until the sweep finds it.
  return start.worker === null ? usual : usual + 2 * record.leaseMs
}

class Stretch {
  readonly #faults: Fault[] = []
  readonly #times: Times
  readonly #schedule: ScheduleEvidence
  readonly #segment: Segment
  readonly #allowedMs: number
  readonly #jobEdits: Evidence['jobEdits']

  constructor(evidence: Evidence, schedule: ScheduleEvidence, segment: Segment) {
    this.#times = evidence.times
    this.#schedule = schedule
    this.#segment = segment
    this.#allowedMs = allowanceMs(evidence, segment)
    this.#jobEdits = evidence.jobEdits
  }

  faults(): readonly Fault[] {
    const { start, pieces, isUncertain } = this.#segment
    if (isUncertain) return []
    const course = courseOf(start)
    const planned = beginOf(start)
    const begin: Begin =
      course !== null && course.afterFinishMs === null && planned.kind === 'at'
        ? { kind: 'at', slot: slotOf(start, planned.slot, course) ?? planned.slot }
        : planned
    if (course === null || begin.kind === 'nothing') {
      for (const piece of pieces)
        this.#tell(
          'lost',
          `decided although ${course === null ? 'its timer cannot be read' : 'it had no further slots'} (${stateText(start)}): ${pieceText(piece)}`,
          piece.slot,
        )
      return this.#faults
    }
    if (course.afterFinishMs !== null) {
      const window = this.#planningWindow()
      const stopped = this.#isStopped()
      return lostAfterFinish(this.#schedule, this.#segment, course, {
        begin,
        window,
        allowedMs: this.#allowedMs,
        times: this.#times,
        isStopped: stopped,
        handled: this.#schedule.jobs.flatMap(({ id }) =>
          (this.#jobEdits.get(id) ?? []).map(({ host, from, until }) => ({
            from: host - (until - from),
            until: host,
          })),
        ),
      })
    }
    const next = this.#walk(begin, course)
    this.#end(next, course)
    return this.#faults
  }

  /** @returns the slot after the last decided slot; undefined if unknown */
  #walk(begin: Begin, course: Course): number | null | undefined {
    const [first, ...rest] = this.#segment.pieces
    if (first === undefined) return begin.kind === 'at' ? this.#undecided(begin.slot, course) : undefined
    this.#first(first, begin, course)
    let last = first.slot
    for (const piece of rest) {
      this.#following(last, piece, course)
      last = piece.slot
    }
    return course.next(last)
  }

  #first(piece: Piece, begin: Begin, course: Course): void {
    if (begin.kind === 'at') {
      const undecided = this.#undecided(begin.slot, course) ?? begin.slot
      if (undecided === begin.slot || !covers(begin.slot, piece, course))
        this.#chain(undecided, piece, course)
      return
    }
    const window = this.#planningWindow()
    if (begin.kind === 'by hand' && this.#isByHand(begin.slot, piece, window, course)) return
    if (begin.kind === 'by hand') {
      this.#tell(
        'lost',
        `nextrun was manually set to ${instantText(begin.slot)} and must have been planned between ${instantText(window.low)} and ${instantText(window.high)}, but the first decided slot is ${pieceText(piece)}`,
        piece.slot,
      )
      return
    }
    const floor = this.#segment.start.lastSlot ?? Number.NEGATIVE_INFINITY
    const low = Math.max(window.low, floor)
    const high = Math.max(window.high, floor)
    const earliest = course.next(low)
    const latest = latestNext(low, high, course)
    const chosen = firstPlanned(low, high, piece, course)
    if (chosen === null) {
      this.#tell(
        'lost',
        `not a slot of '${this.#segment.start.timer}' after ${instantText(window.low)}${earliest === null ? '' : `; the first one is ${instantText(earliest)}`}: ${pieceText(piece)}`,
        piece.slot,
      )
    } else if (latest !== null && chosen > latest) {
      this.#tell(
        'lost',
        `the first decided slot is ${instantText(chosen)}, but the schedule must have been planned by ${instantText(window.high)}, so ${instantText(latest)} should come first: ${pieceText(piece)}`,
        chosen,
      )
    }
  }

  /**
   * If last_slot and nextrun were moved back manually, the unique keys reject slots that were already decided, so
   * these slots are passed over.
   */
  #undecided(slot: number, course: Course): number | null {
    const { segments } = this.#schedule
    const decided = new Set(
      segments
        .slice(0, segments.indexOf(this.#segment))
        .flatMap(({ pieces }) => pieces.map((piece) => piece.slot)),
    )
    let at: number | null = slot
    while (at !== null && decided.has(at)) at = course.next(at)
    return at
  }

  #isByHand(slot: number, piece: Piece, window: Window, course: Course): boolean {
    const low = Math.max(window.low, (this.#segment.start.lastSlot ?? window.low) + 1)
    const high = Math.max(window.high, low)
    if (piece.count === 1)
      return piece.slot === slot || (piece.slot >= low && piece.slot <= high && slot <= piece.slot)
    // The manual slot is the oldest slot that the row counts; slots of the timer follow it.
    let at: number | null = slot > window.low ? slot : null
    for (let count = 1; at !== null && count < piece.count; count += 1) at = course.next(at)
    if (at === piece.slot) return true
    const second = firstPlanned(low, high, { ...piece, count: piece.count - 1 }, course)
    const latest = latestNext(low, high, course)
    return second !== null && (latest === null || second <= latest)
  }

  #following(last: number, piece: Piece, course: Course): void {
    const expected = course.next(last)
    if (expected === null)
      this.#tell('lost', `decided after the last slot of its timer: ${pieceText(piece)}`, piece.slot)
    else this.#chain(expected, piece, course)
  }

  /** Checks that the slots of a piece are the expected slot and its successors. */
  #chain(expected: number, piece: Piece, course: Course): void {
    if (covers(expected, piece, course)) return
    const at = afterMany(expected, piece, course)
    const { timer } = this.#segment.start
    const between = at === null ? null : slotsBetween(at, piece.slot, course)
    if (between !== null)
      this.#tell(
        'lost',
        `${between} slots of '${timer}' from ${instantText(expected)} onwards were not decided before ${pieceText(piece)}`,
        expected,
      )
    else if (course.next(piece.slot - 1) === piece.slot)
      this.#tell(
        'doubled',
        `${pieceText(piece)} includes slots that were already decided: the next undecided slot of '${timer}' is ${instantText(expected)}`,
        piece.slot,
      )
    else
      this.#tell(
        'lost',
        `not a slot of '${timer}', whose next slot is ${instantText(expected)}: ${pieceText(piece)}`,
        piece.slot,
      )
  }

  /** Checks the end of the segment: all due slots were decided, and the row contains the next one. */
  #end(next: number | null | undefined, course: Course): void {
    const { end, endHost, isLast, pieces, start } = this.#segment
    const stopped = this.#isStopped()
    if (!isLast && end !== null && end.enabled && !isEdited(end) && end.worker === null) {
      const isUntouched = pieces.length === 0 && end.nextRunAt === start.nextRunAt
      if (end.idle === null && next !== undefined && end.nextRunAt !== next && !isUntouched)
        this.#tell(
          'lost',
          `the slot after ${instantText(pieces.at(-1)?.slot ?? start.lastSlot)} is ${instantText(next)}, but nextrun was ${instantText(end.nextRunAt)}`,
          next ?? this.#segment.endFrom,
        )
      if (
        end.idle !== null &&
        start.idle !== end.idle &&
        next !== null &&
        next !== undefined &&
        stopped === null
      )
        this.#tell('lost', `idle '${end.idle}', although ${instantText(next)} is the next slot`, next)
    }
    if (stopped !== null) return
    const due = next === undefined ? this.#firstDue(course) : next
    if (due === null) return
    const since = Math.max(this.#times.dueSince(due, endHost), this.#segment.host)
    const deadline = this.#times.deadline(since, this.#allowedMs)
    if (deadline < endHost)
      this.#tell(
        'lost',
        `${instantText(due)} was due for ${Math.round((endHost - since) / 1000)} s and was not decided; the last decided slot is ${instantText(pieces.at(-1)?.slot ?? start.lastSlot)}`,
        due,
      )
  }

  /** The first slot that should have been decided, for a schedule without decided slots. */
  #firstDue(course: Course): number | null {
    const { start, until } = this.#segment
    const window = this.#planningWindow()
    const begin = beginOf(start)
    if (begin.kind === 'by hand') return Math.max(begin.slot, until)
    const floor = start.lastSlot ?? window.low
    return latestNext(Math.max(window.low, floor), Math.max(window.high, floor), course)
  }

  /** Why no further slots are required; null if they are. */
  #isStopped(): string | null {
    return stopOf(this.#schedule, this.#segment)
  }

  /** The times that the database's clock may have shown when the row was planned. */
  #planningWindow(): Window {
    const { host, from, until } = this.#segment
    const { low, high } = this.#times.range(host, this.#times.deadline(host, this.#allowedMs))
    return { low: Math.min(from, low), high: Math.max(until, high) }
  }

  #tell(rule: Rule, text: string, at: number): void {
    this.#faults.push({ rule, text, at })
  }
}

/** 'done' if max_runs was reached, 'dead' after a failed run if on_exhausted is 'stop', otherwise null. */
function stopOf({ jobs }: ScheduleEvidence, { start, end, from }: Segment): string | null {
  if (start.maxRuns !== null && end !== null && end.runCount - end.errorCount >= start.maxRuns) return 'done'
  if (
    start.onExhausted === 'stop' &&
    endsOfRuns(jobs).some(({ job, at }) => job.state === 'failed' && at >= from)
  )
    return 'dead'
  return null
}

/** The slot of a planned nextrun: nextrun itself if manual or an elapse, else the nearest undecided elapse. */
function slotOf({ isByHand, lastSlot }: ScheduleRow, nextRunAt: number, course: Course): number | null {
  if (isByHand || course.next(nextRunAt - 1) === nextRunAt) return nextRunAt
  const later = course.next(nextRunAt)
  const earlier = lastBefore(nextRunAt, course)
  if (earlier === null || earlier <= (lastSlot ?? Number.NEGATIVE_INFINITY)) return later
  return later !== null && later - nextRunAt <= nextRunAt - earlier ? later : earlier
}

const LONGEST_MS = 1000 * 2 ** 35

function lastBefore(instant: number, course: Course): number | null {
  for (let ms = 1000; ms <= LONGEST_MS; ms *= 2) {
    let last: number | null = null
    for (let at = course.next(instant - ms); at !== null && at < instant; at = course.next(at)) last = at
    if (last !== null) return last
  }
  return null
}

/** Counts as many slots from `first` as the piece has; returns the last one, or the first one after the piece. */
function afterMany(
  first: number,
  { slot, count }: Pick<Piece, 'slot' | 'count'>,
  course: Course,
): number | null {
  let at: number | null = first
  for (let counted = 1; counted < count && at !== null && at <= slot; counted += 1) at = course.next(at)
  return at
}

function covers(first: number, piece: Piece, course: Course): boolean {
  const at = afterMany(first, piece, course)
  return at === piece.slot || (piece.count >= MAX_COUNTED && at !== null && at < piece.slot)
}

/**
 * The latest possible first slot of a row that is planned between two instants; null if there may be none. The later
 * instant alone is not sufficient, because in a repeated hour, the timer elapses only if planning starts within that
 * hour.
 */
function latestNext(low: number, high: number, course: Course): number | null {
  let at = course.next(low)
  while (at !== null && at <= high) at = course.next(at)
  const late = course.next(high)
  return at === null || late === null ? null : Math.max(at, late)
}

/** The first slot of a piece, if it can be the first slot after planning between two instants; null otherwise. */
function firstPlanned(
  low: number,
  high: number,
  piece: Pick<Piece, 'slot' | 'count'>,
  course: Course,
): number | null {
  const step = Math.max(100, (high - low) / 100)
  let tried: number | null = null
  for (let planned = low; planned <= high; planned += step) {
    const first = course.next(planned)
    if (first === null || first === tried || first > piece.slot) continue
    tried = first
    const begun = beginningOf(first, piece, course)
    if (begun !== null) return begun
    // Without a repeated hour, all other candidates belong to the same chain.
    if (isMonotonous(low, high, course)) return null
  }
  return null
}

function isMonotonous(low: number, high: number, course: Course): boolean {
  return latestNext(low, high, course) === course.next(high)
}

/** The slot at which a piece starts in the chain that starts with `first`. */
function beginningOf(
  first: number,
  { slot, count }: Pick<Piece, 'slot' | 'count'>,
  course: Course,
): number | null {
  const chain: number[] = []
  for (let at: number | null = first; at !== null && at <= slot; at = course.next(at)) chain.push(at)
  if (chain.at(-1) !== slot) return null
  return chain.at(-count) ?? (count >= MAX_COUNTED ? first : null)
}

/** @returns null if `to` is not a slot */
function slotsBetween(from: number, to: number, course: Course): number | null {
  let count = 0
  for (let at: number | null = from; at !== null && at <= to; at = course.next(at)) {
    if (at === to) return count
    count += 1
  }
  return null
}

function pieceText({ job, slot, count, isPart }: Piece): string {
  const many = count > 1 ? `${count} slots up to ${instantText(slot)} in ` : ''
  return `${many}${jobText(job)}${isPart ? ' (part of what it counts)' : ''}`
}

function stateText({ enabled, idle, timer }: ScheduleRow): string {
  return `${enabled ? (idle ?? 'active') : 'disabled'}, '${timer}'`
}
