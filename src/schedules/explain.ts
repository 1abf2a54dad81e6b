import { firstLine } from '../errors.ts'
import { slotInFuture } from '../model/future-slots.ts'
import type { Job } from '../model/job.ts'
import { ordinal } from '../model/open-job.ts'
import { elapsesOf } from '../model/plan.ts'
import { EVERY_TASK } from '../model/task.ts'
import type { Schedule } from '../model/schedule.ts'
import { type Elapses, inWords, timer } from '../timer/index.ts'
import { type Evidence, MINUTE_MS, shown, startOfMinute } from './evidence.ts'

/** Why a schedule did or did not run, and when it will run next. */
export interface Explanation {
  readonly scheduleId: string
  readonly status: Schedule['status']
  readonly nextRunAt: Date | null
  /** Sentences, the most informative first. */
  readonly reasons: readonly string[]
}

export function explain(evidence: Evidence): Explanation {
  const { schedule, at } = evidence
  const reasons = [
    ...(at === null ? [] : aboutTime(evidence, at)),
    ...aboutFreezes(evidence),
    ...aboutStatus(evidence),
    ...evidence.open.map((job, index) => sentence(`The job ${job.id} ${evidence.openTexts[index] ?? ''}`)),
    ...evidence.leftOver.map((job, index) =>
      sentence(
        `The job ${job.id} of a deleted schedule with the same id ${evidence.leftOverTexts[index] ?? ''}. It neither delays this schedule nor counts for it`,
      ),
    ),
    ...aboutTask(evidence),
    ...aboutLastRun(evidence),
  ]
  return { scheduleId: schedule.id, status: schedule.status, nextRunAt: schedule.nextRunAt, reasons }
}

function aboutFreezes({ freezes, schedule }: Evidence): string[] {
  const last = freezes.toSorted((a, b) => b.until.getTime() - a.until.getTime())[0]
  if (last === undefined) return []
  const { until, reason } = last
  return [
    sentence(
      `It is frozen until ${shown(until, schedule)}: its jobs wait, and its slots are skipped${reason === null ? '' : `. Reason: ${reason}`}`,
    ),
  ]
}

function aboutStatus({ schedule, liveWorkers, namesWorkers, now }: Evidence): string[] {
  const { status, nextRunAt, lastError, maxRuns, ends, declaredBy, pauseReason } = schedule
  switch (status) {
    case 'paused':
      return [
        'It is paused (enabled = 0): only manual runs are submitted until it is resumed. It is then planned from that time on.',
        ...(pauseReason === null ? [] : [sentence(`Reason: ${pauseReason}`)]),
      ]
    case 'invalid':
      return [
        sentence(`Its timer '${schedule.timer}' cannot be read: ${reasonIn(lastError)}`),
        'It continues as soon as the timer is edited.',
      ]
    case 'dead':
      return [
        `It is dead: a run failed permanently, and on_exhausted is 'stop'. Reset it to reactivate it.`,
        ...(lastError === null ? [] : [sentence(`The last error was: ${reasonIn(lastError)}`)]),
      ]
    case 'retired':
      return [
        `It is retired: no live worker declares it any longer in the set '${declaredBy ?? ''}'. It continues when it is declared again.`,
      ]
    case 'done':
      if (maxRuns !== null && schedule.runCount - schedule.errorCount >= maxRuns) {
        return [
          `It is done: it has succeeded ${times(schedule.runCount - schedule.errorCount)}, and max_runs is ${maxRuns}. Reset it, or raise max_runs, to reactivate it.`,
        ]
      }
      if (ends !== null && ends < now)
        return [`It is done: it ended at ${shown(ends, schedule)}. A later end reactivates it.`]
      if (nextAfter(schedule, now) !== null)
        return [
          `Its timer '${schedule.timer}' elapses again, but it is done because the database's clock was ahead. Reset it to plan it from now.`,
        ]
      return [`It is done: its timer '${schedule.timer}' does not elapse again. A new timer reactivates it.`]
    case 'frozen':
      return []
    case 'retrying':
    case 'active':
      if (schedule.waitingFor === 'finish')
        return ['Its next run is counted from the end of the current run, which has not finished.']
      // A one-off whose run is being retried.
      if (status === 'retrying' && nextRunAt === null) return ['No further run follows.']
      if (nextRunAt === null || nextRunAt <= now) {
        const due =
          nextRunAt === null
            ? 'It has not been planned yet'
            : `It has been due since ${shown(nextRunAt, schedule)}`
        if (schedule.markedBy !== null)
          return [
            `${due}: ${namesWorkers ? `the worker ${schedule.markedBy}` : 'a worker'} is submitting it.`,
          ]
        return [
          liveWorkers === 0
            ? `${due}, and no worker is alive to submit it.`
            : `${due}: a scheduler submits it within its poll interval, unless none is running or an open transaction locks its row.`,
        ]
      }
      return [
        `It runs ${inWords(timer(schedule.timer))}; next at ${shown(nextRunAt, schedule)}.`,
        ...aboutFutureSlot(schedule, nextRunAt, now),
      ]
  }
}

