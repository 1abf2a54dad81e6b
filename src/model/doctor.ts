/** Detects problems of a database and its workers, and suggests fixes. It is pure: it evaluates one snapshot. */
import { firstLine } from '../errors.ts'
import { durationText, retryText } from '../duration.ts'
import { elapsesWithin, timer } from '../timer/index.ts'
import { plannedInFuture } from './future-slots.ts'
import { toText } from './instant.ts'
import type { Plannable } from './planning.ts'
import type { Idle } from './states.ts'

/** A snapshot of the whole database. All instants are from the database's clock. */
export interface DoctorInput {
  readonly now: Date
  /** This machine's clock at the same moment. */
  readonly localNow: Date
  /** How long it took to read the clock, which limits the accuracy of the comparison. */
  readonly roundTripMs: number
  readonly workers: readonly {
    readonly id: string
    readonly heartbeatAt: Date
    readonly tasks: readonly string[]
    /** The number of jobs that the worker runs. */
    readonly running: number
  }[]
  /** Schedules that a worker is submitting. */
  readonly marks: readonly { readonly id: string; readonly worker: string; readonly ends: Date | null }[]
  /** Schedules that are neither paused nor idle, and those with an invalid timer, a permanent failure or a retry. */
  readonly schedules: readonly DoctorSchedule[]
  /** The schedules whose next run or last slot is furthest in the future. */
  readonly furthest: readonly Plannable[]
  /** Claimable jobs; `since` is the time at which the first of them was submitted. */
  readonly waiting: readonly { readonly task: string; readonly count: number; readonly since: Date }[]
  /** Schedules that are submitted continuously but still missed several of their last few slots. */
  readonly behind: readonly { readonly id: string }[]
  /** Blocked jobs that no other job blocks. */
  readonly blocked: readonly { readonly id: string; readonly schedule: string }[]
  /** Schedules that wait for a run whose job was deleted. */
  readonly endless: readonly { readonly id: string }[]
  /** Jobs that have been in an external queue for longer than an hour. */
  readonly unreported: readonly { readonly id: string }[]
  /** Running jobs whose worker is not registered. */
  readonly orphans: readonly { readonly id: string; readonly worker: string }[]
}

export interface DoctorSchedule {
  readonly id: string
  readonly task: string
  readonly timer: string
  readonly idle: Idle | null
  readonly nextRunAt: Date | null
  readonly createdAt: Date
  readonly lastError: string | null
  readonly retryAt: Date | null
  readonly retry: number | null
  readonly retryLimit: number | null
  /** Whether a scheduler would submit the schedule now. */
  readonly isDue: boolean
}

/** The differences between the tables and those that this version needs. */
export interface SchemaDrift {
  /** Migrations that have not been applied. */
  readonly pending: readonly string[]
  /** Missing items, such as `table job` or `column job.state`. */
  readonly missing: readonly string[]
  /** Tables that do not support transactions; the engine of a view is VIEW. */
  readonly engines: readonly { readonly table: string; readonly engine: string }[]
  /** Why this version cannot use the tables, or null if it can. */
  readonly version: string | null
}

/** A problem or possible problem, and its fix. */
export interface Finding {
  readonly code:
    | 'schema'
    | 'clock-skew'
    | 'no-worker'
    | 'dead-worker'
    | 'stale-mark'
    | 'far-mark'
    | 'invalid-schedule'
    | 'dead-schedule'
    | 'retrying-schedule'
    | 'unreported-job'
    | 'late-schedule'
    | 'cannot-keep-up'
    | 'slot-in-the-future'
    | 'unhandled-task'
    | 'unclaimed-job'
    | 'orphaned-job'
    | 'blocked-job'
    | 'endless-schedule'
  /** The ids that the finding concerns: at most ten, earliest or worst first. */
  readonly subjects: readonly string[]
  /** The total number of subjects. */
  readonly count: number
  readonly problem: string
  readonly fix: string
}

/** Kalends uses the database's clock; handlers and logs use this machine's. */
const CLOCK_SKEW_MS = 2000
/** A running scheduler submits schedules, and an idle executor claims jobs, within a fraction of this time. */
const LATE_MS = 10_000
const FREQUENT_MS = 60_000
const MAX_SUBJECTS = 10
/** The engine name that represents a view. */
export const VIEW = 'VIEW'

