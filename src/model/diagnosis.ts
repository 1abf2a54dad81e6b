/** What may be wrong with a database and its workers, and what to do about it. Pure: it judges what one look saw. */
import { durationText } from '../duration.ts'
import { timer } from '../timer/index.ts'

/** What one look at the whole database saw; instants are by its clock. */
export interface Inspection {
  readonly now: Date
  /** This machine's clock at the same moment. */
  readonly localNow: Date
  /** How long the question for the clock took: the two are not known better than this. */
  readonly roundTripMs: number
  readonly workers: readonly {
    readonly id: string
    readonly heartbeat: Date
    readonly tasks: readonly string[]
    /** How many jobs it runs. */
    readonly running: number
  }[]
  /** Schedules that a worker is submitting. */
  readonly marks: readonly { readonly id: string; readonly worker: string; readonly ends: Date | null }[]
  /** Schedules that are neither paused nor idle, with those that could not be planned or failed for good. */
  readonly schedules: readonly InspectedSchedule[]
  /** Claimable jobs; `since`: when the first of them was submitted. */
  readonly waiting: readonly { readonly task: string; readonly count: number; readonly since: Date }[]
  /** Blocked jobs with nothing before them. */
  readonly blocked: readonly { readonly id: string; readonly schedule: string }[]
  /** Schedules that wait for the end of a run whose job was deleted. */
  readonly endless: readonly { readonly id: string }[]
  /** Running jobs whose worker is not registered. */
  readonly orphans: readonly { readonly id: string; readonly worker: string }[]
}

export interface InspectedSchedule {
  readonly id: string
  readonly task: string
  readonly timer: string
  readonly idle: 'invalid' | 'dead' | null
  readonly nextRun: Date | null
  readonly created: Date
  readonly lastError: string | null
  /** Whether a scheduler would take it now. */
  readonly isDue: boolean
}

/** How the tables differ from what this version needs. */
export interface SchemaDrift {
  /** Migrations that were not applied. */
  readonly pending: readonly string[]
  /** Such as `table job` or `column job.state`. */
  readonly missing: readonly string[]
  /** Tables without transactions; a view has the engine VIEW. */
  readonly engines: readonly { readonly table: string; readonly engine: string }[]
  /** Why this version may not work on the tables; null: it may. */
  readonly version: string | null
}

/** Something that is wrong, or may be, and what to do about it. */
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
    | 'late-schedule'
    | 'unhandled-task'
    | 'unclaimed-job'
    | 'orphaned-job'
    | 'blocked-job'
    | 'endless-schedule'
  /** What it is about: the ids, the earliest or worst first; at most ten. */
  readonly subjects: readonly string[]
  /** How many there are in all. */
  readonly count: number
  readonly problem: string
  /** What to do. */
  readonly fix: string
}

/** Kalends judges by the database's clock; handlers and logs show this machine's. */
const CLOCK_SKEW_MS = 2000
/** A scheduler that is up submits within a fraction of it, and an idle executor claims. */
const LATE_MS = 10_000
const MOST_SUBJECTS = 10
/** In the place of an engine: it is no table. */
export const VIEW = 'VIEW'

export function schemaFindings({ pending, missing, engines, version }: SchemaDrift): Finding[] {
  const findings: Finding[] = []
  if (version !== null)
    findings.push(
      finding('schema', ['version'], {
        problem: version,
        fix: 'upgrade this process and every worker that is older; until then older workers take on no work',
      }),
    )
  if (pending.length > 0)
    findings.push(
      finding('schema', pending, {
        problem: `the tables are older than this version: not applied ${pending.join(', ')}`,
        fix: 'run `kalends migrate`',
      }),
    )
  else if (missing.length > 0)
    findings.push(
      finding('schema', missing, {
        problem: `the tables were changed by others: missing are ${missing.slice(0, MOST_SUBJECTS).join(', ')}`,
        fix: 'restore them from drizzle/ of this package, or from a backup; migrations do not run twice',
      }),
    )
  for (const { table, engine } of engines)
    findings.push(
      finding(
        'schema',
        [`table ${table}`],
        engine === VIEW
          ? {
              problem: `${table} is a view, and not the table that Kalends made`,
              fix: 'stop all workers, rename or drop the view, and give the table its name back',
            }
          : {
              problem: `the table ${table} is of the engine ${engine}, which has no transactions: jobs are lost and started twice`,
              fix: `stop all workers, and run \`ALTER TABLE ${table} ENGINE=InnoDB\``,
            },
      ),
    )
  return findings
}

