import { errorTextForOwner } from '../errors.ts'
import { isFrozenBy } from '../model/freeze.ts'
import type { Job } from '../model/job.ts'
import { prefixOf } from '../model/owner.ts'
import type { Payload } from '../model/redaction.ts'
import type { Schedule } from '../model/schedule.ts'
import { localText, timer } from '../timer/index.ts'
import type { Listed } from '../store/list-store.ts'
import type { SchedulesContext, ScheduleStores } from './writes.ts'

export const MINUTE_MS = 60_000

const STARTED = ['running', 'external'] as const

/** Maximum number of jobs that an explanation mentions for each state. */
const MAX_OPEN = 5
/** Maximum number of jobs and skips to read, starting with the minute in question. */
const AROUND = 100

export type Evidence = Readonly<Awaited<ReturnType<typeof evidenceOf>>>

/** Reads the data for an explanation, without secrets. @param at  the time in question; null means the present */
export async function evidenceOf(
  schedule: Schedule,
  at: Date | null,
  stores: ScheduleStores,
  { authority, redaction, openJobTexts, liveWorkers, storedScheduleId }: SchedulesContext,
) {
  const { id } = schedule
  const { lists } = stores
  const namesWorkers = prefixOf(authority.owner) === ''
  const errorOf = (error: string | null, row: Payload): string | null => {
    if (error === null) return null
    const text = redaction.secretsOf(row).hiddenInText(error)
    return namesWorkers ? text : errorTextForOwner(text)
  }
  const shownJob = (job: Listed<Job>): Job => ({ ...job, error: errorOf(job.error, job) })
  const running = await Promise.all(
    STARTED.map((state) => lists.jobs({ scheduleId: id, state, limit: MAX_OPEN })),
  )
  /** Running jobs of deleted schedules with the same id. */
  const leftOver = running.flatMap(({ items }) =>
    items.filter(({ scheduleDeleted }) => scheduleDeleted === true).map(shownJob),
  )
  const ofRow = await lists.openJobs(id, MAX_OPEN)
  const workers = await liveWorkers()
  const scheduleId = await storedScheduleId(id)
  const freezes = (await stores.freezes.inForce()).filter((freeze) =>
    isFrozenBy(freeze, { ...schedule, scheduleId }),
  )
  const open = [...STARTED, 'waiting', 'blocked'].flatMap((state) =>
    ofRow
      .filter((job) => job.state === state)
      .toReversed()
      .map(shownJob),
  )
  const around = at === null ? [] : await lists.history(id, { from: startOfMinute(at) }, AROUND)
  return {
    schedule: { ...schedule, lastError: errorOf(schedule.lastError, schedule) },
    /** The schedule's non-final jobs, running ones first. */
    open,
    /** Why each of them has not ended. */
    openTexts: await openJobTexts(open, (time) => shown(time, schedule)),
    leftOver,
    leftOverTexts: await openJobTexts(leftOver, (time) => shown(time, schedule)),
    /** The schedule's jobs and skips, starting with the minute in question, oldest first. */
    around: around.map(shownJob),
    freezes: freezes.map((freeze) => (namesWorkers ? freeze : { ...freeze, reason: null })),
    namesWorkers,
    liveWorkers: workers.length,
    /** What live workers handle: tasks, `EVERY_TASK`, and queues to which they hand jobs over, as named in claims. */
    handledTasks: new Set(workers.flatMap(({ tasks }) => tasks)),
    now: await stores.schedules.now(),
    at,
  }
}

export function startOfMinute(at: Date): Date {
  return new Date(Math.floor(at.getTime() / MINUTE_MS) * MINUTE_MS)
}

/** Shown in the timer's zone, so that it can be compared with the timer. */
export function shown(at: Date, schedule: Schedule): string {
  let zone = 'UTC'
  try {
    ;({ zone } = timer(schedule.timer))
  } catch {
    // An invalid timer has no zone.
  }
  return `${localText(at, zone)} (${zone})`
}
