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
    const old = await this.#pruneOld(retention.ageMs, limit)
    return old < limit ? old + (await this.#pruneMany(retention.perSchedule, limit - old)) : old
  }

  async #pruneOld(ageMs: number, limit: number): Promise<number> {
    const { job } = this.#tables
    const { now } = this.#database.dialect
    const [clock] = await this.#database.rows<{ clock: string }>(`SELECT ${now} AS clock`)
    // Not before 1970: instants of the far past have a form that does not compare.
    const before = toText(new Date(Math.max(0, fromStored(clock?.clock ?? '').getTime() - ageMs)))
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