/** @param leaseMs  a worker that is silent for longer is dead */
export function diagnose(seen: Inspection, leaseMs: number): Finding[] {
  const isAlive = ({ heartbeat }: { readonly heartbeat: Date }) =>
    seen.now.getTime() - heartbeat.getTime() <= leaseMs
  const alive = seen.workers.filter(isAlive)
  return [
    ...clockSkew(seen),
    ...heartbeatSkew(seen),
    ...missingWorkers(seen, alive.length),
    ...deadWorkers(
      seen,
      seen.workers.filter((worker) => !isAlive(worker)),
      alive.length,
    ),
    ...staleMarks(seen, new Set(alive.map(({ id }) => id))),
    ...farMarks(seen, leaseMs),
    ...invalidSchedules(seen),
    ...deadSchedules(seen),
    ...lateSchedules(seen),
    ...unhandledTasks(seen, new Set(alive.flatMap(({ tasks }) => tasks))),
    ...unclaimedJobs(seen, alive),
    ...orphanedJobs(seen, alive.length),
    ...blockedJobs(seen),
    ...endlessSchedules(seen),
  ]
}

function clockSkew({ now, localNow, roundTripMs }: Inspection): Finding[] {
  const ahead = localNow.getTime() - now.getTime()
  if (Math.abs(ahead) <= CLOCK_SKEW_MS + roundTripMs) return []
  return [
    finding('clock-skew', ['clock'], {
      problem: `this machine's clock is ${durationText(Math.abs(ahead))} ${ahead > 0 ? 'ahead of' : 'behind'} the database's`,
      fix: 'synchronise both with NTP; runs follow the clock of the database, logs that of the machine',
    }),
  ]
}

/** Heartbeats are told by the database's clock; one to come was told by another one, or before it was set back. */
function heartbeatSkew({ now, workers }: Inspection): Finding[] {
  const ahead = workers
    .map(({ id, heartbeat }) => ({ id, aheadMs: heartbeat.getTime() - now.getTime() }))
    .filter(({ aheadMs }) => aheadMs > CLOCK_SKEW_MS)
    .toSorted((a, b) => b.aheadMs - a.aheadMs)
  const [worst] = ahead
  if (worst === undefined) return []
  return [
    finding(
      'clock-skew',
      ahead.map(({ id }) => id),
      {
        problem: `the last heartbeat of ${worst.id} is ${durationText(worst.aheadMs)} in the future`,
        fix: 'synchronise the clocks of all nodes of the database with NTP; if its clock was set back, schedules wait until it has caught up with their `nextrun`',
      },
    ),
  ]
}

function missingWorkers({ schedules, waiting }: Inspection, alive: number): Finding[] {
  if (alive > 0 || (schedules.every(({ idle }) => idle !== null) && waiting.length === 0)) return []
  return [
    finding('no-worker', ['worker'], {
      problem: 'no live worker: nothing is submitted and nothing runs',
      fix: 'start one: `kalends start app.js`',
    }),
  ]
}

function deadWorkers({ now }: Inspection, dead: Inspection['workers'], alive: number): Finding[] {
  return dead.map((worker) =>
    finding('dead-worker', [worker.id], {
      problem: `the worker ${worker.id} is silent for ${durationText(now.getTime() - worker.heartbeat.getTime())}`,
      fix:
        alive > 0
          ? 'nothing, if it has crashed: a live worker takes over within the lease; if this stays, look at the log of the live ones'
          : 'start a worker: it takes over what this one held',
    }),
  )
}

function staleMarks({ marks, now }: Inspection, alive: ReadonlySet<string>): Finding[] {
  const stale = marks.filter(({ worker, ends }) => !alive.has(worker) || ends === null || ends < now)
  if (stale.length === 0) return []
  return [
    finding(
      'stale-mark',
      stale.map(({ id }) => id),
      {
        problem: `${counted(stale.length, 'schedule is', 'schedules are')} marked by a worker that is gone or late`,
        fix: 'nothing: a mark ends by itself within the lease, once a worker is up',
      },
    ),
  ]
}

function farMarks({ marks, now }: Inspection, leaseMs: number): Finding[] {
  const far = marks.filter(({ ends }) => ends !== null && ends.getTime() > now.getTime() + 2 * leaseMs)
  if (far.length === 0) return []
  return [
    finding(
      'far-mark',
      far.map(({ id }) => id),
      {
        problem: `${counted(far.length, 'schedule is', 'schedules are')} marked for longer than two leases: by hand, or by a clock that was ahead`,
        fix: 'nothing, if a worker is up: it ends such marks once a lease; if the lease of the workers is longer than the one asked with, give it with `--lease`',
      },
    ),
  ]
}

function invalidSchedules({ schedules }: Inspection): Finding[] {
  return schedules.flatMap(({ id, timer: text, idle, lastError }) => {
    const fault =
      idle === 'invalid' ? (lastError ?? 'no reason was recorded') : idle === null ? faultOf(text) : null
    if (fault === null) return []
    return finding('invalid-schedule', [id], {
      problem: `the timer of the schedule '${id}' cannot be read: ${firstLine(fault)}`,
      fix: `edit it: \`kalends schedules edit ${quoted(id)} --timer '…'\``,
    })
  })
}