export function schemaFindings({ pending, missing, engines, version }: SchemaDrift): Finding[] {
  const outdated = version === null ? [] : ['version']
  return [
    ...findings('schema', outdated, {
      problem: version ?? '',
      fix: 'upgrade this process and every older worker; until then, older workers take on no work',
    }),
    ...findings('schema', pending, {
      problem: `the tables are older than this version; migrations not applied: ${pending.join(', ')}`,
      fix: 'run `kalends migrate`',
    }),
    ...findings('schema', pending.length > 0 ? [] : missing, {
      problem: `the tables were changed outside of Kalends; missing: ${missing.slice(0, MAX_SUBJECTS).join(', ')}`,
      fix: 'restore them from drizzle/ of this package, or from a backup; migrations do not run twice',
    }),
    ...engines.flatMap(({ table, engine }) =>
      findings('schema', [`table ${table}`], engine === VIEW ? ofView(table) : ofEngine(table, engine)),
    ),
  ]
}

function ofView(table: string): Advice {
  return {
    problem: `${table} is a view, not the table that Kalends created`,
    fix: 'stop all workers, rename or drop the view, and give the table its name back',
  }
}

function ofEngine(table: string, engine: string): Advice {
  return {
    problem: `the table ${table} uses the engine ${engine}, which has no transactions: jobs are lost and started twice`,
    fix: `stop all workers, and run \`ALTER TABLE ${table} ENGINE=InnoDB\``,
  }
}

/** @param leaseMs  a worker that is silent for longer than this is dead */
export function doctorFindings(seen: DoctorInput, leaseMs: number): Finding[] {
  const isAlive = ({ heartbeatAt }: { readonly heartbeatAt: Date }) =>
    seen.now.getTime() - heartbeatAt.getTime() <= leaseMs
  const alive = seen.workers.filter(isAlive)
  const dead = seen.workers.filter((worker) => !isAlive(worker))
  return [
    ...clockSkew(seen),
    ...heartbeatSkew(seen),
    ...missingWorkers(seen, alive.length),
    ...deadWorkers(seen, dead, alive.length),
    ...staleMarks(seen, new Set(idsOf(alive))),
    ...farMarks(seen, leaseMs),
    ...invalidSchedules(seen),
    ...deadSchedules(seen),
    ...retryingSchedules(seen),
    ...lateSchedules(seen),
    ...schedulesBehind(seen),
    ...slotsInFuture(seen),
    ...unhandledTasks(seen, new Set(alive.flatMap(({ tasks }) => tasks))),
    ...unclaimedJobs(seen, alive),
    ...unreportedJobs(seen),
    ...orphanedJobs(seen, alive.length),
    ...blockedJobs(seen),
    ...endlessSchedules(seen),
  ]
}

function clockSkew({ now, localNow, roundTripMs }: DoctorInput): Finding[] {
  const ahead = localNow.getTime() - now.getTime()
  const isSkewed = Math.abs(ahead) > CLOCK_SKEW_MS + roundTripMs
  return findings('clock-skew', isSkewed ? ['clock'] : [], {
    problem: `this machine's clock is ${durationText(Math.abs(ahead))} ${ahead > 0 ? 'ahead of' : 'behind'} the database's`,
    fix: 'synchronise both with NTP; runs follow the clock of the database, logs that of the machine',
  })
}

/**
 * Heartbeats use the database's clock. A heartbeat in the future means that it came from another clock, or that the
 * clock was set back.
 */
function heartbeatSkew({ now, workers }: DoctorInput): Finding[] {
  const ahead = workers
    .map(({ id, heartbeatAt }) => ({ id, aheadMs: heartbeatAt.getTime() - now.getTime() }))
    .filter(({ aheadMs }) => aheadMs > CLOCK_SKEW_MS)
    .toSorted((a, b) => b.aheadMs - a.aheadMs)
  const [worst] = ahead
  if (worst === undefined) return []
  return findings('clock-skew', idsOf(ahead), {
    problem: `the last heartbeat of ${worst.id} is ${durationText(worst.aheadMs)} in the future`,
    fix: 'synchronise the clocks of all nodes of the database with NTP; if its clock was set back, see `slot-in-the-future`',
  })
}

function missingWorkers({ schedules, waiting }: DoctorInput, alive: number): Finding[] {
  const isNeeded = schedules.some(({ idle }) => idle === null) || waiting.length > 0
  return findings('no-worker', alive === 0 && isNeeded ? ['worker'] : [], {
    problem: 'no live worker: nothing is submitted and nothing runs',
    fix: 'start one: `kalends start app.js`',
  })
}

function deadWorkers({ now }: DoctorInput, dead: DoctorInput['workers'], alive: number): Finding[] {
  const fix =
    alive > 0
      ? 'nothing to do if it has crashed: a live worker takes over within the lease; if this persists, check the logs of the live workers'
      : 'start a worker: it takes over what this one held'
  return dead.flatMap(({ id, heartbeatAt }) =>
    findings('dead-worker', [id], {
      problem: `the worker ${id} has been silent for ${durationText(now.getTime() - heartbeatAt.getTime())}`,
      fix,
    }),
  )
}

