import type { Database } from '../database.ts'
import { fromStored, toText } from '../instant.ts'
import { integerLiteral } from '../literals.ts'
import type { Retention, RetentionStore } from '../retention-store.ts'
import { placeholders, type Tables } from './tables.ts'

const FINAL = "state IN ('success', 'failed', 'cancelled', 'skipped')"

export class SqlRetention implements RetentionStore {
  readonly #database: Database
  readonly #tables: Tables

  constructor(database: Database, tables: Tables) {
    this.#database = database
    this.#tables = tables
  }

  async prune(retention: Retention, limit: number): Promise<number> {
    const before = await this.#before(retention.ageMs)
    const old = await this.#pruneOld(before, limit)
    if (old < limit) await this.#deleteDone(before, limit)
    return old < limit ? old + (await this.#pruneMany(retention.perSchedule, limit - old)) : old
  }

  async #before(ageMs: number): Promise<string> {
    const { now } = this.#database.dialect
    const [clock] = await this.#database.rows<{ clock: string }>(`SELECT ${now} AS clock`)
    // Not before 1970: instants of the far past have a form that does not compare.
    return toText(new Date(Math.max(0, fromStored(clock?.clock ?? '').getTime() - ageMs)))
  }

  /** Deletes the schedules that are done, that nobody has edited since, and that say so. */
  async #deleteDone(before: string, limit: number): Promise<void> {
    const { schedule } = this.#tables
    const { byKey, skipLocked } = this.#database.dialect
    // The index on `status` finds them. What code declares would be made again. `wake_at` is null where no edit waits.
    const condition = `status = 'done' AND after_done = 'delete' AND declared_by IS NULL AND wake_at IS NULL
      AND COALESCE(last_finished, last_slot, created) < ?`
    for (let deleted = limit; deleted === limit; ) {
      const found = await this.#database.rows<{ id: string }>(
        `SELECT id FROM ${schedule} WHERE ${condition} ORDER BY id LIMIT ${integerLiteral(limit)}`,
        [before],
      )
      if (found.length === 0) return
      const ids = found.map((row) => row.id)
      deleted = await this.#database.transaction(async (sql) => {
        const still = await sql.rows<{ id: string }>(
          `SELECT id FROM ${schedule} ${byKey}
           WHERE id IN (${placeholders(ids)}) AND ${condition} ORDER BY id ${skipLocked}`,
          [...ids, before],
        )
        if (still.length === 0) return 0
        const done = still.map((row) => row.id)
        return sql.run(`DELETE FROM ${schedule} WHERE id IN (${placeholders(done)})`, done)
      })
    }
  }

  async #pruneOld(before: string, limit: number): Promise<number> {
    const { job } = this.#tables
    // The index on `finished` holds filter and order; a job that is not final has none.
    const rows = await this.#database.rows<{ id: string }>(
      `SELECT id FROM ${job} WHERE finished < ? AND ${FINAL} ORDER BY finished LIMIT ${integerLiteral(limit)}`,
      [before],
    )
    return this.#remove(rows.map((row) => row.id))
  }

  async #pruneMany(perSchedule: number, limit: number): Promise<number> {
    const { job } = this.#tables
    // Only what may be removed is counted, or schedules with many open jobs would keep others from their turn.
    const removable = `${FINAL} AND periodic_task_id IS NOT NULL AND slot IS NOT NULL`
    const crowded = await this.#database.rows<{ id: string }>(
      `SELECT periodic_task_id AS id FROM ${job} WHERE ${removable} GROUP BY periodic_task_id HAVING COUNT(*) > ${integerLiteral(perSchedule)} LIMIT 100`,
    )
    let removed = 0
    for (const { id } of crowded) {
      const [newest] = await this.#database.rows<{ slot: string }>(
        `SELECT slot FROM ${job} WHERE periodic_task_id = ? AND ${removable} ORDER BY slot DESC LIMIT 1 OFFSET ${integerLiteral(perSchedule)}`,
        [id],
      )
      if (newest === undefined) continue
      const rows = await this.#database.rows<{ id: string }>(
        `SELECT id FROM ${job} WHERE periodic_task_id = ? AND slot <= ? AND ${FINAL} ORDER BY slot LIMIT ${integerLiteral(limit - removed)}`,
        [id, newest.slot],
      )
      removed += await this.#remove(rows.map((row) => row.id))
      if (removed >= limit) break
    }
    return removed
  }

  async #remove(ids: readonly string[]): Promise<number> {
    if (ids.length === 0) return 0
    const { job, log } = this.#tables
    const { byKey, skipLocked } = this.#database.dialect
    return this.#database.transaction(async (sql) => {
      // What is being retried, or was meanwhile, stays with its log.
      const still = await sql.rows<{ id: string }>(
        `SELECT id FROM ${job} ${byKey} WHERE id IN (${placeholders(ids)}) AND ${FINAL} ORDER BY id ${skipLocked}`,
        ids,
      )
      if (still.length === 0) return 0
      const final = still.map((row) => row.id)
      await sql.run(`DELETE FROM ${log} WHERE job_id IN (${placeholders(final)})`, final)
      return sql.run(`DELETE FROM ${job} WHERE id IN (${placeholders(final)})`, final)
    })
  }
}
