/** Detects problems with a database and its workers, and suggests fixes. It is pure: it evaluates one snapshot. */
import { counted, durationText, retryText } from '../duration.ts'
import {
  type DoctorInput,
  type DoctorSchedule,
  type Finding,
  findings,
  findingsOfEach,
  LATE_MS,
  quoted,
} from './diagnosis.ts'
import { firstLine } from '../errors.ts'
import { elapsesWithin, timer } from '../timer/index.ts'
import { plannedInFuture } from './future-slots.ts'
import { toText } from './instant.ts'
import { unreadableReason } from './plan.ts'

/** More than this matters: Kalends uses the database's clock, but handlers and logs use their machine's. */
const CLOCK_SKEW_MS = 2000

/** @param leaseMs  a worker that is silent for longer than this is dead */
export function doctorFindings(seen: DoctorInput, leaseMs: number): Finding[] {
  const alive = seen.workers.filter(
    ({ heartbeatAt }) => seen.now.getTime() - heartbeatAt.getTime() <= leaseMs,
  )
  const dead = seen.workers.filter((worker) => !alive.includes(worker))
  return [
    ...clockSkew(seen),
    ...heartbeatSkew(seen),
    ...missingWorkers(seen, alive.length),
    ...deadWorkers(seen, dead, alive.length),
    ...marks(seen, new Set(alive.map(({ id }) => id)), leaseMs),
    ...scheduleFindings(seen),
    ...jobFindings(seen, alive),
  ]
}

function clockSkew({ now, localNow, roundTripMs }: DoctorInput): Finding[] {
  const ahead = localNow.getTime() - now.getTime()
  const isSkewed = Math.abs(ahead) > CLOCK_SKEW_MS + roundTripMs
  return findings('clock-skew', isSkewed ? [{ id: 'clock' }] : [], () => ({
    problem: `this machine's clock is ${durationText(Math.abs(ahead))} ${ahead > 0 ? 'ahead of' : 'behind'} the database's`,
    fix: "synchronise both with NTP; runs follow the database's clock, and logs follow the machine's",
  }))
}

/** A heartbeat in the future was written with another clock, or the database's clock has been set back since then. */
function heartbeatSkew({ now, workers }: DoctorInput): Finding[] {
  const ahead = workers
    .map(({ id, heartbeatAt }) => ({ id, aheadMs: heartbeatAt.getTime() - now.getTime() }))
    .filter(({ aheadMs }) => aheadMs > CLOCK_SKEW_MS)
    .toSorted((a, b) => b.aheadMs - a.aheadMs)
  return findings('clock-skew', ahead, (worst) => ({
    problem: `the last heartbeat of ${worst.id} is ${durationText(worst.aheadMs)} in the future`,
    fix: 'synchronise the clocks of all nodes of the database with NTP; if its clock was set back, see `slot-in-the-future`',
  }))
}

function missingWorkers({ schedules, waiting }: DoctorInput, alive: number): Finding[] {
  const isNeeded = schedules.some(({ idle }) => idle === null) || waiting.length > 0
  return findings('no-worker', alive === 0 && isNeeded ? [{ id: 'worker' }] : [], () => ({
    problem: 'no live worker: nothing is submitted and nothing runs',
    fix: 'start one: `kalends start app.js`',
  }))
}

function deadWorkers({ now }: DoctorInput, dead: DoctorInput['workers'], alive: number): Finding[] {
  return findingsOfEach('dead-worker', dead, ({ id, heartbeatAt }) => ({
    problem: `the worker ${id} has been silent for ${durationText(now.getTime() - heartbeatAt.getTime())}`,
    fix:
      alive > 0
        ? 'nothing to do if it has crashed: a live worker takes over within the lease; if this persists, check the logs of the live workers'
        : 'start a worker: it takes over what this one held',
  }))
}

function marks({ marks, now }: DoctorInput, alive: ReadonlySet<string>, leaseMs: number): Finding[] {
  const stale = marks.filter(({ worker, ends }) => !alive.has(worker) || ends === null || ends < now)
  const far = marks.filter(({ ends }) => ends !== null && ends.getTime() > now.getTime() + 2 * leaseMs)
  return [
    ...findings('stale-mark', stale, () => ({
      problem: `${counted(stale.length, 'schedule is', 'schedules are')} marked by a dead or late worker`,
      fix: 'nothing to do: a mark expires within the lease once a worker is running',
    })),
    ...findings('far-mark', far, () => ({
      problem: `${counted(far.length, 'schedule is', 'schedules are')} marked for more than two leases: they were marked manually, or the clock was ahead`,
      fix: 'nothing to do if a worker is running: it ends such marks once per lease; if your workers use a longer lease than this check, pass it with `--lease`',
    })),
  ]
}

