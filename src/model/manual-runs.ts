/** Pure rules for manual runs. The store calls them while it holds the locks. */
import { ConflictError } from '../errors.ts'
import { isAhead } from './clock-ahead.ts'
import { type Job } from './job.ts'
import { isFinal, type JobState } from './states.ts'
import type { Schedule } from './schedule.ts'
import type { Overlap } from './settings.ts'

/** The schedule's first job that is not final. */
export interface OpenJob {
  /** The id that the caller sees, or null if the job belongs to another owner. */
  readonly id: string | null
  readonly state: JobState
  /** The number of the schedule's jobs that are not final. */
  readonly number: number
}

export interface ScheduleToRun extends Pick<Schedule, 'id' | 'task' | 'overlap' | 'lastSlot' | 'runCount'> {
  readonly open: OpenJob | null
  /** The number of the schedule's newest run, or 0 if there is none yet. */
  readonly latestRun: number
}

export interface ManualRun {
  readonly slot: Date
  readonly run: number
}

/** @param now  by the database's clock @throws ConflictError if a job is open and runs may not overlap */
export function runNow(schedule: ScheduleToRun, now: Date): ManualRun {
  const { id, overlap, lastSlot, runCount, open, latestRun } = schedule
  if (open !== null && overlap !== 'allow') throw openJobConflict(`The schedule '${id}' cannot run now`, open)
  return {
    slot: slotOfNow(lastSlot, now),
    run: nextRunNumber(Math.max(runCount + (open?.number ?? 0), latestRun)),
  }
}

/** Slots only increase, so that each run has a different slot. Slots decided while the clock was ahead do not count. */
function slotOfNow(lastSlot: Date | null, now: Date): Date {
  if (lastSlot === null || lastSlot < now || isAhead(lastSlot, now)) return now
  return new Date(lastSlot.getTime() + 1)
}

export function nextRunNumber(number: number): number {
  return Math.min(number + 1, Number.MAX_SAFE_INTEGER)
}

export interface JobToRetry extends Pick<Job, 'id' | 'task' | 'state' | 'queue' | 'scheduleId'> {
  /** The overlap policy of the job's schedule, or null if the job has no schedule or the schedule was deleted. */
  readonly overlap: Overlap | null
  /** Another open job of its schedule, or null if there is none or runs may overlap. */
  readonly open: OpenJob | null
}

/**
 * @returns `exclusive`: no other job of its schedule may run at the same time. The schedule's current policy decides;
 *   without a schedule, the job is exclusive (a deleted schedule submits no more jobs)
 * @throws ConflictError when the job is neither failed nor cancelled, belongs to an external queue, or would overlap
 *   another job of its schedule
 */
export function retry(job: JobToRetry): { readonly exclusive: boolean } {
  const { id, state, queue, scheduleId, overlap, open } = job
  if (state !== 'failed' && state !== 'cancelled')
    throw new ConflictError(`The job ${id} is ${state}; only a failed or cancelled job can be retried`)
  if (queue !== null)
    throw new ConflictError(
      `The job ${id} belongs to the external queue '${queue}', which already knows its id: submit it again there, or ${scheduleId === null ? 'submit another job' : `run the schedule '${scheduleId}' now`}`,
    )
  const exclusive = overlap !== 'allow'
  if (exclusive && open !== null)
    throw openJobConflict(`The job ${id} of the schedule '${scheduleId}' cannot run again now`, open)
  return { exclusive }
}

export function cancel({ state }: Pick<Job, 'state'>): 'cancel' | 'request stop' | null {
  if (isFinal(state)) return null
  return state === 'running' ? 'request stop' : 'cancel'
}

/** @param refusal  what cannot be done now, as the start of the message */
function openJobConflict(refusal: string, { id, state }: OpenJob): ConflictError {
  if (id === null)
    return new ConflictError(
      `${refusal}: a job of this schedule that you cannot see is ${state}; wait until it finishes`,
    )
  return new ConflictError(
    `${refusal}: the job ${id} of this schedule is ${state}; wait until it finishes, or cancel it`,
    { jobId: id },
  )
}
