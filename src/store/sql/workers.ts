import { fromStored, toText } from '../instant.ts'
import type { NewWorker, WorkerRecord, WorkerStore } from '../worker-store.ts'
import type { TablesContext } from './context.ts'
import { lowestVersion } from './lowest-version.ts'
import { textRecordOf, textsOf } from './stored-json.ts'

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
  readonly #context: TablesContext

  constructor(context: TablesContext) {
    this.#context = context
  }

  async register(worker: NewWorker): Promise<void> {
    await this.#context.run(
      `INSERT INTO ${this.#context.tables.worker} (id, name, host, pid, tasks, sets) VALUES (?, ?, ?, ?, ?, ?)`,
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
      (await this.#context.run(
        `UPDATE ${this.#context.tables.worker} SET heartbeat = ${this.#context.dialect.now} WHERE id = ?`,
        [id],
      )) > 0
    )
  }

  async list(): Promise<WorkerRecord[]> {
    const { instant } = this.#context.dialect
    const rows = await this.#context.rows<WorkerRow>(
      `SELECT id, name, host, pid, tasks, sets,
         ${instant('started')} AS started, ${instant('heartbeat')} AS heartbeat
       FROM ${this.#context.tables.worker}
       ORDER BY id`,
    )
    return rows.map((row) => ({
      ...row,
      // An invalid row must not hide the others: workers could not take over from dead workers.
      tasks: textsOf(row.tasks),
      sets: textRecordOf(row.sets),
      started: fromStored(row.started),
      heartbeat: fromStored(row.heartbeat),
    }))
  }

  lowestVersion(): Promise<string | null> {
    return lowestVersion(this.#context, this.#context.tables)
  }

  async running(): Promise<ReadonlyMap<string, number>> {
    // The index of held_by alone answers it: NULL unless the job runs.
    const rows = await this.#context.rows<{ worker: string; amount: number }>(
      `SELECT held_by AS worker, COUNT(*) AS amount
       FROM ${this.#context.tables.job}
       WHERE held_by IS NOT NULL
       GROUP BY held_by`,
    )
    return new Map(rows.map(({ worker, amount }) => [worker, amount]))
  }

  async evict(id: string, heartbeat: Date): Promise<boolean> {
    return (
      (await this.#context.run(
        `DELETE FROM ${this.#context.tables.worker} WHERE id = ? AND ${this.#context.dialect.instant('heartbeat')} = ?`,
        [id, toText(heartbeat)],
      )) > 0
    )
  }

  async unregister(id: string): Promise<void> {
    await this.#context.run(`DELETE FROM ${this.#context.tables.worker} WHERE id = ?`, [id])
  }
}