function jobFindings(seen: DoctorInput, alive: DoctorInput['workers']): Finding[] {
  const { unreported, unremoved, orphans, blocked, endless } = seen
  return [
    ...unhandledTasks(seen, new Set(alive.flatMap(({ tasks }) => tasks))),
    ...unclaimedJobs(seen, alive),
    ...findings('unreported-job', unreported, () => ({
      problem: `${counted(unreported.length, 'job has', 'jobs have')} been in an external queue for more than an hour, and ${unreported.length === 1 ? 'its outcome has' : 'their outcomes have'} not been reported`,
      fix: 'look in that queue; report each outcome with `kalends.external.finish`, or cancel lost jobs with `kalends jobs cancel ID`; a job that is never reported fails at its time limit',
    })),
    ...findings('unremoved-job', unremoved, () => ({
      problem: `${counted(unremoved.length, 'job is', 'jobs are')} older than the retention, but ${unremoved.length === 1 ? 'was' : 'were'} not removed, probably because a trigger or a foreign key of the application rejects it`,
      fix: 'the log of the worker that ran kalends.prune names the error; remove the rows that refer to these jobs, or declare the foreign key with ON DELETE CASCADE or SET NULL',
    })),
    ...findings('orphaned-job', orphans, () => ({
      problem: `${counted(orphans.length, 'job runs', 'jobs run')} on a worker that is no longer registered`,
      fix:
        alive.length > 0
          ? 'nothing to do: a live worker takes over within the lease'
          : 'start a worker: it takes over',
    })),
    ...findings('blocked-job', blocked, () => ({
      problem: `${counted(blocked.length, 'job is', 'jobs are')} blocked although no other job blocks ${blocked.length === 1 ? 'it' : 'them'}: the earlier job was changed or deleted manually`,
      fix: 'nothing to do if a worker is running: its sweep corrects this within the lease, or within five leases if the tables are large',
    })),
    ...findings('endless-schedule', endless, () => ({
      problem: `${counted(endless.length, 'schedule waits', 'schedules wait')} for a run whose job was deleted`,
      fix: 'nothing to do if a worker is running: its sweep corrects this within the lease, or within five leases if the tables are large',
    })),
  ]
}

function unhandledTasks({ waiting, now }: DoctorInput, handled: ReadonlySet<string>): Finding[] {
  return waiting
    .filter(({ task }) => !handled.has(task))
    .flatMap((waits) => {
      const { task } = waits
      const isQueue = isClaimedByQueue(task)
      return findings('unhandled-task', [{ id: isQueue ? nameOf(task) : task }], () => ({
        problem: `${waitText(waits, now)}, and no live worker ${isQueue ? 'hands jobs over to it' : 'handles it'}`,
        fix: isQueue
          ? 'start a worker with this `externalQueue`; if you no longer use it, see "Back to Kalends" in docs/guides/other-queues.md'
          : `start a worker whose module handles '${task}', or cancel: \`kalends jobs cancel --task ${quoted(task)} --state waiting\``,
      }))
    })
}

/** A worker that runs jobs may be full; a worker that runs none has no reason to leave jobs unclaimed. */
function unclaimedJobs({ waiting, now }: DoctorInput, alive: DoctorInput['workers']): Finding[] {
  return waiting.flatMap((waits) => {
    const able = alive.filter(({ tasks }) => tasks.includes(waits.task))
    const isLate = now.getTime() - waits.since.getTime() > LATE_MS
    if (able.length === 0 || !isLate || able.some(({ running }) => running > 0)) return []
    return findings('unclaimed-job', [{ id: waits.task }], () => ({
      problem: `${waitText(waits, now)}, although ${able.map(({ id }) => id).join(', ')} could run ${waits.count === 1 ? 'it' : 'them'} and ${able.length === 1 ? 'runs' : 'run'} nothing`,
      fix: 'look at `/health` and the logs of these workers; look for an open transaction that locks the rows; restart the workers',
    }))
  })
}

function waitText({ task, count, since }: DoctorInput['waiting'][number], now: Date): string {
  const waited = durationText(now.getTime() - since.getTime())
  const jobs = counted(count, 'job')
  return `${jobs} of ${nameOf(task)} ${count === 1 ? 'has' : 'have'} been waiting for ${waited}`
}

/** Jobs of an external queue are claimed under the queue's name, preceded by a space. */
function isClaimedByQueue(claimed: string): boolean {
  return claimed.startsWith(' ')
}

function nameOf(claimed: string): string {
  return isClaimedByQueue(claimed) ? `the external queue '${claimed.trim()}'` : `the task '${claimed}'`
}

const FREQUENT_MS = 60_000

