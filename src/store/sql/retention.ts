import { FINAL_STATES, type JobState } from '../../model/states.ts'
import { toText } from '../../model/instant.ts'
import { integerLiteral, placeholders } from '../literals.ts'
import type { RetentionStore } from '../store.ts'
import { eachFound, idsOf, lockIds } from './by-key.ts'
import { type Condition, exceptFor, FINAL } from './conditions.ts'
import { readClock, type TablesContext } from './context.ts'

export function retentionStore(context: TablesContext): RetentionStore {
  const position: Position = { finished: null }
  return {
    async prune({ ageMs, perSchedule }, limit) {
      const now = await readClock(context)
      // `before` is never earlier than 1970, because `toText` cannot represent instants before the year 0.
      const before = toText(new Date(Math.max(0, now.getTime() - ageMs)))
      let removed = await pruneOld(context, position, before, limit)
      if (removed < limit) removed += await pruneMany(context, perSchedule, limit - removed)
      if (removed < limit) {
        await deleteDone(context, before, limit)
        await deleteFreezes(context, before, limit)
      }
      return removed
    },
  }
}

/** Deletes done schedules with `after_done` = `delete` that are older than `before` and have no jobs left. */
async function deleteDone(context: TablesContext, before: string, limit: number): Promise<void> {
  const { dialect, tables, isolations } = context
  const { schedule, job, scheduleStatusIndex: index } = tables
  const isOlder = (column: string) => `(${column} IS NULL OR ${dialect.instant(column)} < ?)`
  // A declared schedule would be created again. `wake_at` is not NULL if an edit has not been planned yet.
  const condition = `status = 'done' AND after_done = 'delete' AND declared_by IS NULL AND wake_at IS NULL
     AND ${['created', 'last_slot', 'last_finished'].map(isOlder).join(' AND ')}
     AND NOT EXISTS (SELECT 1 FROM ${job} AS a WHERE a.periodic_task_uid = ${schedule}.uid)`
  const params = [before, before, before]
  await eachFound(isolations.of('removeSchedule'), {
    find: (except) =>
      context.rows(
        `SELECT id FROM ${dialect.found(schedule, { index })}
         WHERE ${condition}${except.text}
         ORDER BY id
         LIMIT ${integerLiteral(limit)}`,
        [...params, ...except.params],
      ),
    write: (found) =>
      context.transaction(async (tx) => {
        const done = await lockIds(tx, schedule, idsOf(found), condition, params)
        if (done.length === 0) return 0
        return await tx.run(`DELETE FROM ${schedule} WHERE id IN (${placeholders(done)})`, done)
      }),
    until: (deleted) => deleted < limit,
  })
}

async function deleteFreezes(context: TablesContext, before: string, limit: number): Promise<void> {
  const { freeze } = context.tables
  await eachFound(context.isolations.of('removeFreeze'), {
    find: (except) =>
      context.rows(
        `SELECT id FROM ${freeze} WHERE until < ?${except.text} ORDER BY id LIMIT ${integerLiteral(limit)}`,
        [before, ...except.params],
      ),
    write: (found) =>
      context.run(`DELETE FROM ${freeze} WHERE id IN (${placeholders(found)}) AND until < ?`, [
        ...idsOf(found),
        before,
      ]),
    until: (deleted) => deleted < limit,
  })
}

/**
 * Where the search for old jobs begins; null means with the oldest. It moves on when more jobs are rejected than this
 * process remembers, and returns to the oldest after the newest.
 */
interface Position {
  finished: string | null
}

/** How often the search moves on before the next pruning continues. */
const MAX_MOVES = 20