function deadSchedules({ schedules }: Inspection): Finding[] {
  return schedules
    .filter(({ idle }) => idle === 'dead')
    .map(({ id, lastError }) =>
      finding('dead-schedule', [id], {
        problem: `the schedule '${id}' is dead after a run that failed for good: ${firstLine(lastError ?? 'no error was recorded')}`,
        fix: `when the cause is gone: \`kalends schedules reset ${quoted(id)}\``,
      }),
    )
}

/** Since when a schedule has been due. */
const since = ({ nextRun, created }: InspectedSchedule) => (nextRun ?? created).getTime()

function lateSchedules({ schedules, now }: Inspection): Finding[] {
  const late = schedules
    .filter(
      (schedule) => schedule.isDue && schedule.idle === null && now.getTime() - since(schedule) > LATE_MS,
    )
    .toSorted((a, b) => since(a) - since(b))
  const [worst] = late
  if (worst === undefined) return []
  return [
    finding(
      'late-schedule',
      late.map(({ id }) => id),
      {
        problem: `${counted(late.length, 'schedule is', 'schedules are')} due and not submitted; '${worst.id}' since ${durationText(now.getTime() - since(worst))}`,
        fix: 'start a worker that schedules; if one is up, look for an open transaction that holds the row',
      },
    ),
  ]
}

function unhandledTasks({ waiting, now }: Inspection, handled: ReadonlySet<string>): Finding[] {
  return waiting
    .filter(({ task }) => !handled.has(task))
    .map(({ task, count, since }) =>
      finding('unhandled-task', [task], {
        problem: `${counted(count, 'job', 'jobs')} of the task '${task}' ${count === 1 ? 'waits' : 'wait'} since ${durationText(now.getTime() - since.getTime())}, and no live worker handles it`,
        fix: `start a worker whose module handles '${task}', or cancel: \`kalends jobs cancel --task ${quoted(task)} --state waiting\``,
      }),
    )
}

/** A worker that runs something may be full; one that runs nothing has no reason to leave jobs lying. */
function unclaimedJobs({ waiting, now }: Inspection, alive: Inspection['workers']): Finding[] {
  return waiting.flatMap(({ task, count, since }) => {
    const able = alive.filter(({ tasks }) => tasks.includes(task))
    const waitedMs = now.getTime() - since.getTime()
    if (able.length === 0 || waitedMs <= LATE_MS || able.some(({ running }) => running > 0)) return []
    return finding('unclaimed-job', [task], {
      problem: `${counted(count, 'job', 'jobs')} of the task '${task}' ${count === 1 ? 'waits' : 'wait'} since ${durationText(waitedMs)}, although ${able.map(({ id }) => id).join(', ')} could run ${count === 1 ? 'it' : 'them'} and runs nothing`,
      fix: 'look at `/health` and the log of that worker; look for an open transaction that holds the rows; start it anew',
    })
  })
}

function orphanedJobs({ orphans }: Inspection, alive: number): Finding[] {
  if (orphans.length === 0) return []
  return [
    finding(
      'orphaned-job',
      orphans.map(({ id }) => id),
      {
        problem: `${counted(orphans.length, 'job runs', 'jobs run')} on a worker that is not registered any more`,
        fix:
          alive > 0 ? 'nothing: a live worker takes over within the lease' : 'start a worker: it takes over',
      },
    ),
  ]
}

function blockedJobs({ blocked }: Inspection): Finding[] {
  if (blocked.length === 0) return []
  return [
    finding(
      'blocked-job',
      blocked.map(({ id }) => id),
      {
        problem: `${counted(blocked.length, 'job is', 'jobs are')} blocked with nothing before ${blocked.length === 1 ? 'it' : 'them'}: what was before was ended or deleted by hand`,
        fix: 'nothing, if a worker is up: its sweep gives them their turn within the lease, or within five leases where tables are large',
      },
    ),
  ]
}

function endlessSchedules({ endless }: Inspection): Finding[] {
  if (endless.length === 0) return []
  return [
    finding(
      'endless-schedule',
      endless.map(({ id }) => id),
      {
        problem: `${counted(endless.length, 'schedule waits', 'schedules wait')} for the end of a run whose job was deleted`,
        fix: 'nothing, if a worker is up: its sweep plans them within the lease, or within five leases where tables are large',
      },
    ),
  ]
}

function finding(
  code: Finding['code'],
  subjects: readonly string[],
  { problem, fix }: Pick<Finding, 'problem' | 'fix'>,
): Finding {
  return { code, subjects: subjects.slice(0, MOST_SUBJECTS), count: subjects.length, problem, fix }
}

function faultOf(text: string): string | null {
  try {
    timer(text)
    return null
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** As a shell takes it. */
function quoted(text: string): string {
  return /^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}

function counted(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? ''
}