function staleMarks({ marks, now }: DoctorInput, alive: ReadonlySet<string>): Finding[] {
  const stale = marks.filter(({ worker, ends }) => !alive.has(worker) || ends === null || ends < now)
  return findings('stale-mark', idsOf(stale), {
    problem: `${counted(stale.length, 'schedule is', 'schedules are')} marked by a dead or late worker`,
    fix: 'nothing to do: a mark expires within the lease once a worker is running',
  })
}

function farMarks({ marks, now }: DoctorInput, leaseMs: number): Finding[] {
  const far = marks.filter(({ ends }) => ends !== null && ends.getTime() > now.getTime() + 2 * leaseMs)
  return findings('far-mark', idsOf(far), {
    problem: `${counted(far.length, 'schedule is', 'schedules are')} marked for more than two leases: they were marked manually, or the clock was ahead`,
    fix: 'nothing to do if a worker is running: it ends such marks once per lease; if your workers use a longer lease than this check, pass it with `--lease`',
  })
}

function invalidSchedules({ schedules }: DoctorInput): Finding[] {
  return schedules.flatMap(({ id, timer: text, idle, lastError }) => {
    const invalid = idle === 'invalid' ? (lastError ?? 'no reason was recorded') : null
    const error = idle === null ? syntaxErrorOf(text) : invalid
    return findings('invalid-schedule', error === null ? [] : [id], {
      problem: `the timer of the schedule '${id}' cannot be read: ${firstLine(error ?? '')}`,
      fix: `edit it: \`kalends schedules edit ${quoted(id)} --timer '…'\``,
    })
  })
}

function deadSchedules({ schedules }: DoctorInput): Finding[] {
  return schedules.flatMap(({ id, idle, lastError }) =>
    findings('dead-schedule', idle === 'dead' ? [id] : [], {
      problem: `the schedule '${id}' is dead after a run that failed permanently: ${firstLine(lastError ?? 'no error was recorded')}`,
      fix: `when the cause is fixed: \`kalends schedules reset ${quoted(id)}\``,
    }),
  )
}

function retryingSchedules({ schedules, now }: DoctorInput): Finding[] {
  const retrying = schedules.filter(({ retryAt }) => retryAt !== null)
  const [first] = retrying.toSorted((a, b) => (a.retryAt?.getTime() ?? 0) - (b.retryAt?.getTime() ?? 0))
  if (first === undefined) return []
  return findings('retrying-schedule', idsOf(retrying), {
    problem: `the last attempt of ${counted(retrying.length, 'schedule', 'schedules')} failed; '${first.id}' is ${retryText(first, toText(first.retryAt ?? now))}: ${firstLine(first.lastError ?? 'no error was recorded')}`,
    fix: `nothing to do if the cause is temporary; otherwise: \`kalends schedules explain ${quoted(first.id)}\``,
  })
}

/** The time at which the schedule became due. */
const since = ({ nextRunAt, createdAt: created }: DoctorSchedule) => (nextRunAt ?? created).getTime()

function lateSchedules({ schedules, now }: DoctorInput): Finding[] {
  const late = schedules
    .filter(
      (schedule) => schedule.isDue && schedule.idle === null && now.getTime() - since(schedule) > LATE_MS,
    )
    .toSorted((a, b) => since(a) - since(b))
  const [worst] = late
  if (worst === undefined) return []
  return findings('late-schedule', idsOf(late), {
    problem: `${counted(late.length, 'schedule is', 'schedules are')} due and not submitted; '${worst.id}' for ${durationText(now.getTime() - since(worst))}`,
    fix: 'start a worker that schedules; if one is running, look for an open transaction that locks the row',
  })
}

function schedulesBehind({ behind }: DoctorInput): Finding[] {
  return findings('cannot-keep-up', idsOf(behind), {
    problem: `the slots of ${counted(behind.length, 'schedule', 'schedules')} come faster than they can be submitted, so some are missed each time`,
    fix: "give them timers with longer intervals: `kalends schedules edit … --timer '…'`",
  })
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
  const [worst] = ahead
  if (worst === undefined) return []
  const id = quoted(worst.id)
  return findings('slot-in-the-future', idsOf(ahead), {
    problem: `${counted(ahead.length, 'schedule has a slot that its timer does not explain', 'schedules have slots that their timers do not explain')}, and ${ahead.length === 1 ? 'submits' : 'submit'} nothing before that time; '${worst.id}': ${worst.slot.toISOString()}. The database's clock was ahead, or was set back`,
    fix: `correct the clock of the database; then plan each of them from now: \`kalends schedules pause ${id} && kalends schedules resume ${id}\`, or \`nextrun = NULL\` in SQL; reset a schedule that is done`,
  })
}

