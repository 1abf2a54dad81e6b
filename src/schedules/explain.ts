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
  /** Its jobs that are not final: those that run first. */
  readonly open: readonly Job[]
  /** Its jobs and skips from the minute on that is asked about, oldest first. */
  readonly around: readonly Job[]
  readonly liveWorkers: number
  /** The tasks that live workers run. */
  readonly handledTasks: ReadonlySet<string>
  /** Whether the reader may know the ids of workers. */
  readonly namesWorkers: boolean
  readonly now: Date
  /** The time that is asked about; null: now. */
  readonly at: Date | null
}

export function explain(evidence: Evidence): Explanation {
  const { schedule, at } = evidence
  const reasons = [
    ...(at === null ? [] : aboutTime(evidence, at)),
    ...aboutStatus(evidence),
    ...aboutOpenJobs(evidence),
    ...aboutTask(evidence),
    ...aboutLastRun(evidence),
  ]
  return { schedule: schedule.id, status: schedule.status, nextRun: schedule.nextRun, reasons }
}

export function startOfMinute(at: Date): Date {
  return new Date(Math.floor(at.getTime() / MINUTE_MS) * MINUTE_MS)
}

const MINUTE_MS = 60_000

function aboutStatus({ schedule, liveWorkers, namesWorkers, now }: Evidence): string[] {
  const { status, nextRun, lastError, maxRuns, ends, declaredBy } = schedule
  switch (status) {
    case 'paused':
      return [
        'It is paused (enabled = 0): nothing is submitted until it is resumed, and then it is planned from that moment.',
      ]
    case 'invalid':
      return [
        sentence(`Its timer '${schedule.timer}' cannot be read: ${firstLine(lastError)}`),
        'It goes on as soon as the timer is edited.',
      ]
    case 'dead':
      return [
        `It is dead: a run failed permanently, and on_exhausted is 'stop'. Reset revives it.`,
        ...(lastError === null ? [] : [sentence(`The last error was: ${firstLine(lastError)}`)]),
      ]
    case 'retired':
      return [
        `It is retired: no live worker declares it any more in the set '${declaredBy ?? ''}'. It goes on when it is declared again.`,
      ]
    case 'done':
      if (maxRuns !== null && schedule.runCount - schedule.errorCount >= maxRuns) {
        return [
          `It is done: it has succeeded ${times(schedule.runCount - schedule.errorCount)}, and max_runs is ${maxRuns}. Reset, or a larger max_runs, revives it.`,
        ]
      }
      if (ends !== null && ends < now)
        return [`It is done: it ended at ${shown(ends, schedule)}. A later end revives it.`]
      return [`It is done: its timer '${schedule.timer}' does not elapse any more. Another timer revives it.`]
    case 'active':
      if (schedule.idle === 'awaiting finish')
        return ['Its next run is counted from the end of the current one, which has not ended.']
      if (nextRun === null || nextRun <= now) {
        const due =
          nextRun === null ? 'It has not been planned yet' : `It is due since ${shown(nextRun, schedule)}`
        if (schedule.markedBy !== null)
          return [
            `${due}: ${namesWorkers ? `the worker ${schedule.markedBy}` : 'a worker'} is submitting it.`,
          ]
        return [
          liveWorkers === 0
            ? `${due}, and no worker is alive to do it.`
            : `${due}: a scheduler does it within its poll interval, unless none runs or an open transaction holds its row.`,
        ]
      }
      return [`It runs ${inWords(timer(schedule.timer))}; next at ${shown(nextRun, schedule)}.`]
  }
}

function aboutOpenJobs({ open, schedule, handledTasks, namesWorkers, now }: Evidence): string[] {
  return open.map((job): string => {
    if (job.state === 'running') {
      const asked = job.stopRequested === null ? '' : '; it was asked to stop'
      return `The job ${job.id} is running since ${shown(job.started ?? now, schedule)} on ${(namesWorkers ? job.worker : null) ?? 'a worker'}, in its ${ordinal(job.attempt)} attempt${asked}.`
    }
    if (job.state === 'blocked') return `The job ${job.id} waits for the end of the one before it.`
    if (job.runAt !== null && job.attempt > 0) {
      const most = job.maxRetries === null ? '' : ` of ${job.maxRetries + 1}`
      return sentence(
        `The job ${job.id} is tried again at ${shown(job.runAt, schedule)}; attempt ${job.attempt}${most} failed: ${firstLine(job.error)}`,
      )
    }
    if (!handledTasks.has(job.task))
      return `The job ${job.id} waits because no live worker handles the task '${job.task}'.`
    return `The job ${job.id} waits since ${shown(job.submitted, schedule)} for a worker that has room.`
  })
}

/** Before it is found out by a job that waits. Workers without any task have another queue. */
function aboutTask({ schedule, open, handledTasks }: Evidence): string[] {
  if (schedule.status !== 'active' || open.length > 0) return []
  if (handledTasks.size === 0 || handledTasks.has(schedule.task)) return []
  return [`No live worker handles the task '${schedule.task}': its jobs will wait.`]
}

function aboutLastRun({ schedule }: Evidence): string[] {
  const { lastRun, lastError, lastSlot } = schedule
  if (lastRun === null) return lastSlot === null ? ['It has not run yet.'] : []
  const outcome = lastError === null ? 'and succeeded' : `and failed: ${firstLine(lastError)}`
  return [sentence(`It last ran at ${shown(lastRun, schedule)} ${outcome}`)]
}

