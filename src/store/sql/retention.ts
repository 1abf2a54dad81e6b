import { FINAL_STATES, type JobState } from '../../model/states.ts'
import { toText } from '../../model/instant.ts'
import { integerLiteral, placeholders } from '../literals.ts'
import type { RetentionStore } from '../store.ts'
import { lockIds } from './by-key.ts'
import { FINAL } from './conditions.ts'
import { readClock, type TablesContext } from './context.ts'

export function retentionStore(context: TablesContext): RetentionStore {
  return {
    async prune({ ageMs, perSchedule }, limit) {
      const now = await readClock(context)
      // `before` is never earlier than 1970, because `toText` cannot represent instants before the year 0.
      const before = toText(new Date(Math.max(0, now.getTime() - ageMs)))
      let removed = await pruneOld(context, before, limit)
      if (removed < limit) removed += await pruneMany(context, perSchedule, limit - removed)
      if (removed < limit) await deleteDone(context, before, limit)
      await context.run(`DELETE FROM ${context.tables.freeze} WHERE until < ?`, [before])
      return removed
    },
  }
}

/** Deletes done schedules with `after_done` = `delete` that are older than `before` and have no jobs left. */
async function deleteDone(context: TablesContext, before: string, limit: number): Promise<void> {
  const { dialect, tables } = context
  const { schedule, job, scheduleStatusIndex: index } = tables
  const isOlder = (column: string) => `(${column} IS NULL OR ${dialect.instant(column)} < ?)`
  // A declared schedule would be created again. `wake_at` is not NULL if an edit has not been planned yet.
  const condition = `status = 'done' AND after_done = 'delete' AND declared_by IS NULL AND wake_at IS NULL
     AND ${['created', 'last_slot', 'last_finished'].map(isOlder).join(' AND ')}
     AND NOT EXISTS (SELECT 1 FROM ${job} AS a WHERE a.periodic_task_id = ${schedule}.id)`
  const params = [before, before, before]
  for (let deleted = limit; deleted === limit; ) {
    const found = await context.rows<{ id: string }>(
      `SELECT id FROM ${dialect.found(schedule, { index })}
       WHERE ${condition}
       ORDER BY id
       LIMIT ${integerLiteral(limit)}`,
      params,
    )
    deleted = await context.transaction(async (tx) => {
      const ids = found.map((row) => row.id)
      const done = await lockIds(tx, schedule, ids, condition, params)
      if (done.length === 0) return 0
      return await tx.run(`DELETE FROM ${schedule} WHERE id IN (${placeholders(done)})`, done)
    })
  }
}

async function pruneOld(context: TablesContext, before: string, limit: number): Promise<number> {
  const { dialect, tables } = context
  // For each state, the index both filters and orders.
  const oldest = (state: JobState) =>
    `SELECT id, finished FROM ${dialect.found(tables.job, { index: tables.jobStateIndex })}
     WHERE state = '${state}' AND finished < ?
     ORDER BY finished
     LIMIT ${integerLiteral(limit)}`
  const rows = await context.rows<{ id: string }>(
    `SELECT id FROM (${dialect.union(FINAL_STATES.map(oldest))}) AS old
     ORDER BY finished
     LIMIT ${integerLiteral(limit)}`,
    FINAL_STATES.map(() => before),
  )
  return remove(context, rows)
}

async function pruneMany(context: TablesContext, perSchedule: number, limit: number): Promise<number> {
  const { job } = context.tables
  // Counts only jobs that may be removed; otherwise, schedules with many open jobs would keep other schedules from
  // being pruned.
  const removable = `${FINAL} AND periodic_task_id IS NOT NULL AND slot IS NOT NULL`
  const crowded = await context.rows<{ id: string }>(
    `SELECT periodic_task_id AS id FROM ${job}
     WHERE ${removable}
     GROUP BY periodic_task_id
     HAVING COUNT(*) > ${integerLiteral(perSchedule)}
     LIMIT 100`,
  )
  let removed = 0
  for (const { id } of crowded) {
    const [newest] = await context.rows<{ slot: string }>(
      `SELECT slot FROM ${job}
       WHERE periodic_task_id = ? AND ${removable}
       ORDER BY slot DESC
       LIMIT 1 OFFSET ${integerLiteral(perSchedule)}`,
      [id],
    )
    if (newest === undefined) continue
    const rows = await context.rows<{ id: string }>(
      `SELECT id FROM ${job}
       WHERE periodic_task_id = ? AND slot <= ? AND ${FINAL}
       ORDER BY slot
       LIMIT ${integerLiteral(limit - removed)}`,
      [id, newest.slot],
    )
    removed += await remove(context, rows)
    if (removed >= limit) break
  }
  return removed
}

async function remove(context: TablesContext, rows: readonly { readonly id: string }[]): Promise<number> {
  if (rows.length === 0) return 0
  return await context.transaction(async (tx) => {
    const { job, log, attempt } = tx.tables
    const { jobId } = tx.dialect
    const ids = rows.map((row) => row.id)
    // A job that is being retried, or was retried in the meantime, keeps its log and attempts.
    const final = await lockIds(tx, job, ids, FINAL)
    if (final.length === 0) return 0
    for (const table of [log, attempt])
      await tx.run(`DELETE FROM ${table} WHERE job_id IN (${placeholders(final, jobId)})`, final)
    return await tx.run(`DELETE FROM ${job} WHERE id IN (${placeholders(final, jobId)})`, final)
  })
}