function unhandledTasks({ waiting, now }: DoctorInput, handled: ReadonlySet<string>): Finding[] {
  return waiting.flatMap(({ task, count, since }) => {
    const name = nameOf(task)
    const isQueue = isClaimedByQueue(task)
    return findings('unhandled-task', handled.has(task) ? [] : [isQueue ? name : task], {
      problem: `${counted(count, 'job', 'jobs')} of ${name} ${count === 1 ? 'has' : 'have'} been waiting for ${durationText(now.getTime() - since.getTime())}, and no live worker ${isQueue ? 'hands jobs over to it' : 'handles it'}`,
      fix: isQueue
        ? 'start a worker with this `externalQueue`; if you no longer use it, see "Back to Kalends" in docs/guides/other-queues.md'
        : `start a worker whose module handles '${task}', or cancel: \`kalends jobs cancel --task ${quoted(task)} --state waiting\``,
    })
  })
}

/** Jobs of an external queue are claimed under the queue's name, preceded by a blank. */
function isClaimedByQueue(claimed: string): boolean {
  return claimed.startsWith(' ')
}

function nameOf(claimed: string): string {
  return isClaimedByQueue(claimed) ? `the external queue '${claimed.trim()}'` : `the task '${claimed}'`
}

function unreportedJobs({ unreported }: DoctorInput): Finding[] {
  return findings('unreported-job', idsOf(unreported), {
    problem: `${counted(unreported.length, 'job has', 'jobs have')} been in an external queue for more than an hour, and ${unreported.length === 1 ? 'its outcome has' : 'their outcomes have'} not been reported`,
    fix: 'look for them in that queue; report each outcome with `kalends.external.finish`, or cancel lost jobs: `kalends jobs cancel ID`. At its time limit, a job fails',
  })
}

/** A worker that runs jobs may be full; a worker that runs none has no reason to leave jobs unclaimed. */
function unclaimedJobs({ waiting, now }: DoctorInput, alive: DoctorInput['workers']): Finding[] {
  return waiting.flatMap(({ task, count, since }) => {
    const able = alive.filter(({ tasks }) => tasks.includes(task))
    const waitedMs = now.getTime() - since.getTime()
    if (able.length === 0 || waitedMs <= LATE_MS || able.some(({ running }) => running > 0)) return []
    return findings('unclaimed-job', [task], {
      problem: `${counted(count, 'job', 'jobs')} of ${nameOf(task)} ${count === 1 ? 'has' : 'have'} been waiting for ${durationText(waitedMs)}, although ${idsOf(able).join(', ')} could run ${count === 1 ? 'it' : 'them'} and runs nothing`,
      fix: 'look at `/health` and the log of that worker; look for an open transaction that locks the rows; restart the worker',
    })
  })
}

function orphanedJobs({ orphans }: DoctorInput, alive: number): Finding[] {
  return findings('orphaned-job', idsOf(orphans), {
    problem: `${counted(orphans.length, 'job runs', 'jobs run')} on a worker that is no longer registered`,
    fix:
      alive > 0
        ? 'nothing to do: a live worker takes over within the lease'
        : 'start a worker: it takes over',
  })
}

function blockedJobs({ blocked }: DoctorInput): Finding[] {
  return findings('blocked-job', idsOf(blocked), {
    problem: `${counted(blocked.length, 'job is', 'jobs are')} blocked although no other job blocks ${blocked.length === 1 ? 'it' : 'them'}: the earlier job was changed or deleted manually`,
    fix: 'nothing to do if a worker is running: its sweep unblocks them within the lease, or within five leases if the tables are large',
  })
}

function endlessSchedules({ endless }: DoctorInput): Finding[] {
  return findings('endless-schedule', idsOf(endless), {
    problem: `${counted(endless.length, 'schedule waits', 'schedules wait')} for a run whose job was deleted`,
    fix: 'nothing to do if a worker is running: its sweep plans them within the lease, or within five leases if the tables are large',
  })
}

type Advice = Pick<Finding, 'problem' | 'fix'>

/** One finding about all of these subjects, or none if there are no subjects. */
function findings(code: Finding['code'], subjects: readonly string[], advice: Advice): Finding[] {
  if (subjects.length === 0) return []
  return [{ code, subjects: subjects.slice(0, MAX_SUBJECTS), count: subjects.length, ...advice }]
}

function idsOf(rows: readonly { readonly id: string }[]): string[] {
  return rows.map(({ id }) => id)
}

function syntaxErrorOf(text: string): string | null {
  try {
    timer(text)
    return null
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** Quoted for a shell. */
function quoted(text: string): string {
  return /^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}

function counted(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`
}