function aboutFutureSlot(schedule: Schedule, nextRunAt: Date, now: Date): string[] {
  const slot = slotInFuture(schedule, now)
  if (slot === null) return []
  const repair = 'Pause and resume it, or set nextrun = NULL, to plan it from now.'
  return [
    slot < nextRunAt
      ? `Its last slot, ${shown(slot, schedule)}, is in the future, because the database's clock was ahead. ${repair}`
      : `Its timer elapses earlier: nextrun was set manually, or planned while the database's clock was ahead. ${repair}`,
  ]
}

/** If live workers handle no tasks at all, the jobs are assumed to run elsewhere. */
function aboutTask({ schedule, open, handledTasks }: Evidence): string[] {
  if (schedule.status !== 'active' || open.length > 0) return []
  if (handledTasks.size === 0 || handledTasks.has(schedule.task) || handledTasks.has(EVERY_TASK)) return []
  return [`No live worker handles the task '${schedule.task}': its jobs will wait.`]
}

function aboutLastRun({ schedule, open }: Evidence): string[] {
  const { status, lastFinishedAt, lastError, lastSlot } = schedule
  if (lastFinishedAt === null) return lastSlot === null && open.length === 0 ? ['It has not run yet.'] : []
  // If the run is being retried, the line about its job already shows the error. If the timer is
  // invalid, `lastError` is the timer's error, which the line about the status shows.
  const isElsewhere = status === 'invalid' || open.some(({ error }) => error !== null)
  // A reset, and a correction of an invalid timer, also remove the error.
  const outcome =
    lastError === null
      ? ' without a recorded error'
      : isElsewhere
        ? ''
        : ` and failed: ${reasonIn(lastError)}`
  return [sentence(`Its last run ended at ${shown(lastFinishedAt, schedule)}${outcome}`)]
}

/** What happened to the elapse or the manual run in the minute in question. */
function aboutTime(evidence: Evidence, at: Date): string[] {
  const { schedule, around, now } = evidence
  const elapse = elapseInMinute(schedule, at)
  const endOfMinute = startOfMinute(at).getTime() + MINUTE_MS
  const runs = around.filter(
    (job) => job.state !== 'skipped' && job.slot !== null && job.slot.getTime() < endOfMinute,
  )
  // If the question names the exact second of an elapse, only that elapse matters. Otherwise, the first run in the
  // minute matters.
  const isExact = elapse?.getTime() === at.getTime()
  const run = isExact ? runs.find((job) => job.slot?.getTime() === at.getTime()) : runs[0]
  if (run !== undefined) return [aboutRun(run, schedule)]
  if (elapse === null) return [aboutNoElapse(schedule, at)]
  const when = shown(elapse, schedule)
  if (elapse > now) return [`${when} is in the future.`]
  if (elapse < schedule.createdAt)
    return [`It did not run at ${when}: it was created later, at ${shown(schedule.createdAt, schedule)}.`]
  const next = around.find((job) => job.slot !== null && job.slot >= elapse)
  // A skip is stored at the newest of its consecutive slots, and a run may represent earlier slots.
  if (next?.slot && standsFor(next, next.slot, elapse, elapsesOf(schedule, elapse))) {
    if (next.state === 'skipped')
      return [sentence(`It did not run for ${when}: ${skipWords(next, schedule)}`)]
    return [
      `It did not run for ${when}: no scheduler submitted it in time. The job ${next.id} for ${shown(next.slot, schedule)} stands for all ${next.missed} missed slots.`,
    ]
  }
  if (next === undefined && schedule.nextRunAt !== null && schedule.nextRunAt <= elapse)
    return [`${when} is due, but has not been submitted yet.`]
  return [
    `Nothing is recorded for ${when}: it was paused or retired then, it had another timer, its history was pruned, or its jobs go to another queue.`,
  ]
}

