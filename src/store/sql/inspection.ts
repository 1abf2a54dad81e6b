import { picked, PLAN_COLUMNS, SCHEDULE_COLUMNS } from '../../model/columns.ts'
import { SETTINGS } from '../../model/settings.ts'
import type { DoctorInput, DoctorSchedule } from '../../model/diagnosis.ts'
import { isFrequent } from '../../model/doctor.ts'
import { fromStored, fromText, toText } from '../../model/instant.ts'
import { FINAL_STATES } from '../../model/states.ts'
import { PRUNE_TASK } from '../../model/task.ts'
import { integerLiteral } from '../literals.ts'
import type { FurthestSchedules } from '../scheduling-store.ts'
import { blockedByNothing, IN_QUEUE, orphan, waitsForNothing } from './conditions.ts'
import { type Context, readClock, type TablesContext } from './context.ts'
import { expressions, plannableColumns, type PlannableRow, reader, toPlannable } from './rows.ts'
import { numberIn } from './stored-json.ts'
import { workerStore } from './workers.ts'

/** Maximum number of rows of each kind; a longer list would not help. */
const MAX = 10_000
/** Waiting jobs are counted up to this number. */
const MAX_WAITING = 100_000
const MAX_FURTHEST = 1000

/** The most recent slots of this many frequent schedules are read at once. */
const FREQUENT_AT_ONCE = 100
/** A schedule is reported if at least `TOO_MANY` of its `LAST_SLOTS` most recent rows have missed slots. */
const LAST_SLOTS = 10
const TOO_MANY = 3
const RECENT_MS = 60_000
/** A job that has been in an external queue for longer than this may be lost there. */
const UNREPORTED_MS = 3_600_000

const SCHEDULE = {
  ...picked(SETTINGS, ['task', 'timer']),
  ...picked(SCHEDULE_COLUMNS, ['nextRunAt', 'createdAt', 'lastError', 'retryAt', 'retry', 'retryLimit']),
  ...picked(PLAN_COLUMNS, ['uid', 'idle']),
}
const readSchedule = reader(SCHEDULE)

export async function inspect(context: TablesContext): Promise<DoctorInput> {
  const clock = await clocks(context)
  const store = workerStore(context)
  const waiting = await waitingJobs(context)
  // Read after the waiting jobs: a worker that has claimed some in the meantime is not idle.
  const running = await store.running()
  const { workers } = await store.list()
  const active = await schedules(context)
  return {
    ...clock,
    workers: workers.map((worker) => ({ ...worker, running: running.get(worker.id) ?? 0 })),
    marks: await marks(context),
    schedules: active,
    behind: await behind(context, active, clock.now),
    furthest: (await furthest(context, MAX_FURTHEST)).schedules,
    waiting,
    unremoved: await unremoved(context),
    ...(await broken(context, clock.now)),
  }
}

async function clocks(context: Context): Promise<Pick<DoctorInput, 'now' | 'localNow' | 'roundTripMs'>> {
  // The first query may include the time to connect, so only the second one is measured.
  await readClock(context)
  const asked = performance.now()
  const before = Date.now()
  const now = await readClock(context)
  const roundTripMs = performance.now() - asked
  return { now, localNow: new Date(before + roundTripMs / 2), roundTripMs }
}

async function marks({ rows, dialect, tables }: Context): Promise<DoctorInput['marks']> {
  const found = await rows<{ id: string; worker: string; ends: string | null }>(
    `SELECT id, worker, ${dialect.instant('mark_ends')} AS ends
     FROM ${tables.schedule}
     WHERE worker IS NOT NULL
     ORDER BY id
     LIMIT ${integerLiteral(MAX)}`,
  )
  return found.map((row) => ({ ...row, ends: fromText(row.ends) }))
}

type ReadSchedule = DoctorSchedule & { readonly uid: string }

async function schedules({ rows, dialect, tables }: Context): Promise<ReadSchedule[]> {
  const found = await rows<{ id: string; due: number }>(
    `SELECT ${expressions(dialect, SCHEDULE).join(', ')},
       CASE WHEN worker IS NULL AND wake_at <= ${dialect.now} THEN 1 ELSE 0 END AS due
     FROM ${tables.schedule}
     WHERE enabled = 1 AND (idle IS NULL OR idle IN ('invalid', 'dead') OR retry_at IS NOT NULL)
     ORDER BY id
     LIMIT ${integerLiteral(MAX)}`,
  )
  return found.map((row) => ({ ...readSchedule(row), isDue: row.due === 1 }))
}

/**
 * Schedules that missed slots in several of their most recent submissions. Only frequent schedules are checked, because
 * only they can become due faster than workers submit them.
 */
