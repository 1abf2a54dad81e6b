import type { HourCount, TimerGroup } from '../store/list-store.ts'
import { elapsesWithin, timer } from '../timer/index.ts'

const HOUR_MS = 3_600_000
/** Maximum number of elapses to calculate for one group of schedules; the rest is extrapolated. */
const MAX_OF_ONE = 20_000
/** Maximum number of elapses in total. */
const MAX = 300_000
const STEPS_PER_PAUSE = 200

/** Planned and finished runs in one hour. */
export interface HourLoad {
  /** The start of the hour. */
  readonly hour: Date
  /** Runs that are planned. */
  readonly planned: number
  /** Jobs that ended, by state. */
  readonly ended: Readonly<Record<string, number>>
}

/** Planned and finished runs per hour. */
export interface Load {
  readonly from: Date
  readonly to: Date
  readonly hours: readonly HourLoad[]
  /** The number of active, retrying and frozen schedules that were counted. */
  readonly schedules: number
  /** Whether `planned` was counted completely; otherwise it is extrapolated, or covers only some of the schedules. */
  readonly plannedIsExact: boolean
  /** Whether `ended` reaches back to the first hour; otherwise the first hours are missing or incomplete. */
  readonly endedIsComplete: boolean
}

/** @param pause  called regularly, so that other work can run; if it returns false, the remaining groups are skipped */
export async function planned(
  groups: readonly TimerGroup[],
  from: Date,
  hours: number,
  pause: () => Promise<boolean>,
): Promise<{ readonly hours: readonly number[]; readonly isExact: boolean }> {
  const counts = Array.from({ length: hours }, () => 0)
  const end = from.getTime() + hours * HOUR_MS
  let left = MAX
  let isExact = true
  for (const group of groups) {
    if (!(await pause())) {
      isExact = false
      break
    }
    const walk = await walked(group, from, end, Math.min(MAX_OF_ONE, left), pause)
    if (walk === null) continue
    left -= walk.elapses.length
    isExact &&= walk.until === end
    for (const at of walk.elapses) spread(counts, from.getTime(), at, group)
    if (walk.until < end && walk.elapses.length > 0) {
      const rate = walk.elapses.length / Math.max(1, walk.until - from.getTime())
      addRate(counts, from.getTime(), walk.until, end, rate * group.schedules)
    }
  }
  return { hours: counts.map((count) => Math.round(count)), isExact }
}

/** @returns the elapses until `until`, or null when the timer is invalid: its schedules show the error */
async function walked(
  group: TimerGroup,
  from: Date,
  end: number,
  most: number,
  pause: () => Promise<boolean>,
): Promise<{ readonly elapses: readonly number[]; readonly until: number } | null> {
  try {
    const event = elapsesWithin(timer(group.timer), {
      anchor: group.createdAt,
      shiftMs: 0,
      starts: group.starts,
      ends: group.ends,
    })
    const elapses: number[] = []
    for (
      let at = event.next(new Date(from.getTime() - 1));
      at !== null && at.getTime() < end;
      at = event.next(at)
    ) {
      if (elapses.length >= most) return { elapses, until: at.getTime() }
      elapses.push(at.getTime())
      if (elapses.length % STEPS_PER_PAUSE === 0) await pause()
    }
    return { elapses, until: end }
  } catch {
    return null
  }
}

/** Spreads the schedules of a group evenly over the span of their jitter. */
function spread(counts: number[], from: number, at: number, { jitter, schedules }: TimerGroup): void {
  const add = (time: number, share: number) => {
    const hour = Math.floor((time - from) / HOUR_MS)
    if (hour >= 0 && hour < counts.length) counts[hour] = (counts[hour] ?? 0) + share
  }
  if (jitter < HOUR_MS / 4) return add(at, schedules)
  const steps = Math.min(48, Math.ceil(jitter / (HOUR_MS / 4)))
  for (let step = 0; step < steps; step += 1) add(at + ((step + 0.5) * jitter) / steps, schedules / steps)
}

function addRate(counts: number[], from: number, start: number, end: number, perMs: number): void {
  for (let hour = Math.floor((start - from) / HOUR_MS); hour < counts.length; hour += 1) {
    const begin = Math.max(start, from + hour * HOUR_MS)
    const until = Math.min(end, from + (hour + 1) * HOUR_MS)
    counts[hour] = (counts[hour] ?? 0) + perMs * Math.max(0, until - begin)
  }
}

export function hourLoads(
  from: Date,
  plannedRuns: readonly number[],
  ended: readonly HourCount[],
): HourLoad[] {
  const byHour = new Map<number, Record<string, number>>()
  for (const { hour, state, jobs } of ended) {
    const states = byHour.get(hour.getTime()) ?? {}
    states[state] = (states[state] ?? 0) + jobs
    byHour.set(hour.getTime(), states)
  }
  return plannedRuns.map((count, index) => {
    const hour = new Date(from.getTime() + index * HOUR_MS)
    return { hour, planned: count, ended: byHour.get(hour.getTime()) ?? {} }
  })
}
