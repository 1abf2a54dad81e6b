import type { Database } from '../database.ts'
import { fromStored, toText } from '../instant.ts'
import type { NewWorker, WorkerRecord, WorkerStore } from '../worker-store.ts'
import { lowestVersion } from './lowest-version.ts'
import { textRecordOf, textsOf } from './stored-json.ts'
import type { Tables } from './tables.ts'

interface WorkerRow {
  id: string
  name: string
  host: string
  pid: number
  tasks: string
  sets: string
  started: string
  heartbeat: string
}

export class SqlWorkers implements WorkerStore {
  readonly #database: Database
  readonly #tables: Tables

  constructor(database: Database, tables: Tables) {
    this.#database = database
    this.#tables = tables
  }

  async register(worker: NewWorker): Promise<void> {
    await this.#database.run(
      `INSERT INTO ${this.#tables.worker} (id, name, host, pid, tasks, sets) VALUES (?, ?, ?, ?, ?, ?)`,
      [
        worker.id,
        worker.name,
        worker.host,
        worker.pid,
        JSON.stringify(worker.tasks),
        JSON.stringify(worker.sets ?? {}),
      ],
    )
  }

  async heartbeat(id: string): Promise<boolean> {
    return (
      (await this.#database.run(
        `UPDATE ${this.#tables.worker} SET heartbeat = ${this.#database.dialect.now} WHERE id = ?`,
        [id],
      )) > 0
    )
  }

  async list(): Promise<WorkerRecord[]> {
    const { instant } = this.#database.dialect
    const rows = await this.#database.rows<WorkerRow>(
      `SELECT id, name, host, pid, tasks, sets, ${instant('started')} AS started, ${instant('heartbeat')} AS heartbeat FROM ${this.#tables.worker} ORDER BY id`,
    )
    return rows.map((row) => ({
      ...row,
      // A bad row must not keep the others from being seen, or nobody would take over from the dead.
      tasks: textsOf(row.tasks),
      sets: textRecordOf(row.sets),
      started: fromStored(row.started),
      heartbeat: fromStored(row.heartbeat),
    }))
  }

  lowestVersion(): Promise<string | null> {
    return lowestVersion(this.#database, this.#tables.migration)
  }

  async running(): Promise<ReadonlyMap<string, number>> {
    // The index of held_by alone answers it: NULL unless the job runs.
    const rows = await this.#database.rows<{ worker: string; amount: number }>(
      `SELECT held_by AS worker, COUNT(*) AS amount FROM ${this.#tables.job} WHERE held_by IS NOT NULL GROUP BY held_by`,
    )
    return new Map(rows.map(({ worker, amount }) => [worker, amount]))
  }

  async evict(id: string, heartbeat: Date): Promise<boolean> {
    return (
      (await this.#database.run(
        `DELETE FROM ${this.#tables.worker} WHERE id = ? AND ${this.#database.dialect.instant('heartbeat')} = ?`,
        [id, toText(heartbeat)],
      )) > 0
    )
  }

  async unregister(id: string): Promise<void> {
    await this.#database.run(`DELETE FROM ${this.#tables.worker} WHERE id = ?`, [id])
  }
}
