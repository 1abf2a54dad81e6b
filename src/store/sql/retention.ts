import { fromStored, toText } from '../instant.ts'
import { integerLiteral } from '../literals.ts'
import type { Retention, RetentionStore } from '../retention-store.ts'
import { lockRows } from './by-key.ts'
import { FINAL } from './conditions.ts'
import type { TablesContext } from './context.ts'
import { placeholders } from './tables.ts'

export class SqlRetention implements RetentionStore {
  readonly #context: TablesContext

  constructor(context: TablesContext) {
    this.#context = context
  }

  async prune(retention: Retention, limit: number): Promise<number> {
    const before = await this.#before(retention.ageMs)
    let removed = await this.#pruneOld(before, limit)
    if (removed < limit) removed += await this.#pruneMany(retention.perSchedule, limit - removed)
    if (removed < limit) await this.#deleteDone(before, limit)
    return removed
  }

  async #before(ageMs: number): Promise<string> {
    const { now } = this.#context.dialect
    const [clock] = await this.#context.rows<{ clock: string }>(`SELECT ${now} AS clock`)
    // Not before 1970: instants of the far past have a form that does not compare.
    return toText(new Date(Math.max(0, fromStored(clock?.clock ?? '').getTime() - ageMs)))
  }

  /** Deletes schedules that are done and have `after_done` set to `delete`, once all their jobs are pruned. */
  async #deleteDone(before: string, limit: number): Promise<void> {
    const { dialect, tables } = this.#context
    const { schedule, job, scheduleStatusIndex: index } = tables
    const isOlder = (column: string) => `(${column} IS NULL OR ${dialect.instant(column)} < ?)`
    // A declared schedule would be created again. `wake_at` is NULL unless an edit is still to be planned.
    const condition = `status = 'done' AND after_done = 'delete' AND declared_by IS NULL AND wake_at IS NULL
       AND ${['created', 'last_slot', 'last_finished'].map(isOlder).join(' AND ')}
       AND NOT EXISTS (SELECT 1 FROM ${job} AS a WHERE a.periodic_task_id = ${schedule}.id)`
    const params = [before, before, before]
    for (let deleted = limit; deleted === limit; ) {
      const found = await this.#context.rows<{ id: string }>(
        `SELECT id FROM ${dialect.found(schedule, { index })}
         WHERE ${condition}
         ORDER BY id
         LIMIT ${integerLiteral(limit)}`,
        params,
      )
      deleted = await this.#context.transaction(async (tx) => {
        const ids = found.map((row) => row.id)
        const lock = { table: schedule, columns: 'id', ids, where: condition, params }
        const done = (await lockRows<{ id: string }>(tx, lock)).map((row) => row.id)
        if (done.length === 0) return 0
        return await tx.run(`DELETE FROM ${schedule} WHERE id IN (${placeholders(done)})`, done)
      })
    }
  }

  async #pruneOld(before: string, limit: number): Promise<number> {
    const { job } = this.#context.tables
    // The index on `finished` holds filter and order; a job that is not final has none.
    const rows = await this.#context.rows<{ id: string }>(
      `SELECT id FROM ${job}
       WHERE finished < ? AND ${FINAL}
       ORDER BY finished
       LIMIT ${integerLiteral(limit)}`,
      [before],
    )
    return this.#remove(rows.map((row) => row.id))
  }

  async #pruneMany(perSchedule: number, limit: number): Promise<number> {
    const { job } = this.#context.tables
    // Only what may be removed is counted, or schedules with many open jobs would keep others from their turn.
    const removable = `${FINAL} AND periodic_task_id IS NOT NULL AND slot IS NOT NULL`
    const crowded = await this.#context.rows<{ id: string }>(
      `SELECT periodic_task_id AS id FROM ${job}
       WHERE ${removable}
       GROUP BY periodic_task_id
       HAVING COUNT(*) > ${integerLiteral(perSchedule)}
       LIMIT 100`,
    )
    let removed = 0
    for (const { id } of crowded) {
      const [newest] = await this.#context.rows<{ slot: string }>(
        `SELECT slot FROM ${job}
         WHERE periodic_task_id = ? AND ${removable}
         ORDER BY slot DESC
         LIMIT 1 OFFSET ${integerLiteral(perSchedule)}`,
        [id],
      )
      if (newest === undefined) continue
      const rows = await this.#context.rows<{ id: string }>(
        `SELECT id FROM ${job}
         WHERE periodic_task_id = ? AND slot <= ? AND ${FINAL}
         ORDER BY slot
         LIMIT ${integerLiteral(limit - removed)}`,
        [id, newest.slot],
      )
      removed += await this.#remove(rows.map((row) => row.id))
      if (removed >= limit) break
    }
    return removed
  }

  async #remove(ids: readonly string[]): Promise<number> {
    if (ids.length === 0) return 0
    return await this.#context.transaction(async (tx) => {
      const { job, log, attempt } = tx.tables
      // A job that is being retried, or was meanwhile, keeps its log and attempts.
      const final = await lockRows<{ id: string }>(tx, { table: job, columns: 'id', ids, where: FINAL })
      if (final.length === 0) return 0
      const found = final.map((row) => row.id)
      for (const table of [log, attempt])
        await tx.run(`DELETE FROM ${table} WHERE job_id IN (${placeholders(found)})`, found)
      return await tx.run(`DELETE FROM ${job} WHERE id IN (${placeholders(found)})`, found)
    })
  }
}
