/**
 * Why a schedule did or did not run, and when it will next, in words. Pure: it reads what the rows say.
 */
import type { Job } from '../model/job.ts'
import { elapsesOf } from '../model/plan.ts'
import type { Schedule } from '../model/schedule.ts'
import { inWords, localText, timer } from '../timer/index.ts'

/** Why a schedule did or did not run, and when it will next. */
export interface Explanation {
  readonly schedule: string
  readonly status: Schedule['status']
  readonly nextRun: Date | null
  /** Sentences, the most telling first. */
  readonly reasons: readonly string[]
}

/** What an explanation is drawn from. */
export interface Evidence {
  readonly schedule: Schedule
  /** Its jobs and skips, newest first. */
  readonly history: readonly Job[]
  /** The tasks that live workers run. */
  readonly handledTasks: ReadonlySet<string>
  readonly now: Date
  /** The time that is asked about; null: now. */
  readonly at: Date | null
}

export function explain(evidence: Evidence): Explanation {
  const { schedule, at } = evidence
  const reasons = [
    ...(at === null ? [] : aboutTime(evidence, at)),
    aboutStatus(evidence),
    ...aboutOpenJob(evidence),
    ...aboutLastRun(evidence),
  ]
  return { schedule: schedule.id, status: schedule.status, nextRun: schedule.nextRun, reasons }
}

function aboutStatus({ schedule, now }: Evidence): string {
  const { status, nextRun, lastError, maxRuns, ends } = schedule
  switch (status) {
    case 'paused':
      return 'It is paused (enabled = 0): nothing is submitted until it is resumed, and then it is planned from that moment.'
    case 'invalid':
      return `Its timer '${schedule.timer}' cannot be read: ${lastError ?? 'no reason was recorded'} It goes on as soon as the timer is edited.`
    case 'dead':
      return `It is dead: a run failed for good, and on_exhausted is 'stop'. The last error: ${firstLine(lastError)} Reset revives it.`
    case 'retired':
      return `It is retired: the set '${schedule.declaredBy}' does not declare it any more. It goes on when it is declared again.`
    case 'done':
      if (maxRuns !== null && schedule.runCount - schedule.errorCount >= maxRuns) {
        return `It is done: it succeeded ${maxRuns} times, which is its max_runs. Reset, or a larger max_runs, revives it.`
      }
      if (ends !== null && ends < now) return `It is done: it ended at ${shown(ends, schedule)}.`
      return `It is done: its timer '${schedule.timer}' does not elapse any more.`
    case 'active':
      if (schedule.idle === 'running') return 'Its next run is counted from the end of the current one.'
      if (nextRun === null)
        return 'It has not been planned yet: a scheduler will do so within the wake-up period, if one runs.'
      if (nextRun < now)
        return `It was due at ${shown(nextRun, schedule)} and has not been submitted yet: no scheduler runs, or its row is held by an open transaction.`
      return `It runs ${inWords(timer(schedule.timer))}; next at ${shown(nextRun, schedule)}.`
  }
}

function aboutOpenJob({ history, schedule, handledTasks, now }: Evidence): string[] {
  return history.flatMap((job): string[] => {
    if (job.state === 'running')
      return [
        `The job ${job.id} is running since ${shown(job.started ?? now, schedule)} on ${job.worker}, in attempt ${job.attempt}.`,
      ]
    if (job.state === 'blocked') return [`The job ${job.id} waits for the end of the one before it.`]
    if (job.state !== 'waiting') return []
    if (job.runAt !== null && job.attempt > 0)
      return [
        `The job ${job.id} is retried at ${shown(job.runAt, schedule)}, after attempt ${job.attempt} failed: ${firstLine(job.error)}`,
      ]
    if (!handledTasks.has(job.task))
      return [`The job ${job.id} waits because no live worker handles the task '${job.task}'.`]
    return [`The job ${job.id} waits since ${shown(job.submitted, schedule)} for a worker that has room.`]
  })
}

function aboutLastRun({ schedule }: Evidence): string[] {
  if (schedule.lastRun === null) return ['It has not run yet.']
  const outcome =
    schedule.lastError === null ? 'and succeeded' : `and failed: ${firstLine(schedule.lastError)}`
  return [`It last ran at ${shown(schedule.lastRun, schedule)} ${outcome}`.replace(/([^.])$/u, '$1.')]
}

/** What happened to the elapse of the minute that is asked about. */
function aboutTime({ schedule, history, now }: Evidence, at: Date): string[] {
  const when = shown(at, schedule)
  const slot = elapseInMinute(schedule, at)
  const run = history.find(
    (job) => job.state !== 'skipped' && job.slot !== null && sameMinute(job.slot, slot ?? at),
  )
  if (run !== undefined)
    return [
      `It ran for ${shown(run.slot ?? at, schedule)}: the job ${run.id} is ${run.state}${run.error === null ? '' : `: ${firstLine(run.error)}`}.`,
    ]
  if (slot === null) {
    const next = nextAfter(schedule, at)
    return [
      `Its timer does not elapse at ${when}${next === null ? '' : `; the next time after that is ${shown(next, schedule)}`}.`,
    ]
  }
  const skip = history.findLast((job) => job.state === 'skipped' && job.slot !== null && job.slot >= slot)
  const later = history.findLast((job) => job.slot !== null && job.slot >= slot)
  // A skip stands for the slots up to its own: it speaks for this one if nothing else lies between.
  if (skip !== undefined && skip === later)
    return [`It did not run for ${shown(slot, schedule)}: ${skipWords(skip)}`]
  if (slot > now) return [`${shown(slot, schedule)} is still to come.`]
  if (slot < schedule.created)
    return [`It did not run at ${when}: it was created at ${shown(schedule.created, schedule)}.`]
  if (later !== undefined && later.missed > 0)
    return [
      `It did not run for ${shown(slot, schedule)}: no scheduler was up; the job ${later.id} stands for it and ${later.missed} missed in all.`,
    ]
  return [
    `Nothing is recorded for ${shown(slot, schedule)}: it was paused or had another timer then, or its history was pruned.`,
  ]
}

function skipWords(skip: Job): string {
  const many = skip.missed > 1 ? ` (${skip.missed} slots in a row)` : ''
  switch (skip.reason) {
    case 'overlap':
      return `the run before it had not ended${many}.`
    case 'missed':
      return `no scheduler was up, and no more than catch_up missed runs are made up${many}.`
    case 'max runs':
      return `as many runs as max_runs allows were under way${many}.`
    default:
      return `it could not be submitted${many}: ${firstLine(skip.error)}`
  }
}

function elapseInMinute(schedule: Schedule, at: Date): Date | null {
  const minute = Math.floor(at.getTime() / 60_000) * 60_000
  const next = nextAfter(schedule, new Date(minute - 1))
  return next !== null && next.getTime() < minute + 60_000 ? next : null
}

function nextAfter(schedule: Schedule, after: Date): Date | null {
  try {
    return elapsesOf(schedule).next(after)
  } catch {
    return null
  }
}

function sameMinute(one: Date, other: Date): boolean {
  return Math.floor(one.getTime() / 60_000) === Math.floor(other.getTime() / 60_000)
}

/** In the timer's zone, so that it compares with the timer. */
function shown(at: Date, schedule: Schedule): string {
  let zone = 'UTC'
  try {
    ;({ zone } = timer(schedule.timer))
  } catch {
    // An invalid timer has no zone.
  }
  return `${localText(at, zone)} (${zone})`
}

function firstLine(text: string | null): string {
  return text === null ? 'none was recorded' : (text.split('\n')[0] ?? '')
}