function scheduleFindings(seen: DoctorInput): Finding[] {
  const { schedules, behind } = seen
  return [
    ...invalidSchedules(schedules),
    ...findingsOfEach(
      'dead-schedule',
      schedules.filter(({ idle }) => idle === 'dead'),
      ({ id, lastError }) => ({
        problem: `the schedule '${id}' is dead after a run that failed permanently: ${firstLine(lastError ?? 'no error was recorded')}`,
        fix: `when the cause is fixed: \`kalends schedules reset ${quoted(id)}\``,
      }),
    ),
    ...retryingSchedules(seen),
    ...lateSchedules(seen),
    ...findings('cannot-keep-up', behind, () => ({
      problem: `the slots of ${counted(behind.length, 'schedule', 'schedules')} come faster than they can be submitted, so some are missed each time`,
      fix: "give them timers with longer intervals: `kalends schedules edit … --timer '…'`",
    })),
    ...slotsInFuture(seen),
  ]
}

function invalidSchedules(schedules: DoctorInput['schedules']): Finding[] {
  const invalid = schedules.flatMap(({ id, timer: text, idle, lastError }) => {
    if (idle === 'invalid') return [{ id, error: lastError ?? 'no reason was recorded' }]
    const error = idle === null ? unreadableReason(text) : null
    return error === null ? [] : [{ id, error }]
  })
  return findingsOfEach('invalid-schedule', invalid, ({ id, error }) => ({
    problem: `the timer of the schedule '${id}' cannot be read: ${firstLine(error)}`,
    fix: `edit it: \`kalends schedules edit ${quoted(id)} --timer '…'\``,
  }))
}

function retryingSchedules({ schedules }: DoctorInput): Finding[] {
  const retrying = schedules
    .flatMap(({ retryAt, ...schedule }) => (retryAt === null ? [] : [{ ...schedule, retryAt }]))
    .toSorted((a, b) => a.retryAt.getTime() - b.retryAt.getTime())
  return findings('retrying-schedule', retrying, (first) => ({
    problem: `${counted(retrying.length, 'schedule is', 'schedules are')} waiting for a retry after a failed attempt; '${first.id}' is ${retryText(first, toText(first.retryAt))}: ${firstLine(first.lastError ?? 'no error was recorded')}`,
    fix: `nothing to do if the cause is temporary; otherwise: \`kalends schedules explain ${quoted(first.id)}\``,
  }))
}

function lateSchedules({ schedules, now }: DoctorInput): Finding[] {
  const late = schedules
    .filter(({ isDue, idle }) => isDue && idle === null)
    .map(({ id, nextRunAt, createdAt }) => ({
      id,
      lateMs: now.getTime() - (nextRunAt ?? createdAt).getTime(),
    }))
    .filter(({ lateMs }) => lateMs > LATE_MS)
    .toSorted((a, b) => b.lateMs - a.lateMs)
  return findings('late-schedule', late, (worst) => ({
    problem: `${counted(late.length, 'schedule is', 'schedules are')} due but not submitted; '${worst.id}' has been due for ${durationText(worst.lateMs)}`,
    fix: 'start a worker that schedules; if one is running, look for an open transaction that locks the row',
  }))
}

/** Whether the next two slots of a timer are so close together that workers may miss some. */
export function isFrequent(
  { timer: text, createdAt: created }: Pick<DoctorSchedule, 'timer' | 'createdAt'>,
  now: Date,
): boolean {
  try {
    const event = elapsesWithin(timer(text), { anchor: created, shiftMs: 0, starts: null, ends: null })
    const first = event.next(now)
    const second = first && event.next(first)
    return first !== null && second !== null && second.getTime() - first.getTime() <= FREQUENT_MS
  } catch {
    return false
  }
}

function slotsInFuture({ furthest, now }: DoctorInput): Finding[] {
  const ahead = furthest
    .flatMap((schedule) => {
      const slot = plannedInFuture(schedule, now)
      return slot === null ? [] : [{ id: schedule.id, slot }]
    })
    .toSorted((a, b) => b.slot.getTime() - a.slot.getTime())
  return findings('slot-in-the-future', ahead, (worst) => {
    const id = quoted(worst.id)
    return {
      problem: `${counted(ahead.length, 'schedule has a slot that its timer does not explain', 'schedules have slots that their timers do not explain')}, and ${ahead.length === 1 ? 'submits' : 'submit'} nothing before that time; '${worst.id}': ${worst.slot.toISOString()}. The database's clock was ahead, or was set back`,
      fix: `correct the clock of the database; then plan each of them from now: \`kalends schedules pause ${id} && kalends schedules resume ${id}\`, or \`nextrun = NULL\` in SQL; reset a schedule that is done`,
    }
  })
}
