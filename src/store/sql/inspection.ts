import type { DoctorSchedule, DoctorInput, SchemaDrift } from '../../model/doctor.ts'
import type { InspectionStore } from '../inspection-store.ts'
import { fromStored, fromText } from '../instant.ts'
import { integerLiteral } from '../literals.ts'
import { schemaDrift } from '../migrate.ts'
import { blockedByNothing, orphan, waitsForNothing } from './conditions.ts'
import type { TablesContext } from './context.ts'
import { SqlWorkers } from './workers.ts'

/** The most rows of a kind: a longer list helps no one. */
const MOST = 10_000
/** Jobs that wait are counted up to so many. */
const MOST_WAITING = 100_000

interface ScheduleRow {
  id: string
  task: string
  timer: string
  idle: DoctorSchedule['idle']
  nextrun: string | null
  created: string
  last_error: string | null
  due: number
}

export class SqlInspection implements InspectionStore {
  readonly #context: TablesContext
  readonly #prefix: string

  constructor(context: TablesContext, prefix: string) {
    this.#context = context
    this.#prefix = prefix
  }

  schemaDrift(): Promise<SchemaDrift> {
    return schemaDrift(this.#context.database, this.#prefix)
  }

  async inspect(): Promise<DoctorInput> {
    const clock = await this.#clock()
    const store = new SqlWorkers(this.#context)
    const waiting = await this.#waiting()
    // After the jobs that wait: a worker that has claimed meanwhile is not idle.
    const running = await store.running()
    const workers = await store.list()
    return {
      ...clock,
      workers: workers.map((worker) => ({ ...worker, running: running.get(worker.id) ?? 0 })),
      marks: await this.#marks(),
      schedules: await this.#schedules(),
      waiting,
      orphans: await this.#orphans(),
      blocked: await this.#blocked(),
      endless: await this.#endless(),
    }
  }

  async #clock(): Promise<Pick<DoctorInput, 'now' | 'localNow' | 'roundTripMs'>> {
    const ask = () => this.#context.rows<{ clock: string }>(`SELECT ${this.#context.dialect.now} AS clock`)
    // The first may have to connect.
    await ask()
    const asked = performance.now()
    const before = Date.now()
    const [row] = await ask()
    const roundTripMs = performance.now() - asked
    return {
      now: fromStored(row?.clock ?? ''),
      localNow: new Date(before + roundTripMs / 2),
      roundTripMs,
    }
  }

  async #marks(): Promise<DoctorInput['marks']> {
    const { instant } = this.#context.dialect
    const rows = await this.#context.rows<{ id: string; worker: string; ends: string | null }>(
      `SELECT id, worker, ${instant('mark_ends')} AS ends
       FROM ${this.#context.tables.schedule}
       WHERE worker IS NOT NULL
       ORDER BY id
       LIMIT ${integerLiteral(MOST)}`,
    )
    return rows.map((row) => ({ ...row, ends: fromText(row.ends) }))
  }

  async #schedules(): Promise<DoctorSchedule[]> {
    const { instant, now } = this.#context.dialect
    const rows = await this.#context.rows<ScheduleRow>(
      `SELECT id, task, timer, idle, last_error,
         ${instant('nextrun')} AS nextrun, ${instant('created')} AS created,
         CASE WHEN worker IS NULL AND wake_at <= ${now} THEN 1 ELSE 0 END AS due
       FROM ${this.#context.tables.schedule}
       WHERE enabled = 1 AND (idle IS NULL OR idle IN ('invalid', 'dead'))
       ORDER BY id
       LIMIT ${integerLiteral(MOST)}`,
    )
    return rows.map((row) => ({
      id: row.id,
      task: row.task,
      timer: row.timer,
      idle: row.idle,
      nextRun: fromText(row.nextrun),
      created: fromStored(row.created),
      lastError: row.last_error,
      isDue: row.due === 1,
    }))
  }

  async #waiting(): Promise<DoctorInput['waiting']> {
    const rows = await this.#context.rows<{ task: string; amount: number; since: string }>(
      `SELECT claim_task AS task, COUNT(*) AS amount, MIN(submitted) AS since
       FROM (
         SELECT claim_task, submitted FROM ${this.#context.tables.job}
         WHERE claim_group IS NOT NULL
         LIMIT ${integerLiteral(MOST_WAITING)}
       ) AS waiting
       GROUP BY claim_task
       ORDER BY claim_task`,
    )
    return rows.map(({ task, amount, since }) => ({ task, count: amount, since: fromStored(since) }))
  }

  #blocked(): Promise<{ id: string; schedule: string }[]> {
    const { tables } = this.#context
    return this.#context.rows(
      `SELECT MIN(id) AS id, periodic_task_id AS schedule
       FROM ${tables.job} AS b
       WHERE ${blockedByNothing(tables)}
       GROUP BY periodic_task_id
       ORDER BY id
       LIMIT ${integerLiteral(MOST)}`,
    )
  }

  #endless(): Promise<{ id: string }[]> {
    const { tables } = this.#context
    return this.#context.rows(
      `SELECT id FROM ${tables.schedule} AS s
       WHERE ${waitsForNothing(tables, 's')}
       ORDER BY id
       LIMIT ${integerLiteral(MOST)}`,
    )
  }

  #orphans(): Promise<{ id: string; worker: string }[]> {
    const { tables } = this.#context
    return this.#context.rows(
      `SELECT id, held_by AS worker FROM ${tables.job}
       WHERE ${orphan(tables)}
       ORDER BY id
       LIMIT ${integerLiteral(MOST)}`,
    )
  }
}
