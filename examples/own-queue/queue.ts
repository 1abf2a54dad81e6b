/**
 * A queue that the application has already: a table of its own, `work_item`. Kalends puts the occurrences of its
 * schedules there; who works them off is the application's affair.
 */
import type { ExternalJob } from 'kalends'
import type { AppDatabase, Rows } from './database.ts'

export interface WorkItem {
  readonly id: string
  readonly schedule: string
  readonly task: string
  /** JSON. */
  readonly args: string
  /** Unix milliseconds. */
  readonly slot: number
  readonly state: 'new' | 'taken' | 'done'
  readonly worker: string | null
}

export class OwnQueue {
  readonly #database: AppDatabase

  private constructor(database: AppDatabase) {
    this.#database = database
  }

  static async open(database: AppDatabase): Promise<OwnQueue> {
    await database.rows(`CREATE TABLE IF NOT EXISTS work_item (
      id VARCHAR(36) NOT NULL PRIMARY KEY, schedule VARCHAR(190) NOT NULL, task VARCHAR(190) NOT NULL, args TEXT NOT NULL,
      slot BIGINT NOT NULL, state VARCHAR(8) NOT NULL DEFAULT 'new', worker VARCHAR(190))`)
    return new OwnQueue(database)
  }

  /**
   * Takes the jobs of one pass of the scheduler, in one transaction.
   *
   * After a crash the same jobs come again, with the same ids: what is there already stays as it is, whatever has
   * become of it meanwhile.
   *
   * @returns the ids that are refused, for an item of their schedule is not done; Kalends records them as skipped
   */
  submit(jobs: readonly ExternalJob[]): Promise<string[]> {
    return this.#database.transaction(async (rows) => {
      const refused: string[] = []
      for (const job of jobs) if (!(await this.#submitOne(rows, job))) refused.push(job.id)
      return refused
    })
  }

  async #submitOne(rows: Rows, job: ExternalJob): Promise<boolean> {
    // First the id: that a job is here already is no reason to refuse it.
    const known = await rows('SELECT id FROM work_item WHERE id = ?', [job.id])
    if (known.length > 0) return true
    const open = await rows("SELECT id FROM work_item WHERE schedule = ? AND state <> 'done'", [
      job.scheduleId,
    ])
    if (open.length > 0) return false
    // Whoever else inserts the same id meanwhile fails here or there; Kalends then submits it again.
    await rows('INSERT INTO work_item (id, schedule, task, args, slot) VALUES (?, ?, ?, ?, ?)', [
      job.id,
      job.scheduleId,
      job.task,
      JSON.stringify(job.args),
      job.slot.getTime(),
    ])
    return true
  }

  /** Takes the oldest new item. @returns null when there is none, or another worker was faster */
  async take(worker: string): Promise<WorkItem | null> {
    return this.#database.transaction(async (rows) => {
      const lock = this.#database.kind === 'mysql' ? 'FOR UPDATE SKIP LOCKED' : ''
      const [item] = await rows<WorkItem>(
        `SELECT id, schedule, task, args, slot, state, worker FROM work_item WHERE state = 'new' ORDER BY id LIMIT 1 ${lock}`,
      )
      if (item === undefined) return null
      await rows("UPDATE work_item SET state = 'taken', worker = ? WHERE id = ?", [worker, item.id])
      return item
    })
  }

  /** What a process of this name had taken when it died is new again. */
  async release(worker: string): Promise<void> {
    await this.#database.rows("UPDATE work_item SET state = 'new' WHERE state = 'taken' AND worker = ?", [
      worker,
    ])
  }

  async done(id: string): Promise<void> {
    await this.#database.rows("UPDATE work_item SET state = 'done' WHERE id = ?", [id])
  }

  /** In the order of their slots. */
  all(): Promise<WorkItem[]> {
    return this.#database.rows<WorkItem>(
      'SELECT id, schedule, task, args, slot, state, worker FROM work_item ORDER BY slot, schedule',
    )
  }
}
