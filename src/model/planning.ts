/** What the planner reads and returns, and the basic plans that all of its modules start from. Pure. */
import type { Elapses } from '../timer/index.ts'
import { picked, PLAN_COLUMNS, SCHEDULE_COLUMNS, type Values } from './columns.ts'
import { SETTINGS } from './settings.ts'
import type { Idle, SkipReason } from './states.ts'

/** The columns of a schedule that planning reads. The slots of an `every` timer are counted from `createdAt`. */
export const PLANNING_COLUMNS = {
  ...picked(SETTINGS, [
    'task',
    'enabled',
    'timer',
    'overlap',
    'yields',
    'catchUp',
    'jitter',
    'starts',
    'ends',
    'maxRuns',
    'onExhausted',
    'group',
  ]),
  ...picked(SCHEDULE_COLUMNS, ['createdAt', 'nextRunAt', 'lastSlot', 'lastError', 'frozenUntil']),
  idle: PLAN_COLUMNS.idle,
}

/** A schedule as planning reads it. Slots before `frozenUntil` became due during a freeze. */
export interface Plannable extends Values<typeof PLANNING_COLUMNS> {
  readonly id: string
  readonly successes: number
  /** All settings that determine the next run, as one string. */
  readonly definition: string
  /** The definition at the last planning; null before the first. */
  readonly plannedDefinition: string | null
  /** The nextRunAt that the last planning set. */
  readonly plannedRun: Date | null
  /** Whether plannedRun was set manually and kept, instead of computed from the timer. */
  readonly isByHand: boolean
}

/** The values that determine the elapses of a schedule. */
export interface TimedSchedule
  extends Pick<Plannable, 'id' | 'timer' | 'createdAt' | 'jitter' | 'starts' | 'ends'> {
  /** Omitted if the schedule has not been planned yet. */
  readonly nextRunAt?: Date | null | undefined
}

/** A schedule's jobs that are not final, counted by state. */
export interface OpenJobs {
  readonly waiting: number
  readonly blocked: number
  /** This includes jobs in an external queue. */
  readonly running: number
  /** How many of the waiting jobs wait for a retry. */
  readonly retrying: number
}

export const NO_OPEN_JOBS: OpenJobs = { waiting: 0, blocked: 0, running: 0, retrying: 0 }

export interface PlannedRun {
  readonly slot: Date
  /** The number of slots that were dropped before this one. */
  readonly missed: number
  /** blocked: the job waits until the previous run finishes. */
  readonly state: 'waiting' | 'blocked'
}

/** Slots that do not become runs, stored as one row. */
export interface PlannedSkip {
  /** The newest of these slots. */
  readonly slot: Date
  readonly reason: SkipReason
  readonly count: number
  readonly error: string | null
  /** For missed slots: whether the oldest was no longer on time, as after downtime. */
  readonly wasAway?: boolean
}

export interface Plan {
  readonly runs: readonly PlannedRun[]
  readonly skips: readonly PlannedSkip[]
  /** Whether waiting jobs are replaced by the new job and running jobs are asked to stop. */
  readonly replaces: boolean
  /** Whether jobs that wait for a retry fail because a new job takes their place. */
  readonly yields: boolean
  readonly nextRunAt: Date | null
  readonly isByHand: boolean
  readonly idle: Idle | null
  /** Moves back only if the clock was ahead and the schedule is planned again manually. */
  readonly lastSlot: Date | null
  readonly lastError: string | null
  /** Nothing is decided before this time, because a freeze is active. */
  readonly frozenUntil: Date | null
}

export interface Circumstances {
  /** By the database's clock. */
  readonly now: Date
  readonly open: OpenJobs
  /** A slot is on time if it has been due for at most this long: lease + poll interval, in milliseconds. */
  readonly missedAfterMs: number
  /** The periods of all freezes that apply to the schedule from its next run onwards, including ended freezes. */
  readonly freezes?: readonly FrozenTime[]
}

/** `from` inclusive, `until` exclusive. */
export interface FrozenTime {
  readonly from: Date
  readonly until: Date
}

/** A schedule with a valid timer. */
export interface Readable {
  readonly schedule: Plannable
  readonly event: Elapses
  /** The elapses that may be due: none after the first if the timer counts from the end of a run. */
  readonly slots: Elapses
  readonly afterFinish: boolean
}

export function countOf({ waiting, blocked, running }: OpenJobs): number {
  return waiting + blocked + running
}

export function withNextRun(schedule: Plannable, nextRunAt: Date | null): Plan {
  return { ...unchanged(schedule), nextRunAt, idle: nextRunAt === null ? 'done' : null }
}

export function unchanged(schedule: Plannable): Plan {
  const { nextRunAt, idle, lastSlot, lastError } = schedule
  return {
    runs: [],
    skips: [],
    replaces: false,
    yields: false,
    nextRunAt,
    isByHand: false,
    idle,
    lastSlot,
    lastError,
    frozenUntil: null,
  }
}

export function laterOf(now: Date, lastSlot: Date | null): Date {
  return lastSlot !== null && lastSlot > now ? lastSlot : now
}

/** Now, or just after the last slot if that is not in the past, for example because the clock was set back. */
export function nowAfter(now: Date, lastSlot: Date | null): Date {
  return lastSlot !== null && lastSlot >= now ? new Date(lastSlot.getTime() + 1) : now
}

export function isUsedUp({ maxRuns, successes }: Plannable, open: OpenJobs): boolean {
  return maxRuns !== null && successes >= maxRuns && countOf(open) === 0
}