const MANUAL: Readonly<Record<string, string>> = {
  'run-now': ', because it was requested manually',
  retried: ', and was retried manually',
}

function aboutRun(job: Job, schedule: Schedule): string {
  const slot = shown(job.slot ?? job.submittedAt, schedule)
  const asked = MANUAL[job.reason ?? ''] ?? ''
  const error = job.error === null ? '' : `: ${reasonIn(job.error)}`
  switch (job.state) {
    case 'success':
      return `It ran for ${slot}${asked}: the job ${job.id} succeeded at ${shown(job.finishedAt ?? job.submittedAt, schedule)}.`
    case 'failed':
      return sentence(
        `It ran for ${slot}${asked}: the job ${job.id} failed on its ${ordinal(job.attempt)} attempt${job.reason === 'yielded' ? ' and gave way to the next slot' : ''}${error}`,
      )
    case 'cancelled':
      return sentence(
        job.reason === 'replaced'
          ? `It was submitted for ${slot}${asked}: the job ${job.id} was replaced by a newer one (overlap = 'replace')`
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
  return `Its timer does not elapse at ${when}${next === null ? ', nor at any later time' : `; the next time after that is ${shown(next, schedule)}`}.`
}

function skipWords(skip: Job, schedule: Schedule): string {
  const many =
    skip.missed > 1 && skip.slot !== null
      ? ` This applies to ${skip.missed} consecutive slots, up to ${shown(skip.slot, schedule)}`
      : ''
  switch (skip.reason) {
    case 'overlap':
      return `the previous run had not finished (overlap = '${schedule.overlap}').${many}`
    case 'missed':
      return `later slots were due before a scheduler submitted it, or it was late, and catch_up limits the number of missed slots that run to ${schedule.catchUp}.${many}`
    case 'frozen':
      return `a freeze was in force.${many}`
    case 'max-runs':
      return `as many runs as max_runs allows had succeeded or were in progress.${many}`
    default:
      return `it could not be submitted: ${sentence(reasonIn(skip.error))}${many}`
  }
}

function elapseInMinute(schedule: Schedule, at: Date): Date | null {
  const exact = nextAfter(schedule, new Date(at.getTime() - 1))
  if (exact?.getTime() === at.getTime()) return exact
  const minute = startOfMinute(at).getTime()
  const first = nextAfter(schedule, new Date(minute - 1))
  return first !== null && first.getTime() < minute + MINUTE_MS ? first : null
}

/** More than one skip represents when it is stored. Skips that are merged later may represent millions: their rate decides. */
const MAX_COUNTED_ELAPSES = 10_000

/**
 * Whether this job covers the elapse: there are at most `missed` elapses from this one to the job's own slot. For a
 * skip, its own slot counts; for a run, it does not.
 */
export function standsFor(
  { state, missed }: Pick<Job, 'state' | 'missed'>,
  slot: Date,
  elapse: Date,
  timing: Pick<Elapses, 'next'>,
): boolean {
  const isBefore = (at: Date) => (state === 'skipped' ? at <= slot : at < slot)
  let count = 0
  let at: Date | null = elapse
  while (at !== null && isBefore(at) && count <= missed) {
    if (count === MAX_COUNTED_ELAPSES) {
      const perElapse = (at.getTime() - elapse.getTime()) / count
      const most = state === 'skipped' ? missed - 1 : missed
      return slot.getTime() - elapse.getTime() <= most * perElapse
    }
    count += 1
    at = timing.next(at)
  }
  return count > 0 && count <= missed
}

function nextAfter(schedule: Schedule, after: Date): Date | null {
  try {
    return elapsesOf(schedule, after).next(after)
  } catch {
    return null
  }
}

function reasonIn(error: string | null): string {
  return firstLine(error ?? 'no reason was recorded')
}

function sentence(text: string): string {
  return /[.!?]$/u.test(text) ? text : `${text}.`
}

function times(count: number): string {
  return count === 1 ? 'once' : `${count} times`
}
