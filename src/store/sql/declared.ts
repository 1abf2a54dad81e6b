import type { Database, Sql } from '../database.ts'
import type { DeclaredStore, SetChanges, SetState, SetVersion } from '../declared-store.ts'
import { scheduleColumns, type ScheduleRow, toSchedule } from './rows.ts'
import { againOnDuplicate, changeSchedule, insertSchedule, lockSchedules } from './schedules.ts'
import { textRecordOf, textsOf } from './stored-json.ts'
import { placeholders, type Tables } from './tables.ts'

export class SqlDeclared implements DeclaredStore {
  readonly #database: Database
  readonly #tables: Tables

  constructor(database: Database, tables: Tables) {
    this.#database = database
    this.#tables = tables
  }

  async sync(version: SetVersion, decide: (state: SetState) => SetChanges): Promise<void> {
    await this.#noteVersion(version)
    const { text, params } = ofSet(version)
    const rows = await this.#database.rows<ScheduleRow>(
      `SELECT ${scheduleColumns(this.#database.dialect)} FROM ${this.#tables.schedule} WHERE ${text} ORDER BY id`,
      params,
    )
    // Nothing to do, as mostly: then nothing is locked.
    if (isNothing(decide({ existing: rows.map(toSchedule), ...(await this.#live(this.#database, version)) })))
      return
    await againOnDuplicate(this.#database, () =>
      this.#database.transaction(async (sql) => {
        const existing = await lockSchedules(sql, this.#database, this.#tables, ofSet(version))
        await this.#apply(sql, decide({ existing, ...(await this.#live(sql, version)) }))
      }),
    )
  }

  async #apply(sql: Sql, changes: SetChanges): Promise<void> {
    const { schedule } = this.#tables
    const { byKey } = this.#database.dialect
    const update = async (assignments: string, ids: readonly string[]) => {
      if (ids.length > 0)
        await sql.run(
          `UPDATE ${schedule} ${byKey} SET ${assignments} WHERE id IN (${placeholders(ids)})`,
          ids,
        )
    }
    for (const created of changes.create.toSorted((a, b) => (a.id < b.id ? -1 : 1)))
      await insertSchedule(sql, this.#database, this.#tables, created)
    for (const { id, settings } of changes.change) await changeSchedule(sql, this.#tables, id, settings)
    // planned_from NULL: planned anew, from now.
    await update('idle = NULL, nextrun = NULL, planned_from = NULL', changes.lift)
    // As if planned: or it would look edited, and be planned.
    await this.#retire(sql, changes.retire)
    if (changes.delete.length > 0)
      await sql.run(`DELETE FROM ${schedule} WHERE id IN (${placeholders(changes.delete)})`, changes.delete)
  }

  async #retire(sql: Sql, ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return
    const { dialect } = this.#database
    const rows = await sql.rows<{ id: string; definition: string }>(
      `SELECT id, definition FROM ${this.#tables.schedule} WHERE id IN (${placeholders(ids)})`,
      ids,
    )
    const batch = rows.map((row) => ({ id: row.id, planned_from: `${row.definition}|` }))
    await sql.run(
      dialect.updateFromBatch(this.#tables.schedule, dialect.batch({ id: 'id', planned_from: 'text' }), {
        idle: "'retired'",
        nextrun: 'NULL',
        planned_from: 'b.planned_from',
      }),
      [JSON.stringify(batch)],
    )
  }

  /** The order in which versions were first seen decides which is the newest. */
  async #noteVersion({ name, hash, schedules }: SetVersion): Promise<void> {
    const { declaredSet } = this.#tables
    const known = await this.#database.rows(`SELECT hash FROM ${declaredSet} WHERE name = ? AND hash = ?`, [
      name,
      hash,
    ])
    if (known.length > 0) return
    try {
      await this.#database.run(`INSERT INTO ${declaredSet} (name, hash, schedules) VALUES (?, ?, ?)`, [
        name,
        hash,
        JSON.stringify(schedules),
      ])
    } catch (error) {
      if (!this.#database.dialect.isDuplicate(error)) throw error
    }
  }

  async #live(sql: Sql, version: SetVersion): Promise<Omit<SetState, 'existing'>> {
    const workers = await sql.rows<{ sets: string }>(`SELECT sets FROM ${this.#tables.worker}`)
    const hashes = new Set([version.hash])
    for (const { sets } of workers) {
      const declared = textRecordOf(sets)
      const hash = Object.hasOwn(declared, version.name) ? declared[version.name] : undefined
      if (hash !== undefined) hashes.add(hash)
    }
    const versions = await sql.rows<{ hash: string; schedules: string }>(
      `SELECT hash, schedules FROM ${this.#tables.declaredSet} WHERE name = ? AND hash IN (${placeholders([...hashes])}) ORDER BY first_seen, hash`,
      [version.name, ...hashes],
    )
    const liveIds = versions.flatMap(({ schedules }) => textsOf(schedules))
    return {
      isNewest: versions.at(-1)?.hash === version.hash,
      liveIds: new Set([...liveIds, ...version.schedules]),
    }
  }
}

function ofSet({ name, schedules }: SetVersion): { text: string; params: readonly string[] } {
  if (schedules.length === 0) return { text: 'declared_by = ?', params: [name] }
  return { text: `(declared_by = ? OR id IN (${placeholders(schedules)}))`, params: [name, ...schedules] }
}

function isNothing(changes: SetChanges): boolean {
  return Object.values(changes).every((list) => list.length === 0)
}