/** What became of the elapse in the minute that is asked about, or of the run that somebody asked for in it. */
function aboutTime(evidence: Evidence, at: Date): string[] {
  const { schedule, around, now } = evidence
  const elapse = elapseInMinute(schedule, at)
  const endOfMinute = startOfMinute(at).getTime() + MINUTE_MS
  const runs = around.filter(
    (job) => job.state !== 'skipped' && job.slot !== null && job.slot.getTime() < endOfMinute,
  )
  // Asked about to the second, an elapse is told of by itself; else the first run of the minute will do.
  const isExact = elapse?.getTime() === at.getTime()
  const run = isExact ? runs.find((job) => job.slot?.getTime() === at.getTime()) : runs[0]
  if (run !== undefined) return [aboutRun(run, schedule)]
  if (elapse === null) return [aboutNoElapse(schedule, at)]
  const when = shown(elapse, schedule)
  if (elapse > now) return [`${when} is still to come.`]
  if (elapse < schedule.created)
    return [`It did not run at ${when}: it was created only at ${shown(schedule.created, schedule)}.`]
  const next = around.find((job) => job.slot !== null && job.slot >= elapse)
  // A skip stands at the newest of the slots in a row that it counts, and a run may stand for slots before it.
  if (next?.slot && standsFor(next, next.slot, elapse, schedule)) {
    if (next.state === 'skipped')
      return [sentence(`It did not run for ${when}: ${skipWords(next, schedule)}`)]
    return [
      `It did not run for ${when}: no scheduler was up then. The job ${next.id} for ${shown(next.slot, schedule)} stands for all ${next.missed} that were missed.`,
    ]
  }
  if (next === undefined && schedule.nextRun !== null && schedule.nextRun <= elapse)
    return [`${when} has come, and has not been submitted yet.`]
  return [
    `Nothing is recorded for ${when}: it was paused, retired or had another timer then, its history was pruned, or its jobs go to another queue.`,
  ]
}

function aboutRun(job: Job, schedule: Schedule): string {
  const slot = shown(job.slot ?? job.submitted, schedule)
  const asked = job.reason === 'run now' ? ', because somebody asked for it' : ''
  const error = job.error === null ? '' : `: ${firstLine(job.error)}`
  switch (job.state) {
    case 'success':
      return `It ran for ${slot}${asked}: the job ${job.id} succeeded at ${shown(job.finished ?? job.submitted, schedule)}.`
    case 'failed':
      return sentence(
        `It ran for ${slot}${asked}: the job ${job.id} failed in its ${ordinal(job.attempt)} attempt${error}`,
      )
    case 'cancelled':
      return sentence(
        job.reason === 'replaced'
          ? `It was submitted for ${slot}${asked}: the job ${job.id} gave way to a newer one (overlap = 'replace')`
          : `It was submitted for ${slot}${asked}: the job ${job.id} was cancelled${error}`,
      )
    default:
      return `It was submitted for ${slot}${asked}: the job ${job.id} is ${job.state}.`
  }
}

function aboutNoElapse(schedule: Schedule, at: Date): string {
  const when = shown(at, schedule)
  const { starts, ends } = schedule
  if (starts !== null && at < starts)
    return `It does not run at ${when}: it starts at ${shown(starts, schedule)}.`
  if (ends !== null && at > ends) return `It does not run at ${when}: it ended at ${shown(ends, schedule)}.`
  const next = nextAfter(schedule, at)
  return `Its timer does not elapse at ${when}${next === null ? ', nor later' : `; the next time after that is ${shown(next, schedule)}`}.`
}

function skipWords(skip: Job, schedule: Schedule): string {
  const many =
    skip.missed > 1 && skip.slot !== null
      ? ` This holds for ${skip.missed} slots in a row, up to ${shown(skip.slot, schedule)}`
      : ''
  switch (skip.reason) {
    case 'overlap':
      return `the run before it had not ended (overlap = '${schedule.overlap}').${many}`
    case 'missed':
      return `no scheduler was up in time, and no more missed slots are made up than catch_up says (${schedule.catchUp}).${many}`
    case 'max runs':
      return `as many runs as max_runs allows had succeeded or were under way.${many}`
    default:
      return `it could not be submitted: ${sentence(firstLine(skip.error))}${many}`
  }
}

function elapseInMinute(schedule: Schedule, at: Date): Date | null {
  const minute = startOfMinute(at).getTime()
  const inMinute = (elapse: Date | null) =>
    elapse !== null && elapse.getTime() < minute + MINUTE_MS ? elapse : null
  // The one that is asked about to the second, else the first.
  const second = nextAfter(schedule, new Date(at.getTime() - 1))
  return second?.getTime() === at.getTime() ? second : inMinute(nextAfter(schedule, new Date(minute - 1)))
}

/** Whether there are no more slots from the elapse on than it counts: a skip its own among them, a run before its own. */
function standsFor(job: Job, slot: Date, elapse: Date, schedule: Schedule): boolean {
  let count = 0
  for (let at: Date | null = elapse; at !== null && count <= job.missed; at = nextAfter(schedule, at)) {
    if (job.state === 'skipped' ? at > slot : at >= slot) break
    count += 1
  }
  return count > 0 && count <= job.missed
}

function nextAfter(schedule: Schedule, after: Date): Date | null {
  try {
    return elapsesOf(schedule).next(after)
  } catch {
    return null
  }
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
  return text === null ? 'no reason was recorded' : (text.split('\n')[0] ?? '')
}

function sentence(text: string): string {
  return /[.!?]$/u.test(text) ? text : `${text}.`
}

function times(count: number): string {
  return count === 1 ? 'once' : `${count} times`
}

function ordinal(count: number): string {
  return ['first', 'second', 'third'][count - 1] ?? `${count}th`
}
