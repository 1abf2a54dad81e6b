/** Decides which due slots become runs, based on the overlap policy, max_runs and whether retries give way. Pure. */
import type { DueSlots } from './due-slots.ts'
import {
  type Circumstances,
  countOf,
  isUsedUp,
  NO_OPEN_JOBS,
  type OpenJobs,
  type Plan,
  type Plannable,
  type PlannedRun,
  type PlannedSkip,
  type Readable,
  unchanged,
  withNextRun,
} from './planning.ts'
import type { Overlap } from './settings.ts'
import type { SkipReason } from './states.ts'

/** @param nextRunAt  the next slot that is not due yet */
export function decide(
  readable: Readable,
  nextRunAt: Date | null,
  due: DueSlots,
  { now, open: openBefore, missedAfterMs }: Circumstances,
): Plan {
  const { afterFinish } = readable
  const schedule = { ...readable.schedule, lastSlot: due.last }
  const slots = due.kept
  const yields = mayYield(schedule, openBefore)
  const open = yields ? afterYield(openBefore) : openBefore
  const chosen = choose(schedule.overlap, slots, open)
  const replaces = schedule.overlap === 'replace' && countOf(open) > 0
  const runs = chosen.slice(0, runsLeft(schedule, open, replaces))
  const skips = [
    ...missedSkip(due, now, missedAfterMs),
    ...skipOf('overlap', slots.slice(0, slots.length - chosen.length)),
    ...skipOf(
      'max-runs',
      chosen.slice(runs.length).map((run) => run.slot),
    ),
  ]
  const isOver = runs.length === 0 && isUsedUp(schedule, open)
  const waitsForFinish = afterFinish && !isOver && runs.length + countOf(open) > 0
  return {
    ...(waitsForFinish
      ? { ...unchanged(schedule), nextRunAt: null, idle: 'awaiting-finish' }
      : withNextRun(schedule, isOver ? null : nextRunAt)),
    runs: runs.map((run, index) => ({ ...run, missed: index === 0 ? due.dropped : 0 })),
    skips,
    replaces: replaces && runs.length > 0,
    yields: yields && (runs.length > 0 || openBefore.blocked > 0),
  }
}

/** Whether every job that would block a new one is waiting for a retry, and gives way. */
function mayYield({ yields, overlap }: Plannable, open: OpenJobs): boolean {
  const isExclusive = overlap === 'skip' || overlap === 'queue-one'
  return yields && isExclusive && open.retrying > 0 && open.retrying === open.waiting && open.running === 0
}

/** After jobs have given way to a new one, the first blocked job takes their place. */
function afterYield({ blocked }: OpenJobs): OpenJobs {
  return { ...NO_OPEN_JOBS, waiting: Math.min(1, blocked), blocked: Math.max(0, blocked - 1) }
}

/** The runs that the overlap policy allows, for the newest slots. Unless runs may overlap, each blocks the next. */
function choose(
  overlap: Overlap,
  slots: readonly Date[],
  open: OpenJobs,
): readonly Omit<PlannedRun, 'missed'>[] {
  if (overlap === 'allow') return slots.map((slot) => ({ slot, state: 'waiting' }))
  if (countOf(open) === 0)
    return slots.map((slot, index) => ({ slot, state: index === 0 ? 'waiting' : 'blocked' }))
  const newest = slots.slice(-1)
  switch (overlap) {
    case 'skip':
      return []
    case 'queue-one':
      return open.blocked > 0 ? [] : newest.map((slot) => ({ slot, state: 'blocked' }))
    case 'replace':
      return newest.map((slot) => ({ slot, state: open.running > 0 ? 'blocked' : 'waiting' }))
  }
}

function skipOf(reason: SkipReason, slots: readonly Date[]): PlannedSkip[] {
  const newest = slots.at(-1)
  return newest === undefined ? [] : [{ slot: newest, reason, count: slots.length, error: null }]
}

function missedSkip(
  { newestDropped: slot, dropped: count, since }: DueSlots,
  now: Date,
  afterMs: number,
): PlannedSkip[] {
  if (slot === null) return []
  return [{ slot, reason: 'missed', count, error: null, wasAway: now.getTime() - since.getTime() > afterMs }]
}

/** The number of further runs that may be submitted, assuming that all open runs succeed. */
function runsLeft({ maxRuns, successes }: Plannable, open: OpenJobs, replaces: boolean): number {
  if (maxRuns === null) return Infinity
  return Math.max(0, maxRuns - successes - (replaces ? open.running : countOf(open)))
}
