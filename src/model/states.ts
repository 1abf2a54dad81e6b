export const OPEN_STATES = ['waiting', 'blocked', 'running', 'external'] as const
export const FINAL_STATES = ['success', 'failed', 'cancelled', 'skipped'] as const
export const JOB_STATES = [...OPEN_STATES, ...FINAL_STATES] as const

/** How a job ended. skipped: the slot did not become a run. @useDeclaredType */
export type FinalState = (typeof FINAL_STATES)[number]
/**
 * waiting, blocked, running and external are not final. A job that waits for a retry is `waiting` with attempt > 0.
 * external: the job was handed over to an external queue, whose report finishes it.
 *
 * @useDeclaredType
 */
export type JobState = (typeof JOB_STATES)[number]

export function isFinal(state: JobState): state is FinalState {
  return !OPEN_STATES.some((open) => open === state)
}

export const SKIP_REASONS = ['overlap', 'missed', 'frozen', 'max-runs', 'unsubmittable'] as const
/** Why a slot did not become a run. @useDeclaredType */
export type SkipReason = (typeof SKIP_REASONS)[number]

/**
 * Why a job was skipped, failed, was cancelled, or was run or retried manually; `handed-over` means that the job is in an external
 * queue that does not report outcomes.
 */
// biome-ignore format: by state
export const REASONS = [
  ...SKIP_REASONS,
  'exhausted', 'permanent', 'lost', 'yielded', 'unreported',
  'replaced', 'paused',
  'run-now', 'retried',
  'handed-over',
] as const

/** Why a schedule has no next run. */
export const IDLE = ['awaiting-finish', 'done', 'dead', 'invalid', 'retired'] as const
export type Idle = (typeof IDLE)[number]

export const STATUSES = [
  'active',
  'retrying',
  'frozen',
  'paused',
  'done',
  'dead',
  'invalid',
  'retired',
] as const
/**
 * The status of a schedule, as shown to people. paused: not enabled, regardless of anything else. retrying: the last
 * attempt of a job failed, and the job is being retried; the schedule is planned as usual. frozen: a slot became due
 * during a freeze.
 *
 * @useDeclaredType
 */
export type ScheduleStatus = (typeof STATUSES)[number]

/** The outcomes of attempts that have their own row. A success has no row, because its job's row stores it. */
export const STORED_OUTCOMES = ['failed', 'timeout', 'cancelled', 'released', 'snoozed', 'lost'] as const
/** The outcome of an attempt that did not succeed. @useDeclaredType */
export type StoredOutcome = (typeof STORED_OUTCOMES)[number]

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const
/** The level of a line in a job's log. @useDeclaredType */
export type LogLevel = (typeof LOG_LEVELS)[number]