async function pruneOld(
  context: TablesContext,
  position: Position,
  before: string,
  limit: number,
): Promise<number> {
  const { dialect, tables, isolations } = context
  const finished = dialect.instant('finished')
  for (let moves = 0; moves < MAX_MOVES; moves += 1) {
    const seen: Position = { finished: null }
    const from = position.finished
    const removed = await removeFound(context, async (except) => {
      // For each state, the index both filters and orders.
      const oldest = (state: JobState) =>
        `SELECT id, finished, ${finished} AS ended
         FROM ${dialect.found(tables.job, { index: tables.jobStateIndex })}
         WHERE state = '${state}' AND finished < ?${from === null ? '' : ' AND finished >= ?'}${except.text}
         ORDER BY finished
         LIMIT ${integerLiteral(limit)}`
      const rows = await context.rows<{ id: string; ended: string }>(
        `SELECT id, ended FROM (${dialect.union(FINAL_STATES.map(oldest))}) AS old
         ORDER BY finished
         LIMIT ${integerLiteral(limit)}`,
        FINAL_STATES.flatMap(() => [before, ...(from === null ? [] : [from]), ...except.params]),
      )
      seen.finished = rows.at(-1)?.ended ?? seen.finished
      return rows
    })
    if (seen.finished === null) position.finished = null
    if (removed > 0 || seen.finished === null || !isolations.of('removeJob').isFull()) return removed
    position.finished = seen.finished
  }
  return 0
}

async function pruneMany(context: TablesContext, perSchedule: number, limit: number): Promise<number> {
  const { tables, dialect, isolations } = context
  const { job } = tables
  // Counts only jobs that may be removed; otherwise, schedules with many open jobs, or with jobs that the database does
  // not let go, would keep other schedules from being pruned.
  const except = exceptFor(isolations.of('removeJob').leftOut(), dialect.jobId)
  const removable = `${FINAL} AND periodic_task_uid IS NOT NULL AND slot IS NOT NULL${except.text}`
  const crowded = await context.rows<{ uid: string }>(
    `SELECT periodic_task_uid AS uid FROM ${job}
     WHERE ${removable}
     GROUP BY periodic_task_uid
     HAVING COUNT(*) > ${integerLiteral(perSchedule)}
     LIMIT 100`,
    except.params,
  )
  let removed = 0
  for (const { uid } of crowded) {
    const [newest] = await context.rows<{ slot: string }>(
      `SELECT slot FROM ${job}
       WHERE periodic_task_uid = ${dialect.jobId} AND ${removable}
       ORDER BY slot DESC
       LIMIT 1 OFFSET ${integerLiteral(perSchedule)}`,
      [uid, ...except.params],
    )
    if (newest === undefined) continue
    removed += await removeFound(context, (others) =>
      context.rows(
        `SELECT id FROM ${job}
         WHERE periodic_task_uid = ${dialect.jobId} AND slot <= ? AND ${FINAL}${others.text}
         ORDER BY slot
         LIMIT ${integerLiteral(limit - removed)}`,
        [uid, newest.slot, ...others.params],
      ),
    )
    if (removed >= limit) break
  }
  return removed
}

/** Removes the first batch of jobs that can be removed. */
function removeFound(
  context: TablesContext,
  find: (except: Condition) => Promise<{ readonly id: string }[]>,
): Promise<number> {
  const { isolations, dialect } = context
  return eachFound(isolations.of('removeJob'), {
    find,
    key: dialect.jobId,
    write: (found) => remove(context, found),
    until: () => true,
  })
}

async function remove(context: TablesContext, rows: readonly { readonly id: string }[]): Promise<number> {
  return await context.transaction(async (tx) => {
    const { job, log, attempt } = tx.tables
    const { jobId } = tx.dialect
    // A job that is being retried, or was retried in the meantime, keeps its log and attempts.
    const final = await lockIds(tx, job, idsOf(rows), FINAL)
    if (final.length === 0) return 0
    for (const table of [log, attempt])
      await tx.run(`DELETE FROM ${table} WHERE job_id IN (${placeholders(final, jobId)})`, final)
    return await tx.run(`DELETE FROM ${job} WHERE id IN (${placeholders(final, jobId)})`, final)
  })
}