async function behind(
  context: Context,
  active: readonly ReadSchedule[],
  now: Date,
): Promise<DoctorInput['behind']> {
  const { dialect, tables } = context
  const since = toText(new Date(now.getTime() - RECENT_MS))
  const recent = `SELECT ? AS id,
      CASE WHEN missed > 0 AND (state <> 'skipped' OR reason = 'missed') THEN 1 ELSE 0 END AS is_missed
    FROM ${tables.job}
    WHERE periodic_task_uid = ${dialect.jobId} AND slot >= ?
    ORDER BY slot DESC
    LIMIT ${integerLiteral(LAST_SLOTS)}`
  const frequent = active.filter((schedule) => isFrequent(schedule, now))
  const missed = new Map<string, number>()
  for (let first = 0; first < frequent.length; first += FREQUENT_AT_ONCE) {
    const some = frequent.slice(first, first + FREQUENT_AT_ONCE)
    const rows = await context.rows<{ id: string; is_missed: number }>(
      dialect.union(some.map(() => recent)),
      some.flatMap(({ id, uid }) => [id, uid, since]),
    )
    for (const { id, is_missed: isMissed } of rows) missed.set(id, (missed.get(id) ?? 0) + isMissed)
  }
  return frequent.filter(({ id }) => (missed.get(id) ?? 0) >= TOO_MANY).map(({ id }) => ({ id }))
}

async function waitingJobs({ rows, tables }: Context): Promise<DoctorInput['waiting']> {
  const found = await rows<{ task: string; amount: number; since: string }>(
    `SELECT claim_task AS task, COUNT(*) AS amount, MIN(submitted) AS since
     FROM (
       SELECT claim_task, submitted FROM ${tables.job}
       WHERE ready = 1
       LIMIT ${integerLiteral(MAX_WAITING)}
     ) AS waiting
     GROUP BY claim_task
     ORDER BY claim_task`,
  )
  return found.map(({ task, amount, since }) => ({ task, count: amount, since: fromStored(since) }))
}

async function unremoved({ rows, tables, dialect }: Context): Promise<DoctorInput['unremoved']> {
  const [pruned] = await rows<{ args: string; started: string | null }>(
    `SELECT args, ${dialect.instant('started')} AS started
     FROM ${tables.job}
     WHERE periodic_task_id = '${PRUNE_TASK}' AND state = 'success'
     ORDER BY id DESC
     LIMIT 1`,
  )
  const started = fromText(pruned?.started ?? null)
  const ageMs = numberIn(pruned?.args ?? '', 'ageMs')
  if (started === null || ageMs === null) return []
  const before = toText(new Date(Math.max(0, started.getTime() - ageMs)))
  const oldest = FINAL_STATES.map(
    (state) =>
      `SELECT id FROM ${dialect.found(tables.job, { index: tables.jobStateIndex })}
       WHERE state = '${state}' AND finished < ?
       ORDER BY finished
       LIMIT ${integerLiteral(MAX)}`,
  )
  return await rows<{ id: string }>(
    dialect.union(oldest),
    oldest.map(() => before),
  )
}

async function broken(
  { rows, tables, dialect }: Context,
  now: Date,
): Promise<Pick<DoctorInput, 'orphans' | 'unreported' | 'blocked' | 'endless'>> {
  const first = `ORDER BY id LIMIT ${integerLiteral(MAX)}`
  const byState = (of: string) => dialect.found(of, { index: tables.jobStateIndex })
  return {
    orphans: await rows<{ id: string; worker: string }>(
      `SELECT id, worker FROM ${byState(tables.job)} WHERE ${orphan(tables)} ${first}`,
    ),
    unreported: await rows<{ id: string }>(
      `SELECT id FROM ${tables.job}
       WHERE ${IN_QUEUE} AND started < ? ${first}`,
      [toText(new Date(now.getTime() - UNREPORTED_MS))],
    ),
    blocked: await rows<{ id: string; schedule: string }>(
      `SELECT MIN(id) AS id, MIN(periodic_task_id) AS schedule
       FROM ${byState(`${tables.job} AS b`)}
       WHERE ${blockedByNothing(tables)}
       GROUP BY COALESCE(periodic_task_uid, id)
       ${first}`,
    ),
    endless: await rows<{ id: string }>(
      `SELECT id FROM ${tables.schedule} AS s WHERE ${waitsForNothing(tables, 's')} ${first}`,
    ),
  }
}

/**
 * Finds schedules that may have been planned while the clock was ahead.
 *
 * Leaves out schedules that are paused or being submitted. The index on wake_at finds the latest next runs. Slots in
 * the future are found by a scan that reads neither generated columns nor the clock for each row. The rows are read by
 * key with a join, because servers would evaluate a UNION inside a condition for each row of the table.
 */
export async function furthest(
  { select, dialect, tables }: Context,
  most: number,
): Promise<FurthestSchedules> {
  const limit = integerLiteral(most)
  const found = await select<PlannableRow>(
    plannableColumns(dialect),
    `FROM (
       SELECT id FROM (
         SELECT id FROM ${dialect.found(tables.schedule, { index: tables.wakeIndex })}
         WHERE wake_at > ${dialect.now} AND worker IS NULL
         ORDER BY wake_at DESC
         LIMIT ${limit}
       ) AS latest
       UNION
       SELECT id FROM (
         SELECT id FROM ${tables.schedule}
         WHERE last_slot > (SELECT ${dialect.now})
           AND enabled = 1 AND worker IS NULL AND (idle IS NULL OR idle = 'done')
         LIMIT ${limit}
       ) AS ahead
     ) AS furthest
       JOIN ${dialect.found(tables.schedule, 'key')} USING (id)
     ORDER BY id`,
  )
  return { schedules: found.map(toPlannable), now: fromStored(found[0]?.clock ?? '') }
}
